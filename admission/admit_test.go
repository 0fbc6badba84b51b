package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// amounts reads "cpu=1,memory=1Gi".
func amounts(text string) v1.ResourceList {
	if text == "" {
		return nil
	}
	out := v1.ResourceList{}
	for k, v := range testkit.Pairs(text) {
		out[v1.ResourceName(k)] = resource.MustParse(v)
	}
	return out
}

// asking makes a pod of namespace shop with one container.
func asking(requests, limits string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"rev": "2"}}}
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: amounts(requests), Limits: amounts(limits)}}}
	return p
}

// limitRange makes a LimitRange of namespace shop with one item.
func limitRange(name string, item v1.LimitRangeItem) *v1.LimitRange {
	if item.Type == "" {
		item.Type = v1.LimitTypeContainer
	}
	return &v1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1.LimitRangeSpec{Limits: []v1.LimitRangeItem{item}}}
}

// One pod goes through all steps, in the API server's order.
func TestAdmit(t *testing.T) {
	pod := asking("", "memory=1Gi")
	pod.Spec.PriorityClassName, pod.Spec.RuntimeClassName = "high", ptr("kata")
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80}}
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rev": "2"}}, MatchLabelKeys: []string{"rev"}}}
	cluster := Cluster{
		PriorityClasses: []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 10}, nil},
		RuntimeClasses:  []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Overhead: &nodev1.Overhead{PodFixed: amounts("cpu=250m")}}},
		LimitRanges:     []*v1.LimitRange{limitRange("a", v1.LimitRangeItem{DefaultRequest: amounts("cpu=100m,memory=1Mi"), Max: amounts("cpu=2")}), nil},
		Namespaces:      []*v1.Namespace{nil, {ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{annotationDefaultTolerations: `[{"key":"gpu","operator":"Exists"}]`}}}},
	}
	var admitted *v1.Pod
	var changes []Change
	testkit.Unchanged(t, func() {
		var err error
		admitted, changes, err = Admit(pod, cluster, Options{TolerationRestriction: &TolerationRestriction{}, ExtendedResources: true})
		require.NoError(t, err)
	}, pod)
	var said []string
	for _, c := range changes {
		said = append(said, c.By+": "+strings.Join(c.Fields, " "))
	}
	require.Equal(t, []string{
		"defaults: spec.containers[0].ports[0].protocol spec.containers[0].resources.requests[memory] spec.restartPolicy spec.terminationGracePeriodSeconds spec.schedulerName",
		"LimitRanger: metadata.annotations[kubernetes.io/limit-ranger] spec.containers[0].resources.limits[cpu] spec.containers[0].resources.requests[cpu]",
		"Priority: spec.priority",
		"DefaultTolerationSeconds: spec.tolerations",
		"PodTolerationRestriction: spec.tolerations",
		"RuntimeClass: spec.overhead[cpu]",
		"label keys: spec.topologySpreadConstraints[0].labelSelector.matchExpressions",
	}, said)
	require.Equal(t, "1Gi", admitted.Spec.Containers[0].Resources.Requests.Memory().String(), "the limit comes before the LimitRange")
	require.Equal(t, "100m", admitted.Spec.Containers[0].Resources.Requests.Cpu().String())
	require.Equal(t, "2", admitted.Spec.Containers[0].Resources.Limits.Cpu().String(), "max takes the place of a default")
	require.Equal(t, "LimitRanger plugin set: cpu request for container c; cpu limit for container c", admitted.Annotations[annotationLimitRanger])
	require.EqualValues(t, 10, *admitted.Spec.Priority)

	again, changes, err := Admit(admitted, Cluster{}, Options{})
	require.EqualError(t, err, `pods "web" is forbidden: no PriorityClass with name high was found`)
	require.Nil(t, again)
	require.Nil(t, changes)
	again, changes, err = Admit(nil, cluster, Options{})
	require.NoError(t, err)
	require.Nil(t, again)
	require.Nil(t, changes)
}

func ptr[T any](v T) *T { return &v }

func TestLimitRanges(t *testing.T) {
	item := func(min, max, ratio string, kind v1.LimitType) v1.LimitRangeItem {
		return v1.LimitRangeItem{Type: kind, Min: amounts(min), Max: amounts(max), MaxLimitRequestRatio: amounts(ratio)}
	}
	const forbidden = `pods "web" is forbidden: `
	testkit.Run(t, []struct {
		name, why        string
		requests, limits string
		item             v1.LimitRangeItem
		want             string
	}{
		{"inside", "neither below nor above", "cpu=1", "cpu=1", item("cpu=1", "cpu=1", "cpu=1", "Container"), ""},
		{"below min", "the request", "cpu=50m", "", item("cpu=100m", "", "", "Container"), forbidden + "minimum cpu usage per Container is 100m, but request is 50m"},
		{"limit below min", "the limit of a pod whose request is not below", "cpu=100m", "cpu=50m", item("cpu=100m", "", "", "Container"), forbidden + "minimum cpu usage per Container is 100m, but limit is 50m"},
		{"no request", "for a min", "", "", item("cpu=100m", "", "", "Container"), forbidden + "minimum cpu usage per Container is 100m.  No request is specified"},
		{"above max", "the limit", "cpu=1", "cpu=2", item("", "cpu=1", "", "Container"), forbidden + "maximum cpu usage per Container is 1, but limit is 2"},
		{"request above max", "a limit would be below it", "cpu=2", "cpu=1", item("", "cpu=1", "", "Container"), forbidden + "maximum cpu usage per Container is 1, but request is 2"},
		{"no limit", "for a max", "", "", item("", "cpu=1", "", "Container"), forbidden + "maximum cpu usage per Container is 1.  No limit is specified"},
		{"ratio", "four times the request", "cpu=500m", "cpu=2", item("", "", "cpu=2", "Container"), forbidden + "cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000"},
		{"ratio without request", "it cannot be computed", "", "cpu=2", item("", "", "cpu=2", "Container"), forbidden + "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0"},
		{"ratio without limit", "it cannot be computed", "cpu=2", "", item("", "", "cpu=2", "Container"), forbidden + "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"},
		{"pod", "the sum of its containers", "cpu=1", "cpu=1", item("", "cpu=500m", "", "Pod"), forbidden + "maximum cpu usage per Pod is 500m, but limit is 1"},
		{"claims", "not a pod's", "cpu=1", "", item("cpu=2", "", "", "PersistentVolumeClaim"), ""},
		{"two violations", "both are said", "cpu=1,memory=1Mi", "", item("cpu=2,memory=2Mi", "", "", "Container"), forbidden + "[minimum cpu usage per Container is 2, but request is 1, minimum memory usage per Container is 2Mi, but request is 1Mi]"},
	}, func(t *testing.T, c struct {
		name, why        string
		requests, limits string
		item             v1.LimitRangeItem
		want             string
	}) {
		err := CheckLimitRanges(asking(c.requests, c.limits), []*v1.LimitRange{limitRange("a", c.item)})
		got := ""
		if err != nil {
			got = err.Error()
		}
		require.Equal(t, c.want, got, c.why)
		elsewhere := asking(c.requests, c.limits)
		elsewhere.Namespace = "other"
		require.NoError(t, CheckLimitRanges(elsewhere, []*v1.LimitRange{limitRange("a", c.item)}))
	})
	twice := asking("cpu=1", "")
	twice.Spec.Containers = append(twice.Spec.Containers, twice.Spec.Containers[0])
	require.EqualError(t, CheckLimitRanges(twice, []*v1.LimitRange{limitRange("a", item("cpu=2", "", "", "Container"))}),
		forbidden+"minimum cpu usage per Container is 2, but request is 1", "equal texts are said once")
	pod := asking("cpu=1", "")
	pod.Spec.InitContainers = []v1.Container{{Name: "i"}}
	ranges := []*v1.LimitRange{limitRange("b", v1.LimitRangeItem{Default: amounts("memory=2Gi")}), limitRange("a", v1.LimitRangeItem{Default: amounts("cpu=2"), Min: amounts("memory=1Mi")})}
	got := WithLimitRanges(pod, ranges)
	require.Equal(t, "cpu=1 memory=1Mi / cpu=2 memory=2Gi; cpu=2 memory=1Mi / cpu=2 memory=2Gi",
		fmt.Sprint(written(got.Spec.Containers[0].Resources), "; ", written(got.Spec.InitContainers[0].Resources)), "by name of the LimitRange; what is there stays")
	require.Empty(t, WithLimitRanges(asking("cpu=1", "cpu=1"), []*v1.LimitRange{limitRange("a", v1.LimitRangeItem{Default: amounts("cpu=2")})}).Annotations, "nothing was set")
}

func written(r v1.ResourceRequirements) string {
	return fmt.Sprintf("cpu=%s memory=%s / cpu=%s memory=%s", r.Requests.Cpu(), r.Requests.Memory(), r.Limits.Cpu(), r.Limits.Memory())
}

func TestTolerationRestriction(t *testing.T) {
	gpu, spot := tol("gpu Exists _ NoSchedule"), tol("spot Exists _ NoSchedule")
	const listed = `[{"key":"gpu","operator":"Exists","effect":"NoSchedule"}]`
	pressure := v1.TaintNodeMemoryPressure + " Exists  NoSchedule"
	testkit.Run(t, []struct {
		name, why           string
		defaults, whitelist string // annotations
		r                   TolerationRestriction
		pod                 []v1.Toleration
		qos                 v1.PodQOSClass
		want                string
		fails               string
	}{
		{"nothing", "a BestEffort pod gets none", "", "", TolerationRestriction{}, nil, v1.PodQOSBestEffort, "", ""},
		{"memory pressure", "of a Burstable pod", "", "", TolerationRestriction{}, nil, v1.PodQOSBurstable, pressure, ""},
		{"of the namespace", "behind those of the pod", listed, "", TolerationRestriction{}, tols(spot), v1.PodQOSBestEffort, "spot Exists  NoSchedule, gpu Exists  NoSchedule", ""},
		{"of the cluster", "the namespace has no annotation", "", "", TolerationRestriction{Default: tols(gpu)}, nil, v1.PodQOSBestEffort, "gpu Exists  NoSchedule", ""},
		{"empty list of the namespace", "it overrules the cluster", "[]", "", TolerationRestriction{Default: tols(gpu)}, nil, v1.PodQOSBestEffort, "", ""},
		{"allowed", "by the namespace", "", listed, TolerationRestriction{}, tols(gpu), v1.PodQOSBestEffort, "gpu Exists  NoSchedule", ""},
		{"narrower", "the whitelist covers it", "", listed, TolerationRestriction{}, tols(tol("gpu Equal x NoSchedule")), v1.PodQOSBestEffort, "gpu Equal x NoSchedule", ""},
		{"a value with Exists", "it covers the whitelist and is covered", "", listed, TolerationRestriction{}, tols(tol("gpu Exists x NoSchedule")), v1.PodQOSBestEffort, "gpu Exists x NoSchedule", ""},
		{"not allowed", "by the namespace", "", listed, TolerationRestriction{}, tols(spot), v1.PodQOSBestEffort, "", errWhitelist.Error()},
		{"wider than allowed", "any effect", "", listed, TolerationRestriction{}, tols(tol("gpu Exists _ _")), v1.PodQOSBestEffort, "", errWhitelist.Error()},
		{"not allowed by the cluster", "the namespace has no annotation", "", "", TolerationRestriction{Whitelist: tols(gpu)}, tols(spot), v1.PodQOSBestEffort, "", errWhitelist.Error()},
		{"empty whitelist", "allows everything", "", "[]", TolerationRestriction{Whitelist: tols(gpu)}, tols(spot), v1.PodQOSBestEffort, "spot Exists  NoSchedule", ""},
		{"no JSON", "an annotation written by hand", "gpu", "", TolerationRestriction{}, nil, v1.PodQOSBestEffort, "", "invalid character 'g' looking for beginning of value"},
		{"no JSON of the whitelist", "an annotation written by hand", "", "{}", TolerationRestriction{}, nil, v1.PodQOSBestEffort, "", "json: cannot unmarshal object into Go value of type []v1.Toleration"},
	}, func(t *testing.T, c struct {
		name, why           string
		defaults, whitelist string // annotations
		r                   TolerationRestriction
		pod                 []v1.Toleration
		qos                 v1.PodQOSClass
		want                string
		fails               string
	}) {
		n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationDefaultTolerations: c.defaults, annotationTolerationsWhitelist: c.whitelist}}}
		got, err := c.r.Admit(podWith(c.pod...), n, c.qos)
		if c.fails != "" {
			require.EqualError(t, err, c.fails, c.why)
			require.Nil(t, got)
			return
		}
		require.NoError(t, err)
		var list []string
		for _, x := range got.Spec.Tolerations {
			list = append(list, fmt.Sprintf("%s %s %s %s", x.Key, x.Operator, x.Value, x.Effect))
		}
		require.Equal(t, c.want, strings.Join(list, ", "), c.why)
	})
}

// What refuses a pod is said with the text of the API server, and the pod is nil.
func TestAdmitRefuses(t *testing.T) {
	unknown := asking("", "")
	unknown.Spec.RuntimeClassName = ptr("kata")
	generated := asking("cpu=1", "")
	generated.Name, generated.GenerateName = "", "web-"
	nameless := asking("cpu=1", "")
	nameless.Name = ""
	small := []*v1.LimitRange{limitRange("a", v1.LimitRangeItem{Min: amounts("cpu=2")})}
	class := generated.DeepCopy()
	class.Spec.PriorityClassName = "high"
	testkit.Run(t, []struct {
		name, why string
		pod       *v1.Pod
		c         Cluster
		o         Options
		want      string
	}{
		{"unknown RuntimeClass", "no class of that name", unknown, Cluster{}, Options{}, `pods "web" is forbidden: pod rejected: RuntimeClass "kata" not found`},
		{"unknown namespace", "the plugin reads it", asking("", ""), Cluster{}, Options{TolerationRestriction: &TolerationRestriction{}}, `namespaces "shop" not found`},
		{"below min", "of a pod that gets its name later", generated, Cluster{LimitRanges: small}, Options{}, `pods "web-" is forbidden: minimum cpu usage per Container is 2, but request is 1`},
		{"unknown PriorityClass", "of a pod that gets its name later", class, Cluster{}, Options{}, `pods "web-" is forbidden: no PriorityClass with name high was found`},
		{"without a name", "some text has to stand there", nameless, Cluster{LimitRanges: small}, Options{}, `pods "Unknown" is forbidden: minimum cpu usage per Container is 2, but request is 1`},
	}, func(t *testing.T, c struct {
		name, why string
		pod       *v1.Pod
		c         Cluster
		o         Options
		want      string
	}) {
		c.c.PriorityClasses = SystemPriorityClasses()
		got, _, err := Admit(c.pod, c.c, c.o)
		require.EqualError(t, err, c.want, c.why)
		require.Nil(t, got)
	})
}

// The whitelist covers the tolerations that admission plugins add after PodTolerationRestriction, too.
func TestWhitelistOfLaterTolerations(t *testing.T) {
	pod := asking("cpu=1,example.com/gpu=1", "example.com/gpu=1")
	n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pod.Namespace, Annotations: map[string]string{
		annotationTolerationsWhitelist: `[{"operator":"Exists","effect":"NoExecute"},{"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}]`,
	}}}
	o := Options{TolerationRestriction: &TolerationRestriction{}}
	_, _, err := Admit(pod, Cluster{Namespaces: []*v1.Namespace{n}}, o)
	require.NoError(t, err)
	o.ExtendedResources = true
	got, _, err := Admit(pod, Cluster{Namespaces: []*v1.Namespace{n}}, o)
	require.EqualError(t, err, errWhitelist.Error())
	require.Nil(t, got)
}
