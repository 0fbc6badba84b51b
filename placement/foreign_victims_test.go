package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/resources"
)

// The pods of other nodes that may keep a pod off a node are those of lower priority that reject it there alone by anti-affinity, that a
// DoNotSchedule constraint counts in a domain of the node, or that use one of its claims. Bars are the first of these.
func TestForeignVictims(t *testing.T) {
	found, barred := 0, 0
	for seed := range uint64(40) {
		w := &world{r: rand.New(rand.NewPCG(seed, 53))}
		s := w.snapshot(t, 3+w.r.IntN(5), 12+w.r.IntN(24))
		claims := w.chance(3)
		use := func(p *v1.Pod) {
			if claims && w.chance(2) {
				p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: w.pick("x", "y")}}}}
				if w.chance(2) {
					p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "none"})
				}
			}
		}
		for i := range s.Len() {
			for p := range s.Pods(i) {
				q := p.DeepCopy()
				q.Spec.Priority = new(int32(w.r.IntN(3)))
				if w.chance(6) {
					now := metav1.NewTime(testkit.Epoch)
					q.DeletionTimestamp = &now
				}
				use(q)
				require.NoError(t, s.Set(q))
			}
		}
		pod := w.pod(w.r.IntN(30))
		pod.Spec.Priority = new(int32(2))
		use(pod)
		all := DefaultProfile()
		profile := Profile{Filters: []*Plugin{all.Filter(plugins.PodTopologySpread), all.Filter(plugins.InterPodAffinity)}}
		p, err := New(s, profile)
		require.NoError(t, err)
		a := p.Prepare(pod)
		x := a.whatIf(Options{})
		require.Nil(t, x.Bars(0), "nobody has asked for the pods of other nodes")
		for i := range s.Len() {
			var near, sure []preemption.Placed
			for j := range s.Len() {
				for q := range s.Pods(j) {
					apart, counted := apartOn(t, s, profile, pod, q, i), countedOn(s, pod, q, i, j)
					for _, f := range a.Predicates {
						want := counted
						if f.Name() == plugins.InterPodAffinity {
							want = apart
						}
						got := f.(interface {
							KeepsOff(pod, q *v1.Pod, i, j int) bool
						}).KeepsOff(pod, q, i, j)
						require.Equal(t, want, got, "seed %d: %s keeps %s off %d because of %s on %d", seed, f.Name(), pod.Name, i, q.Name, j)
					}
					claim := uses(pod, q)
					if podinfo.Priority(q) >= 2 || !apart && !counted && !claim {
						continue
					}
					near = append(near, preemption.Placed{Pod: q, Slot: j})
					if apart && !claim {
						sure = append(sure, preemption.Placed{Pod: q, Slot: j})
					}
				}
			}
			require.Equal(t, placed(near), placed(x.foreign(i)), "seed %d slot %d", seed, i)
			require.Equal(t, placed(sure), placed(x.Bars(i)), "seed %d slot %d", seed, i)
			if once, again := x.foreign(i), x.foreign(i); len(once) > 0 {
				require.Same(t, &once[0], &again[0], "slots of equal domains share a list")
			}
			found, barred = found+len(near), barred+len(sure)
		}
		keys := slices.Sorted(slices.Values(x.suspects.keys))
		require.Equal(t, slices.Compact(slices.Clone(keys)), keys, "each key is looked up once")
	}
	require.Greater(t, found, 120)
	require.Greater(t, barred, 50)
}

func placed(list []preemption.Placed) (out []string) {
	for _, x := range list {
		out = append(out, fmt.Sprint(x.Pod.Namespace, "/", x.Pod.Name, " on ", x.Slot))
	}
	return out
}

// apartOn reports whether anti-affinity rejects the pod on slot i of a cluster in which q alone runs.
func apartOn(t *testing.T, s *cluster.Snapshot, profile Profile, pod, q *v1.Pod, i int) bool {
	o := cluster.Objects{Pods: []*v1.Pod{q}}
	for k := range s.Len() {
		o.Nodes = append(o.Nodes, s.Node(k))
	}
	alone, err := cluster.New(o)
	require.NoError(t, err)
	p, err := New(alone, Profile{Filters: profile.Filters[1:]})
	require.NoError(t, err)
	apart := pod.DeepCopy()
	if apart.Spec.Affinity != nil {
		apart.Spec.Affinity.PodAffinity = nil
	}
	return len(p.Rejections(apart, alone.Slot(s.Node(i).Name))) > 0
}

// countedOn reports whether a constraint counts q, and slots i and j share the domain of a constraint.
func countedOn(s *cluster.Snapshot, pod, q *v1.Pod, i, j int) bool {
	counts, near := false, false
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		counts = counts || q.DeletionTimestamp == nil && q.Namespace == pod.Namespace && q.Labels["app"] == c.LabelSelector.MatchLabels["app"]
		at, has := s.Node(i).Labels[c.TopologyKey]
		other, also := s.Node(j).Labels[c.TopologyKey]
		near = near || has && also && at == other
	}
	return counts && near
}

// uses reports whether two pods use one claim.
func uses(p, q *v1.Pod) bool {
	return p.Namespace == q.Namespace && len(p.Spec.Volumes) > 0 && len(q.Spec.Volumes) > 0 &&
		p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName == q.Spec.Volumes[0].PersistentVolumeClaim.ClaimName
}

// shy keeps the pod off the nodes of a rack or shelf with a pod called bad. It looks at names, so that pods that are equal otherwise differ.
type shy struct{}

func (shy) Name() string                       { return "Shy" }
func (shy) Check(int) resources.Verdict        { return 1 }
func (shy) Reasons(resources.Verdict) []string { return []string{"shy"} }
func (shy) Repels(*v1.Pod) func(q *v1.Pod) []string {
	return func(q *v1.Pod) []string {
		if q.Name != "bad" {
			return nil
		}
		return []string{"rack", "shelf"}
	}
}

// A filter that says which pods repel is asked about each pod. A rack without a name is another rack than none.
func TestForeignVictimsOfAnyFilter(t *testing.T) {
	var o cluster.Objects
	for k, key := range []string{"rack", "none", "shelf"} {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", k)).Label(key, "").Obj())
	}
	for k, name := range []string{"good", "bad", "x/good", "x/bad", "y/good"} {
		o.Pods = append(o.Pods, testkit.Pod(name).On(fmt.Sprint("n", k/2)).Obj())
	}
	o.Pods = append(o.Pods, testkit.Pod("y/bad").On("n2").Obj())
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := New(s, Profile{Filters: []*Plugin{{Name: "Shy", Filter: func(*v1.Pod, Cluster) PreFiltered { return PreFiltered{Predicate: shy{}} }}}})
	require.NoError(t, err)
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}} {
		x := p.Prepare(testkit.Pod("p").Priority(1).Obj()).whatIf(Options{})
		for _, i := range order {
			var want []string
			if i == 0 {
				want = []string{"default/bad on 0"}
			}
			if i == 2 {
				want = []string{"y/bad on 2"}
			}
			require.Equal(t, want, placed(x.foreign(i)), "slot %d", i)
		}
	}
}

// Only nodes with a pod that repels the pod are looked at, but all nodes for a pod with claims, for a filter that looks at more of a pod
// than its set has, and in a cluster that knows no sets. Another volume is no claim.
func TestRepelledSlots(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones(), Pods: []*v1.Pod{
		testkit.Pod("good").Labels("app=y").On("a1").Obj(), testkit.Pod("bad").Labels("app=x").On("a2").Obj(), testkit.Pod("apart").RequireApart(v1.LabelTopologyZone, "app=p").On("c1").Obj(),
		testkit.Pod("with").Labels("app=z").RequireWith(v1.LabelTopologyZone, "app=x").On("b1").Obj(),
	}})
	require.NoError(t, err)
	pod := testkit.Pod("p").Labels("app=p").RequireApart(v1.LabelTopologyZone, "app=x").Obj()
	other := pod.DeepCopy()
	other.Spec.Volumes = []v1.Volume{{Name: "none"}}
	some := []bool{false, true, false, false, true}
	type test struct {
		name, why string
		cluster   Cluster
		pod       *v1.Pod
		more      []repelling
		want      []bool
	}
	testkit.Run(t, []test{
		{"sets", "one pod of a set answers for all", s, pod, nil, some},
		{"claim", "every pod may use it", s, mounting(pod.DeepCopy(), "data"), nil, nil},
		{"other volume", "no pod shares it", s, other, nil, some},
		{"more than sets", "pods of a set may differ", s, pod, []repelling{{}}, nil},
		{"no sets", "each pod is asked about", Rows(viewOf(s)), pod, nil, nil},
	}, func(t *testing.T, c test) {
		p, err := New(c.cluster, DefaultProfile())
		require.NoError(t, err)
		a := p.Prepare(c.pod)
		all := c.more
		for _, f := range a.Predicates {
			if r, ok := f.(podAffinity); ok {
				all = append(all, repelling{keys: r.Repels(c.pod), sets: true})
			}
		}
		require.Equal(t, c.want, a.repelled(all))
	})
}
