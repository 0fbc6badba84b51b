package preemption_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// oracle decides as the documents describe, with whole clusters instead of trials, maps instead of indexes and a new
// world for every question.
type oracle struct {
	s situation
	p *v1.Pod
	// asked are the filters that the attempt did not skip. A filter that skipped the cluster as it was is not asked about
	// nominated pods either.
	asked map[string]bool
}

func newOracle(t testing.TB, s situation, p *v1.Pod) oracle {
	plan, _ := s.plan(t)
	o := oracle{s, p, map[string]bool{}}
	for _, f := range plan.Prepare(p).Predicates {
		o.asked[f.Name()] = true
	}
	return o
}

// fits asks the filters over a new cluster in which node i holds pods, and in the first pass also the nominated pods.
func (o oracle) fits(i int, pods []*v1.Pod) (ok bool, reasons []string) {
	var counted []*v1.Pod
	for _, q := range o.s.nominated[o.s.nodes[i].Name] {
		if q.UID != o.p.UID && preemption.Priority(q) >= preemption.Priority(o.p) {
			q = q.DeepCopy()
			q.Spec.NodeName = o.s.nodes[i].Name
			counted = append(counted, q)
		}
	}
	for _, extra := range [][]*v1.Pod{counted, nil} {
		all := slices.Concat(pods, extra)
		for _, q := range o.s.pods {
			if q.Spec.NodeName != o.s.nodes[i].Name {
				all = append(all, q)
			}
		}
		plan, err := placement.New(testkit.NewCluster(o.s.nodes, all).WithRows(), placement.DefaultProfile())
		if err != nil {
			panic(err)
		}
		for _, r := range plan.Rejections(o.p, i) {
			if o.asked[r.Plugin] {
				return false, r.Reasons
			}
		}
	}
	return true, nil
}

func (o oracle) before(a, b *v1.Pod) int {
	at := func(p *v1.Pod) int64 {
		if p.Status.StartTime == nil {
			return now.UnixNano()
		}
		return p.Status.StartTime.UnixNano()
	}
	return cmp.Or(-cmp.Compare(preemption.Priority(a), preemption.Priority(b)), cmp.Compare(at(a), at(b)))
}

// breaks lists the pods, most important first, that take a budget below zero.
func (o oracle) breaks(pods []*v1.Pod) map[*v1.Pod]bool {
	left, out := map[string]int32{}, map[*v1.Pod]bool{}
	for _, b := range o.s.budgets {
		left[b.Name] = b.Status.DisruptionsAllowed
	}
	for _, p := range pods {
		for _, b := range o.s.budgets {
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			_, granted := b.Status.DisruptedPods[p.Name]
			if err != nil || selector.Empty() || len(p.Labels) == 0 || b.Namespace != p.Namespace || !selector.Matches(labels.Set(p.Labels)) || granted {
				continue
			}
			if left[b.Name]--; left[b.Name] < 0 {
				out[p] = true
			}
		}
	}
	return out
}

// node returns the victims on node i, or the reason why there are none.
func (o oracle) node(i int) (victims []*v1.Pod, violations int, why []string) {
	var stay, potential []*v1.Pod
	for _, q := range o.s.pods {
		if q.Spec.NodeName != o.s.nodes[i].Name {
			continue
		}
		if preemption.Priority(q) < preemption.Priority(o.p) {
			potential = append(potential, q)
		} else {
			stay = append(stay, q)
		}
	}
	if len(potential) == 0 {
		return nil, 0, []string{"No preemption victims found for incoming pod"}
	}
	if ok, why := o.fits(i, stay); !ok {
		return nil, 0, why
	}
	slices.SortStableFunc(potential, o.before)
	breaks := o.breaks(potential)
	for _, first := range []bool{true, false} {
		for _, q := range potential {
			if breaks[q] != first {
				continue
			}
			if ok, _ := o.fits(i, append(slices.Clone(stay), q)); ok {
				stay = append(stay, q)
				continue
			}
			victims = append(victims, q)
			if first {
				violations++
			}
		}
	}
	slices.SortStableFunc(victims, o.before)
	return victims, violations, nil
}

// preempt tries every node, since small clusters need all as candidates, and stops as documented.
func (o oracle) preempt(t *testing.T) string {
	var slots []int
	for i := range o.s.nodes {
		slots = append(slots, i)
	}
	slices.SortFunc(slots, func(a, b int) int { return cmp.Compare(o.s.nodes[a].Name, o.s.nodes[b].Name) })
	plan, opts := o.s.plan(t)
	a := plan.Prepare(o.p)
	rejections := a.Rejections(nil, opts)
	slots = slices.DeleteFunc(slots, func(i int) bool { return rejections[i] != preemption.Resolvable })
	want := preemption.CandidateArgs.Number(o.s.options.Candidates, len(slots))
	if n := len(slots); n > 0 {
		k := o.s.options.Offset % n
		slots = slices.Concat(slots[k:], slots[:k])
	}
	var clean, violating []preemption.Candidate
	counts := map[string]int{"Preemption is not helpful for scheduling": len(o.s.nodes)}
	for _, i := range slots {
		victims, violations, why := o.node(i)
		if why != nil {
			for _, reason := range why {
				counts[reason]++
			}
			counts["Preemption is not helpful for scheduling"]--
			continue
		}
		require.NotEmpty(t, victims)
		c := preemption.Candidate{Slot: i, Node: o.s.nodes[i].Name, Violations: int64(violations)}
		for _, v := range victims {
			c.Victims = append(c.Victims, preemption.Victim{Placed: preemption.Placed{Pod: v, Slot: i}})
		}
		if violations == 0 && len(clean) < want {
			clean = append(clean, c)
		} else if violations > 0 && len(violating) < want {
			violating = append(violating, c)
		}
		if len(clean) > 0 && len(clean)+len(violating) >= want {
			break
		}
	}
	found := slices.Concat(clean, violating)
	if len(found) == 0 {
		var parts []string
		for reason, n := range counts {
			if n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, reason))
			}
		}
		slices.Sort(parts)
		return fmt.Sprintf("Unschedulable, clear: 0/%d nodes are available: %s.", len(o.s.nodes), strings.Join(parts, ", "))
	}
	return shownCandidate(o.best(found))
}

// best filters the candidates by one criterion after the other.
func (o oracle) best(found []preemption.Candidate) preemption.Candidate {
	keep := func(value func(c preemption.Candidate) int64) { // the smallest
		least := value(found[0])
		for _, c := range found {
			least = min(least, value(c))
		}
		found = slices.DeleteFunc(found, func(c preemption.Candidate) bool { return value(c) != least })
	}
	keep(func(c preemption.Candidate) int64 { return c.Violations })
	keep(func(c preemption.Candidate) int64 { return int64(preemption.Priority(c.Victims[0].Pod)) })
	keep(func(c preemption.Candidate) int64 {
		var sum int64
		for _, v := range c.Victims {
			sum += int64(preemption.Priority(v.Pod)) + 2147483648
		}
		return sum
	})
	keep(func(c preemption.Candidate) int64 { return int64(len(c.Victims)) })
	keep(func(c preemption.Candidate) int64 {
		earliest := now.UnixNano()
		for _, v := range c.Victims {
			if s := v.Pod.Status.StartTime; s != nil && preemption.Priority(v.Pod) == preemption.Priority(c.Victims[0].Pod) {
				earliest = min(earliest, s.UnixNano())
			}
		}
		return -earliest
	})
	slices.SortFunc(found, func(a, b preemption.Candidate) int { return cmp.Compare(a.Node, b.Node) })
	return found[0]
}

// chance makes situations in which pods compete. constrained situations have affinity, spread and ports.
func chance(r *rand.Rand, constrained bool) (situation, *v1.Pod) {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var s situation
	nodes := 1 + r.IntN(5)
	for i := range nodes {
		b := testkit.Node(fmt.Sprintf("n%d", (i*7+3)%10)).Zone(pick("a", "b")).Capacity(fmt.Sprintf("cpu=%d,memory=4Gi,pods=%d", 1+r.IntN(4), 2+r.IntN(5)))
		switch r.IntN(12) {
		case 0:
			b = b.Unschedulable()
		case 1:
			b = b.Taint("k=v:NoSchedule")
		}
		s.nodes = append(s.nodes, b.Obj())
	}
	make := func(name string, priority int32, on string) *v1.Pod {
		b := testkit.Pod(name).Request(pick("cpu=1", "cpu=500m", "cpu=2", "cpu=1,memory=2Gi"))
		if r.IntN(8) > 0 {
			b = b.Priority(priority)
		}
		if r.IntN(8) > 0 {
			b = b.Labels("app=" + pick("x", "y"))
		}
		if constrained {
			if r.IntN(4) == 0 {
				b = b.RequireApart(pick(hostKey, zoneKey), "app="+pick("x", "y"))
			}
			if r.IntN(8) == 0 {
				b = b.RequireWith(pick(hostKey, zoneKey), "app="+pick("x", "y"))
			}
			if r.IntN(4) == 0 {
				b = b.Spread(int32(1+r.IntN(2)), pick(hostKey, zoneKey), v1.DoNotSchedule, "app="+pick("x", "y"))
			}
			if name == "p" && r.IntN(5) == 0 {
				b = b.HostPort("", v1.ProtocolTCP, 80)
			}
		}
		if on == "" {
			return b.Obj()
		}
		if b = b.On(on); r.IntN(5) == 0 {
			return b.Obj()
		}
		return started(b, r.IntN(4))
	}
	for k := range nodes + r.IntN(5*nodes) {
		s.pods = append(s.pods, make(fmt.Sprintf("v%d", k), int32(r.IntN(6)-2), s.nodes[r.IntN(nodes)].Name))
	}
	s.nominated = map[string][]*v1.Pod{}
	for k := range r.IntN(3) {
		n := s.nodes[r.IntN(nodes)].Name
		s.nominated[n] = append(s.nominated[n], make(fmt.Sprintf("nominated%d", k), int32(r.IntN(6)), ""))
	}
	for k := range r.IntN(4) {
		b := budget(fmt.Sprintf("b%d", k), "app="+pick("x", "y"), int32(r.IntN(4)-1))
		if r.IntN(4) == 0 {
			b.Spec.Selector = &metav1.LabelSelector{}
		}
		if r.IntN(4) == 0 {
			b = granted(b, "v0", "v1")
		}
		s.budgets = append(s.budgets, b)
	}
	if r.IntN(3) == 0 {
		zero, n := int32(0), int32(1+r.IntN(3))
		s.options.Candidates = preemption.CandidateArgs{MinPercentage: &zero, MinAbsolute: &n}
		s.options.Offset = r.IntN(4)
	}
	return s, make("p", int32(r.IntN(6)), "")
}

// compare compares the library with the oracle, and checks the laws.
func compare(t *testing.T, r *rand.Rand, name string, constrained bool) bool {
	s, p := chance(r, constrained)
	plan, o := s.plan(t)
	if plan.Decide(p, o).Placed() {
		return false
	}
	got := s.preempt(t, p)
	require.Equal(t, newOracle(t, s, p).preempt(t), shown(got), name)
	s.bare = true
	require.Equal(t, shown(got), shown(s.preempt(t, p)), "%s: without indexes", name)
	s.bare = false
	laws(t, s, p, got, constrained)
	return true
}

// laws:
//
//  1. no victim has the preemptor's priority or more, and all are on the node,
//  2. victims are in order of importance,
//  3. without the victims the preemptor fits; with monotone filters it does not when any one of them stays,
//  4. the victims that break no budget take no budget below zero,
//  5. the chosen candidate is minimal.
func laws(t *testing.T, s situation, p *v1.Pod, got preemption.Result, constrained bool) {
	if got.Outcome != preemption.Success {
		return
	}
	o := newOracle(t, s, p)
	var stay []*v1.Pod
	left := map[string]int32{}
	for _, b := range s.budgets {
		left[b.Name] = max(b.Status.DisruptionsAllowed, 0)
	}
	for _, q := range s.pods {
		if q.Spec.NodeName == got.Node && !slices.ContainsFunc(got.Victims, func(v preemption.Victim) bool { return v.Pod == q }) {
			stay = append(stay, q)
		}
	}
	ok, _ := o.fits(got.Slot, stay)
	require.True(t, ok)
	for k, v := range got.Victims {
		require.Less(t, preemption.Priority(v.Pod), preemption.Priority(p))
		require.Equal(t, got.Node, v.Pod.Spec.NodeName)
		if k > 0 {
			require.LessOrEqual(t, podinfo.CompareImportance(got.Victims[k-1].Pod, v.Pod, now), 0)
		}
		if !constrained {
			ok, _ := o.fits(got.Slot, append(slices.Clone(stay), v.Pod))
			require.False(t, ok, "%s can stay", v.Pod.Name)
		}
		if v.Violates {
			continue
		}
		for _, b := range s.budgets {
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			require.NoError(t, err)
			if _, granted := b.Status.DisruptedPods[v.Pod.Name]; !granted && !selector.Empty() && selector.Matches(labels.Set(v.Pod.Labels)) {
				left[b.Name]--
				require.GreaterOrEqual(t, left[b.Name], int32(0), "budget %s is spent twice", b.Name)
			}
		}
	}
	for _, c := range got.Candidates {
		pair := []preemption.Candidate{c, got.Candidate}
		best, _ := preemption.Choose(pair, now)
		require.Equal(t, got.Node, pair[best].Node)
	}
}

func TestAgainstOracle(t *testing.T) { compareMany(t, false) }

func TestAgainstOracleConstrained(t *testing.T) { compareMany(t, true) }

func compareMany(t *testing.T, constrained bool) {
	compared, inputs := 0, testkit.Rounds(500)
	for seed := range uint64(inputs) {
		if compare(t, rand.New(rand.NewPCG(seed, 11)), fmt.Sprint("seed ", seed), constrained) {
			compared++
		}
	}
	t.Logf("%d of %d preemptors found no node and were compared", compared, inputs)
	require.Greater(t, 2*compared, inputs)
}

func FuzzPreempt(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 600), true)
	f.Add(testkit.RandomBytes(2, 600), false)
	f.Fuzz(func(t *testing.T, data []byte, constrained bool) {
		compare(t, rand.New(testkit.NewBytes(data)), "fuzz", constrained)
	})
}
