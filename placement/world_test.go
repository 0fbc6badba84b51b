package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// world makes random clusters and pods from few names and values, so that pods compete.
type world struct {
	r     *rand.Rand
	next  int
	calls asked // counts the work of plans; nil: nothing is counted
}

func (w *world) pick(list ...string) string { return list[w.r.IntN(len(list))] }
func (w *world) chance(n int) bool          { return w.r.IntN(n) == 0 }

func (w *world) node(name string) *v1.Node {
	b := testkit.Node(name).Capacity(fmt.Sprintf("cpu=%d,memory=%dGi,pods=%d", 2+w.r.IntN(6), 2+w.r.IntN(6), 2+w.r.IntN(8)))
	if !w.chance(8) {
		b = b.Zone(w.pick("a", "b", "c"))
	}
	if w.chance(3) {
		b = b.Label("disk", w.pick("ssd", "hdd"))
	}
	if w.chance(4) {
		b = b.Taint(w.pick("k=v:NoSchedule", "k=v:PreferNoSchedule", "soft:PreferNoSchedule", "x:NoExecute"))
	}
	if w.chance(10) {
		b = b.Unschedulable()
	}
	if w.chance(3) {
		b = b.Image(int64(100+w.r.IntN(900))<<20, "app:v1")
	}
	if w.chance(4) {
		b = b.Capacity("example.com/gpu=2")
	}
	return b.Obj()
}

// shapes are the kinds of pods; a pod is a shape and a name.
func (w *world) pod(shape int) *v1.Pod {
	w.next++
	r := &world{r: rand.New(rand.NewPCG(uint64(shape), 7))}
	b := testkit.Pod(fmt.Sprintf("%s/p%d", r.pick("default", "other"), w.next)).
		Labels("app=" + r.pick("x", "y", "z")).Request(r.pick("cpu=500m,memory=256Mi", "cpu=1", "memory=1Gi", "cpu=1,example.com/gpu=1", "cpu=100m"))
	if r.chance(3) {
		b = b.Tolerate("k", v1.TolerationOpExists, "", "")
	}
	if r.chance(4) {
		b = b.NodeSelector("disk=" + r.pick("ssd", "hdd"))
	}
	if r.chance(3) {
		b = b.Spread(int32(1+r.r.IntN(2)), r.pick(v1.LabelTopologyZone, v1.LabelHostname, "disk"), v1.DoNotSchedule, "app="+r.pick("x", "y"))
	}
	if r.chance(3) {
		b = b.Spread(int32(1+r.r.IntN(2)), r.pick(v1.LabelTopologyZone, v1.LabelHostname, "disk"), v1.ScheduleAnyway, "app="+r.pick("x", "y"))
	}
	if r.chance(4) {
		b = b.RequireApart(r.pick(v1.LabelHostname, v1.LabelTopologyZone), "app="+r.pick("x", "y"))
	}
	if r.chance(4) {
		b = b.RequireWith(r.pick(v1.LabelHostname, v1.LabelTopologyZone), "app="+r.pick("x", "y"))
	}
	if r.chance(4) {
		b = b.PreferWith(int32(1+r.r.IntN(100)), r.pick(v1.LabelHostname, v1.LabelTopologyZone), "app="+r.pick("x", "z"))
	}
	if r.chance(6) {
		b = b.HostPort("", v1.ProtocolTCP, 80)
	}
	if r.chance(2) {
		b = b.Image("app:v1")
	}
	p := b.Obj()
	if r.chance(5) {
		p.Spec.Affinity = orNew(p.Spec.Affinity)
		p.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
			{Weight: 5, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}}},
		}}
	}
	if r.chance(8) { // defaults through a service
		p.Labels["svc"] = "s"
	}
	return p
}

// ownNodes lets the pod select and tolerate nodes as no other pod does.
func (w *world) ownNodes(p *v1.Pod) {
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{
		Key: w.pick(v1.LabelTopologyZone, "disk"), Operator: v1.NodeSelectorOpNotIn, Values: []string{w.pick("a", "b", "ssd"), p.Name},
	}}}
	a := &v1.NodeAffinity{}
	if w.chance(2) {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
	} else {
		a.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: int32(1 + w.r.IntN(100)), Preference: term}}
	}
	p.Spec.Affinity = orNew(p.Spec.Affinity)
	p.Spec.Affinity.NodeAffinity = a
	if w.chance(3) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: w.pick("k", "soft"), Operator: v1.TolerationOpExists}, v1.Toleration{Key: p.Name, Operator: v1.TolerationOpExists})
	}
}

func orNew(a *v1.Affinity) *v1.Affinity {
	if a == nil {
		return &v1.Affinity{}
	}
	return a
}

// podsOn returns the number of pods on all nodes.
func podsOn(s *cluster.Snapshot) (n int) {
	for i := range s.Len() {
		for range s.Pods(i) {
			n++
		}
	}
	return n
}

func (w *world) snapshot(t testing.TB, nodes, pods int) *cluster.Snapshot {
	var o cluster.Objects
	for i := range nodes {
		o.Nodes = append(o.Nodes, w.node(fmt.Sprintf("n%d", i)))
	}
	for range pods {
		p := w.pod(w.r.IntN(30))
		p.Spec.NodeName = fmt.Sprintf("n%d", w.r.IntN(nodes))
		o.Pods = append(o.Pods, p)
	}
	for _, ns := range []string{"default", "other"} {
		o.Namespaces = append(o.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: map[string]string{"env": ns}}})
	}
	o.Services = services()
	s, err := cluster.New(o)
	require.NoError(t, err)
	return s
}

func services() []*v1.Service {
	return []*v1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}, Spec: v1.ServiceSpec{Selector: map[string]string{"svc": "s"}}}}
}

// text is everything that users see of a decision.
func text(d Decision) string {
	f := ""
	if d.Failure != nil {
		f = fmt.Sprint(d.Failure.Code, d.Failure.Rejecters, d.Failure.Text())
	}
	return fmt.Sprintf("%d %s total %d, %d of %d evaluated of %d, next %d %s", d.Slot, d.Node, d.Total, d.Feasible, d.Evaluated, d.Nodes, d.Next, f)
}
