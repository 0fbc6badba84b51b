package diagnose

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
)

// mostOthers is the number of other nodes with which a decision is compared.
const mostOthers = 2

// Comparisons of generated clusters, 200 in the short mode: the score plugins of kube-scheduler give the two nodes the same scores
// and totals; with the weights at the ends of a range the choice stays among the best nodes, and beyond them it loses; with a flip
// the other node is among the best.
func TestComparisons(t *testing.T) {
	k := kube(t)
	var compared, ends int
	flips := map[string]int{}
	for seed := *gen.Seed; compared < gen.Count(200, 100); seed++ {
		c := gen.Of(seed, gen.Shape{Nodes: 8, Running: 20, Pending: 4, Roomy: true})
		alike(c, seed, false)
		for pod, s := range pending(t, c) {
			chosen, feasible := decide(t, s, pod)
			scores := scoresOf(t, k, c, s, pod, feasible)
			others := slices.DeleteFunc(slices.Clone(feasible), func(n string) bool { return n == chosen })
			for _, other := range others[:min(mostOthers, len(others))] {
				compared++
				x, err := diagnose.Compare(diagnose.Input{Snapshot: s}, pod, other)
				must(t, err)
				if a, b := scores.total(chosen, "", 0), scores.total(other, "", 0); x.Chosen != chosen || x.ChosenTotal != a || x.OtherTotal != b {
					t.Fatalf("seed %d: pod %s: %s %d and %s %d; kube-scheduler: %s %d and %d", seed, x.Pod, x.Chosen, x.ChosenTotal, other, x.OtherTotal, chosen, a, b)
				}
				for _, p := range x.Parts {
					if a, b := scores.weighted[chosen][p.Plugin], scores.weighted[other][p.Plugin]; p.Weight*p.Chosen != a || p.Weight*p.Other != b {
						t.Fatalf("seed %d: pod %s: %s: %+v; kube-scheduler: %d and %d", seed, x.Pod, p.Plugin, p, a, b)
					}
					ends += scores.inRange(t, seed, x, p)
				}
				for _, f := range x.Flips {
					flips[f.Kind]++
					fork := s.Fork()
					changed, err := diagnose.ApplyFlip(fork, pod, f)
					must(t, err)
					_, feasible := decide(t, fork, changed)
					plugin := ""
					if f.Weight > 0 {
						plugin = f.Object[len("Plugin "):]
					}
					if !scoresOf(t, k, c, fork, changed, feasible).best(other, plugin, f.Weight) {
						t.Fatalf("seed %d: pod %s: kube-scheduler has better nodes than %s with: %s", seed, x.Pod, other, f.Text)
					}
				}
			}
		}
	}
	t.Logf("%d comparisons, %d ends of ranges of weights, flips %v", compared, ends, flips)
	for _, kind := range []string{"weight", "image", "label", "taint", "pod", "request"} {
		if flips[kind] == 0 && compared >= 200 {
			t.Errorf("no flip of kind %s", kind)
		}
	}
}

// decide returns the node of podberth's decision and the nodes that can take the pod.
func decide(t *testing.T, s *cluster.Snapshot, pod *v1.Pod) (chosen string, feasible []string) {
	t.Helper()
	profile := placement.DefaultProfile()
	profile.Sampling = placement.AllNodes()
	plan, err := placement.New(s, profile)
	must(t, err)
	d := plan.Decide(pod, placement.Options{})
	if !d.Placed() {
		return "", nil
	}
	table, err := plan.Table(pod)
	if err != nil { // a score plugin fails, which nobody asks when one node can take the pod
		return d.Node, nil
	}
	for _, n := range table {
		if n.Feasible() {
			feasible = append(feasible, n.Node)
		}
	}
	return d.Node, feasible
}

// nodeScores are what the score plugins of kube-scheduler give nodes.
type nodeScores struct {
	weighted map[string]map[string]int64 // by node and plugin
	weights  map[string]int64
}

func scoresOf(t *testing.T, k *real.Scheduler, c *gen.Cluster, s *cluster.Snapshot, pod *v1.Pod, feasible []string) nodeScores {
	t.Helper()
	out := nodeScores{weighted: map[string]map[string]int64{}, weights: map[string]int64{}}
	for _, p := range placement.DefaultProfile().Scores {
		out.weights[p.Name] = p.Weight
	}
	if len(feasible) < 2 { // nothing is scored
		return out
	}
	load(t, k, c, s)
	p := pod.DeepCopy()
	know(t, k, p)
	infos, err := k.NodeInfos()
	must(t, err)
	infos = slices.DeleteFunc(slices.Clone(infos), func(n fwk.NodeInfo) bool { return !slices.Contains(feasible, n.Node().Name) })
	list, ok, err := k.Totals(p, infos)
	must(t, err)
	if !ok || len(list) != len(feasible) {
		t.Fatalf("pod %s: kube-scheduler scores %d of %d nodes", pod.Name, len(list), len(feasible))
	}
	for _, n := range list {
		out.weighted[n.Name] = map[string]int64{}
		for _, x := range n.Scores {
			out.weighted[n.Name][x.Name] = x.Score
		}
	}
	return out
}

// total returns the total of a node when a plugin has another weight; "" is no plugin.
func (s nodeScores) total(node, plugin string, weight int64) (sum int64) {
	for name, x := range s.weighted[node] {
		if name == plugin {
			x = x / s.weights[name] * weight
		}
		sum += x
	}
	return sum
}

// best reports whether no node has a higher total than a node.
func (s nodeScores) best(node, plugin string, weight int64) bool {
	for other := range s.weighted {
		if s.total(other, plugin, weight) > s.total(node, plugin, weight) {
			return false
		}
	}
	return true
}

// inRange holds the range of a weight: at its ends the choice is among the best nodes, one beyond them it is not the only best.
func (s nodeScores) inRange(t *testing.T, seed int64, x *diagnose.Comparison, p diagnose.ScorePart) (ends int) {
	t.Helper()
	for _, end := range []struct{ in, out int64 }{{p.Least, p.Least - 1}, {p.Most, p.Most + 1}} {
		if end.in < 1 {
			continue
		}
		if !s.best(x.Chosen, p.Plugin, end.in) {
			t.Fatalf("seed %d: pod %s: with weight %d of %s kube-scheduler has better nodes than %s", seed, x.Pod, end.in, p.Plugin, x.Chosen)
		}
		if end.out < 1 {
			continue
		}
		ends++
		alone := true
		for other := range s.weighted {
			alone = alone && (other == x.Chosen || s.total(other, p.Plugin, end.out) < s.total(x.Chosen, p.Plugin, end.out))
		}
		if alone {
			t.Fatalf("seed %d: pod %s: with weight %d of %s kube-scheduler still chooses %s", seed, x.Pod, end.out, p.Plugin, x.Chosen)
		}
	}
	return ends
}
