package placement_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation"
	"github.com/podberth/podberth/placement"
)

// manyZones writes a situation with many zones, of which most are equal to another, and a group or a tree with a topology key.
func manyZones(b *testkit.Bytes) string {
	var w strings.Builder
	gates := testkit.Pick(b, "T", "T", "C")
	fmt.Fprintf(&w, "gates=%s\n", gates)
	type zone struct{ cpus, pods []string }
	kinds := make([]zone, 1+b.Below(3))
	for k := range kinds {
		for range 1 + b.Below(4) {
			kinds[k].cpus = append(kinds[k].cpus, testkit.Pick(b, "2", "3", "4", "5"))
		}
		for range b.Below(3) {
			kinds[k].pods = append(kinds[k].pods, testkit.Pick(b, "1", "2", "", "100m"))
		}
	}
	zones := 3 + b.Below(8)
	for z := range zones {
		k := &kinds[b.Below(len(kinds))]
		for n, cpu := range k.cpus {
			fmt.Fprintf(&w, "node z%dn%d:%s zone=%02d region=%d", z, n, cpu, z, z/3)
			if b.OneIn(20) {
				w.WriteString(" disk=ssd")
			}
			w.WriteString("\n")
		}
		for n, cpu := range k.pods {
			if cpu == "100m" && b.OneIn(2) {
				cpu = "" // what counts in scores is equal, what is in use is not
			}
			fmt.Fprintf(&w, "pod z%dr%d:%s on=z%dn%d ^%d", z, n, cpu, z, n%len(k.cpus), b.Below(3))
			if b.OneIn(4) {
				w.WriteString(" label=app=m")
			}
			if b.OneIn(30) {
				w.WriteString(" apart=" + testkit.Pick(b, "zone", "kubernetes.io/hostname") + "=m")
			}
			w.WriteString("\n")
		}
	}
	node := func() string { return fmt.Sprintf("z%dn0", b.Below(zones)) }
	if b.OneIn(4) {
		fmt.Fprintf(&w, "pod s:2 nominated=%s ^20\n", node())
	}
	group := func(name, more string) {
		fmt.Fprintf(&w, "group %s gang%d ^10 key=zone%s\n", name, 1+b.Below(5), more)
		own := ""
		if b.OneIn(5) {
			own = testkit.Pick(b, "select=disk=ssd", "apart=zone=m", "apart=kubernetes.io/hostname=m", "spread=kubernetes.io/hostname=m", "spread=zone=m", "port=80", "with=zone=m")
		}
		size := testkit.Pick(b, "", "100m", "1", "2") // of all members; "": each has its own
		for k := range 1 + b.Below(6) {
			fmt.Fprintf(&w, "pod %s%d:%s in=%s ^10", name, k, cmp.Or(size, testkit.Pick(b, "1", "1", "1", "2", "2", "3")), name)
			switch {
			case b.OneIn(20):
				fmt.Fprintf(&w, " nominated=%s", node())
			case b.OneIn(3):
				w.WriteString(" label=app=m")
			}
			fmt.Fprintf(&w, " %s\n", own)
		}
	}
	if gates == "T" || b.OneIn(2) {
		group("g", "")
		return w.String()
	}
	w.WriteString("composite job gang2 ^10 key=region\n")
	group("x", " parent=job")
	group("y", " parent=job")
	return w.String()
}

// fullZones writes a situation with zones that have about as much room as a group of several kinds of members needs.
func fullZones(b *testkit.Bytes) string {
	var w strings.Builder
	w.WriteString("gates=T\n")
	for z := range 2 + b.Below(4) {
		for n := range 2 + b.Below(4) {
			fmt.Fprintf(&w, "node z%dn%d:%s zone=%02d", z, n, testkit.Pick(b, "2", "3", "4", "5", "6"), z)
			if !b.OneIn(4) {
				w.WriteString(" disk=ssd")
			}
			w.WriteString("\n")
		}
	}
	members := 4 + b.Below(20)
	fmt.Fprintf(&w, "group g gang%d ^10 key=zone\n", max(1, members-b.Below(4)))
	own, rare, common := testkit.Pick(b, "", "", "", "select=disk=ssd"), b.Below(4), testkit.Pick(b, "1", "1", "2")
	for k := range members {
		cpu := common
		if k < rare || rare == 3 && b.OneIn(2) {
			cpu = testkit.Pick(b, "1", "2", "3", "4")
		}
		fmt.Fprintf(&w, "pod p%02d:%s in=g ^10", k, cpu)
		if k%2 == 0 {
			w.WriteString(" " + own)
		}
		w.WriteString("\n")
	}
	return w.String()
}

// told prints a decision.
func told(d placement.GroupDecision) string {
	var w strings.Builder
	fmt.Fprintln(&w, d.Code, d.Waiting, d.Err, d.Next)
	for _, g := range d.Groups {
		fmt.Fprintln(&w, g.Group.Name, g.Reason, g.Message)
	}
	for _, m := range d.Members {
		fmt.Fprintln(&w, m.Pod.Name, m.Node, m.Slot, m.Total, m.Nodes, m.Evaluated, m.Feasible, m.Decision.Next, m.Code, m.Text, m.Nominate, m.Found)
	}
	for _, v := range d.Victims {
		fmt.Fprintln(&w, v.Pod.Name)
	}
	return w.String()
}

// spies watch decisions about groups: they count the placements that are scored and the questions about members, and note the steps and the members
// that a plugin hears of.
type spies struct {
	scored, asked int
	heard         string
	steps         []string
}

// step notes the end of a step.
func (x *spies) step(step placement.GroupStep) func(filter.Code) {
	return func(code filter.Code) { x.steps = append(x.steps, fmt.Sprint(step, code)) }
}

// in puts plugins into a profile. more is what they read beside rows: "nothing", "a node" or "a set of nodes".
func (x *spies) in(profile *placement.Profile, more string) {
	appendNothing := func(dst []byte, _ *v1.Pod) []byte { return dst }
	if more == "a node" {
		profile.Scores = append(profile.Scores, placement.Weighted{Weight: 1, Plugin: &placement.Plugin{
			Name: "Slots", Keep: placement.KeepByNodeAndPods, AppendKey: appendNothing,
			Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) { return slotScorer{}, nil },
		}})
	}
	group := placement.KeepByNodeAndPods
	if more == "a set of nodes" {
		group = placement.KeepByNode
	}
	profile.Scores = append(profile.Scores, placement.Weighted{Weight: 1, Plugin: &placement.Plugin{
		Name: "Scores", Keep: group, AppendKey: appendNothing,
		Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) { return nil, nil },
		PlacementScore: func(placement.Cluster, []*v1.Pod) func([]int) int64 {
			return func([]int) int64 {
				x.scored++
				return 0
			}
		},
	}})
	profile.Filters = append(profile.Filters, &placement.Plugin{
		Name: "Hears", Keep: placement.KeepIfSkipped, AppendKey: appendNothing, Skips: func(*v1.Pod) bool {
			x.asked++
			return true
		},
		Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
			return placement.PreFiltered{Code: filter.Skip}
		},
		GroupPostFilter: func(f placement.GroupFailure) (placement.GroupAnswer, error) {
			for _, m := range f.Members {
				x.heard += m.Pod.Name + " "
			}
			return placement.GroupAnswer{}, nil
		},
	})
}

type slotScorer struct{}

func (slotScorer) Raw(i int) int64 { return int64(i * 37 % 101) }

// checkAlike holds that a decision is equal when each placement is tried: a function that chooses the first ends the memory of placements.
// So it stays after changes of the cluster. It returns what was asked with and without the
// memory: a plugin that reads more than rows is asked about all placements with room.
func checkAlike(t *testing.T, data []byte, write func(b *testkit.Bytes) string) (fast, slow spies, code filter.Code) {
	b := testkit.NewBytes(data)
	text := write(b)
	s, snapshot, _, o := groupSnapshot(t, text)
	if b.OneIn(4) {
		for range 1 + b.Below(3) {
			n := snapshot.Node(b.Below(snapshot.Len())).DeepCopy()
			n.Status.Images = []v1.ContainerImage{{Names: []string{"i:latest"}, SizeBytes: 500 << 20}}
			require.NoError(t, snapshot.Set(n))
		}
	}
	profile, more := s.Profile(), testkit.Pick(b, "nothing", "nothing", "nothing", "nothing", "nothing", "nothing", "a node", "a set of nodes")
	placerOf := func(x *spies) *placement.Placer {
		own := profile
		own.Filters, own.Scores = slices.Clone(profile.Filters), slices.Clone(profile.Scores)
		x.in(&own, more)
		placer, err := placement.NewPlacer(snapshot, own)
		require.NoError(t, err)
		return placer
	}
	o.Next = b.Below(4)
	if b.OneIn(3) { // members keep their nominations
		o.Nominated = nil
	}
	each := o
	each.Tie = func(int) int { return 0 }
	measure := func() {
		o.Begin, each.Begin = nil, nil
		if b.OneIn(2) {
			o.Begin, each.Begin = fast.step, slow.step
		}
	}
	measure()
	placer := placerOf(&fast)
	d := placer.DecideGroup(s.Queued, o)
	require.Equal(t, told(placerOf(&slow).DecideGroup(s.Queued, each)), told(d), text)
	if more != "nothing" {
		require.Equal(t, slow.scored, fast.scored, text)
	}
	first, all := fast, slow
	queued := s.Queued
	for range 3 {
		text += change(t, b, s, snapshot)
		measure()
		if b.OneIn(4) { // another group, as far as the plan knows
			queued = s.Queued[:1+b.Below(len(s.Queued))]
		}
		if b.OneIn(4) {
			o.Next = b.Below(4)
			each.Next = o.Next
		}
		text += fmt.Sprintf("\n%d pods from %d", len(queued), o.Next)
		require.Equal(t, told(placerOf(&slow).DecideGroup(queued, each)), told(placer.DecideGroup(queued, o)), text)
	}
	require.Equal(t, slow.steps, fast.steps, text)
	require.Empty(t, fast.heard, "members of a constrained group: %s", text)
	return first, all, d.Code
}

// change changes a node or a running pod of a situation, and says how.
func change(t *testing.T, b *testkit.Bytes, s *situation.Situation, snapshot *cluster.Snapshot) string {
	node := testkit.Pick(b, s.Nodes...)
	slot := snapshot.Slot(node.Name)
	if slot < 0 {
		require.NoError(t, snapshot.Set(node))
		return "\n" + node.Name + " comes back"
	}
	switch b.Below(6) {
	case 4:
		pod := testkit.Pod(fmt.Sprint("more", snapshot.Version())).Request("cpu=" + testkit.Pick(b, "1", "2")).On(node.Name).Obj()
		require.NoError(t, snapshot.Set(pod))
		return "\n" + pod.Name + " comes to " + node.Name
	case 0:
		require.NoError(t, snapshot.Remove(snapshot.Node(slot)))
		return "\n" + node.Name + " leaves"
	case 1, 2:
		n := snapshot.Node(slot).DeepCopy()
		n.Labels["zone"] = testkit.Pick(b, "00", "01", "02", "x")
		require.NoError(t, snapshot.Set(n))
		return "\n" + node.Name + " is in " + n.Labels["zone"]
	case 3:
		n := snapshot.Node(slot).DeepCopy()
		n.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("1")
		require.NoError(t, snapshot.Set(n))
		return "\n" + node.Name + " has one cpu"
	}
	for pod := range snapshot.Pods(slot) {
		require.NoError(t, snapshot.Remove(pod))
		return "\n" + pod.Name + " leaves"
	}
	return ""
}

// What became of a group says nothing about a group with fewer members.
func TestKeptTrialsAreOfOneGroup(t *testing.T) {
	s, placer, o := groupWorld(t, "gates=T; node a1:3 zone=a; node b1:2 zone=b; group g gang1 key=zone; pod a,b,c:1 in=g")
	for range 5 {
		for pods, node := range []string{1: "b1", 2: "b1", 3: "a1"} {
			if pods > 0 {
				require.Equal(t, node, placer.DecideGroup(s.Queued[:pods], o).Members[0].Node, "%d pods", pods)
			}
		}
	}
}

// A group that fails in placements whose trials are kept has them tried again, for the reasons of its members. Each is one step.
func TestStepsOfKeptTrials(t *testing.T) {
	s, placer, o := groupWorld(t, "gates=T; node a1:1 zone=a; node b1:2 zone=b; group g gang3 key=zone; pod a,b,c:1 in=g")
	steps := 0
	o.Begin = func(step placement.GroupStep) func(filter.Code) {
		if step == placement.PlacementStep {
			steps++
		}
		return func(filter.Code) {}
	}
	for k := range 3 {
		d := placer.DecideGroup(s.Queued, o)
		require.Equal(t, 2, d.Placements)
		require.Equal(t, 2*(k+1), steps)
	}
}

func FuzzAlikePlacements(f *testing.F) {
	for seed := range 20 {
		f.Add(testkit.RandomBytes(uint64(seed), 300))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkAlike(t, data, manyZones)
		checkAlike(t, data, fullZones)
	})
}

// Members are counted, of one kind and of two: they are tried in the placement that is taken, or in the first one.
func TestCountedMembers(t *testing.T) {
	for _, c := range []struct {
		cpu, first, nodes int // what members ask for, and the first of them; nodes of a zone
		code              filter.Code
	}{{1, 1, 1, filter.Success}, {9, 9, 1, filter.Unschedulable}, {1, 2, 6, filter.Success}, {3, 4, 1, filter.Unschedulable},
		{1, 2, 4, filter.Success}, // four nodes have room for 16 as large as the first, so the first is left aside
		{2, 1, 5, filter.Success}, // the first is the smallest: five nodes have room for 20 of the others
	} {
		var text strings.Builder
		text.WriteString("gates=T\ngroup g gang4 key=zone\n")
		for k := range 20 {
			cpu := c.cpu
			if k == 0 {
				cpu = c.first
			}
			fmt.Fprintf(&text, "pod p%d:%d in=g\n", k, cpu)
			for n := range c.nodes {
				fmt.Fprintf(&text, "node n%d-%d:%dm zone=z%d\n", k, n, 8000+k, k)
			}
		}
		s, snapshot, _, o := groupSnapshot(t, text.String())
		profile := s.Profile()
		var x spies
		x.in(&profile, "nothing")
		placer, err := placement.NewPlacer(snapshot, profile)
		require.NoError(t, err)
		o.Preempt = nil
		require.Equal(t, c.code, placer.DecideGroup(s.Queued, o).Code)
		require.LessOrEqual(t, x.asked, 2*len(s.Queued), "%+v", c) // what kind a member is, and once more where it is tried
	}
}

// Groups get the same decisions when each placement is tried. Of the placements with room a sixth are like one before.
func TestAlikePlacements(t *testing.T) {
	room, scored, codes := 0, 0, map[filter.Code]int{}
	for seed := range 400 {
		fast, slow, code := checkAlike(t, testkit.RandomBytes(uint64(seed), 300), manyZones)
		room, scored = room+slow.scored, scored+fast.scored
		codes[code]++
	}
	require.Greater(t, 6*(room-scored), room)
	require.Greater(t, codes[filter.Success], 50, codes)
	require.Greater(t, codes[filter.Unschedulable], 50, codes)
}

// Groups of several kinds of members get the same decisions when each placement is tried, where zones have just enough room and where they have too little.
func TestFullZones(t *testing.T) {
	codes := map[filter.Code]int{}
	for seed := range testkit.Rounds(200) {
		_, _, code := checkAlike(t, testkit.RandomBytes(uint64(seed), 300), fullZones)
		codes[code]++
	}
	require.Greater(t, codes[filter.Success], testkit.Rounds(30), codes)
	require.Greater(t, codes[filter.Unschedulable], testkit.Rounds(30), codes)
}
