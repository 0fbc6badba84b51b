package spread

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

// plainPlacer is the order of Place without its means to be quick: it counts the cluster anew for each choice.
type plainPlacer struct {
	state  *hardState
	pod    *v1.Pod
	groups [][]int // the slots of the first replicas of each group
	used   []int
	path   []int
	best   []int
	seen   map[string]bool
	steps  int
}

func newPlainPlacer(s *hardState, pod *v1.Pod, slots []int, room func(int) int, n, steps int) *plainPlacer {
	p := &plainPlacer{state: s.clone(), pod: pod, seen: map[string]bool{}, steps: steps}
	var names []string
	var members [][]int
	for _, i := range slots {
		var name strings.Builder
		for _, x := range s.Explain(i) {
			fmt.Fprintf(&name, "%q %v %v,", x.Value, x.Missing, x.Counted)
		}
		g := slices.Index(names, name.String())
		if g < 0 {
			g = len(names)
			names, members = append(names, name.String()), append(members, nil)
		}
		members[g] = append(members[g], i)
	}
	for _, list := range members {
		var turns []int
		for turn := range n {
			for _, i := range list {
				if room(i) > turn {
					turns = append(turns, i)
				}
			}
		}
		p.groups = append(p.groups, turns)
	}
	p.used = make([]int, len(p.groups))
	return p
}

// choices returns the groups that take one more replica: first those that do not count, then by counts.
func (p *plainPlacer) choices() (out []int) {
	rank := func(g int) (ranks []int) {
		ranks = []int{0}
		for _, x := range p.state.Explain(p.groups[g][0]) {
			if x.Counted {
				ranks[0] = 1
			}
			ranks = append(ranks, x.Pods)
		}
		return append(ranks, g)
	}
	for g := range p.groups {
		if p.used[g] < len(p.groups[g]) && p.state.Check(p.groups[g][p.used[g]]) == 0 {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b int) int { return slices.Compare(rank(a), rank(b)) })
	return out
}

func (p *plainPlacer) put(g int) {
	i := p.groups[g][p.used[g]]
	p.used[g]++
	p.path = append(p.path, i)
	p.state.Add(p.pod, i)
}

func (p *plainPlacer) take(g int) {
	p.used[g]--
	p.state.Remove(p.pod, p.path[len(p.path)-1])
	p.path = p.path[:len(p.path)-1]
}

func (p *plainPlacer) search(n int) bool {
	if len(p.path) > len(p.best) {
		p.best = slices.Clone(p.path)
	}
	if len(p.path) == n {
		return true
	}
	if p.seen[fmt.Sprint(p.used)] {
		return false
	}
	p.seen[fmt.Sprint(p.used)] = true
	for _, g := range p.choices() {
		if p.steps--; p.steps <= 0 {
			return false
		}
		p.put(g)
		if p.search(n) {
			return true
		}
		p.take(g)
	}
	return false
}

func plainPlace(s *hardState, pod *v1.Pod, slots []int, room func(int) int, n, steps int) ([]int, bool) {
	p := newPlainPlacer(s, pod, slots, room, n, steps)
	for len(p.path) < n {
		c := p.choices()
		if len(c) == 0 {
			break
		}
		p.put(c[0])
	}
	if len(p.path) == n || len(s.cols) < 2 {
		return p.path, true
	}
	greedy := p.path
	p = newPlainPlacer(s, pod, slots, room, n, steps)
	p.best = greedy
	if p.search(n) {
		return p.path, true
	}
	return p.best, p.steps > 0
}

// Place gives the replicas the nodes of the plain form in the same order, for every bound of the search.
func TestPlaceOrder(t *testing.T) {
	searched, cut := 0, 0
	for seed := range int64(1200) {
		b := testkit.NewBytes(randomBytes(seed))
		f := &fake{}
		for i := range 3 + b.Below(5) {
			labels := fmt.Sprintf("zone=z%d,rack=r%d,half=h%d", b.Below(3), b.Below(3), b.Below(2))
			if b.Below(9) == 8 {
				labels = "zone=z0"
			}
			n := nodeOf(fmt.Sprint("n", i), labels)
			if b.Below(6) == 5 {
				n.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
			}
			if b.Below(12) == 11 {
				n = nil
			}
			f.addNode(n)
			if n != nil {
				f.run(fmt.Sprintf("n%d*%d", i, b.Below(3)), "foo=bar")
			}
		}
		pod := constrained("foo=bar")
		for _, key := range []string{"zone", "rack", "half"}[:1+b.Below(3)] {
			c := by(key, int32(1+b.Below(2)), hard)
			if b.Below(3) == 2 {
				honourTaints(&c)
			}
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, c)
		}
		s := mustHard(t, pod, Options{}).count(f)
		rooms := map[int]int{}
		for _, i := range f.all() {
			rooms[i] = b.Below(4)
		}
		room := func(i int) int { return rooms[i] }
		for _, steps := range []int{0, -1, 1, 2, 3, 7, 20} {
			n := 1 + b.Below(8)
			want, proven := plainPlace(s, pod, f.all(), room, n, max(cmp.Or(steps, 10_000), 0))
			got, ok := s.Place(n, PlaceOptions{Room: room, Steps: steps})
			require.Equal(t, fmt.Sprint(want, proven), fmt.Sprint(got, ok), "seed %d, %d steps, %d replicas", seed, steps, n)
			if !proven {
				cut++
			} else if len(s.cols) > 1 && len(got) < n {
				searched++
			}
		}
	}
	require.Greater(t, searched, 200)
	require.Greater(t, cut, 200)
}

// plainOutcome looks at a new report without the replica.
func plainOutcome(s *hardState, r Replica) []int {
	fullness, spread, excess := 0, 0, 0
	for k, x := range s.Explain(r.Slot) {
		bit := s.hard.constraints[k].selector
		if x.Counted && uint32(s.hard.effect(r.Pod))>>bit&1 != 0 {
			fullness += x.Pods
		}
	}
	left := s.clone()
	left.Remove(r.Pod, r.Slot)
	for _, x := range left.Report() {
		most := 0
		for _, d := range x.Domains {
			most = max(most, d.Pods)
		}
		spread += most - x.Minimum
		excess += max(0, most-x.Minimum-x.MaxSkew)
	}
	return []int{excess, spread, -fullness}
}

// ScaleDownOrder deletes the replicas of the plain form: each step compares a report without each of the replicas.
func TestScaleDownAgainstReports(t *testing.T) {
	deleted := 0
	for seed := range int64(1200) {
		deleted += checkScaleDown(t, decode(randomBytes(seed)))
	}
	require.Greater(t, deleted, 500)
}

func checkScaleDown(t testing.TB, w world) (deleted int) {
	h := mustHard(t, w.pod, w.options)
	if h.Skip() {
		return 0
	}
	s := h.count(w.fake)
	var replicas []Replica
	for _, i := range w.all() {
		for _, p := range w.pods[i] {
			p.Name, p.UID = []string{"a", "b"}[w.next.Below(2)], types.UID(fmt.Sprint(w.next.Below(3)))
			replicas = append(replicas, Replica{Pod: p, Slot: i})
		}
	}
	replicas = append(replicas, Replica{Pod: podOf("a", "foo=bar"), Slot: len(w.nodes)}, Replica{Pod: podOf("a", "foo=bar"), Slot: -1})
	n := w.next.Below(6)
	got := s.ScaleDownOrder(replicas, n)
	slices.SortStableFunc(replicas, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Pod.UID, b.Pod.UID), cmp.Compare(a.Slot, b.Slot))
	})
	left := s.clone()
	require.Len(t, got, min(n, len(replicas)))
	for _, x := range got {
		best := 0
		for j := range replicas {
			if slices.Compare(plainOutcome(left, replicas[j]), plainOutcome(left, replicas[best])) < 0 {
				best = j
			}
		}
		want := replicas[best]
		want.Excess = plainOutcome(left, want)[0]
		require.Equal(t, fmt.Sprint(want.Pod.Namespace, want.Pod.Name, want.Pod.UID, want.Slot, want.Excess), fmt.Sprint(x.Pod.Namespace, x.Pod.Name, x.Pod.UID, x.Slot, x.Excess))
		left.Remove(want.Pod, want.Slot)
		replicas = slices.Delete(replicas, best, best+1)
		deleted++
	}
	return deleted
}

// A domain without room has 0, and a domain that never fills has MaxInt; maxSkew 0 allows only the emptiest domains without the pod.
func TestRoomBounds(t *testing.T) {
	rooms := func(f *fake, c v1.TopologySpreadConstraint) (out []int) {
		for _, d := range mustHard(t, constrained("foo=bar", c), Options{}).count(f).Report()[0].Domains {
			out = append(out, d.Room)
		}
		return out
	}
	two, one := clusterOf("a{zone=a} b{zone=b}").run("a", "foo=bar"), clusterOf("a{zone=a}")
	for _, c := range []struct {
		f    *fake
		c    v1.TopologySpreadConstraint
		want []int
	}{
		{one, by("zone", 0, hard), []int{0}},
		{one, by("zone", 1, hard), []int{math.MaxInt}},
		{two, by("zone", 0, hard), []int{0, 1}},
		{two, by("zone", 1, hard), []int{0, 2}},
		{two, by("zone", 2, hard), []int{1, 3}},
		{two, by("zone", 2, hard, minDomains(3)), []int{1, 2}},
		{two, by("zone", 1, hard, minDomains(3)), []int{0, 1}},
		{two, by("zone", 0, hard, noSelector), []int{math.MaxInt, math.MaxInt}},
		{two, by("zone", 0, hard, emptySelector), []int{0, 0}},
		{two, by("zone", 1, hard, emptySelector), []int{math.MaxInt, math.MaxInt}},
	} {
		require.Equal(t, c.want, rooms(c.f, c.c), "%+v", c.c)
	}
}

// A planned node gives the report the domains of a node that exists and runs nothing.
func TestPlannedAsEmptyNodes(t *testing.T) {
	compared := 0
	for seed := range int64(800) {
		w := decode(randomBytes(seed))
		w.options.PlannedNodes = []*v1.Node{nil}
		all := &fake{nodes: slices.Clone(w.nodes), pods: slices.Clone(w.pods)}
		for i := range 1 + w.next.Below(4) {
			n := randomNode(w.next, fmt.Sprint("planned", i))
			w.options.PlannedNodes = append(w.options.PlannedNodes, n)
			all.addNode(n)
		}
		h := mustHard(t, w.pod, w.options)
		if h.Skip() {
			continue
		}
		got := h.count(w.fake)
		w.options.PlannedNodes = nil
		want := mustHard(t, w.pod, w.options).count(all)
		for _, i := range w.all() {
			require.Equal(t, want.Check(i), got.Check(i), "seed %d slot %d", seed, i)
		}
		a, b := want.Report(), got.Report()
		for k := range a {
			require.Equal(t, a[k].SetBy, b[k].SetBy, "seed %d", seed)
			require.Equal(t, a[k].TooFew, b[k].TooFew, "seed %d", seed)
			for j := range a[k].Domains {
				a[k].Domains[j].Nodes, b[k].Domains[j].Nodes = 0, 0
			}
			require.Equal(t, a[k].Domains, b[k].Domains, "seed %d", seed)
			compared++
		}
	}
	require.Greater(t, compared, 200)
}
