package optimal

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/resources"
)

// logged is a cluster with a change log that can lose its events.
type logged struct {
	pods    [][]*v1.Pod
	version uint64
	events  []cluster.Event
	lost    bool
	read    []int // slots whose pods were read
}

func (c *logged) Len() int          { return len(c.pods) }
func (c *logged) Node(int) *v1.Node { return nil }
func (c *logged) Pods(i int) iter.Seq[*v1.Pod] {
	c.read = append(c.read, i)
	return slices.Values(c.pods[i])
}
func (c *logged) Version() uint64 { return c.version }
func (c *logged) Since(_ uint64, yield func([]cluster.Event)) bool {
	if !c.lost {
		yield(c.events)
	}
	return !c.lost
}

// unequal is a cluster whose values cannot be compared.
type unequal struct {
	*logged
	_ []int
}

// rowRequests are what a pod asks for: as many columns as its priority says, all of the same amount; unknown for priority 9.
func rowRequests(pod *v1.Pod) (resources.Vector, bool) {
	priority := preemption.Priority(pod)
	return slices.Repeat(resources.Vector{int64(len(pod.Name))}, int(priority)), priority != 9
}

// plainRow is the row of some pods.
func plainRow(pods []*v1.Pod) (list []rowPod, width int, amounts []int64) {
	for _, p := range pods {
		q := rowPod{pod: p, priority: preemption.Priority(p), start: math.MaxInt64}
		if p.Status.StartTime != nil {
			q.start = p.Status.StartTime.UnixMicro()
		}
		at := 0
		for at < len(list) && (list[at].priority < q.priority || list[at].priority == q.priority && list[at].start > q.start) {
			at++
		}
		list, width = slices.Insert(list, at, q), max(width, int(q.priority))
	}
	for _, q := range list {
		for c := range int32(width) {
			amount := int64(0)
			if c < q.priority {
				amount = int64(len(q.pod.Name))
			}
			amounts = append(amounts, amount)
		}
	}
	return list, width, amounts
}

// Rows are those of the pods as they are. A row is read again only if its slot has changed, if the log has lost the changes, if an
// event is of no slot, or for another cluster.
func TestRows(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 13))
	fill := func() (pods []*v1.Pod) {
		for k, minute := range r.Perm(r.IntN(5)) {
			p := testkit.Pod("pppp"[:1+k%4]).Priority(int32(r.IntN(3))).Obj()
			if k > 0 {
				p.Status.StartTime = &metav1.Time{Time: testkit.Epoch.AddDate(0, 0, minute)}
			}
			if r.IntN(20) == 0 {
				p = testkit.Pod("unknown").Priority(9).Obj()
			}
			pods = append(pods, p)
		}
		return pods
	}
	fresh := func() *logged {
		c := &logged{version: 7}
		for range 4 {
			c.pods = append(c.pods, fill())
		}
		return c
	}
	c := fresh()
	x := rows{}
	known := make([]bool, 4)
	for range 4000 {
		c.events, c.lost = nil, r.IntN(20) == 0
		switch r.IntN(5) {
		case 0: // the same version
			c.lost = true
		case 1:
			c = fresh()
			clear(known)
		default:
			c.version++
			for range r.IntN(3) {
				i := r.IntN(5) - 1
				c.events = append(c.events, cluster.Event{Node: int32(i)})
				if i < 0 {
					clear(known)
					continue
				}
				c.pods[i], known[i] = fill(), false
			}
			if c.lost {
				clear(known)
			}
		}
		var asked preemption.Cluster = c
		kept := true
		switch r.IntN(10) {
		case 0:
			asked, kept = unequal{logged: c}, false
		case 1:
			asked, kept = testkit.NewCluster(nil, nil), false
		}
		if x.follow(asked); !kept {
			clear(known)
			asked = c
		}
		for range 3 {
			i := r.IntN(4)
			c.read = nil
			p := &preemption.Problem{Slot: i, Cluster: asked, Requests: rowRequests}
			got, measured := x.of(p)
			require.Equal(t, measured, !slices.ContainsFunc(c.pods[i], func(p *v1.Pod) bool { return preemption.Priority(p) == 9 }))
			if known[i] && kept {
				require.Empty(t, c.read, "the row is known")
			} else {
				require.Equal(t, []int{i}, c.read)
			}
			known[i] = kept
			if measured {
				pods, width, amounts := plainRow(c.pods[i])
				require.Equal(t, pods, append([]rowPod(nil), got.pods...))
				require.Equal(t, width, got.width)
				require.Equal(t, amounts, append([]int64(nil), got.amounts...))
			}
		}
		if !kept {
			require.LessOrEqual(t, len(x.list), 4)
			x.follow(c)
			clear(known)
		}
	}
}
