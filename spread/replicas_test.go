package spread

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func replicasOf(f *fake) []Replica {
	var out []Replica
	for i := range f.nodes {
		for _, p := range f.pods[i] {
			out = append(out, Replica{Pod: p, Slot: i})
		}
	}
	return out
}

func TestScaleDownOrder(t *testing.T) {
	f := clusterOf("a{zone=z1} b{zone=z1} c{zone=z2} d{zone=z3}").run("a*2 b*2 c*2 d", "foo=bar") // the zones have 4, 2 and 1 replicas
	s := mustHard(t, constrained("foo=bar", by("zone", 1, hard)), Options{}).count(f)
	steps := s.ScaleDownOrder(replicasOf(f), 4)
	var names []string
	var excess []int
	for _, d := range steps {
		names = append(names, d.Pod.Name)
		excess = append(excess, d.Excess)
	}
	assert.Equal(t, []string{"a-0", "a-1", "b-0", "c-0"}, names)
	assert.Equal(t, []int{1, 0, 0, 0}, excess, "the spread is legal after the second deletion and stays legal")
	assert.Len(t, s.ScaleDownOrder(replicasOf(f), 99), 7, "no more than there are")
	assert.Empty(t, s.ScaleDownOrder(nil, 3))
	assert.Equal(t, int32(4), s.cols[0].counts[0], "the state does not change")
	shuffled := replicasOf(f)
	slices.Reverse(shuffled)
	assert.Equal(t, steps, s.ScaleDownOrder(shuffled, 4), "the order of the replicas does not matter")
}

// TestScaleDownFullestFirst: when excess and spread are equal, the replica in the fullest domain is deleted first, whatever
// the names are.
func TestScaleDownFullestFirst(t *testing.T) {
	f := clusterOf("z{zone=z1} y{zone=z2} a{zone=z3} x{zone=z4}").run("z*3 y*3 a*2 x", "foo=bar")
	s := mustHard(t, constrained("foo=bar", by("zone", 5, hard)), Options{}).count(f)
	assert.Equal(t, "y-0", s.ScaleDownOrder(replicasOf(f), 1)[0].Pod.Name)
	few := mustHard(t, constrained("foo=bar", by("zone", 1, hard, minDomains(9))), Options{}).count(f)
	var excess []int
	for _, d := range few.ScaleDownOrder(replicasOf(f), 9) {
		excess = append(excess, d.Excess)
	}
	assert.Equal(t, []int{2, 1, 1, 1, 0, 0, 0, 0, 0}, excess, "there are too few domains: each may have maxSkew pods")
}

// TestScaleDownIsBest: with one constraint no other choice leaves a smaller excess.
func TestScaleDownIsBest(t *testing.T) {
	for seed := range int64(testkit.Rounds(worlds)) {
		w := decode(randomBytes(seed))
		h := mustHard(t, w.pod, w.options)
		replicas := replicasOf(w.fake)
		if len(h.constraints) != 1 || len(replicas) == 0 || len(replicas) > 9 {
			continue
		}
		s := h.count(w.fake)
		n := 1 + w.next.Below(len(replicas))
		steps := s.ScaleDownOrder(replicas, n)
		best := 1 << 30
		for set := range 1 << len(replicas) {
			c, size := s.clone(), 0
			for j, r := range replicas {
				if set>>j&1 != 0 {
					c.Remove(r.Pod, r.Slot)
					size++
				}
			}
			if size == n {
				best = min(best, excessOf(c))
			}
		}
		if got := steps[n-1].Excess; got != best {
			t.Fatalf("seed %d: excess %d after %d deletions, possible %d", seed, got, n, best)
		}
		c := s.clone()
		for _, d := range steps {
			c.Remove(d.Pod, d.Slot)
			if excessOf(c) != d.Excess {
				t.Fatalf("seed %d: excess %d, said %d", seed, excessOf(c), d.Excess)
			}
		}
	}
}

func excessOf(s *hardState) (sum int) {
	for k := range s.cols {
		most := slices.Max(append([]int32{0}, s.cols[k].counts...))
		sum += max(0, int(most-s.cols[k].low-s.cols[k].maxSkew))
	}
	return sum
}

func TestPlace(t *testing.T) {
	zone, node := by("zone", 1, hard), by("node", 1, hard)
	type test struct {
		name, why string
		cluster   *fake
		pod       *v1.Pod
		n         int
		options   PlaceOptions
		want      string
		proven    bool
	}
	tests := []test{
		{"one", "zoneB first", threePods(), constrained("foo=bar", zone), 1, PlaceOptions{}, "node3", true},
		{"five", "evenly, nodes in turn", threePods(), constrained("foo=bar", zone), 5, PlaceOptions{}, "node3 node1 node4 node2 node3", true},
		{"conflict", "no node is allowed, now or later", clusterOf("node1{zone=zoneA,node=node1} node2{zone=zoneA,node=node2} node3{zone=zoneB,node=node3}").run("node1*2 node2 node3*2", "foo=bar"),
			constrained("foo=bar", zone, node), 1, PlaceOptions{}, "", true},
		{"room", "zoneB is full after one pod: zoneA may have one pod more", threePods(), constrained("foo=bar", zone), 5,
			PlaceOptions{Room: func(i int) int { return []int{9, 9, 1, 0}[i] }}, "node3 node1", true},
		{"slots", "only some nodes may take pods", threePods(), constrained("foo=bar", zone), 3, PlaceOptions{Slots: []int{3}}, "node4 node4", true},
		{"slots without nodes", "they are left out", threePods(), constrained("foo=bar", zone), 3, PlaceOptions{Slots: []int{-1, 3, 4}}, "node4 node4", true},
		{"no constraints", "nothing limits", threePods(), constrained("foo=bar"), 3, PlaceOptions{}, "node1 node2 node3", true},
		{"none asked", "n 0", threePods(), constrained("foo=bar", zone), 0, PlaceOptions{}, "", true},
		{"empty cluster", "no nodes", &fake{}, constrained("foo=bar", zone), 2, PlaceOptions{}, "", true},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		got, proven := mustHard(t, tc.pod, Options{}).count(tc.cluster).Place(tc.n, tc.options)
		assert.Equal(t, tc.want, tc.cluster.names(got))
		assert.Equal(t, tc.proven, proven)
	})
}

// most returns the largest number of pods that can be placed one after the other. It tries everything.
func most(s *hardState, pod *v1.Pod, slots []int, room map[int]int, n int) int {
	best := 0
	if n == 0 {
		return 0
	}
	for _, i := range slots {
		if room[i] > 0 && s.Check(i) == 0 {
			room[i]--
			s.Add(pod, i)
			best = max(best, 1+most(s, pod, slots, room, n-1))
			s.Remove(pod, i)
			room[i]++
		}
	}
	return best
}

func TestPlaceAgainstTryingEverything(t *testing.T) {
	stuck := 0
	for seed := range int64(testkit.Rounds(worlds)) {
		w := decode(randomBytes(seed))
		h := mustHard(t, w.pod, w.options)
		if h.Skip() {
			continue
		}
		s := h.count(w.fake)
		room := map[int]int{}
		for _, i := range w.all() {
			room[i] = w.next.Below(4)
		}
		got, proven := s.Place(5, PlaceOptions{Room: func(i int) int { return room[i] }})
		if !proven {
			t.Fatalf("seed %d: not proven", seed)
		}
		c := s.clone()
		used := map[int]int{}
		for _, i := range got {
			if used[i]++; c.Check(i) != 0 || used[i] > room[i] {
				t.Fatalf("seed %d: illegal placement on slot %d", seed, i)
			}
			c.Add(w.pod, i)
		}
		if want := most(s.clone(), w.pod, w.all(), room, 5); len(got) != want {
			t.Fatalf("seed %d: placed %d, possible %d", seed, len(got), want)
		}
		if len(got) < 5 {
			stuck++
		}
	}
	if stuck < 50 {
		t.Errorf("only %d worlds where not all fit", stuck)
	}
}

// TestPlaceGivesUp: the search is bounded, and Place reports when the bound was reached.
func TestPlaceGivesUp(t *testing.T) {
	f := &fake{}
	for i := range 30 {
		f.addNode(nodeOf(fmt.Sprint("n", i), fmt.Sprintf("zone=z%d,rack=r%d", i%5, i%6)))
	}
	s := mustHard(t, constrained("foo=bar", by("zone", 1, hard), by("rack", 1, hard)), Options{}).count(f)
	got, proven := s.Place(200, PlaceOptions{Steps: 50, Room: func(i int) int { return 5 * (i % 2) }})
	assert.False(t, proven)
	assert.NotEmpty(t, got)
}

func TestCheckGroup(t *testing.T) {
	kinds := func(found []Finding) (out []string) {
		for _, x := range found {
			out = append(out, fmt.Sprint(x.Kind, " ", x.Constraint, " ", x.Pods, " ", x.Nodes))
		}
		return out
	}
	at := func(name string, p *v1.Pod) *v1.Pod { p.Name = name; return p }
	zone := by("zone", 1, hard)
	bogus := func(c *v1.TopologySpreadConstraint) {
		c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bogus"}}}
	}
	type test struct {
		name, why string
		pods      []*v1.Pod
		cluster   Cluster
		want      []string
	}
	tests := []test{
		{"fine", "equal replicas on labelled nodes", []*v1.Pod{at("a", constrained("foo=bar", zone)), at("b", constrained("foo=bar", zone))}, threePods(), nil},
		{"no pods", "nothing to look at", nil, threePods(), nil},
		{"no cluster", "nodes are not looked at", []*v1.Pod{constrained("foo=bar", zone)}, nil, nil},
		{"mixed constraints", "the documentation asks for equal constraints", []*v1.Pod{at("a", constrained("foo=bar", zone)), at("b", constrained("foo=bar", by("zone", 2, hard))), at("c", constrained("foo=bar"))},
			nil, []string{"MixedConstraints -1 [default/b default/c] []"}},
		{"zone typo", "node5 and node6 are never used", []*v1.Pod{constrained("foo=bar", zone)}, threePods().addNode(nodeOf("node5", "zone-typo=zoneC")).addNode(nodeOf("node6", "")),
			[]string{"NodesWithoutKey 0 [default/mypod] [node5 node6]"}},
		{"does not match itself", "placing it leaves the skew", []*v1.Pod{constrained("", zone)}, nil, []string{"SelectorMissesPod 0 [default/mypod] []"}},
		{"does not match the group", "the other pod does not count", []*v1.Pod{at("a", constrained("foo=bar", zone)), at("b", constrained("x=y", zone))}, nil,
			[]string{"SelectorMissesPod 0 [default/b] []", "SelectorMissesGroup 0 [default/a] []"}},
		{"no selector", "absent and empty", []*v1.Pod{constrained("foo=bar", by("zone", 1, hard, noSelector), by("zone", 1, soft, emptySelector))}, nil,
			[]string{"NoSelector 0 [default/mypod] []", "NoSelector 1 [default/mypod] []"}},
		{"no action", "neither the filter nor the score reads the constraint", []*v1.Pod{constrained("foo=bar", by("zone", 1, "")), constrained("foo=bar", by("zone", 1, ""))}, nil,
			[]string{"UnknownAction 0 [default/mypod default/mypod] []"}},
		{"bad selector", "no attempt can succeed", []*v1.Pod{constrained("foo=bar", by("zone", 1, hard, bogus))}, threePods(), []string{"InvalidSelector 0 [default/mypod] []"}},
		{"absent key", "it is ignored", []*v1.Pod{constrained("foo=bar", by("zone", 1, hard, matchKeys("rev")))}, nil, []string{"AbsentMatchLabelKey 0 [default/mypod] []"}},
		{"too few domains", "2 < 3", []*v1.Pod{constrained("foo=bar", by("zone", 1, hard, minDomains(3)))}, threePods(), []string{"TooFewDomains 0 [default/mypod] []"}},
		{"namespaces", "counted apart", []*v1.Pod{at("a", constrained("foo=bar", zone)), func() *v1.Pod { p := at("b", constrained("foo=bar", zone)); p.Namespace = "other"; return p }()}, nil,
			[]string{"MixedNamespaces -1 [other/b] []"}},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		found := CheckGroup(tc.pods, tc.cluster)
		assert.Equal(t, tc.want, kinds(found))
		for _, x := range found {
			assert.NotEmpty(t, x.Message)
		}
	})
}
