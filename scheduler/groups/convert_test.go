package groups

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/api/scheduling/v1alpha3"
	"k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

func object[T any](t *testing.T, text string) *T {
	out := new(T)
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), out))
	return out
}

// Every field that a decision reads is converted.
func TestOf(t *testing.T) {
	never := v1.PreemptNever
	meta := metav1.ObjectMeta{Name: "g", UID: "u", Generation: 3}
	head := "metadata: {name: g, uid: u, generation: 3}\nspec: "
	type test struct {
		name, why, spec, status string
		want                    podgroup.Group
	}
	testkit.Run(t, []test{
		{"basic", "no minimum", "{schedulingPolicy: {basic: {}}}", "", podgroup.Group{}},
		{"gang", "minCount", "{schedulingPolicy: {gang: {minCount: 4}}}", "", podgroup.Group{Spec: podgroup.Spec{Minimum: new(int32(4))}}},
		{"no policy", "counts as basic", "{}", "", podgroup.Group{}},
		{"parent", "its name", "{parentCompositePodGroupName: job}", "", podgroup.Group{Spec: podgroup.Spec{Parent: "job"}}},
		{"priority", "its number and policy", "{priority: 7, preemptionPolicy: Never}", "", podgroup.Group{Spec: podgroup.Spec{Priority: new(int32(7)), PreemptionPolicy: &never}}},
		{"topology", "the keys", "{schedulingConstraints: {topology: [{key: a}, {key: b}]}}", "", podgroup.Group{Spec: podgroup.Spec{Constraints: &podgroup.Constraints{Topology: []string{"a", "b"}}}}},
		{"no key", "constraints without a key", "{schedulingConstraints: {}}", "", podgroup.Group{Spec: podgroup.Spec{Constraints: &podgroup.Constraints{}}}},
		{"all", "pods leave together", "{disruptionMode: {all: {}}}", "", podgroup.Group{Spec: podgroup.Spec{DisruptAll: true}}},
		{"single", "pods leave alone", "{disruptionMode: {single: {}}}", "", podgroup.Group{}},
		{"claims", "of a claim and of a template", "{resourceClaims: [{name: a, resourceClaimName: x}, {name: b, resourceClaimTemplateName: z}]}", "",
			podgroup.Group{Claims: []podgroup.Claim{{Name: "a", ClaimName: "x"}, {Name: "b", TemplateName: "z"}}}},
		{"generated claims", "made, and not needed", "{resourceClaims: [{name: a, resourceClaimTemplateName: z}, {name: b, resourceClaimTemplateName: z}]}",
			"{resourceClaimStatuses: [{name: a, resourceClaimName: g-a}, {name: b}]}",
			podgroup.Group{Claims: []podgroup.Claim{{Name: "a", TemplateName: "z", Generated: new("g-a")}, {Name: "b", TemplateName: "z", Generated: new("")}}}},
		{"conditions", "of the status", "{}", "{conditions: [{type: PodGroupInitiallyScheduled, status: 'True'}]}",
			podgroup.Group{Conditions: []metav1.Condition{{Type: "PodGroupInitiallyScheduled", Status: "True"}}}},
	}, func(t *testing.T, c test) {
		text := head + c.spec
		if c.status != "" {
			text += "\nstatus: " + c.status
		}
		c.want.ObjectMeta = meta
		require.Equal(t, &c.want, Of(object[v1beta1.PodGroup](t, text)))
	})
	want := &podgroup.Composite{ObjectMeta: meta, Spec: podgroup.Spec{
		Parent: "top", Minimum: new(int32(2)), DisruptAll: true, Priority: new(int32(7)), PreemptionPolicy: &never, Constraints: &podgroup.Constraints{Topology: []string{"a"}},
	}}
	require.Equal(t, want, OfComposite(object[v1alpha3.CompositePodGroup](t, head+`{parentCompositePodGroupName: top, schedulingPolicy: {gang: {minGroupCount: 2}},
  disruptionMode: {all: {}}, priority: 7, preemptionPolicy: Never, schedulingConstraints: {topology: [{key: a}]}}`)))
	require.Equal(t, &podgroup.Composite{ObjectMeta: meta}, OfComposite(object[v1alpha3.CompositePodGroup](t, head+"{schedulingPolicy: {basic: {}}}")))
}

// Bad objects have the API server's texts.
func TestValidate(t *testing.T) {
	type test struct {
		name, why, spec string
		group           string // the error; "" for none
		composite       string
	}
	none := func(field, a, b string) string {
		return "spec." + field + ": Invalid value: \"\": must specify one of: `" + a + "`, `" + b + "`"
	}
	both := func(field, a, b string) string {
		return "spec." + field + ": Invalid value: \"{" + a + ", " + b + "}\": must specify exactly one of: `" + a + "`, `" + b + "`"
	}
	subdomain := func(name, value string) string {
		return fmt.Sprintf("spec.%s: Invalid value: %q: %s", name, value, content.IsDNS1123Subdomain(value)[0])
	}
	const good = "workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {basic: {}}"
	testkit.Run(t, []test{
		{"good", "nothing is refused", good, "", ""},
		{"single", "a mode", good + ", disruptionMode: {single: {}}", "", ""},
		{"parent", "with its workload", good + ", parentCompositePodGroupName: job", "", ""},
		{"V1 no policy", "a group has a policy", "workloadRef: {workloadName: w, templateName: t}", none("schedulingPolicy", "basic", "gang"), none("schedulingPolicy", "basic", "gang")},
		{"V1 two policies", "only one", "workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {basic: {}, gang: {}}",
			both("schedulingPolicy", "basic", "gang") + "; spec.schedulingPolicy.gang.minCount: Required value",
			both("schedulingPolicy", "basic", "gang") + "; spec.schedulingPolicy.gang.minGroupCount: Required value"},
		{"V4 no mode", "a mode says which", good + ", disruptionMode: {}", none("disruptionMode", "single", "all"), none("disruptionMode", "single", "all")},
		{"V4 two modes", "only one", good + ", disruptionMode: {single: {}, all: {}}", both("disruptionMode", "single", "all"), both("disruptionMode", "single", "all")},
		{"V6 no workload", "a child and a composite have one", "schedulingPolicy: {basic: {}}, parentCompositePodGroupName: job",
			"spec.workloadRef: Required value: must be set when parentCompositePodGroupName is set", "spec.workloadRef: Required value"},
		{"V6 empty workload", "both names", "schedulingPolicy: {basic: {}}, workloadRef: {}",
			"spec.workloadRef.workloadName: Required value; spec.workloadRef.templateName: Required value",
			"spec.workloadRef.workloadName: Required value; spec.workloadRef.templateName: Required value"},
		{"workload", "a DNS subdomain, and a DNS label", "schedulingPolicy: {basic: {}}, workloadRef: {workloadName: A, templateName: a.b}",
			subdomain("workloadRef.workloadName", "A") + "; spec.workloadRef.templateName: Invalid value: \"a.b\": must not contain dots",
			subdomain("workloadRef.workloadName", "A") + "; spec.workloadRef.templateName: Invalid value: \"a.b\": must not contain dots"},
		{"bad parent", "a DNS subdomain", good + ", parentCompositePodGroupName: A", subdomain("parentCompositePodGroupName", "A"), subdomain("parentCompositePodGroupName", "A")},
		{"no parent", "a parent has a name", good + `, parentCompositePodGroupName: ""`, subdomain("parentCompositePodGroupName", ""), subdomain("parentCompositePodGroupName", "")},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.group, texts(Validate(object[v1beta1.PodGroup](t, "spec: {"+c.spec+"}"))))
		require.Equal(t, c.composite, texts(ValidateComposite(object[v1alpha3.CompositePodGroup](t, "spec: {"+c.spec+"}"))))
	})
	require.Empty(t, Validate(object[v1beta1.PodGroup](t, "spec: {schedulingPolicy: {basic: {}}}")), "a group without parent needs no workload")
}

func texts(errs field.ErrorList) string {
	out := ""
	for k, err := range errs {
		if k > 0 {
			out += "; "
		}
		out += err.Error()
	}
	return out
}

// Objects of both versions of PodGroup are read alike.
func TestVersions(t *testing.T) {
	const text = "{schedulingPolicy: {gang: {minCount: 4}}, schedulingConstraints: {topology: [{key: a}]}, disruptionMode: {all: {}}, resourceClaims: [{name: a, resourceClaimName: x}], priority: 3}"
	old, err := yaml.Marshal(object[v1alpha3.PodGroup](t, "spec: "+text))
	require.NoError(t, err)
	require.Equal(t, Of(object[v1beta1.PodGroup](t, "spec: "+text)), Of(object[v1beta1.PodGroup](t, string(old))))
}

// No object makes a conversion panic, and nothing that is refused is lost.
func FuzzValidate(f *testing.F) {
	f.Add([]byte(`{"spec":{"schedulingPolicy":{"gang":{"minCount":-1}},"resourceClaims":[{"name":"a"}],"disruptionMode":{}},"status":{"resourceClaimStatuses":[{"name":"a"}]}}`))
	f.Add([]byte(`{"spec":{"workloadRef":{},"parentCompositePodGroupName":"","schedulingConstraints":{"topology":[{},{}]},"priority":2000000000}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, c := &v1beta1.PodGroup{}, &v1alpha3.CompositePodGroup{}
		if yaml.Unmarshal(data, g) == nil {
			before := g.DeepCopy()
			value := Of(g)
			require.GreaterOrEqual(t, len(Validate(g)), len(podgroup.ValidateGroup(value, nil)))
			require.Equal(t, g.Spec.SchedulingPolicy.Gang != nil, value.Minimum != nil)
			require.Len(t, value.Claims, len(g.Spec.ResourceClaims))
			require.Equal(t, before, g)
		}
		if yaml.Unmarshal(data, c) == nil {
			require.GreaterOrEqual(t, len(ValidateComposite(c)), len(podgroup.ValidateComposite(OfComposite(c), nil)))
		}
	})
}
