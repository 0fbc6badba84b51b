package spread

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CheckGroup's findings of one group whole: by index, with the pods and nodes that each is about.
func TestCheckGroupWhole(t *testing.T) {
	bogus := func(c *v1.TopologySpreadConstraint) {
		c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bogus"}}}
	}
	group := func(first ...v1.TopologySpreadConstraint) []*v1.Pod {
		a := constrained("foo=bar,rev=1", first...)
		b := constrained("foo=bar", by("zone", 2, hard, matchKeys("rev", "hash", "rev")), by("rack", 1, "X"), by("zone", 1, soft, emptySelector, matchKeys("rev")), by("zone", 1, hard, noSelector))
		c := constrained("foo=other,rev=1,hash=2", by("zone", 2, hard, matchKeys("hash")), by("rack", 1, ""), by("zone", 1, soft, noSelector), by("zone", 1, hard, bogus))
		a.Name, b.Name, c.Name, c.Namespace = "a", "b", "c", "other"
		return []*v1.Pod{a, b, c}
	}
	f := clusterOf("n1{zone=a} n2{zone=b,rack=r} n3{} n4{rack=r}")
	f.addNode(nil)
	texts := func(found []Finding) (out []string) {
		for _, x := range found {
			out = append(out, fmt.Sprint(x.Kind, " ", x.Constraint, " ", x.Pods, " ", x.Nodes, " ", x.Message))
		}
		return out
	}
	require.Equal(t, []string{
		"MixedConstraints -1 [default/b other/c] [] constraints differ from those of default/a",
		"MixedNamespaces -1 [other/c] [] only pods of namespace default count for default/a",
		"SelectorMissesPod 0 [other/c] [] labelSelector does not match the pod's own labels: placing it does not change the skew",
		"SelectorMissesGroup 0 [default/a default/b] [] labelSelector matches the pod itself and not all pods of the group",
		"AbsentMatchLabelKey 0 [default/b] [] matchLabelKeys names rev, which the pod does not have: it is ignored",
		"AbsentMatchLabelKey 0 [default/a] [] matchLabelKeys names gone, which the pod does not have: it is ignored",
		"AbsentMatchLabelKey 0 [default/b] [] matchLabelKeys names hash, which the pod does not have: it is ignored",
		"NodesWithoutKey 0 [default/a] [n3 n4] nodes without label zone: n3, n4",
		"TooFewDomains 0 [default/a] [] 2 domains of zone, fewer than minDomains 5: no domain takes more than 2 matching pods",
		`UnknownAction 1 [default/b] [] whenUnsatisfiable is "X", neither DoNotSchedule nor ScheduleAnyway: the scheduler ignores the constraint, the API server refuses the pod`,
		`UnknownAction 1 [other/c] [] whenUnsatisfiable is "", neither DoNotSchedule nor ScheduleAnyway: the scheduler ignores the constraint, the API server refuses the pod`,
		"SelectorMissesPod 1 [other/c] [] labelSelector does not match the pod's own labels: placing it does not change the skew",
		"SelectorMissesGroup 1 [default/b] [] labelSelector matches the pod itself and not all pods of the group",
		"NoSelector 2 [default/b] [] matchLabelKeys adds nothing to an absent labelSelector: no pod is counted, and the API server refuses the pod",
		"NoSelector 2 [other/c] [] labelSelector is absent or empty: no pod is counted",
		"InvalidSelector 3 [other/c] [] labelSelector cannot be converted",
		"NoSelector 3 [default/b] [] labelSelector is absent or empty: no pod is counted",
	}, texts(CheckGroup(group(by("zone", 2, hard, minDomains(5), matchKeys("rev", "gone"))), f)))
	require.Equal(t, []string{
		"MixedConstraints -1 [default/b other/c] [] constraints differ from those of default/a",
		"MixedNamespaces -1 [other/c] [] only pods of namespace default count for default/a",
		"InvalidSelector 0 [default/a] [] labelSelector cannot be converted",
		"SelectorMissesPod 0 [other/c] [] labelSelector does not match the pod's own labels: placing it does not change the skew",
		"SelectorMissesGroup 0 [default/b] [] labelSelector matches the pod itself and not all pods of the group",
		"AbsentMatchLabelKey 0 [default/b] [] matchLabelKeys names rev, which the pod does not have: it is ignored",
		"AbsentMatchLabelKey 0 [default/b] [] matchLabelKeys names hash, which the pod does not have: it is ignored",
		"NodesWithoutKey 0 [default/a] [n1 n3] nodes without label rack: n1, n3",
		`UnknownAction 1 [default/b] [] whenUnsatisfiable is "X", neither DoNotSchedule nor ScheduleAnyway: the scheduler ignores the constraint, the API server refuses the pod`,
		`UnknownAction 1 [other/c] [] whenUnsatisfiable is "", neither DoNotSchedule nor ScheduleAnyway: the scheduler ignores the constraint, the API server refuses the pod`,
		"SelectorMissesPod 1 [other/c] [] labelSelector does not match the pod's own labels: placing it does not change the skew",
		"SelectorMissesGroup 1 [default/a default/b] [] labelSelector matches the pod itself and not all pods of the group",
		"NodesWithoutKey 1 [default/a] [n3 n4] nodes without label zone: n3, n4",
		"TooFewDomains 1 [default/a] [] 2 domains of zone, fewer than minDomains 5: no domain takes more than 1 matching pods",
		"NoSelector 2 [default/b] [] matchLabelKeys adds nothing to an absent labelSelector: no pod is counted, and the API server refuses the pod",
		"NoSelector 2 [other/c] [] labelSelector is absent or empty: no pod is counted",
		"InvalidSelector 3 [other/c] [] labelSelector cannot be converted",
		"NoSelector 3 [default/b] [] labelSelector is absent or empty: no pod is counted",
	}, texts(CheckGroup(group(by("rack", 1, soft, bogus), by("zone", 1, hard, minDomains(5))), f)))
}
