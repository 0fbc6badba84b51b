package volumes

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// FuzzFreeShare compares the free share of classes with the sum of the shares of each.
func FuzzFreeShare(f *testing.F) {
	f.Add([]byte{2, 5, 10, 10, 10})
	f.Add([]byte{3, 1, 3, 7, 3, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		classes := make([]storage, b.Below(4))
		percent, n := 0, len(classes)
		for k := range classes {
			requested, capacity := b.Below(16), b.Below(16)
			classes[k].requested, classes[k].capacity = int64(requested), int64(capacity)
			if capacity == 0 {
				continue
			}
			used := 0
			for (used+1)*capacity <= requested*100 {
				used++
			}
			percent += max(0, 100-used)
		}
		want := 0
		if n > 0 {
			want = (2*percent + n) / (2 * n) // rounded
		}
		if got := shareScore(classes, shapeOf(Options{})); got != int64(want) {
			t.Fatalf("%+v: %d, want %d", classes, got, want)
		}
	})
}

// classed is a cluster whose nodes are of one class. It counts the questions about classes.
type classed struct {
	node  *v1.Node
	asked int
}

func (c *classed) Len() int                   { return 1 }
func (c *classed) Node(int) *v1.Node          { return c.node }
func (c *classed) Pods(int) iter.Seq[*v1.Pod] { return func(func(*v1.Pod) bool) {} }
func (c *classed) Classes([]string) ([]int32, []int32, bool) {
	c.asked++
	return []int32{0}, []int32{0}, true
}

// Only pods with claims ask for the classes of nodes.
func TestIdlePods(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, claims: claims(claim("c", "", "1Gi", boundTo("pv"))), volumes: volumes(volume("pv", "", "1Gi"))}
	for pod, asked := range map[*v1.Pod]int{pod("p"): 0, pod("q", "c"): 1} {
		c := &classed{node: w.nodes[0]}
		s := Compile(pod, w.objects(), Options{}).Binding().On(c)
		require.Zero(t, s.Check(0))
		require.Equal(t, asked, c.asked, pod.Name)
	}
}

// What is held is empty without a volume and without a fault.
func TestHeldNothing(t *testing.T) {
	require.True(t, (&heldVolumes{}).empty())
	require.False(t, (&heldVolumes{faulty: true}).empty())
	require.False(t, (&heldVolumes{disks: make([]usedDisk, 1)}).empty())
}
