package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// show writes all that a run knows about pods, budgets and nodes. The order of a list does not count.
func (x *run) show(t *testing.T) (out []string) {
	add := func(format string, values ...any) { out = append(out, fmt.Sprintf(format, values...)) }
	item := func(list string, it *item) {
		text, err := json.Marshal([]any{it.obj, it.seen, it.node, it.path, it.budgets})
		require.NoError(t, err)
		add("%s: %s", list, text)
	}
	for name, items := range x.onNode {
		for _, it := range items {
			item("node "+name, it)
		}
	}
	for u, items := range x.ofUnit {
		for _, it := range items {
			item(fmt.Sprintf("unit %v", u), it)
		}
	}
	x.budgets.sync(x.scale, x.clock())
	for k, items := range x.budgets.pods {
		for _, it := range items {
			item("budget "+x.budgets.name(int32(k)), it)
		}
		status, err := json.Marshal(x.budgets.list[k].Status)
		require.NoError(t, err)
		add("budget %s: %s", x.budgets.name(int32(k)), status)
	}
	for _, it := range x.pending {
		item("pending", it)
	}
	for i := range x.snapshot.Len() {
		n, err := json.Marshal(x.snapshot.Node(i))
		require.NoError(t, err)
		add("slot %d: %s", i, n)
		for p := range x.snapshot.Pods(i) {
			text, err := json.Marshal(p)
			require.NoError(t, err)
			add("slot %d: %s", i, text)
		}
	}
	for c := range cluster.List[*v1.PersistentVolumeClaim](x.snapshot).All() {
		add("claim %s", c.Name)
	}
	add("%v, %d starting", x.now, len(x.starting))
	slices.Sort(out)
	return out
}

// A drain that is taken back leaves no trace, and neither does the search for the reason why it is stuck.
func TestBack(t *testing.T) {
	stuck := 0
	for seed := range uint64(40) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+8e6, 500))
		w := random(b)
		w.more(b)
		p := w.planner(t)
		o := p.complete(anyOptions(b))
		x := p.begin(o)
		for batch := range slices.Chunk(o.Nodes, o.Batch) {
			before := x.show(t)
			m := x.mark()
			d := x.drain(Replace, batch)
			if d.stuck == nil {
				x.snapshot.Commit(m.snapshot)
				x.settle(d)
				continue
			}
			stuck++
			during := x.show(t)
			found := x.deadlocks(d.stuck)
			require.NotEmpty(t, found)
			for k := range x.budgets.list {
				x.cycle(int32(k))
			}
			require.Equal(t, during, x.show(t))
			x.back(m)
			require.Equal(t, before, x.show(t))
		}
	}
	require.Greater(t, stuck, 30)
}

// Nodes that were taken out of a snapshot leave free slots, which change no plan.
func TestFreeSlots(t *testing.T) {
	for seed := range uint64(20) {
		plan := func(change func(*world)) *Plan {
			b := testkit.NewBytes(testkit.RandomBytes(seed+9e6, 500))
			w := random(b)
			w.more(b)
			change(w)
			o := anyOptions(b)
			s, err := cluster.New(w.objects)
			require.NoError(t, err)
			if gone := s.Slot("gone"); gone >= 0 {
				require.NoError(t, s.Remove(s.Node(gone)))
			}
			w.in.Snapshot = s
			p, err := New(w.in)
			require.NoError(t, err)
			got, err := p.Plan(o)
			require.NoError(t, err)
			return got
		}
		require.Equal(t, plan(func(*world) {}), plan(func(w *world) {
			w.objects.Nodes = append(w.objects.Nodes, testkit.Node("gone").Zone("a").Obj())
		}))
	}
}

// The controllers see a pod as its kubelet reports it: a pod on a node runs and is ready unless its status says otherwise, and a
// reference to a controller without a UID gets the UID that the plan invents.
func TestObserve(t *testing.T) {
	x := &run{}
	own := func(controller *bool, uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{Name: "web", Controller: controller, UID: uid}
	}
	pod := &v1.Pod{}
	pod.OwnerReferences = []metav1.OwnerReference{own(nil, ""), own(new(false), ""), own(new(true), ""), own(new(true), "old")}
	uids := func(u *unit) (out []string) {
		for _, r := range x.observe(pod, "", u).OwnerReferences {
			out = append(out, string(r.UID))
		}
		return out
	}
	require.Equal(t, []string{"", "", "", "old"}, uids(nil))
	require.Equal(t, []string{"", "", "u", "old"}, uids(&unit{uid: "u"}))
	require.Equal(t, []string{"", "", "u", "u"}, uids(&unit{uid: "u", invented: true}))
	require.Empty(t, pod.OwnerReferences[2].UID, "the pod of the input does not change")

	require.Equal(t, v1.PodStatus{}, x.observe(pod, "", nil).Status)
	running := x.observe(pod, "n1", nil)
	require.Equal(t, v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}, running.Status)
	require.Equal(t, "n1", running.Spec.NodeName)
	pod.Status = v1.PodStatus{Phase: v1.PodPending, Conditions: []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}}}
	require.False(t, ready(pod), "another condition is true")
	require.True(t, ready(x.observe(pod, "n1", nil)))
	require.Len(t, pod.Status.Conditions, 1)
	sick(pod)
	require.False(t, ready(x.observe(pod, "n1", nil)))
	now := withReady(pod, "n2")
	require.True(t, ready(now))
	require.Equal(t, []any{"n2", v1.PodRunning, 1}, []any{now.Spec.NodeName, now.Status.Phase, len(now.Status.Conditions)})
}

// Of the pods that leave, unready pods come first. Then lower priority, namespace, name and UID decide.
func TestLeaveOrder(t *testing.T) {
	list := []*item{}
	for _, unready := range []bool{true, false} {
		for _, priority := range []int32{-1, 5} {
			for _, name := range []string{"a/z/1", "b/a/2", "b/b/1", "b/b/2"} {
				part := strings.Split(name, "/")
				p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: part[0], Name: part[1], UID: types.UID(part[2])}}
				p.Spec.Priority = &priority
				if !unready {
					p = withReady(p, "n1")
				}
				list = append(list, &item{seen: p})
			}
		}
	}
	for i, a := range list {
		for j, b := range list {
			require.Equal(t, cmp.Compare(i, j), leaveOrder(a, b), "%d %d", i, j)
		}
	}
}

// A cordoned node has the taint that the node controller adds, an old node OldTaint, and a new node neither. Taints of others stay.
func TestNodesOfTheSteps(t *testing.T) {
	slow := testkit.Taints("disk=slow:NoSchedule")
	old, shut := testkit.Taints(OldTaint+":PreferNoSchedule"), testkit.Taints(v1.TaintNodeUnschedulable+":NoSchedule")
	n := testkit.Node("n1").Obj()
	n.Spec.Taints = slow
	aging := aged(n)
	require.Equal(t, slices.Concat(slow, old), aging.Spec.Taints)
	require.Equal(t, aging, aged(aging), "once")
	closed := cordoned(aging)
	require.Equal(t, slices.Concat(slow, old, shut), closed.Spec.Taints)
	require.True(t, closed.Spec.Unschedulable)
	require.Equal(t, closed, cordoned(closed))
	require.Equal(t, n, renewed(closed))
	require.Equal(t, slow, n.Spec.Taints)

	x := five("cpu=4").planner(t).begin(Options{})
	x.o.Shape = testkit.Node("n1").Zone("a").Obj()
	first := x.surged(1)
	require.Equal(t, "n1-surge-1", first.Name)
	require.Equal(t, "n1-surge-1", first.Labels[host])
	require.Equal(t, "n1", x.o.Shape.Labels[host])
	require.NoError(t, x.snapshot.Set(first))
	require.Equal(t, "n1-surge-1-more", x.surged(1).Name)
	delete(x.o.Shape.Labels, host)
	require.Equal(t, []string{zone}, slices.Collect(maps.Keys(x.surged(2).Labels)))
	x.o.Shape.Name = "n2"
	require.NoError(t, x.snapshot.Set(testkit.Node("n2-surge-1").Obj()))
	require.Equal(t, "n2-surge-1-more", x.surged(1).Name)
	w := five("cpu=4")
	w.objects.Nodes[0].Name = "n2-surge-1"
	x = w.planner(t).begin(Options{})
	x.o.Shape = testkit.Node("n2").Obj()
	require.Equal(t, "n2-surge-1-more", x.surged(1).Name, "the node of the first slot has the name")
}

// Without the caller's functions nothing takes time. Negative times count as none.
func TestNoTime(t *testing.T) {
	o := &Options{}
	require.Zero(t, o.start(nil, ""))
	require.Zero(t, o.renew(nil))
	o.Start = func(*v1.Pod, string) time.Duration { return -time.Second }
	o.Renew = func(*v1.Node) time.Duration { return -time.Second }
	require.Zero(t, o.start(nil, ""))
	require.Zero(t, o.renew(nil))

	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", func(s *v1.PodSpec) { s.TerminationGracePeriodSeconds = new(int64(-1)) })
	x := w.begun(t, Options{})
	require.Zero(t, x.stop(x.onNode["n1"][0]))
	x.o.Stop = func(*v1.Pod) time.Duration { return -time.Second }
	require.Zero(t, x.stop(x.onNode["n1"][0]))
}

// A list without an item has the other items in their order. The list itself does not change.
func TestWithout(t *testing.T) {
	a, b, c := &item{node: "a"}, &item{node: "b"}, &item{node: "c"}
	list := []*item{a, b, c}
	require.Equal(t, []*item{b, c}, without(list, a))
	require.Equal(t, []*item{a, c}, without(list, b))
	require.Equal(t, []*item{a, b}, without(list, c))
	require.Equal(t, []*item{a, b, c}, list)
}
