package dump

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A YAML document that is too long to be read at once is read like a short one.
func TestLongYAMLDocuments(t *testing.T) {
	long := "  annotations: {long: " + strings.Repeat("x", headSize) + "}\n"
	node := "kind: Node\nmetadata:\n  name: n1\n" + long
	require.Equal(t, "Node /n1, Node /n2", outcome(strings.NewReader(node+"---\nkind: Node\nmetadata: {name: n2}\n")))
	list := "kind: NodeList\nmetadata:\n" + long
	require.Equal(t, "Node /n1, Node /n2", outcome(strings.NewReader(list+"items:\n- metadata: {name: n1}\n- metadata: {name: n2}\n---\n"+list+"items:\n- metadata: {name: n1}\n")))
	for text, want := range map[string]string{
		node + "a: [\n": "document 1: yaml: line 5: did not find expected node content",
		"- a\n" + "# " + strings.Repeat("x", headSize):            "document 1: not a Kubernetes object: Invalid value: [\"a\"]: must be an object with apiVersion and kind",
		list + "items:\n- 7\n":                                    "document 1, item 1: not a Kubernetes object: Invalid value: 7: must be an object with apiVersion and kind",
		list + "items:\n- metadata: {name: n1}\n  a: 1\n  a: 2\n": "document 1: yaml: unmarshal errors: line 7: key \"a\" already set in map",
		"# " + strings.Repeat("x", headSize) + "\n":               "document 1: Invalid value: must be one object",
	} {
		require.Equal(t, want, outcome(strings.NewReader(text)))
	}
}

// Lists and documents of one text are numbered each for itself.
func TestPlacesOfItems(t *testing.T) {
	pods := func(names ...string) string {
		var items []string
		for _, n := range names {
			items = append(items, fmt.Sprintf(`{"metadata":{"name":%q}}`, n))
		}
		return `{"items":[` + strings.Join(items, ",\n") + `],"kind":"PodList"}`
	}
	require.Equal(t, "Pod default/a, Pod default/b, Pod default/c", outcome(strings.NewReader(pods("a", "b")+"\n"+pods("c"))), "each List waits for its own kind")
	require.Equal(t, "document 2, item 2 (Pod): metadata.name: Required value: every object has a name", outcome(strings.NewReader(pods("a", "b")+"\n"+pods("c", ""))))
	nested := `{"kind":"List","items":[{"kind":"Node","metadata":{"name":"n"}},{"kind":"PodList","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"a","uid":"u"}}]}]}`
	require.Equal(t, `document 1, item 2, item 2: metadata.name: Duplicate value: "a": another Pod default/a stands at standard input: document 1, item 2, item 1`, outcome(strings.NewReader(nested)))
	deep := func(n int) string {
		return strings.Repeat(`{"kind":"List","items":[`, n) + `{"kind":"Node","metadata":{"name":"n"}}` + strings.Repeat("]}", n)
	}
	require.Equal(t, "Node /n", outcome(strings.NewReader(deep(maxLists+1))))
	require.Contains(t, outcome(strings.NewReader(deep(maxLists+2))), "Too many: Lists may be nested 8 deep")
	require.Equal(t, "document 1, item 1: items: Invalid value: must be a list", outcome(strings.NewReader(`{"kind":"List","items":[{"kind":"PodList","items":7}]}`)))
	at := position{"f", 3, 7}
	require.EqualError(t, at.fail(syntaxError{}), "f: document 3: line 7: not JSON: a comma, a bracket or a quote is wrong, or something stands behind the object")
	require.EqualError(t, at.fail(refusal{2, "a: no"}), "f: document 3: line 9: a: no")
	require.EqualError(t, at.fail(errors.New("x")), "f: document 3: x")
}

// Check finds what encoding/json lets through, in fields whatever the case of their names.
func TestCheckedValues(t *testing.T) {
	testkit.Run(t, []struct{ name, text, want string }{
		{"fine", `{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"4"}}}`, ""},
		{"no JSON", `{"metadata":`, ""},
		{"no UTF-8", "{\"kind\":\"\xff\"}", "Invalid value: must be UTF-8"},
		{"twice", `{"kind":"a","kind":"b"}`, "kind: Duplicate value: the key stands twice"},
		{"long quantity", `{"status":{"allocatable":{"cpu":"1e999999999"}}}`, `status.allocatable[cpu]: Invalid value: "1e999999999": must be a quantity with an exponent between -99 and 99`},
		{"in other letters", `{"STATUS":{"Allocatable":{"cpu":"1e999999999"}}}`, `STATUS.Allocatable[cpu]: Invalid value: "1e999999999": must be a quantity with an exponent between -99 and 99`},
		{"behind an escape", `{"status":{"allocatable":{"cpu":"\u0031e999999999"}}}`, `status.allocatable[cpu]: Invalid value: "1e999999999": must be a quantity with an exponent between -99 and 99`},
		{"in text", `{"metadata":{"name":"1e999999999"}}`, ""},
	}, func(t *testing.T, c struct{ name, text, want string }) {
		err := Check([]byte(c.text), &v1.Node{})
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	})
}

// Quantities are found wherever a type has them, and named by their path.
func TestQuantitiesOfTypes(t *testing.T) {
	q := func(s string) *resource.Quantity { v := resource.MustParse(s); return &v }
	type inner struct {
		Q *resource.Quantity `json:"q"`
		S string             `json:"s"`
	}
	type loop struct {
		Next *loop               `json:"next"`
		Q    []resource.Quantity `json:"list"`
		in   inner
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{inner{S: "x"}, ""}, {inner{Q: q("-1")}, `q: Invalid value: "-1": must not be negative`}, {[]inner{{}, {Q: q("-1")}}, `[1].q: Invalid value: "-1": must not be negative`},
		{map[string]inner{"b": {Q: q("-2")}, "a": {Q: q("-1")}}, `[a].q: Invalid value: "-1": must not be negative`}, {loop{Next: &loop{Q: []resource.Quantity{*q("1"), *q("-3")}}}, `next.list[1]: Invalid value: "-3": must not be negative`},
		{loop{in: inner{Q: q("-1")}}, ""}, {[]string{"-1"}, ""}, {map[string]int{"a": -1}, ""}, {v1.ResourceList{"cpu": *q("9223372036854775")}, `[cpu]: Invalid value: "9223372036854775": must be below ` + largestCPU.String()},
		{v1.ResourceList{"memory": *q("9223372036854775")}, ""}, {v1.ResourceList{"memory": *q("9223372036854775807")}, `[memory]: Invalid value: "9223372036854775807": must be below ` + largest.String()},
	} {
		bad := quantities(reflect.ValueOf(c.value), "")
		if c.want == "" {
			require.Nil(t, bad, "%#v", c.value)
		} else {
			require.EqualError(t, bad, c.want)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[inner](), reflect.TypeFor[loop](), reflect.TypeFor[map[string][]*inner](), reflect.TypeFor[v1.Pod]()} {
		require.True(t, holdsQuantity(typ), typ)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[metav1.ObjectMeta](), reflect.TypeFor[[]v1.Toleration](), reflect.TypeFor[struct{ q resource.Quantity }]()} {
		require.False(t, holdsQuantity(typ), typ)
	}
}

// What is shared: equal parts behind pointers, in lists and in maps, item by item.
func TestShareParts(t *testing.T) {
	yes, no := true, false
	make := func(uid string, flag *bool, last string) *v1.Pod {
		seconds := int64(30)
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: strings.Clone("p-" + uid), Namespace: "n", Labels: map[string]string{"a": "b"}, OwnerReferences: []metav1.OwnerReference{{UID: "o", Controller: &yes}}},
			Spec: v1.PodSpec{NodeName: strings.Clone("some node"), TerminationGracePeriodSeconds: &seconds, SecurityContext: &v1.PodSecurityContext{RunAsNonRoot: flag, Sysctls: []v1.Sysctl{{Name: strings.Clone("s"), Value: "1"}}},
				Containers: []v1.Container{{Name: strings.Clone("one"), Args: []string{strings.Clone("x")}}, {Name: strings.Clone("two"), Image: last}}}}
	}
	s := sharing{}
	a, b, c := make("1", &yes, "x"), make("2", &no, "y"), make("3", &yes, "x")
	for _, p := range []*v1.Pod{a, b, c} {
		before := p.DeepCopy()
		s.add("Pod", p)
		require.Equal(t, before, p)
	}
	text := func(x string) *byte { return unsafe.StringData(x) }
	require.Same(t, a.Spec.TerminationGracePeriodSeconds, b.Spec.TerminationGracePeriodSeconds)
	require.Same(t, text(a.Spec.NodeName), text(b.Spec.NodeName))
	require.NotSame(t, text(a.Name), text(b.Name))
	require.Same(t, text(a.Spec.Containers[0].Name), text(b.Spec.Containers[0].Name), "an item of lists that differ")
	require.Same(t, text(a.Spec.Containers[1].Name), text(b.Spec.Containers[1].Name))
	require.Same(t, &a.Spec.Containers[0].Args[0], &b.Spec.Containers[0].Args[0])
	require.NotSame(t, a.Spec.SecurityContext, b.Spec.SecurityContext)
	require.Same(t, &a.Spec.SecurityContext.Sysctls[0], &b.Spec.SecurityContext.Sysctls[0], "a part of what differs")
	require.Equal(t, reflect.ValueOf(a.Labels).Pointer(), reflect.ValueOf(b.Labels).Pointer())
	require.Same(t, &b.OwnerReferences[0], &c.OwnerReferences[0])
}

// The lists of objects end where the reader stops.
func TestReadersOfObjectsStop(t *testing.T) {
	o, err := readText(nodeYAML+"---\n"+strings.Replace(nodeYAML, "n1", "n2", 1)+"---\nkind: Service\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Service\napiVersion: v1\nmetadata: {name: b}\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: c}\n", Options{})
	require.NoError(t, err)
	var names []string
	for k, x := range o.All() {
		if names = append(names, k.Kind+" "+x.GetName()); len(names) == 4 {
			break
		}
	}
	require.Equal(t, []string{"Node n1", "Node n2", "Namespace c", "Service a"}, names)
	names = nil
	for x := range o.Others() {
		if names = append(names, x.GetName()); len(names) == 2 {
			break
		}
	}
	require.Equal(t, []string{"c", "a"}, names)
}

// A class of devices without an extended resource provides its own name alone.
func TestWithoutDevicesOfPlainClasses(t *testing.T) {
	o := &Objects{DeviceClasses: []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}}
	for _, r := range []v1.ResourceName{"deviceclass.resource.kubernetes.io/gpu", "example.com/gpu"} {
		o.Pods = append(o.Pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: fmt.Sprint("p", len(o.Pods))}, Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{r: resource.MustParse("1")}}}}}})
	}
	finished := o.Pods[0].DeepCopy()
	finished.Spec.ResourceClaims, finished.Status.Phase = []v1.PodResourceClaim{{Name: "g"}}, v1.PodSucceeded
	o.Pods = append(o.Pods, finished)
	o.WithoutDevices()
	require.Equal(t, []string{"pod d/p0 asks for deviceclass.resource.kubernetes.io/gpu, and DeviceClass gpu, which provides it, is not considered"}, o.Warnings.Texts())
}

// A character that a piece cuts in two is read whole, and one that the end cuts is an error.
func TestCutCharacters(t *testing.T) {
	d := documents{line: 1}
	for k, piece := range []string{"a\xe2", "\x82", "\xac\ufffd", "\xf0\x9f\x98", "\x80b"} {
		require.NoError(t, d.utf8([]byte(piece)), "piece %d", k)
	}
	require.Empty(t, d.cut)
	require.NoError(t, d.utf8([]byte("x\xe2\x82")))
	require.EqualError(t, d.utf8([]byte("x")), "line 1: Invalid value: byte 0xe2: must be UTF-8")
	d = documents{line: 1, err: io.EOF}
	require.EqualError(t, d.utf8([]byte("x\xe2\x82")), "line 1: Invalid value: byte 0xe2: must be UTF-8")
}
