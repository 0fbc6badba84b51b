package packing

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// drawn makes a crowded model with budgets and a free slot. Pods of a coupled model keep apart, are spread, or need each other.
func drawn(t *testing.T, seed uint64, coupled bool) *search {
	r := rand.New(rand.NewPCG(seed, 71))
	gone := testkit.Node("gone").Obj()
	o := cluster.Objects{Nodes: []*v1.Node{gone}}
	if r.IntN(2) == 0 {
		o.Nodes = nil
	}
	free := map[string][2]int{}
	var names []string
	for k := range 2 + r.IntN(4) {
		name, cpu, memory := fmt.Sprint("n", k), 3+r.IntN(6), 3+r.IntN(6)
		o.Nodes = append(o.Nodes, testkit.Node(name).Zone(fmt.Sprint("z", k%2)).Capacity(fmt.Sprintf("cpu=%d,memory=%dGi", cpu, memory)).Obj())
		free[name], names = [2]int{cpu, memory}, append(names, name)
	}
	in := Input{Now: testkit.Epoch}
	for k := range 4 + r.IntN(12) {
		cpu, memory, app := r.IntN(4), r.IntN(4), fmt.Sprint("a", r.IntN(3))
		p := testkit.Pod(fmt.Sprint("p", k)).Priority(int32(r.IntN(3))).Labels("app=" + app).Request(fmt.Sprintf("cpu=%d,memory=%dGi", cpu, memory))
		if r.IntN(6) == 0 {
			p = p.NodeSelector(v1.LabelTopologyZone + "=z1")
		}
		if coupled {
			switch r.IntN(6) {
			case 0:
				p = p.RequireApart(v1.LabelHostname, "app="+app)
			case 1:
				p = p.Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app="+app)
			case 2:
				p = p.RequireWith(v1.LabelTopologyZone, fmt.Sprint("app=a", r.IntN(4)))
			}
		}
		on := names[r.IntN(len(names))]
		if room := free[on]; r.IntN(4) > 0 && room[0] >= cpu && room[1] >= memory {
			free[on] = [2]int{room[0] - cpu, room[1] - memory}
			o.Pods = append(o.Pods, p.On(on).Obj())
			continue
		}
		in.Pending = append(in.Pending, p.Obj())
	}
	for k := range 3 {
		if r.IntN(2) == 0 {
			app := fmt.Sprint("a", k)
			o.PodDisruptionBudgets = append(o.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app}, Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(r.IntN(3))},
				Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			})
		}
	}
	var err error
	in.Snapshot, err = cluster.New(o)
	require.NoError(t, err)
	if o.Nodes[0] == gone {
		require.NoError(t, in.Snapshot.Remove(gone))
	}
	in.Movable = func(p *v1.Pod) bool { return p.Name != "p3" }
	profile, queue, err := in.check(Options{})
	require.NoError(t, err)
	m := newModel(&in, profile, queue, nil)
	return &search{model: m, r: r, bound: m.bounds(false)}
}

// The model has every node and no free slot. Pods that look at no other pod are not coupled, and a pod that may go everywhere has no list.
func TestModel(t *testing.T) {
	anywhere, coupled := 0, 0
	for seed := range uint64(100) {
		for _, ties := range []bool{false, true} {
			s := drawn(t, seed, ties)
			for _, i := range s.slots {
				require.Positive(t, s.rooms[i*s.columns], "every node has cpu")
			}
			repels := slices.ContainsFunc(s.items, func(it item) bool { return it.pod.Spec.Affinity != nil && it.pod.Spec.Affinity.PodAntiAffinity != nil })
			one := false
			for k := range s.items {
				it := &s.items[k]
				looks := it.pod.Spec.Affinity != nil || len(it.pod.Spec.TopologySpreadConstraints) > 0
				require.Equal(t, !it.stays && (looks || repels), it.coupled, "seed %d, %s", seed, it.pod.Name)
				one = one || it.coupled
				switch {
				case it.stays || it.coupled:
				case it.pod.Spec.NodeSelector == nil:
					require.Nil(t, it.slots)
					anywhere++
				default:
					for _, i := range s.slots {
						require.Equal(t, (i-s.slots[0])%2 == 1, it.slots[i], "zone z1")
					}
				}
			}
			require.Equal(t, one, s.mirror != nil)
			if one {
				coupled++
			}
		}
	}
	require.Greater(t, min(anywhere, coupled), 50)
}

// Filters that look at other pods are asked about all pods when a pod must be apart from others, but not when a pod only prefers that.
func TestModelOfPreference(t *testing.T) {
	required := testkit.Pod("p").RequireApart(v1.LabelHostname, "app=a").Obj()
	preferred := testkit.Pod("p").Obj()
	preferred.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: required.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]}}}}
	for pod, want := range map[*v1.Pod]bool{required: true, preferred: false} {
		m, _, _ := modelOf(t, cluster.Objects{Nodes: []*v1.Node{nodeOf("n1", "a", 4)}}, Input{Pending: []*v1.Pod{pod, podOf("q", 1, 1).Obj()}})
		require.Equal(t, []bool{want, want}, []bool{m.items[0].coupled, m.items[1].coupled}, "the pod must be apart: %t", want)
		require.Equal(t, want, m.mirror != nil)
	}
}

// The weights are each column alone, and each two in three proportions.
func TestMixes(t *testing.T) {
	require.Empty(t, (&model{}).mixes(nil, nil))
	require.Equal(t, []mix{{0, 0, 1, 0}}, (&model{columns: 1}).mixes(nil, nil))
	require.Equal(t, []mix{{0, 0, 1, 0}, {1, 1, 1, 0}, {1, 0, 1, 1}, {1, 0, 1, 2}, {1, 0, 2, 1}}, (&model{columns: 2}).mixes(nil, nil))
	require.Len(t, (&model{columns: 4}).mixes(nil, nil), 4+6*3)
	sizes, rooms := make([]int64, 400), make([]int64, 400)
	for c := range sizes {
		sizes[c], rooms[c] = int64(c), 100
	}
	many := (&model{columns: 400}).mixes(sizes, rooms)
	require.Len(t, many, 400+mixedColumns*(mixedColumns-1)/2*3, "a pod of many resources costs what it has columns, not their pairs")
	require.Equal(t, []mix{{389, 388, 1, 1}, {389, 388, 1, 2}, {389, 388, 2, 1}, {390, 388, 1, 1}}, many[400:404], "the scarcest columns are mixed")
}

// A weight is a sum of columns, or the parts of the largest node in it, rounded down; strict weights do not count the last part of a whole number.
func TestWeigh(t *testing.T) {
	for _, c := range []struct {
		w       weigh
		amounts []int64
		want    int64
	}{
		{weigh{mix: mix{x: 1}}, []int64{7}, 7}, {weigh{mix{0, 1, 2, 1}, 0, false}, []int64{7, 5}, 19},
		{weigh{mix{x: 1}, 1, false}, []int64{unit}, 1}, {weigh{mix{x: 1}, 1, false}, []int64{unit - 1}, 0}, {weigh{mix{x: 1}, 2, false}, []int64{unit / 2}, 1}, {weigh{mix{x: 1}, 2, false}, []int64{unit/2 - 1}, 0},
		{weigh{mix{0, 1, 1, 2}, 3, false}, []int64{unit, 0}, 1}, {weigh{mix{0, 1, 1, 2}, 3, false}, []int64{unit - 1, 0}, 0}, {weigh{mix{0, 1, 1, 2}, 3, false}, []int64{0, unit}, 2}, {weigh{mix{0, 1, 1, 2}, 3, false}, []int64{unit, unit}, 3},
		{weigh{mix{x: 1}, 2, true}, []int64{unit}, 1}, {weigh{mix{x: 1}, 2, true}, []int64{unit/2 + 1}, 1}, {weigh{mix{x: 1}, 2, true}, []int64{unit / 2}, 0},
		{weigh{mix{x: 1}, 1, true}, []int64{unit + 1}, 1}, {weigh{mix{x: 1}, 3, true}, []int64{0}, 0}, {weigh{mix{0, 1, 1, 2}, 3, true}, []int64{unit, unit}, 2},
	} {
		require.Equal(t, c.want, c.w.of(c.amounts), "%+v", c)
	}
}

// Amounts come in units of the largest node that a pod may use; more than two of it count as two.
func TestNormalized(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 73))
		m := &model{columns: r.IntN(4), on: make([][]int, 5)}
		for i := range 5 {
			if r.IntN(4) > 0 {
				m.slots = append(m.slots, i)
			}
			for range m.columns {
				m.rooms = append(m.rooms, r.Int64N(5)*r.Int64N(1<<r.IntN(50)))
			}
		}
		if len(m.slots) == 0 {
			continue
		}
		for range r.IntN(5) {
			it := item{home: -1, stays: r.IntN(3) == 0}
			if it.stays || r.IntN(2) == 0 {
				it.home = m.slots[r.IntN(len(m.slots))]
			}
			if it.slots = make([]bool, 5); r.IntN(4) == 0 {
				it.slots = nil
			}
			for i := range it.slots {
				it.slots[i] = r.IntN(3) == 0
			}
			m.items = append(m.items, it)
			for range m.columns {
				m.needs = append(m.needs, r.Int64N(3)*r.Int64N(1<<r.IntN(50)))
			}
		}
		rooms, tops := make([]int64, len(m.rooms)), make([]int64, m.columns)
		for _, i := range m.slots {
			usable := slices.ContainsFunc(m.items, func(it item) bool { return it.home == i || !it.stays && (it.slots == nil || it.slots[i]) })
			for c := range m.columns {
				holds, kept := int64(0), int64(0)
				for k, it := range m.items {
					if it.home == i {
						holds += m.needs[k*m.columns+c]
					}
					if it.home == i && it.stays {
						kept += m.needs[k*m.columns+c]
					}
				}
				if usable {
					rooms[i*m.columns+c] = max(holds, m.rooms[i*m.columns+c]) - kept
					tops[c] = max(tops[c], rooms[i*m.columns+c])
				}
			}
		}
		units := func(list []int64) []int64 {
			out := []int64{}
			for at, n := range list {
				switch top := tops[at%m.columns]; {
				case top == 0 && n > 0:
					out = append(out, unit+1)
				case top == 0:
					out = append(out, 0)
				default:
					q := new(big.Int).Mul(big.NewInt(min(n, 2*top)), big.NewInt(unit))
					out = append(out, q.Div(q, big.NewInt(top)).Int64())
				}
			}
			return out
		}
		sizes, got := m.normalized(false)
		require.Equal(t, units(m.needs), sizes, "seed %d", seed)
		require.Equal(t, units(rooms), got, "seed %d", seed)
	}
}

// Nodes that are a little smaller than so many equal pods hold one pod less, whatever the sum over the nodes says, for up to 16 pods a node.
func TestBoundOfParts(t *testing.T) {
	for parts := int64(1); parts < 19; parts++ {
		m := &model{columns: 1, tiers: []int32{0}, on: make([][]int, 21)}
		for i := range 21 {
			m.slots = append(m.slots, i)
			m.rooms = append(m.rooms, 100*parts-10)
		}
		m.rooms[0] = 100*parts - 1
		for range 21 * parts {
			m.items, m.needs = append(m.items, item{home: -1}), append(m.needs, 100)
		}
		want := int(21 * (parts - 1))
		if parts > 16 {
			want = int(100*parts-1+20*(100*parts-10)) / 100
		}
		require.Equal(t, []int{want}, m.bounds(false), "%d pods fill the largest node", parts)
	}
}

// Scores without filters count for nothing: the profile is the default one.
func TestScoresAlone(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	all := placement.DefaultProfile()
	for _, c := range []struct {
		profile         placement.Profile
		filters, scores int
	}{
		{placement.Profile{}, len(all.Filters), len(all.Scores)}, {placement.Profile{Scores: all.Scores[:1]}, len(all.Filters), len(all.Scores)},
		{placement.Profile{Filters: all.Filters[:1]}, 1, 0}, {placement.Profile{Filters: all.Filters[:1], Scores: all.Scores[:1]}, 1, 1},
	} {
		p, _, err := (&Input{Snapshot: s, Profile: c.profile}).check(Options{})
		require.NoError(t, err)
		require.Equal(t, []int{c.filters, c.scores}, []int{len(p.Filters), len(p.Scores)})
	}
}

// As many pods as the plan places above the bound are no gap.
func TestGapOfTier(t *testing.T) {
	for _, c := range [][3]int{{5, 3, 2}, {3, 3, 0}, {3, 4, 0}, {1, 5, 0}} {
		require.Equal(t, c[2], Tier{Bound: c[0], Placed: c[1]}.Gap())
	}
}

// Options without steps mean defaultSteps, and a search that was stopped does not go on when Stop changes its mind.
func TestSteps(t *testing.T) {
	s := &search{model: &model{}}
	for s.step() {
	}
	require.Equal(t, defaultSteps, s.steps)
	asked := 0
	s = &search{model: &model{}, o: Options{Steps: 1000, Stop: func() bool { asked++; return asked == 3 }}}
	for s.step() {
	}
	require.Equal(t, 200, s.steps)
	require.False(t, s.step())
	require.Equal(t, 3, asked)
}

// The filters that look at other pods answer for where the pods are now, also after a pod of the cluster came or left.
func TestMirrorFollows(t *testing.T) {
	yes, no := 0, 0
	for seed := range uint64(80) {
		s := drawn(t, seed, true)
		if s.mirror == nil {
			continue
		}
		for range 40 {
			k := s.r.IntN(len(s.items))
			if s.items[k].stays {
				continue
			}
			if s.items[k].at >= 0 {
				s.take(k)
			}
			ask := func() (out []bool) {
				for _, i := range s.slots {
					var without []int
					for _, m := range s.on[i] {
						if !s.items[m].stays && m%2 == 0 {
							without = append(without, m)
						}
					}
					out = append(out, s.mirror.allows(&s.items[k], i, nil), s.mirror.allows(&s.items[k], i, without))
				}
				return out
			}
			ask()
			other := s.r.IntN(len(s.items)) // comes or leaves between two questions
			switch it := &s.items[other]; {
			case other == k || it.stays:
			case it.at >= 0:
				s.take(other)
			default:
				s.put(other, s.slots[s.r.IntN(len(s.slots))])
			}
			got := ask()
			s.mirror.asked = nil
			require.Equal(t, ask(), got, "seed %d", seed)
			for _, ok := range got {
				if ok {
					yes++
				} else {
					no++
				}
			}
			s.put(k, s.slots[s.r.IntN(len(s.slots))])
		}
	}
	require.Greater(t, min(yes, no), 500)
}

// A pod that every filter of the mirror rejects before it sees a node may go nowhere.
func TestMirrorOfRejectedPod(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Capacity("cpu=4").Obj()}})
	require.NoError(t, err)
	profile := placement.DefaultProfile()
	profile.Filters = append(slices.Clone(profile.Filters), &placement.Plugin{Name: "Never", Filter: func(pod *v1.Pod, _ placement.Cluster) placement.PreFiltered {
		if pod.Name == "p" {
			return placement.PreFiltered{Code: filter.Unschedulable, Reasons: []string{"never"}}
		}
		return placement.PreFiltered{Code: filter.Skip}
	}})
	in := Input{Snapshot: s, Profile: profile, Pending: []*v1.Pod{testkit.Pod("p").Request("cpu=1").Obj(), testkit.Pod("q").Request("cpu=1").Obj()}}
	profile, queue, err := in.check(Options{})
	require.NoError(t, err)
	m := newModel(&in, profile, queue, nil)
	require.NotNil(t, m.mirror)
	require.True(t, m.mirror.allows(&m.items[1], 0, nil))
	require.False(t, m.mirror.allows(&m.items[0], 0, nil))
	require.False(t, m.mirror.allows(&m.items[0], 0, nil))
	require.True(t, m.mirror.allows(&m.items[1], 0, nil))
}
