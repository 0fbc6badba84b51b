package placement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// use prints who is where, and what is in use.
func use(s *cluster.Snapshot) string {
	var b strings.Builder
	for i := range s.Len() {
		cpu, memory := s.NonZero(i)
		fmt.Fprintln(&b, s.Node(i).Name, s.Requested(i).Describe(s.Schema()), cpu, memory)
		for p := range s.Pods(i) {
			fmt.Fprintln(&b, " ", p.Name)
		}
	}
	return b.String()
}

// checkGroup holds the laws of a decision about a group:
//
//   - It changes nothing, and a second decision is equal.
//   - A placer without kept work decides in the same way.
//   - Success means that a member is placed, every leaf that succeeds has its minimum, and all placed members fit together.
//   - Without success nobody is placed. Victims have a lower priority, and each is there once.
//   - Without the victims every nominated member fits on its node.
//
// It reports whether the situation had a group to decide about.
func checkGroup(t *testing.T, data []byte) (code filter.Code, decided bool) {
	text, _ := situation.Generate(data)
	s, snapshot, placer, o := groupSnapshot(t, text)
	if len(s.Queued) == 0 {
		return 0, false
	}
	before := use(snapshot)
	d := placer.DecideGroup(s.Queued, o)
	require.Equal(t, before, use(snapshot), text)
	require.Equal(t, shown(d), shown(placer.DecideGroup(s.Queued, o)), text)
	fresh, err := placement.NewPlacer(snapshot.Fork(), s.Profile())
	require.NoError(t, err)
	require.Equal(t, shown(d), shown(fresh.DecideGroup(s.Queued, o)), text)

	placed, used := map[string]int{}, map[int]bool{}
	for _, m := range d.Members {
		if m.Placed() {
			group, _ := podgroup.Of(m.Pod)
			placed[group]++
			used[m.Slot] = true
		}
	}
	require.Equal(t, d.Code == filter.Success, len(placed) > 0, text)
	require.NoError(t, placer.AssumeGroup(d), text)
	for _, g := range d.Groups {
		if g.Reason == podgroup.ReasonScheduled {
			count := 0
			for range snapshot.Members(g.Group.Namespace, g.Group.Name) {
				count++
			}
			require.GreaterOrEqual(t, count, g.Group.Needs(), text)
		}
	}
	for i := range used {
		require.LessOrEqual(t, snapshot.Requested(i)[0], snapshot.Allocatable(i)[0], text)
	}
	gone := map[string]bool{}
	for _, v := range d.Victims {
		require.False(t, gone[v.Pod.Name], text)
		gone[v.Pod.Name] = true
		require.NoError(t, snapshot.Remove(v.Pod))
	}
	if d.Waiting && len(d.Victims) > 0 {
		for _, m := range d.Members {
			if slot, ok := placer.Slot(m.Nominate); ok && m.Pod.Status.NominatedNodeName == "" {
				if why := placer.Rejections(m.Pod, slot); len(why) > 0 { // groups that fail beside each other take one place twice: nobody comes back
					for _, p := range s.Running {
						_, grouped := podgroup.Of(p)
						require.True(t, grouped || gone[p.Name] || *p.Spec.Priority >= *m.Pod.Spec.Priority, "%s on %s: %v, and %s stays\n%s", m.Pod.Name, m.Nominate, why, p.Name, text)
					}
					break
				}
				require.NoError(t, snapshot.Assume(m.Pod, slot))
			}
		}
	}
	return d.Code, true
}

func FuzzDecideGroup(f *testing.F) {
	for seed := range 20 {
		f.Add(testkit.RandomBytes(uint64(seed), 400))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkGroup(t, data) })
}

// Random inputs reach the laws, with every code.
func TestFuzzDecideGroupReaches(t *testing.T) {
	codes, n := map[filter.Code]int{}, 600
	for seed := range n {
		if code, ok := checkGroup(t, testkit.RandomBytes(uint64(seed), 400)); ok {
			codes[code]++
		}
	}
	require.Greater(t, codes[filter.Success]+codes[filter.Unschedulable]+codes[filter.Error], n/2, codes)
	for _, code := range []filter.Code{filter.Success, filter.Unschedulable, filter.Error} {
		require.Greater(t, codes[code], n/50, code)
	}
}
