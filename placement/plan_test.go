package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A cluster without a look-up of nodes by name gives the same slots, and a nominated node is found there.
func TestSlot(t *testing.T) {
	p, s := planOf(t, cluster.Objects{Nodes: threeZones()})
	plain, err := New(Rows(viewOf(s)), DefaultProfile())
	require.NoError(t, err)
	for _, name := range []string{"a1", "a2", "b1", "b2", "c1", "gone", ""} {
		want, known := p.Slot(name)
		got, ok := plain.Slot(name)
		require.Equal(t, known, ok, name)
		require.Equal(t, want, got, name)
		require.Equal(t, s.Slot(name) >= 0, ok, name)
	}
	pod := testkit.Pod("p").Obj()
	pod.Status.NominatedNodeName = "b2"
	require.Equal(t, "b2", plain.Decide(pod, Options{}).Node)
}

// The scan order is the same slice until a node comes, leaves or moves to another zone: what is kept by place stays right.
func TestOrderIsKept(t *testing.T) {
	p, s := planOf(t, cluster.Objects{Nodes: threeZones()})
	order := p.order()
	require.Len(t, order, 5)
	same := func() bool { now := p.order(); return len(now) == len(order) && &now[0] == &order[0] }
	require.True(t, same())
	require.NoError(t, s.Set(testkit.Pod("p").On("a1").Obj()))
	require.True(t, same(), "a pod is no node")
	require.NoError(t, s.Set(testkit.Node("d1").Zone("d").Obj()))
	require.False(t, same())
	require.Len(t, p.order(), 6)
	order = p.order()
	require.NoError(t, s.Remove(s.Node(s.Slot("a1"))))
	require.False(t, same())
	require.Len(t, p.order(), 5)

	none, s := planOf(t, cluster.Objects{})
	require.Empty(t, none.order())
	require.Empty(t, none.byName())
	require.NoError(t, s.Set(testkit.Node("n").Obj()))
	require.Len(t, none.order(), 1)
	require.Len(t, none.byName(), 1)
	require.NoError(t, s.Remove(&v1.Node{ObjectMeta: s.Node(0).ObjectMeta}))
	require.Empty(t, none.order())
	require.Empty(t, none.byName())
	require.Equal(t, "no nodes available to schedule pods", none.Decide(testkit.Pod("p").Obj(), Options{}).Failure.Text())
}

// younger is a snapshot whose change log began after the first objects had come.
type younger struct {
	*cluster.Snapshot
	born uint64
}

func (c younger) Version() uint64 { return c.Snapshot.Version() - c.born }
func (c younger) Since(version uint64, yield func([]cluster.Event)) bool {
	return c.Snapshot.Since(version+c.born, yield)
}

// The nodes of a cluster count although its change log is at 0.
func TestOrderAtVersionZero(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	p, err := New(younger{s, s.Version()}, DefaultProfile())
	require.NoError(t, err)
	require.Len(t, p.order(), 5)
	require.Len(t, p.order(), 5)
	require.NoError(t, s.Set(testkit.Node("d1").Obj()))
	require.Len(t, p.order(), 6)
}

// Tables are sorted by name, also after nodes have come, left and come again.
func TestTableFollowsNodes(t *testing.T) {
	p, s := planOf(t, cluster.Objects{Nodes: threeZones()})
	names := func() (out []string) {
		table, err := p.Table(testkit.Pod("p").Obj())
		require.NoError(t, err)
		for _, n := range table {
			out = append(out, n.Node)
		}
		return out
	}
	require.Equal(t, []string{"a1", "a2", "b1", "b2", "c1"}, names())
	require.NoError(t, s.Set(testkit.Node("aa").Obj()))
	require.Equal(t, []string{"a1", "a2", "aa", "b1", "b2", "c1"}, names())
	require.NoError(t, s.Remove(s.Node(s.Slot("aa"))))
	require.NoError(t, s.Set(testkit.Node("bb").Obj()))
	require.Equal(t, []string{"a1", "a2", "b1", "b2", "bb", "c1"}, names())
}

// The plugins of a profile decide the same when plans share nothing between them.
func TestPluginsThatShareNothing(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 61))
		shared, s := volumeWorld(t, r)
		profile := DefaultProfile()
		alone := func(p *Plugin) *Plugin {
			c := *p
			c.WithShared = nil
			return &c
		}
		profile.Filters, profile.Scores = slices.Clone(profile.Filters), slices.Clone(profile.Scores)
		for k, p := range profile.Filters {
			profile.Filters[k] = alone(p)
		}
		for k, w := range profile.Scores {
			profile.Scores[k].Plugin = alone(w.Plugin)
		}
		for k := range 4 {
			p, err := New(s, profile)
			require.NoError(t, err)
			pod := volumePod(r, fmt.Sprint("p", k))
			require.Equal(t, text(shared.Decide(pod, Options{})), text(p.Decide(pod, Options{})), "seed %d pod %d", seed, k)
		}
	}
}
