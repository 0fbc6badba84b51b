package preemption

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The best candidate is the first of a sorted list, and the criterion is the last that another candidate needed.
func FuzzChoose(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 4000))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			var candidates []Candidate
			var values []*criteria
			for k := range 1 + b.Below(6) {
				candidates = append(candidates, Candidate{Node: fmt.Sprint("n", (3*k+b.Below(2)*18)%36)})
				values = append(values, &criteria{
					violations: int64(b.Below(2)), foreign: b.Below(2), highest: int32(b.Below(2)), sum: int64(b.Below(2)), victims: b.Below(2), start: time.Unix(int64(b.Below(2)), 0),
				})
			}
			if testkit.Pick(b, true, false) {
				values = slices.Repeat(values[:1], len(values)) // names decide
			}
			numbers := func(k int) []int64 {
				v := values[k]
				return []int64{v.violations, int64(v.foreign), int64(v.highest), v.sum, int64(v.victims), -v.start.Unix()}
			}
			order := make([]int, len(candidates))
			for k := range order {
				order[k] = k
			}
			slices.SortFunc(order, func(a, b int) int {
				return cmp.Or(slices.Compare(numbers(a), numbers(b)), cmp.Compare(candidates[a].Node, candidates[b].Node))
			})
			want := onlyCandidate
			for _, k := range order[1:] {
				differs := smallestName
				for c, n := range numbers(k) {
					if n != numbers(order[0])[c] {
						differs = rank(c)
						break
					}
				}
				want = max(want, differs)
			}
			best, by := choose(candidates, values, nil)
			require.Equal(t, order[0], best)
			require.Equal(t, want.criterion(), by)
		}
	})
}

// Units are sorted by importance, and equal units keep their order. A victim that breaks a budget comes before an equal victim that does not.
func FuzzSort(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 4000))
	f.Fuzz(func(t *testing.T, data []byte) {
		for b := testkit.NewBytes(data); b.More(); {
			d := &dryRun{r: &Request{Cluster: oneNode{}}}
			n := b.Below(8)
			if b.OneIn(16) {
				n += 30
			}
			for k := range n {
				d.units = append(d.units, unit{
					from: k, to: k + 1, priority: int32(b.Below(2)), start: time.Unix(int64(b.Below(2)), 0), foreign: b.Below(2) == 1, violating: b.Below(2) == 1, out: true,
				})
				d.members = append(d.members, member{Placed: Placed{Pod: &v1.Pod{}}})
			}
			want := slices.Clone(d.units)
			slices.SortStableFunc(want, func(a, b unit) int {
				return cmp.Or(cmp.Compare(b.priority, a.priority), a.start.Compare(b.start), trueFirst(a.foreign, b.foreign))
			})
			d.sort()
			require.True(t, slices.Equal(want, d.units), "%v", d.units)
			slices.SortStableFunc(want, func(a, b unit) int {
				return cmp.Or(cmp.Compare(b.priority, a.priority), a.start.Compare(b.start), trueFirst(a.foreign, b.foreign), trueFirst(a.violating, b.violating))
			})
			c := d.candidate(0, 0)
			require.True(t, slices.Equal(want, d.units), "%v", d.units)
			for k, v := range c.Victims {
				require.Same(t, d.members[want[k].from].Pod, v.Pod)
			}
		}
	})
}

// oneNode is a cluster with one node.
type oneNode struct{ Cluster }

func (oneNode) Node(int) *v1.Node { return &v1.Node{} }

// The index has the pods of every slot while slots come and pods change.
func FuzzLevel(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 4000))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := &list{}
		x := newIndex(l)
		pods := []*v1.Pod{{}, {}, {}}
		for b := testkit.NewBytes(data); b.More(); {
			if len(l.nodes) == 0 || len(l.nodes) < 20 && b.OneIn(16) {
				l.nodes, l.pods = append(l.nodes, &v1.Node{}), append(l.pods, nil)
			}
			i := b.Below(len(l.nodes))
			if b.OneIn(8) {
				l.pods[i] = pods[b.Below(4):]
				x.Touch(i)
			}
			got := x.level(i).pods
			if !slices.EqualFunc(got, l.pods[i], func(q resident, p *v1.Pod) bool { return q.pod == p }) {
				t.Fatalf("slot %d: %v, want %v", i, got, l.pods[i])
			}
			if len(x.touched) < len(l.nodes) {
				t.Fatal("a change of a slot that is read must be noticed")
			}
		}
	})
}
