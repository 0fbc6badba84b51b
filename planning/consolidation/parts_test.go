package consolidation

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// The smallest of some domains has as few pods as the others can take with maxSkew; with fewer domains than minDomains it may be empty.
func TestSmallest(t *testing.T) {
	for pods := range int32(14) {
		for skew := int32(1); skew < 4; skew++ {
			for domains := 1; domains < 6; domains++ {
				few := int32(0)
				for few*int32(domains)+(int32(domains)-1)*skew < pods {
					few++
				}
				for least := range int32(7) {
					want := few
					if domains < int(least) {
						want = 0
					}
					require.Equal(t, want, (&spreadApp{pods: pods, skew: skew, least: least}).smallest(domains), "%d pods, maxSkew %d, %d domains, minDomains %d", pods, skew, domains, least)
				}
			}
		}
	}
}

// A node that is held and has no zone counts beside the cheapest set of zones. A held node with a zone is part of each set.
func TestSpreadBoundOfHeldNodes(t *testing.T) {
	for zoned, want := range map[bool]int64{true: 10, false: 30} {
		w := five("cpu=4")
		w.app("web", "cpu=3", "n1 n3", spreadOver("web", v1.LabelTopologyZone))
		w.in.Price = func(*v1.Node) int64 { return 10 }
		w.in.HoldNode = func(n *v1.Node) string { return map[bool]string{true: "held"}[n.Name == "n5"] }
		if !zoned {
			delete(w.objects.Nodes[4].Labels, v1.LabelTopologyZone)
		}
		p := w.planner(t)
		x := &bounder{Planner: p, schema: p.base.Schema().Len()}
		x.read()
		require.Equal(t, want, x.spreads(), "with a zone: %t", zoned)
	}
}

// The nodes for a pod come in the order of their scores, and every node that the filters allow is among them.
func TestAlternatives(t *testing.T) {
	unequal := 0
	for seed := range uint64(60) {
		p := wide(testkit.NewBytes(testkit.RandomBytes(seed+8e6, 300))).planner(t)
		x, err := p.newState()
		require.NoError(t, err)
		for id := range p.loads {
			m := x.mark()
			fresh, err := x.lift(int32(id))
			require.NoError(t, err)
			names, err := alternatives(x.placer, x.snapshot, fresh)
			require.NoError(t, err)
			a := x.placer.Prepare(fresh)
			slots := a.Search(placement.Options{}).Feasible
			require.Len(t, names, len(slots))
			if len(slots) > 0 {
				_, totals, err := a.Scores(slots)
				require.NoError(t, err)
				of := map[string]int64{}
				for k, slot := range slots {
					of[x.snapshot.Node(slot).Name] = totals[k]
				}
				for k := range names[1:] {
					require.GreaterOrEqual(t, of[names[k]], of[names[k+1]])
				}
				if slices.Min(totals) < slices.Max(totals) {
					unequal++
				}
			}
			x.takeBack(m)
		}
	}
	require.Greater(t, unequal, 50)
}

// After the moves of a plan the pods of each kind are counted where they are.
func TestPositionsFollowMoves(t *testing.T) {
	moves := 0
	for seed := range uint64(150) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+8e6, 300))
		p := wide(b).planner(t)
		r, err := p.newRun(anyChoice(b, p))
		require.NoError(t, err)
		_, err = r.all()
		require.NoError(t, err)
		kindOf := map[*v1.Pod]int32{}
		for i := range p.loads {
			kindOf[p.loads[i].old] = p.loads[i].kind
		}
		want := p.positions().at
		for _, wave := range r.plan.Waves {
			for _, m := range wave {
				if kind := kindOf[m.Pod]; kind >= 0 {
					want[kind][int32(p.base.Slot(m.From))]--
					want[kind][int32(p.base.Slot(m.To))]++
					moves++
				}
			}
		}
		for k := range want {
			none := func(_, n int32) bool { return n == 0 }
			maps.DeleteFunc(want[k], none)
			maps.DeleteFunc(r.where.at[k], none)
			require.Equal(t, want[k], r.where.at[k], "seed %d", seed)
		}
	}
	require.Greater(t, moves, 40)
}
