package taint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestHeartbeat(t *testing.T) {
	var c Config
	stamped := func(n *v1.Node, seconds float64) *v1.Node {
		n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(at(seconds))
		return n
	}
	n := stamped(ready("n", "", "True"), -1000)
	h := heartbeat{}.Observe(n, time.Time{}, start)
	require.Equal(t, start, h.Probe, "the first observation counts, the time of the node's clock does not")
	h = h.Observe(n, time.Time{}, at(5))
	require.Equal(t, start, h.Probe, "nothing new")
	h = h.Observe(stamped(n, -2000), time.Time{}, at(10))
	require.Equal(t, at(10), h.Probe, "another lastHeartbeatTime, even an earlier one")
	h = h.Observe(n, at(-50), at(15))
	require.Equal(t, at(15), h.Probe, "the lease advanced")
	h = h.Observe(n, at(-60), at(20))
	require.Equal(t, at(15), h.Probe, "the lease went back")
	require.False(t, h.Silent(at(65), c), "50 s are allowed")
	require.True(t, h.Silent(at(65.001), c), "more are not")
	require.True(t, h.Silent(at(55.001), Config{GracePeriod: 40 * time.Second}))
	h = h.Observe(ready("n", "", ""), at(-50), at(30))
	require.Equal(t, at(30), h.Probe, "the condition disappeared")

	fresh := ready("n", "", "")
	fresh.CreationTimestamp = metav1.NewTime(at(-10))
	h = heartbeat{}.Observe(fresh, time.Time{}, start)
	require.Equal(t, at(-10), h.Probe, "without a Ready condition: from creation")
	require.False(t, h.Silent(at(50), c), "60 s are allowed")
	require.True(t, h.Silent(at(50.001), c))
	require.Equal(t, at(-10), heartbeat{}.Observe(fresh, at(-1), start).Probe, "a lease does not count at the first observation of such a node")
	require.Equal(t, at(20), h.Observe(fresh, at(10), at(20)).Probe, "later it counts")
}

func TestWithUnknown(t *testing.T) {
	n := ready("n", "", "True")
	n.Status.Conditions = append(n.Status.Conditions,
		v1.NodeCondition{Type: v1.NodeNetworkUnavailable, Status: v1.ConditionFalse},
		v1.NodeCondition{Type: v1.NodeDiskPressure, Status: v1.ConditionTrue},
		v1.NodeCondition{Type: v1.NodePIDPressure, Status: v1.ConditionUnknown, Reason: "kept"})
	testkit.Unchanged(t, func() {
		got, changed := withUnknown(n, start)
		require.True(t, changed)
		var lines []string
		for _, c := range got.Status.Conditions {
			lines = append(lines, fmt.Sprint(c.Type, c.Status, c.Reason, c.Message))
		}
		require.Equal(t, []string{
			"ReadyUnknownNodeStatusUnknownKubelet stopped posting node status.",
			"NetworkUnavailableFalse",
			"DiskPressureUnknownNodeStatusUnknownKubelet stopped posting node status.",
			"PIDPressureUnknownkept",
			"MemoryPressureUnknownNodeStatusNeverUpdatedKubelet never posted node status.",
		}, lines)
		_, changed = withUnknown(got, at(1))
		require.False(t, changed)
	}, n)
}

// farm drives a nodeLifecycle whose nodes have names "ZONE-NUMBER".
type farm struct {
	t    *testing.T
	l    *nodeLifecycle
	down map[string]bool
	now  time.Duration
	log  []string
}

func newFarm(t *testing.T, zones map[string]int, c Config) *farm {
	l := newLifecycle(c)
	f := &farm{t: t, l: l, down: map[string]bool{}}
	for zone, n := range zones {
		for i := range n {
			l.SetNode(ready(fmt.Sprintf("%s-%03d", zone, i), zone, "True"), start)
		}
	}
	return f
}

// run lets time pass until the given second. Nodes that are not down renew their leases before every pass.
func (f *farm) run(seconds float64, names ...string) {
	for until := time.Duration(seconds * float64(time.Second)); f.now <= until; f.now += ServePeriod {
		now := start.Add(f.now)
		if f.now%(5*time.Second) == 0 {
			for _, name := range names {
				if !f.down[name] {
					f.l.Renew(name, now)
				}
			}
			f.write(f.l.Pass(now))
		}
		f.write(f.l.Serve(now))
	}
}

func (f *farm) write(c lifecycleChanges) {
	for _, n := range c.Nodes {
		for _, tn := range n.Added {
			if tn.Effect == v1.TaintEffectNoExecute {
				f.log = append(f.log, fmt.Sprintf("%v +%s %s", f.now.Seconds(), n.Node.Name, strings.TrimPrefix(tn.Key, "node.kubernetes.io/")))
			}
		}
		for _, tn := range n.Removed {
			if tn.Effect == v1.TaintEffectNoExecute {
				f.log = append(f.log, fmt.Sprintf("%v -%s %s", f.now.Seconds(), n.Node.Name, strings.TrimPrefix(tn.Key, "node.kubernetes.io/")))
			}
		}
	}
	for _, z := range c.Zones {
		line := fmt.Sprintf("%v zone %s %v %v", f.now.Seconds(), strings.TrimPrefix(z.Zone, "/"), z.To, z.Rate)
		if z.Halted {
			line += " halted"
		}
		f.log = append(f.log, line)
	}
}

func names(zones map[string]int) []string {
	var list []string
	for zone, n := range zones {
		for i := range n {
			list = append(list, fmt.Sprintf("%s-%03d", zone, i))
		}
	}
	return list
}

// fall makes the kubelets of the first n nodes of a zone silent.
func (f *farm) fall(zone string, n int) {
	for i := range n {
		f.down[fmt.Sprintf("%s-%03d", zone, i)] = true
	}
}

func (f *farm) rise(zone string, i int) {
	name := fmt.Sprintf("%s-%03d", zone, i)
	delete(f.down, name)
	n := f.l.Node(name).DeepCopy()
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].Status = map[bool]v1.ConditionStatus{true: "True", false: "False"}[n.Status.Conditions[i].Type == v1.NodeReady]
		n.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(start.Add(f.now))
	}
	f.write(f.l.SetNode(n, start.Add(f.now)))
}

func TestZones(t *testing.T) {
	three := map[string]int{"z1": 10, "z2": 10, "z3": 10}

	t.Run("9.1", func(t *testing.T) {
		f := newFarm(t, three, Config{})
		f.fall("z1", 6)
		f.run(300, names(three)...)
		require.Equal(t, []string{"55 zone z1 PartialDisruption 0"}, f.log, "nobody gets a NoExecute taint")
		require.Equal(t, "node.kubernetes.io/unreachable:NoSchedule", f.l.Node("z1-000").Spec.Taints[0].ToString(), "only NoSchedule")
		_, _, waiting := f.l.Zone("/z1")
		require.Len(t, waiting, 6)
	})
	t.Run("9.2", func(t *testing.T) {
		f := newFarm(t, three, Config{})
		f.fall("z1", 10)
		f.run(80, names(three)...)
		require.Equal(t, []string{"55 zone z1 FullDisruption 0.1", "55 +z1-000 unreachable", "65 +z1-001 unreachable", "75 +z1-002 unreachable"},
			f.log, "one node in 10 s")
	})
	t.Run("9.3 partial", func(t *testing.T) {
		large := map[string]int{"z1": 60, "z2": 3}
		f := newFarm(t, large, Config{})
		f.fall("z1", 33)
		f.run(260, names(large)...)
		require.Equal(t, []string{"55 zone z1 PartialDisruption 0.01", "55 +z1-000 unreachable", "155.1 +z1-001 unreachable", "255.2 +z1-002 unreachable"},
			f.log, "one node in 100 s and a little more, because 0.01 is rounded down to a float32: it is the next service")
	})
	t.Run("9.3 normal", func(t *testing.T) {
		large := map[string]int{"z1": 60, "z2": 3}
		f := newFarm(t, large, Config{})
		f.fall("z1", 32)
		f.run(76, names(large)...)
		require.Equal(t, []string{"55 +z1-000 unreachable", "65 +z1-001 unreachable", "75 +z1-002 unreachable"}, f.log, "0.533 is normal")
	})
	t.Run("9.4", func(t *testing.T) {
		f := newFarm(t, three, Config{})
		f.fall("z1", 10)
		f.run(64.9, names(three)...)
		f.fall("z2", 10)
		f.fall("z3", 10)
		f.run(200, names(three)...)
		require.True(t, f.l.Halted())
		f.log = nil
		f.run(400, names(three)...)
		require.Empty(t, f.log, "a partition of the control plane taints nobody")
		for _, name := range names(three) {
			require.NotContains(t, fmt.Sprint(f.l.Node(name).Spec.Taints), "NoExecute", "taken back")
		}
		f.rise("z2", 0)
		f.run(405, names(three)...)
		require.False(t, f.l.Halted())
		require.Equal(t, []string{"405 zone z1 FullDisruption 0.1", "405 zone z2 PartialDisruption 0", "405 zone z3 FullDisruption 0.1"}, f.log)
		f.log = nil
		f.run(425, names(three)...)
		require.Equal(t, []string{"415 +z1-000 unreachable", "415 +z3-000 unreachable", "425 +z1-001 unreachable", "425 +z3-001 unreachable"}, f.log,
			"the buckets start empty, and the next pass queues the nodes that are Unknown")
	})
	t.Run("9.5", func(t *testing.T) {
		two := map[string]int{"z1": 3}
		f := newFarm(t, two, Config{})
		n := f.l.Node("z1-000").DeepCopy()
		n.Status.Conditions[0].Status = v1.ConditionFalse
		f.l.SetNode(n, start)
		f.run(0, names(two)...)
		require.Equal(t, []string{"0 +z1-000 not-ready"}, f.log)
		f.fall("z1", 1)
		f.run(60, names(two)...)
		require.Equal(t, []string{"0 +z1-000 not-ready", "55 +z1-000 unreachable", "55 -z1-000 not-ready"}, f.log, "the taint is swapped at once")
	})
	t.Run("9.6", func(t *testing.T) {
		two := map[string]int{"z1": 2}
		f := newFarm(t, two, Config{})
		f.fall("z1", 1)
		f.run(60, names(two)...)
		require.Equal(t, []string{"55 +z1-000 unreachable"}, f.log, "one of two is normal")
	})
	t.Run("new zone", func(t *testing.T) {
		f := newFarm(t, map[string]int{"z1": 3}, Config{})
		f.run(0, "z1-000", "z1-001", "z1-002")
		all := names(map[string]int{"z1": 3, "z2": 5})
		for i, status := range []v1.ConditionStatus{"False", "False", "True", "True", "True"} {
			f.write(f.l.SetNode(ready(fmt.Sprintf("z2-%03d", i), "z2", status), start))
		}
		f.run(21, all...)
		require.Equal(t, []string{"5 +z2-000 not-ready", "15 +z2-001 not-ready"}, f.log, "one node in 10 s, and no line about the zone's rate, which stays")
	})
	t.Run("9.7", func(t *testing.T) {
		f := newFarm(t, map[string]int{"z1": 1}, Config{})
		for i := range 3 {
			n := ready(fmt.Sprintf("z1-10%d", i), "z1", "True")
			n.Labels[excludeLabel] = "x"
			f.l.SetNode(n, start)
		}
		f.run(60, "z1-000")
		require.Equal(t, []string{"55 +z1-100 unreachable"}, f.log, "three of four nodes are down and not counted, but they get taints")
	})
	t.Run("one node dies", func(t *testing.T) {
		one := map[string]int{"z1": 1}
		f := newFarm(t, one, Config{})
		f.fall("z1", 1)
		f.run(600, names(one)...)
		require.Equal(t, []string{"55 zone z1 FullDisruption 0 halted"}, f.log, "a cluster that is down completely never evicts")
	})
	t.Run("full disruption rate", func(t *testing.T) {
		slow := float32(0.02)
		f := newFarm(t, three, Config{FullDisruptionRate: &slow})
		f.fall("z1", 10)
		f.run(110, names(three)...)
		require.Equal(t, []string{"55 zone z1 FullDisruption 0.02", "55 +z1-000 unreachable", "105.1 +z1-001 unreachable"}, f.log, "by option")
	})
	t.Run("recovery", func(t *testing.T) {
		f := newFarm(t, three, Config{})
		f.fall("z1", 2)
		f.run(60, names(three)...)
		f.rise("z1", 0)
		f.rise("z1", 1)
		f.run(80, names(three)...)
		require.Equal(t, []string{"55 +z1-000 unreachable", "65 -z1-000 unreachable"}, f.log, "the taint goes, the waiting node leaves the queue")
		require.Empty(t, f.l.Node("z1-000").Spec.Taints)
	})
	t.Run("tainted already", func(t *testing.T) {
		f := newFarm(t, three, Config{})
		for _, name := range []string{"z1-000", "z1-001"} {
			n := f.l.Node(name).DeepCopy()
			n.Status.Conditions[0].Status = v1.ConditionFalse
			if name == "z1-000" {
				n.Spec.Taints = taintsOf("node.kubernetes.io/not-ready")
			}
			f.l.SetNode(n, start)
		}
		f.run(30, names(three)...)
		require.Equal(t, []string{"10 +z1-001 not-ready"}, f.log, "a node that already has its taint takes a token too")
	})
	t.Run("deleted node", func(t *testing.T) {
		f := newFarm(t, three, Config{})
		f.fall("z1", 3)
		f.run(60, names(three)...)
		f.l.DeleteNode("z1-001")
		f.run(70, names(three)...)
		require.Equal(t, []string{"55 +z1-000 unreachable", "65 +z1-002 unreachable"}, f.log, "it leaves the queue: the node behind it is next")
		_, _, waiting := f.l.Zone("/z1")
		require.Empty(t, waiting)
		f.write(f.l.SetNode(ready("z1-001", "z1", "False"), start.Add(f.now)))
		f.run(80, names(three)...)
		require.Equal(t, "75 +z1-001 not-ready", f.log[len(f.log)-1], "a new node of that name is queued like any other")
	})
	t.Run("a zone of excluded nodes", func(t *testing.T) {
		one := map[string]int{"z1": 1, "z2": 1}
		f := newFarm(t, one, Config{})
		n := f.l.Node("z2-000").DeepCopy()
		n.Labels[excludeLabel] = ""
		f.l.SetNode(n, start)
		f.fall("z1", 1)
		f.run(100, names(one)...)
		require.Equal(t, []string{"55 zone z1 FullDisruption 0 halted", "55 zone z2 Initial 0 halted"}, f.log, "a ready node that is not counted does not keep its zone up")
	})
	t.Run("zone label changes", func(t *testing.T) {
		f := newFarm(t, three, Config{})
		f.fall("z1", 3)
		f.run(56, names(three)...)
		n := f.l.Node("z1-002").DeepCopy()
		n.Labels[v1.LabelTopologyZone] = "z2"
		f.l.SetNode(n, start.Add(f.now))
		f.run(60, names(three)...)
		_, _, old := f.l.Zone("/z1")
		require.Equal(t, []string{"z1-001", "z1-002"}, old, "it stays in the old zone's queue")
		require.Contains(t, f.log, "60 +z1-002 unreachable", "and is counted and queued in the new zone from the next pass")
		f.rise("z1", 2)
		f.run(65, names(three)...)
		_, _, old = f.l.Zone("/z1")
		require.NotContains(t, old, "z1-002", "a Ready transition removes it")
	})
}

// TestNotReadyPods: when Ready changes from True to something else, the pods are marked once.
func TestNotReadyPods(t *testing.T) {
	l := newLifecycle(Config{})
	n := ready("n", "", "True")
	l.SetNode(n, start)
	l.SetNode(ready("m", "", "True"), start)
	require.Empty(t, l.Pass(start).Nodes)
	n = n.DeepCopy()
	n.Status.Conditions[0].Status = v1.ConditionFalse
	c := l.SetNode(n, at(1))
	require.Len(t, c.Nodes, 1)
	require.Equal(t, "node.kubernetes.io/not-ready:NoSchedule", c.Nodes[0].Added[0].ToString(), "at once")
	c = l.Pass(at(5))
	require.Len(t, c.Nodes, 1)
	require.True(t, c.Nodes[0].NotReady)
	require.Empty(t, l.Pass(at(10)).Nodes)
	require.Nil(t, l.Node("unknown"))
	l.Renew("unknown", start)
	state, rate, waiting := l.Zone("unknown")
	require.Equal(t, zoneInitial, state)
	require.Zero(t, rate)
	require.Empty(t, waiting)
}

// While all zones are down no node is queued. When a zone comes back, the next pass queues the nodes that are not ready, and a node that
// was silent all the time has a new grace period.
func TestZonesComeBack(t *testing.T) {
	fast := float32(1)
	l := played(t, Input{Nodes: []*v1.Node{ready("a", "z", "True"), ready("b", "z", "True")}, Until: 2 * time.Minute, Config: Config{EvictionRate: &fast}, Events: []Event{
		{At: after(1), Node: "a", Condition: v1.NodeReady, Status: v1.ConditionFalse},
		{At: after(1), Node: "b", Condition: v1.NodeReady, Status: v1.ConditionFalse},
		{At: after(2), Node: "b", Heartbeats: HeartbeatsStop},
		{At: after(41), Node: "a", Condition: v1.NodeReady, Status: v1.ConditionTrue},
	}})
	require.Equal(t, []string{
		"1 tainted a  not-ready:NoSchedule",
		"1 tainted b  not-ready:NoSchedule",
		"5 zone /z  Normal to FullDisruption, 0 nodes a second, all zones are down",
		"45 zone /z  FullDisruption to Normal, 1 nodes a second",
		"50 tainted b  not-ready:NoExecute",
		"100 unknown b  Kubelet stopped posting node status.",
		"100 tainted b  unreachable:NoSchedule",
		"100 tainted b  unreachable:NoExecute",
	}, lines(l, "zone tainted unknown"))
}
