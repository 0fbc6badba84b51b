package edit

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// withConditions sets conditions written "Type=Status".
func withConditions(n *v1.Node, conditions ...string) *v1.Node {
	for _, c := range conditions {
		kind, status, _ := strings.Cut(c, "=")
		n.Status.Conditions = append(n.Status.Conditions,
			v1.NodeCondition{Type: v1.NodeConditionType(kind), Status: v1.ConditionStatus(status)})
	}
	return n
}

func formats(list []v1.Taint) string {
	var ss []string
	for _, t := range list {
		ss = append(ss, t.ToString())
	}
	return strings.ReplaceAll(strings.Join(ss, " "), "node.kubernetes.io/", "")
}

func TestConditionKey(t *testing.T) {
	want := map[string]string{
		"Ready=False": "not-ready", "Ready=Unknown": "unreachable", "MemoryPressure=True": "memory-pressure",
		"DiskPressure=True": "disk-pressure", "PIDPressure=True": "pid-pressure", "NetworkUnavailable=True": "network-unavailable",
	}
	for _, kind := range []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "OutOfDisk"} {
		for _, status := range []string{"True", "False", "Unknown", ""} {
			key := want[kind+"="+status]
			if key != "" {
				key = "node.kubernetes.io/" + key
			}
			require.Equal(t, key, conditionKey(v1.NodeConditionType(kind), v1.ConditionStatus(status)), "%s=%s", kind, status)
		}
	}
}

func TestConditionTaints(t *testing.T) {
	const p = "node.kubernetes.io/"
	type test struct {
		name              string
		node              *v1.Node
		add, remove, then string
		why               string
	}
	cases := []test{
		{"T-70", withConditions(node(p+"memory-pressure:NoSchedule", "a=b:NoSchedule"), "Ready=Unknown", "MemoryPressure=Unknown", "DiskPressure=True"),
			"unreachable:NoSchedule disk-pressure:NoSchedule", "memory-pressure:NoSchedule",
			"a=b:NoSchedule unreachable:NoSchedule disk-pressure:NoSchedule", "pressure Unknown gives no taint, foreign keys stay"},
		{"T-73", withConditions(node(p+"not-ready=2:NoSchedule", p+"disk-pressure:NoSchedule"), "Ready=False"),
			"", "disk-pressure:NoSchedule", "not-ready=2:NoSchedule", "key and effect are compared, the value is not"},
		{"cordon last", cordoned(withConditions(node(), "PIDPressure=True", "NetworkUnavailable=True")),
			"pid-pressure:NoSchedule network-unavailable:NoSchedule unschedulable:NoSchedule", "",
			"pid-pressure:NoSchedule network-unavailable:NoSchedule unschedulable:NoSchedule", "conditions in their order, then cordoning"},
		{"user taint removed", withConditions(node(p+"unschedulable:NoSchedule", p+"not-ready:NoExecute"), "Ready=True"),
			"", "unschedulable:NoSchedule", "not-ready:NoExecute", "managed keys are removed when nothing asks for them; other effects stay"},
		{"no condition", node(p + "not-ready:NoSchedule"), "", "not-ready:NoSchedule", "", "nothing asks for the taint"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		testkit.Unchanged(t, func() {
			after, add, remove := MirrorConditions(c.node, noon)
			require.Equal(t, c.add, formats(add))
			require.Equal(t, c.remove, formats(remove))
			require.Equal(t, c.then, formats(after.Spec.Taints))
			for _, tn := range after.Spec.Taints {
				if hasTaint(add, &tn) {
					require.Equal(t, noon, tn.TimeAdded.Time, "added taints carry the time")
				}
			}
			again, add, remove := MirrorConditions(after, noon)
			require.Same(t, after, again)
			require.Empty(t, append(add, remove...), "a second time there is nothing to do")
		}, c.node)
	})
}

// One taint comes and another goes in one change.
func TestMirrorSwap(t *testing.T) {
	const p = "node.kubernetes.io/"
	n := withConditions(node(p+"memory-pressure:NoSchedule"), "DiskPressure=True")
	after, added, removed := MirrorConditions(n, noon)
	require.Equal(t, "disk-pressure:NoSchedule", formats(after.Spec.Taints))
	require.Equal(t, []int{1, 1}, []int{len(added), len(removed)})
}

func TestHealth(t *testing.T) {
	const p = "node.kubernetes.io/"
	type test struct {
		name   string
		node   *v1.Node
		ready  v1.ConditionStatus
		queue  bool
		wants  string
		result string
		why    string
	}
	cases := []test{
		{"false", node(), v1.ConditionFalse, true, "not-ready", "", "waits for its turn"},
		{"unknown", node(), v1.ConditionUnknown, true, "unreachable", "", "waits for its turn"},
		{"swap to unreachable", node(p + "not-ready:NoExecute"), v1.ConditionUnknown, false, "unreachable", "unreachable:NoExecute", "the opposite taint is swapped at once"},
		{"swap to not-ready", node("a:NoExecute", p+"unreachable:NoExecute"), v1.ConditionFalse, false, "not-ready", "a:NoExecute not-ready:NoExecute", "other taints stay"},
		{"both", node(p+"unreachable:NoExecute", p+"not-ready:NoExecute"), v1.ConditionFalse, false, "not-ready", "not-ready:NoExecute", "only the opposite one goes"},
		{"there already", node(p + "not-ready:NoExecute"), v1.ConditionFalse, true, "not-ready", "not-ready:NoExecute", "queued all the same"},
		{"recovered", node(p+"not-ready:NoExecute", p+"unreachable:NoExecute", p+"not-ready:NoSchedule"), v1.ConditionTrue, false, "", "not-ready:NoSchedule", "both NoExecute taints go at once"},
		{"ready", node("a:NoExecute"), v1.ConditionTrue, false, "", "a:NoExecute", "no taint goes"},
		{"no status", node(p + "not-ready:NoExecute"), "", false, "", "not-ready:NoExecute", "an unknown status does nothing"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		testkit.Unchanged(t, func() {
			h := Health(c.node, c.ready)
			require.Equal(t, c.queue, h.Queue)
			require.Equal(t, c.wants, strings.TrimPrefix(h.Wants, p))
			for _, gone := range h.Remove {
				require.Contains(t, c.node.Spec.Taints, gone, "only taints that are there go")
			}
			require.Equal(t, c.result, formats(h.Apply(c.node, noon).Spec.Taints))
		}, c.node)
	})
}

func TestReady(t *testing.T) {
	_, ok := Ready(withConditions(node(), "DiskPressure=True"))
	require.False(t, ok)
	status, ok := Ready(withConditions(node(), "DiskPressure=True", "Ready=Unknown"))
	require.True(t, ok)
	require.Equal(t, v1.ConditionUnknown, status)
	status, ok = Ready(withConditions(node(), "Ready=False", "DiskPressure=True"))
	require.True(t, ok)
	require.Equal(t, v1.ConditionFalse, status, "wherever the taint is in the list")
}

func TestSets(t *testing.T) {
	list := taintList("a=1:NoSchedule", "b:NoExecute")
	require.Equal(t, "a=2:NoSchedule b:NoExecute", formats(AddOrUpdate(list, taint("a=2:NoSchedule"))), "replaced in place")
	later := taint("a=1:NoSchedule")
	later.TimeAdded = &metav1.Time{Time: noon}
	require.Equal(t, noon, AddOrUpdate(list, later)[0].TimeAdded.Time, "all fields are replaced")
	require.Equal(t, "a=1:NoSchedule b:NoExecute a:NoExecute", formats(AddOrUpdate(list, taint("a:NoExecute"))), "another effect is another taint")
	require.Equal(t, "a=1:NoSchedule b:NoExecute", formats(list), "the argument is unchanged")

	got, n := Remove(taintList("a:NoSchedule", "b:NoSchedule", "a:NoExecute"), "a", "")
	require.Equal(t, 2, n)
	require.Equal(t, "b:NoSchedule", formats(got))
	got, n = Remove(got, "b", v1.TaintEffectNoExecute)
	require.Equal(t, 0, n)
	require.Equal(t, "b:NoSchedule", formats(got))
}
