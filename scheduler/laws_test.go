package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/score"
)

// verdicts is a filter with a verdict for each node.
type verdicts struct {
	name string
	by   map[string]*Status
}

func (v verdicts) Name() string { return v.name }
func (v verdicts) Filter(_ context.Context, _ *State, _ *v1.Pod, n *NodeInfo) *Status {
	return v.by[n.Node.Name]
}

// laws makes a rig with three filters that reject at random, and returns the filters.
func laws(t *testing.T, r *rand.Rand) (*rig, []FilterPlugin) {
	t.Helper()
	_, list := probes(3)
	rig := bare(t, list, Filter)
	var out []FilterPlugin
	for _, p := range list {
		v := verdicts{p.name, map[string]*Status{}}
		for _, n := range three() {
			v.by[n.Name] = []*Status{nil, nil, u("no " + p.name), uau("never " + p.name), NewStatus(Pending, "wait "+p.name)}[r.IntN(5)]
		}
		out = append(out, v)
	}
	rig.framework().filter = out
	return rig, out
}

// The order of the filters does not decide whether a node can take a pod. The first filter that rejects gives the status.
func TestFilterOrder(t *testing.T) { // F1
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rig, filters := laws(t, r)
		for _, n := range rig.s.nodes.list {
			feasible := ""
			for range 4 {
				r.Shuffle(len(filters), func(i, j int) { filters[i], filters[j] = filters[j], filters[i] })
				var first *Status
				for _, f := range filters {
					if st := f.(verdicts).by[n.Node.Name]; first == nil && st != nil {
						first = st.by(f.Name())
					}
				}
				got := rig.framework().runFilters(ctx, NewState(), pod("p"), n)
				require.Equal(t, first, got)
				if feasible == "" {
					feasible = fmt.Sprint(got.Success())
				}
				require.Equal(t, feasible, fmt.Sprint(got.Success()))
			}
		}
	}
}

// The message depends on the filters' answers about the nodes and not on the order of the nodes. It counts each reason once
// for each node.
func TestMessageOrder(t *testing.T) { // F7
	r := rand.New(rand.NewPCG(3, 4))
	rejected := 0
	for range 300 {
		rig, _ := laws(t, r)
		messages := map[string]bool{}
		for next := range 3 {
			rig.s.next = next
			d, err := rig.framework().findNodes(ctx, &attempt{f: rig.framework(), state: NewState(), pod: pod("p")})
			require.NoError(t, err)
			if len(d.nodes) > 0 {
				continue
			}
			rejected++
			m := d.message(3)
			messages[m.String()] = true
			count := 0
			for _, c := range m.Reasons {
				count += c.Nodes
			}
			require.Equal(t, 3, count)
		}
		require.LessOrEqual(t, len(messages), 1, "%v", messages)
	}
	require.Greater(t, rejected, 50)
}

// The total of a node is the sum of its weighted, normalized scores.
func TestTotalIsSum(t *testing.T) { // F5
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		_, list := probes(3)
		p, reg := on(list, "-", Score)
		for k, x := range list {
			p.Plugins[Score].Enabled[k].Weight = int64(r.IntN(5))
			x.score = map[string]int64{"n1": int64(r.IntN(101)), "n2": int64(r.IntN(101)), "n3": int64(r.IntN(101))}
		}
		rig := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, three())
		totals, err := rig.framework().totals(ctx, NewState(), pod("p"), rig.s.nodes.list)
		require.NoError(t, err)
		for k, n := range three() {
			want := int64(0)
			for _, w := range rig.framework().score {
				want += w.weight * w.ScorePlugin.(*probe).score[n.Name]
			}
			require.Equal(t, want, totals[k])
		}
		rig.add(pod("p")).step()
		require.Equal(t, slices.Max(totals), rig.last().Total)
		require.Equal(t, three()[score.Best(totals, nil)].Name, rig.last().Node)
	}
}

// Nominated pods of at least the pod's priority can only remove nodes. Nominated pods of lower priority change nothing.
func TestTwoPassesOnlyReject(t *testing.T) { // F8
	r := rand.New(rand.NewPCG(7, 8))
	both := 0
	for seed := range uint64(40) {
		rig := randomRig(t, seed, true)
		f := rig.framework()
		for _, p := range rig.pods {
			if p.Spec.NodeName != "" {
				continue
			}
			state := NewState()
			if _, err := f.findNodes(ctx, &attempt{f: f, state: state, pod: p}); err != nil {
				continue
			}
			lower, equal := pod("lower"), pod("equal")
			below := *p.Spec.Priority - 1
			lower.Spec.Priority, equal.Spec.Priority = &below, p.Spec.Priority
			n := rig.s.nodes.list[r.IntN(len(rig.s.nodes.list))]
			alone := f.runFilters(ctx, state, p, n)
			low := f.runFiltersWithNominated(ctx, state, p, n, identified([]*v1.Pod{lower}))
			require.Equal(t, alone.Message(), low.Message())
			with := f.runFiltersWithNominated(ctx, state, p, n, identified([]*v1.Pod{equal}))
			if with.Success() {
				require.True(t, alone.Success(), strings.Join(alone.Reasons(), ", "))
				both++
			}
		}
	}
	require.Positive(t, both)
}

// The sample is never larger than the cluster. In a cluster of at least a hundred nodes the sample has at least a hundred
// nodes.
func TestSample(t *testing.T) { // F9
	for n := range 3000 {
		for p := range int32(101) {
			k := filter.NumToFind(n, filter.Sampling{Percentage: &p})
			if k > n || k < min(n, 100) {
				t.Fatalf("%d of %d nodes at %d%%", k, n, p)
			}
		}
	}
}
