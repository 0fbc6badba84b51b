package taint

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Each event of the list comes before all that follow it.
func TestEventOrder(t *testing.T) {
	yes, no := true, false
	list := []Event{
		{Node: "n9", Deleted: true},
		{At: after(1), Node: "n1", Heartbeats: HeartbeatsResume},
		{At: after(1), Node: "n1", Heartbeats: HeartbeatsStop},
		{At: after(1), Node: "n1", Condition: "A", Status: v1.ConditionTrue},
		{At: after(1), Node: "n1", Condition: "B", Status: v1.ConditionFalse},
		{At: after(1), Node: "n1", Condition: "B", Status: v1.ConditionTrue},
		{At: after(1), Node: "n1", Unschedulable: &no},
		{At: after(1), Node: "n1", Unschedulable: &yes},
		{At: after(1), Node: "n1", Taint: "x:NoExecute-"},
		{At: after(1), Node: "n1", Taint: "y-"},
		{At: after(1), Node: "n1", Taint: "a:NoExecute"},
		{At: after(1), Node: "n1", Taint: "b:NoExecute"},
		{At: after(1), Node: "n1", Deleted: true},
		{At: after(1), Node: "n2", Heartbeats: HeartbeatsResume},
		{At: after(2), Node: "n1", Heartbeats: HeartbeatsResume},
	}
	for i := range list {
		for j := range list {
			require.Equal(t, cmp.Compare(i, j), compareEvents(list[i], list[j]), "%+v and %+v", list[i], list[j])
		}
	}
}

// A pod leaves once, at the end of its time; a forecast up to an earlier moment is the beginning of one up to a later.
func TestShorterForecast(t *testing.T) {
	in := Input{Nodes: []*v1.Node{ready("n1", "a", "True"), ready("n2", "a", "True")}, Pods: []*v1.Pod{podOn("n1", "leaves", tolerationsOf("x:10")), podOn("n2", "stays", tolerationsOf("x:10"))}, Until: time.Minute, Events: []Event{
		{At: after(1), Node: "n1", Taint: "x:NoExecute"},
		{At: after(2), Node: "n2", Taint: "x:NoExecute"},
		{At: after(5), Node: "n2", Taint: "x-"},
	}}
	want := []string{"1 started n1 leaves", "2 started n2 stays", "5 cancelled n2 stays", "11 evicted n1 leaves"}
	for n, until := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 11 * time.Second, time.Minute} {
		in.Until = until
		got := lines(played(t, in), podEntries)
		require.Len(t, got, min(n+1, len(want)), until)
		for k := range got {
			require.True(t, strings.HasPrefix(got[k], want[k]), "%s: %s", until, got[k])
		}
	}
}

// Entries of one moment come by the names of nodes and pods, whatever the order of the input.
func TestForecastOrder(t *testing.T) {
	first, second := ready("n1", "a", "True"), ready("n2", "a", "True")
	for _, n := range []*v1.Node{first, second} {
		n.Spec.Unschedulable = true
		n.Spec.Taints = taintsOf("x:NoExecute")
	}
	other := podOn("n2", "a", nil)
	other.Namespace = "e"
	l := played(t, Input{Nodes: []*v1.Node{second, first}, Pods: []*v1.Pod{other, podOn("n2", "b", nil), podOn("n1", "c", nil)}, Until: time.Second})
	require.Equal(t, `AT  NODE  POD  WHAT     CAUSE
0s  n1    -    tainted  node.kubernetes.io/unschedulable:NoSchedule
0s  n2    -    tainted  node.kubernetes.io/unschedulable:NoSchedule
0s  n2    d/b  evicted  x:NoExecute: not tolerated
0s  n1    d/c  evicted  x:NoExecute: not tolerated
0s  n2    e/a  evicted  x:NoExecute: not tolerated
`, l.String())
}

func TestForecastMoments(t *testing.T) {
	in := Input{Nodes: []*v1.Node{ready("n1", "a", "True")}, Events: []Event{{At: after(7), Node: "n1", Taint: "x:NoSchedule"}}, Until: 7 * time.Second}
	require.Len(t, played(t, in).Entries, 1, "a forecast includes its last moment")

	rate := float32(0.3)
	in = Input{Config: Config{EvictionRate: &rate}, Until: 9 * time.Second, Events: []Event{
		{At: after(1), Node: "n1", Condition: v1.NodeReady, Status: v1.ConditionFalse}, {At: after(1), Node: "n2", Condition: v1.NodeReady, Status: v1.ConditionFalse},
		{At: after(8.35), Node: "n3", Taint: "x:NoSchedule"},
	}}
	for _, name := range []string{"n1", "n2", "n3", "n4", "n5"} {
		in.Nodes = append(in.Nodes, ready(name, "a", "True"))
	}
	require.Equal(t, []string{"1 tainted n1  not-ready:NoSchedule", "1 tainted n2  not-ready:NoSchedule", "5 tainted n1  not-ready:NoExecute",
		"8.4 tainted n2  not-ready:NoExecute"}, lines(played(t, in), "tainted"), "an event between two services does not serve the queue, which could go on from 8.333 s")

	require.Empty(t, Input{Until: maxPasses*5*time.Second + 4*time.Second}.validate(), "the last whole period counts")
	require.NotEmpty(t, Input{Until: maxPasses*5*time.Second + 5*time.Second}.validate())
	_, err := Forecast(Input{Config: Config{MonitorPeriod: -1}})
	require.EqualError(t, err, `config.monitorPeriod: Invalid value: "-1ns": must not be negative; 0 is the default`)
}

// What an event changes of a node.
func TestApply(t *testing.T) {
	begin, later := at(0), at(9)
	node := ready("n", "a", "True")
	setCondition(node, v1.NodeReady, v1.ConditionTrue, begin)
	setCondition(node, v1.NodeDiskPressure, v1.ConditionTrue, begin)
	setCondition(node, v1.NodePIDPressure, v1.ConditionFalse, begin)
	got := Event{Heartbeats: HeartbeatsResume}.apply(node, later)
	find := func(n *v1.Node, kind v1.NodeConditionType) v1.NodeCondition {
		i := slices.IndexFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == kind })
		require.GreaterOrEqual(t, i, 0, kind)
		return n.Status.Conditions[i]
	}
	for kind, want := range map[v1.NodeConditionType]struct {
		status  v1.ConditionStatus
		changed time.Time
	}{
		v1.NodeReady:          {v1.ConditionTrue, find(node, v1.NodeReady).LastTransitionTime.Time},
		v1.NodeDiskPressure:   {v1.ConditionFalse, later},
		v1.NodePIDPressure:    {v1.ConditionFalse, begin},
		v1.NodeMemoryPressure: {v1.ConditionFalse, later},
	} {
		c := find(got, kind)
		require.Equal(t, want.status, c.Status, kind)
		require.Equal(t, want.changed, c.LastTransitionTime.Time, kind)
		require.Equal(t, later, c.LastHeartbeatTime.Time, kind)
	}
	require.Equal(t, v1.ConditionTrue, find(node, v1.NodeDiskPressure).Status, "the node itself stays")
}

// The next service is the earliest of all zones. The zones are kept in a map, so that each round may see another order.
func TestNextServe(t *testing.T) {
	l := newLifecycle(Config{})
	_, ok := l.NextServe(start)
	require.False(t, ok)
	l.Pass(start)
	require.False(t, l.Halted(), "without nodes nothing is down")
	for name, rate := range map[string]float32{"a": 0.5, "b": 0.25, "c": 0.125, "never": 0, "tiny": 1e-12} {
		z := &zone{limiter: newTokenBucket(rate, start)}
		z.limiter.Accept(start)
		z.queue.Add("n-"+name, start)
		l.zones[name] = z
	}
	l.zones["idle"] = &zone{limiter: newTokenBucket(9, start)}
	for range 20 {
		next, ok := l.NextServe(start)
		require.True(t, ok)
		require.Equal(t, at(2), next)
	}
	tiny := l.zones["tiny"].limiter
	require.False(t, tiny.Would(start))
	next, ok := tiny.Next(start)
	require.True(t, ok)
	require.Equal(t, start.Add(math.MaxInt64), next, "after the end of all durations")
}

// A pod of the same name that goes to an unknown node still cancels the timer of its predecessor.
func TestReplacedOnUnknownNode(t *testing.T) {
	timers := NewTimers(Options{})
	timers.SetNode(nodeWith("n", taintsOf("x:NoExecute")), start)
	old := podOn("n", "p", tolerationsOf("x:9"))
	old.UID = "1"
	require.Len(t, timers.SetPod(old, start), 1)
	fresh := old.DeepCopy()
	fresh.UID, fresh.Spec.NodeName = "2", "unknown"
	require.Equal(t, []Action{{What: EntryCancelled, At: at(1), Pod: types.NamespacedName{Namespace: "d", Name: "p"}, UID: "1", Node: "n", Fire: at(9)}}, timers.SetPod(fresh, at(1)))
}

// The kinds of events have the numbers of the list.
func TestRanks(t *testing.T) {
	yes := true
	for i, e := range []Event{{Heartbeats: HeartbeatsStop}, {Condition: v1.NodeReady}, {Unschedulable: &yes}, {Taint: "k:NoExecute-"}, {Taint: "k:NoExecute"}, {Deleted: true}} {
		require.Equal(t, i+1, e.rank())
	}
}
