package consolidation

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Which hard constraints the bound of spreads reads, and how many pods it counts. Of four pods of an app the zones a, b and c have
// 1, 2 and 1.
func TestSpreadApp(t *testing.T) {
	const zone = v1.LabelTopologyZone
	held := func(w *world) {
		w.in.Hold = func(p *v1.Pod) string { return map[bool]string{true: "held"}[p.Name == "web-0"] }
	}
	each := func(change func(c *v1.TopologySpreadConstraint)) func(w *world) {
		return func(w *world) {
			held(w)
			for _, p := range w.objects.Pods {
				change(&p.Spec.TopologySpreadConstraints[0])
			}
		}
	}
	spec := func(change func(s *v1.PodSpec)) func(w *world) {
		return func(w *world) {
			held(w)
			for _, p := range w.objects.Pods {
				change(&p.Spec)
			}
		}
	}
	other := func(namespace, owner, node string, change func(p *v1.Pod)) func(w *world) {
		return func(w *world) {
			held(w)
			p := w.pod(owner, "other", "other", node, template("web", "cpu=1", nil))
			p.Namespace = namespace
			if change != nil {
				change(p)
			}
		}
	}
	terminating := func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch} }
	type want struct {
		pods, skew, least int32
		fixed             map[string]int32
		cpu               int64
	}
	all := want{4, 1, 1, map[string]int32{"a": 1, "b": 0, "c": 0}, 1000}
	with := func(change func(w *want)) *want {
		w := all
		change(&w)
		return &w
	}
	type test struct {
		name, why string
		fill      func(w *world)
		want      *want // nil: the bound does not read it
	}
	testkit.Run(t, []test{
		{"one constraint", "web-0 stays in zone a", held, &all},
		{"none is held", "all pods may move", func(*world) {}, with(func(w *want) { w.fixed = map[string]int32{"a": 0, "b": 0, "c": 0} })},
		{"all are held", "no pod moves", func(w *world) { w.in.Hold = func(*v1.Pod) string { return "held" } }, nil},
		{"another maxSkew", "it is the app's", each(func(c *v1.TopologySpreadConstraint) { c.MaxSkew = 3 }), with(func(w *want) { w.skew = 3 })},
		{"minDomains", "it is the app's", each(func(c *v1.TopologySpreadConstraint) { c.MinDomains = ptr(int32(2)) }), with(func(w *want) { w.least = 2 })},
		{"match label keys", "they narrow what is counted", each(func(c *v1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"app"} }), nil},
		{"taints honoured", "domains depend on taints", each(func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = ptr(v1.NodeInclusionPolicyHonor) }), nil},
		{"taints ignored", "the default", each(func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = ptr(v1.NodeInclusionPolicyIgnore) }), &all},
		{"a soft constraint beside", "a preference is no rule", spec(func(s *v1.PodSpec) {
			soft := s.TopologySpreadConstraints[0]
			soft.WhenUnsatisfiable = v1.ScheduleAnyway
			s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, soft)
		}), &all},
		{"two constraints", "the bound of one may be wrong", spec(func(s *v1.PodSpec) {
			second := s.TopologySpreadConstraints[0]
			second.TopologyKey = v1.LabelHostname
			s.TopologySpreadConstraints = append(s.TopologySpreadConstraints, second)
		}), nil},
		{"a node selector", "domains are the nodes that it selects", spec(func(s *v1.PodSpec) { s.NodeSelector = map[string]string{v1.LabelOSStable: "linux"} }), nil},
		{"affinity", "domains are the nodes that it selects", spec(func(s *v1.PodSpec) { s.Affinity = &v1.Affinity{} }), nil},
		{"broken before", "zone b has more than maxSkew allows", func(w *world) {
			held(w)
			w.pod("ReplicaSet", "web", "web-4", "n3", template("web", "cpu=1", spreadOver("web", zone)))
		}, nil},
		{"a pod without the constraint", "it counts and may go anywhere", other("default", "ReplicaSet", "n5", nil), nil},
		{"another namespace", "its pods do not count", other("elsewhere", "ReplicaSet", "n5", nil), &all},
		{"a terminating pod", "it does not count", other("default", "ReplicaSet", "n5", terminating), &all},
		{"a daemon", "it leaves with its node, and the number of pods changes", other("default", "DaemonSet", "n5", nil), nil},
		{"a daemon of another namespace", "it does not count", other("elsewhere", "DaemonSet", "n5", nil), &all},
		{"a daemon of another app", "it does not count", other("default", "DaemonSet", "n5", func(p *v1.Pod) { p.Labels = map[string]string{"app": "x"} }), &all},
		{"a daemon that leaves", "it does not count", other("default", "DaemonSet", "n5", terminating), &all},
		{"a node without a zone", "it has no pod of the app", func(w *world) { held(w); delete(w.objects.Nodes[1].Labels, zone) }, with(func(w *want) { w.fixed = map[string]int32{"a": 1, "b": 0, "c": 0, "": 0} })},
		{"a pod without a zone", "it is in no domain", func(w *world) { held(w); delete(w.objects.Nodes[3].Labels, zone) }, nil},
		{"smaller pods", "each pod asks at least for the least", func(w *world) {
			held(w)
			w.objects.Pods[3].Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=500m,memory=1Gi")
		}, with(func(w *want) { w.cpu = 500 })},
	}, func(t *testing.T, c test) {
		w := five("cpu=8,memory=8Gi")
		w.app("web", "cpu=1", "n1 n3 n4 n5", spreadOver("web", zone))
		c.fill(w)
		p := w.planner(t)
		x := &bounder{Planner: p, schema: p.base.Schema().Len()}
		x.read()
		require.NotEmpty(t, p.kinds)
		a, key := x.spreadApp(p.kinds[0])
		if c.want == nil {
			require.Nil(t, a, c.why)
			require.Empty(t, key)
			return
		}
		require.NotNil(t, a, c.why)
		require.Equal(t, zone, key)
		require.Equal(t, *c.want, want{a.pods, a.skew, a.least, a.fixed, a.asks.At(0)}, c.why)
		require.Zero(t, a.asks.At(1), "no pod asks for memory but one")
	})
}
