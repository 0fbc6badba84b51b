package boxes

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/heap"
	"github.com/podberth/podberth/resources"
)

// roomy wants some cpu. The score of a node is the cpu that is left, in tenths of a core.
type roomy struct {
	s       *cluster.Snapshot
	want    int64
	rejects int32
	keys    int // slots that were looked at
	without int
}

func (x *roomy) left(allocatable, requested resources.Vector) int64 {
	return allocatable.At(resources.CPU) - requested.At(resources.CPU) - x.want
}

func (x *roomy) All(b *Bounds) (resources.Verdict, bool) {
	most, least := x.left(b.Allocatable[1], b.Requested[0]), x.left(b.Allocatable[0], b.Requested[1])
	switch {
	case most < 0:
		return 1, true
	case least >= 0:
		return 0, true
	}
	return 0, false
}

func (x *roomy) Most(b *Bounds) int64 {
	return max(0, x.left(b.Allocatable[1], b.Requested[0])/100)
}

func (x *roomy) Key(slot int, place int32) (int64, resources.Verdict) {
	x.keys++
	left := x.left(x.s.Allocatable(slot), x.s.Requested(slot))
	if left < 0 {
		return -1, 1
	}
	return heap.Key(left/100, place), 0
}

func (x *roomy) Rejects(_ resources.Verdict, n int32) { x.rejects += n }
func (x *roomy) Counts(slot int) bool                 { return slot != x.without }

// cluster with nodes of some sizes and random pods, and its tree.
func newField(t testing.TB, nodes int) (*cluster.Snapshot, *Tree, []int, []int32) {
	r := rand.New(rand.NewPCG(5, uint64(nodes)))
	var objects cluster.Objects
	order, places, groups := make([]int, nodes), make([]int32, nodes), make([]int32, nodes)
	for i := range nodes {
		name := fmt.Sprintf("n%05d", i)
		objects.Nodes = append(objects.Nodes, testkit.Node(name).Capacity(pick(r, "cpu=8,memory=16Gi,pods=20", "cpu=16,memory=64Gi,pods=20", "cpu=4,pods=5")).Obj())
		var p *v1.Pod
		for k := range 2 {
			p = testkit.Pod(fmt.Sprint(name, "-", k)).Request(fmt.Sprintf("cpu=%dm,memory=%dMi", r.IntN(2000), r.IntN(2000))).On(name).Obj()
			objects.Pods = append(objects.Pods, p)
		}
		order[i], groups[i] = i, r.Int32N(3)
	}
	r.Shuffle(nodes, func(i, k int) { order[i], order[k] = order[k], order[i] })
	for place, i := range order {
		places[i] = int32(place)
	}
	s, err := cluster.New(objects)
	require.NoError(t, err)
	return s, New(s, places, order, groups), order, groups
}

// A search finds what a look at every node finds, and looks at fewer.
func TestSearch(t *testing.T) {
	const nodes = 2000
	s, tree, order, groups := newField(t, nodes)
	looked := 0
	var found Search
	for want := range int64(40) {
		for g := range int32(4) {
			slow := Search{}
			rejects := int32(0)
			j := &roomy{s: s, want: want * 397, without: int(want)}
			for place, i := range order {
				if groups[i] != g {
					continue
				}
				key, _ := j.Key(i, int32(place))
				switch {
				case !heap.Fits(key):
					rejects++
				case key > slow.Top.Key && j.Counts(i):
					slow.Top = heap.Entry{Key: key, Slot: int32(i)}
					fallthrough
				default:
					slow.Count++
				}
			}
			j.keys = 0
			tree.Search(g, j, &found)
			require.Equal(t, slow.Count, found.Count)
			require.Equal(t, slow.Top, found.Top)
			require.Equal(t, rejects, j.rejects)
			looked += j.keys
		}
	}
	require.Less(t, looked, 40*nodes/4)
}

// BenchmarkSearch searches 5,000 nodes of three groups for pods that all ask for another amount.
func BenchmarkSearch(b *testing.B) {
	s, tree, _, _ := newField(b, 5000)
	var found Search
	looked := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		j := &roomy{s: s, want: int64(i%1000) * 7, without: -1}
		for g := range int32(3) {
			tree.Search(g, j, &found)
		}
		looked += j.keys
	}
	b.ReportMetric(float64(looked)/float64(b.N), "looks/op")
}
