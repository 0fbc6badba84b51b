package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// A pod of an unknown scheduler: the cause names both schedulers, and the edit is tried on a copy.
func TestUnknownScheduler(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()})
	require.NoError(t, err)
	pod := testkit.Pod("p").Obj()
	pod.Spec.SchedulerName = "volcano"
	before := pod.DeepCopy()
	cause, r, err := Bypassed(Input{Snapshot: s}, pod)
	require.NoError(t, err)
	require.Equal(t, []string{"volcano", v1.DefaultSchedulerName}, []string{cause.Wanted, cause.Found})
	require.Equal(t, "start volcano, or Pod default/p, made again: spec.schedulerName: default-scheduler: then it goes to n1", r.Text)
	require.Equal(t, before, pod)
}

// Ranking keeps the order of the list that it gets.
func TestRankedSharesNothing(t *testing.T) {
	list := []Relaxation{{Node: "b", Changes: []Change{{Kind: Tolerate}}}, {Node: "a", Changes: []Change{{Kind: AddNode}}}}
	cause := &Cause{Type: causeReserved}
	var order string
	for _, r := range ranked(list, cause) {
		order += r.Node
	}
	require.Equal(t, "ab", order)
	require.Equal(t, "b", list[0].Node)
}

// Pods of one StatefulSet are equals though their names stand in their labels, which stay theirs.
func TestGroupOfLabels(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()})
	require.NoError(t, err)
	first, second := testkit.Pod("db-0").Labels("app=db,"+appsv1.StatefulSetPodNameLabel+"=db-0").Obj(), testkit.Pod("db-1").Labels("app=db,"+appsv1.StatefulSetPodNameLabel+"=db-1").Obj()
	testkit.Unchanged(t, func() { require.Equal(t, groupOf(s, first), groupOf(s, second)) }, first, second)
	other := testkit.Pod("web-0").Labels("app=web," + appsv1.StatefulSetPodNameLabel + "=db-0").Obj()
	require.NotEqual(t, groupOf(s, first), groupOf(s, other))
}

// How many pods of an owner run is said of how many.
func TestThen(t *testing.T) {
	for want, o := range map[string]outcome{
		": then it goes to n1": {of: 1, run: 1, node: "n1"},
		": then 1 of 3 runs":   {of: 3, run: 1, node: "n1"},
		": then 2 of 3 run":    {of: 3, run: 2, node: "n1"},
	} {
		require.Equal(t, want, o.then(false))
	}
	require.Equal(t, ": then it runs there", outcome{of: 1, run: 1}.then(true))
}

// The alternatives of a request have classes of their own.
func TestRequestsOf(t *testing.T) {
	claim := &resourcev1.ResourceClaim{}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "x"}},
		{Name: "s", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "big", DeviceClassName: "y"}, {Name: "small", DeviceClassName: "z"}}},
	}
	require.Equal(t, []askedDevices{
		{"r", "spec.devices.requests[0].exactly", "x", nil},
		{"s/big", "spec.devices.requests[1].firstAvailable[0]", "y", nil},
		{"s/small", "spec.devices.requests[1].firstAvailable[1]", "z", nil},
	}, requestsOf(claim))
}

// Of the pods that are said to wait, those count that do: not one that is leaving, has a node or is another scheduler's.
func TestCrew(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()})
	require.NoError(t, err)
	pod, waits, foreign := testkit.Pod("p").Obj(), testkit.Pod("waits").Obj(), testkit.Pod("foreign").Obj()
	foreign.Spec.SchedulerName = "volcano"
	d := &diagnosis{pod: pod, base: s, profile: placement.DefaultProfile()}
	c := d.crewOf(Input{Pending: []*v1.Pod{nil, testkit.Pod("leaving").Terminating().Obj(), testkit.Pod("placed").On("n1").Obj(), foreign, waits}})
	require.Equal(t, []*v1.Pod{waits, pod}, c.queue)
	require.True(t, c.mine[pod])
	require.False(t, c.mine[waits])
}
