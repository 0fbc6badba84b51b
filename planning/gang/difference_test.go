package gang_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation/question"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// Why a group waits, whether a place exists, and what helps.
func TestExplain(t *testing.T) {
	type test struct {
		name, why, situation string
		lines                []string
		states               []gang.State
	}
	testkit.Run(t, []test{
		{"the order", "the small member takes the big node (E22)", "node big:4; node small:2; group g gang2; pod p1:2 in=g; pod p2:4 in=g", []string{
			"1 of 2 members fit, 2 needed: 0/2 nodes are available: 2 Insufficient cpu",
			"a placement exists: kube-scheduler misses it because it puts p1 on big first, then p2 fits nowhere, and it takes no member back",
			"Do: make the pods again in the order p2, p1",
			"Do: nominate p1 to small (status.nominatedNodeName)",
			"Do: PodGroup d/g: spec.schedulingPolicy.gang.minCount 1",
		}, []gang.State{gang.WouldFit, gang.Rejected}},
		{"no rack", "one of two racks must take all", "gates=T; node a1:3 rack=r1; node b1:2 rack=r2; group g gang4 key=rack; pod a,b,c,e:1 in=g", []string{
			"3 of 4 members fit, 4 needed: 0/1 nodes are available: 1 Insufficient cpu",
			"no placement exists: rack r1 has 3 free of cpu, r2 2, and a group of 4 needs one rack",
			"Do: add a node like a1 in rack r1",
			"Do: PodGroup d/g: spec.schedulingPolicy.gang.minCount 3",
		}, []gang.State{gang.WouldFit, gang.WouldFit, gang.WouldFit, gang.Rejected}},
		{"a pod in the way", "it fits on the other node", "node n1:4; node n2:4; pod v:1 on=n1; pod w:1 on=n2; group g gang2; pod a:4 in=g; pod b:2 in=g", []string{
			"0 of 2 members fit, 2 needed: 0/2 nodes are available: 2 Insufficient cpu",
			"no placement exists: the cluster has a node for 1 of 2 members that must come",
			"Do: move w to n1",
			"Do: add a node like n1",
			"Do: PodGroup d/g: spec.schedulingPolicy.gang.minCount 1",
		}, []gang.State{gang.Rejected, gang.NotTried}},
		{"a lower pod", "may leave; whether kube-scheduler preempts is another question", "node n1:2; pod v:1 on=n1; pod w:1 on=n1 ^20; group g gang1 ^10; pod a:1 in=g ^10", []string{
			"0 of 1 member fit, 1 needed: 0/1 nodes are available: 1 Insufficient cpu",
			"no placement exists: the cluster has a node for 0 of 1 member that must come",
			"Do: evict v",
			"Do: add a node like n1",
		}, []gang.State{gang.Rejected}},
		{"too few", "one is not there yet", "node n1:9; group g gang4; pod a,b,c:1 in=g", []string{"3 of 4 members exist, 4 needed", "Do: PodGroup d/g: spec.schedulingPolicy.gang.minCount 3"}, []gang.State{gang.NotTried, gang.NotTried, gang.NotTried}},
		{"more than enough", "a and b run, and c comes on top", "node n1:2; group g gang2; pod a,b:1 in=g on=n1; pod c:1 in=g", []string{"2 of 3 members run, which is enough; 0 more fit: 0/1 nodes are available: 1 Insufficient cpu", "no placement exists: the cluster has a node for 0 of 1 member that must come", "Do: add a node like n1"}, []gang.State{gang.Rejected}},
		{"far too few", "as many as exist would do", "node n1:9; group g gang9; pod a,b,c:1 in=g", []string{"3 of 9 members exist, 9 needed", "Do: PodGroup d/g: spec.schedulingPolicy.gang.minCount 3"}, []gang.State{gang.NotTried, gang.NotTried, gang.NotTried}},
		{"one name", "the members go to the composite group (E53)", "gates=C; node n1:9; composite job gang1; group job gang1 parent=job; pod a:1 in=job", []string{
			"podgroup/d/job has the name of compositepodgroup/d/job, so that kube-scheduler gives it no members: make one of them again with another name"}, nil},
		{"too few groups", "members do not help", "gates=C; node n1:9; composite job gang3; group x gang1 parent=job; pod a,b:1 in=x", []string{"1 of 3 groups of compositepodgroup/d/job exist, 3 needed",
			"Do: make CompositePodGroup d/job again with spec.schedulingPolicy.gang.minGroupCount 1"}, []gang.State{gang.NotTried, gang.NotTried}},
		{"too few groups below", "the other one is not enough", "gates=C; node n1:9; composite job gang2; composite half gang2 parent=job; group x gang1 parent=half; group y gang1 parent=job; pod a:1 in=x; pod b:1 in=y", []string{"1 of 2 groups of compositepodgroup/d/half exist, 2 needed",
			"Do: make CompositePodGroup d/half again with spec.schedulingPolicy.gang.minGroupCount 1"}, []gang.State{gang.NotTried, gang.NotTried}},
		{"a sibling", "x takes the zone that y needs (E50)", "gates=C; node a1:2 zone=a disk=ssd; node b1:9 zone=b; composite job gang2; group x gang1 key=zone parent=job; " +
			"group y gang2 key=zone parent=job; pod xa:1 in=x; pod ya,yb:1 in=y select=disk=ssd", []string{
			"2 of 3 members fit, 3 needed: 0/1 nodes are available: 1 Insufficient cpu",
			"a placement exists: kube-scheduler misses it because it puts xa on a1 first, then yb fits nowhere, and it takes no member back",
			"Do: make the pods again, xa bound to b1 by node affinity",
			"Do: PodGroup d/y: spec.schedulingPolicy.gang.minCount 1",
		}, []gang.State{gang.WouldFit, gang.WouldFit, gang.Rejected}},
		{"a pool", "the node that is added is of the pool of the nodes that it is like", "node n1:1 pool=gpu; group g gang2; pod a,b:1 in=g", []string{
			"1 of 2 members fit, 2 needed: 0/1 nodes are available: 1 Insufficient cpu",
			"no placement exists: the cluster has 1 free of cpu, and 2 members ask for 2",
			"Do: add a node of pool gpu, like n1",
			"Do: PodGroup d/g: spec.schedulingPolicy.gang.minCount 1",
		}, []gang.State{gang.WouldFit, gang.Rejected}},
		{"a leaf", "one member fewer of y is enough", "gates=C; node n1:3; composite job gang2; group x gang1 parent=job; group y gang3 parent=job; pod xa:1 in=x; pod ya,yb,yc:1 in=y", []string{
			"3 of 4 members fit, 4 needed: 0/1 nodes are available: 1 Insufficient cpu",
			"no placement exists: the cluster has 3 free of cpu, and 4 members ask for 4",
			"Do: add a node like n1",
			"Do: PodGroup d/y: spec.schedulingPolicy.gang.minCount 2",
		}, []gang.State{gang.WouldFit, gang.WouldFit, gang.WouldFit, gang.Rejected}},
		{"a child", "no group can have fewer members, so the tree needs a group less", "gates=C; node n1:1; composite job gang2; group x gang1 parent=job; group y gang1 parent=job; pod xa:1 in=x; pod ya:1 in=y", []string{
			"1 of 2 members fit, 2 needed: 0/1 nodes are available: 1 Insufficient cpu",
			"no placement exists: the cluster has 1 free of cpu, and 2 members ask for 2",
			"Do: add a node like n1",
			"Do: make CompositePodGroup d/job again with spec.schedulingPolicy.gang.minGroupCount 1",
		}, []gang.State{gang.WouldFit, gang.Rejected}},
		{"placed", "nothing to say", "node n1:9; group g gang1; pod a:1 in=g", nil, []gang.State{gang.WouldFit}},
	}, func(t *testing.T, c test) {
		d, err := gang.Explain(question.Of(t, c.situation), gang.Options{})
		require.NoError(t, err)
		require.Equal(t, c.lines, d.Lines())
		require.NotNil(t, d.Help, "a list in JSON")
		require.NotNil(t, d.States, "a list in JSON")
		require.NotNil(t, d.Places, "a list in JSON")
		var states []gang.State
		for _, m := range d.States {
			states = append(states, m.State)
		}
		require.Equal(t, c.states, states)
	})
	_, err := gang.Explain(proof.Question{}, gang.Options{})
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
}

// A caller who ends the search gets no help that a search finds.
func TestExplainStops(t *testing.T) {
	q := question.Of(t, "node n1:4; node n2:4; pod v:1 on=n1; pod w:1 on=n2; group g gang2; pod a:4 in=g; pod b:2 in=g")
	for stop, want := range map[bool]bool{false: true, true: false} {
		d, err := gang.Explain(q, gang.Options{Stop: func() bool { return stop }})
		require.NoError(t, err)
		require.Equal(t, want, slices.Contains(d.Lines(), "Do: move w to n1"))
	}
}

// Each reason why no placement exists has its sentence.
func TestWhy(t *testing.T) {
	type test struct {
		name, why, situation string
		steps                int
		want                 string
	}
	testkit.Run(t, []test{
		{"apart", "three members, two zones", "node n1:9 zone=a; node n2:9 zone=b; group g gang3; pod a,b,c:1 in=g label=app=m apart=zone=m", 0,
			"no placement exists: the cluster takes 2 of 3: anti-affinity allows one for each zone"},
		{"spread", "zone b is full", "node n1:9 zone=a; node n2:1 zone=b; group g gang4; pod a,b,c,e:1 in=g label=app=m spread=zone=m", 0,
			"no placement exists: the cluster takes 3 of 4: the spread constraint by zone allows no more"},
		{"a child", "y has no zone", "gates=C; node a1:2 zone=a; node b1:2 zone=b; composite job gang2; group x gang1 parent=job; group y gang3 key=zone parent=job; pod xa:1 in=x; pod ya,yb,yc:1 in=y", 0,
			"no placement exists: the cluster is too small: podgroup/d/y has no place (zone a has 2 free of cpu, b 2, and a group of 3 needs one zone)"},
		{"exhausted", "every way was tried", "node n1:7; node n2:7; group g gang4; pod a:5 in=g; pod b,c,e:3 in=g", 0,
			"no placement exists: the cluster takes them in no way of all that were tried"},
		{"unknown", "one step is too few", "node n1:7; node n2:7; group g gang4; pod a:5 in=g; pod b,c,e:3 in=g", 1,
			"whether a placement exists is unknown within 1 step: at most 1 members were placed at once"},
	}, func(t *testing.T, c test) {
		d, err := gang.Explain(question.Of(t, c.situation), gang.Options{Steps: c.steps})
		require.NoError(t, err)
		why := d.Why()
		require.Len(t, why, 2)
		require.Equal(t, c.want, why[1])
	})
}

// What helps names the group and the node, and trying it changes no pod of the caller.
func TestHelpNames(t *testing.T) {
	d, err := gang.Explain(question.Of(t, "node n1:1 pool=gpu; group g gang2; pod a,b:1 in=g"), gang.Options{})
	require.NoError(t, err)
	require.Equal(t, "podgroup/d/g", d.Group)
	require.Equal(t, gang.AddNode, d.Help[0].Kind)
	require.Equal(t, []string{"n1"}, d.Help[0].Nodes)

	q := question.Of(t, "gates=C; node a1:2 zone=a disk=ssd; node b1:9 zone=b; composite job gang2; group x gang1 key=zone parent=job; "+
		"group y gang2 key=zone parent=job; pod xa:1 in=x apart=kubernetes.io/hostname=z; pod ya,yb:1 in=y select=disk=ssd")
	testkit.Unchanged(t, func() {
		d, err := gang.Explain(q, gang.Options{})
		require.NoError(t, err)
		require.Contains(t, d.Lines(), "Do: make the pods again, xa bound to b1 by node affinity")
	}, q.Queued...)
}

// A group that is placed one member after the other where that works, and by the search where it does not.
func TestCompletion(t *testing.T) {
	for _, text := range []string{
		"node big:4; node small:2; group g gang2; pod p1:2 in=g; pod p2:4 in=g; pod p3:4 in=g",
		"gates=C; node a1:2 zone=a disk=ssd; node b1:9 zone=b; composite job gang2; group x gang1 key=zone parent=job; group y gang2 key=zone parent=job; pod xa:1 in=x; pod ya,yb:1 in=y select=disk=ssd",
		"gates=T; node a1:4 zone=a; node a2:2 zone=a; node b1:9 zone=b; group g gang3 key=zone; pod r:1 in=g on=a1; pod a:2 in=g; pod b:3 in=g",
	} {
		q := question.Of(t, text)
		placer, err := placement.NewPlacer(q.Snapshot, placement.DefaultProfile())
		require.NoError(t, err)
		o := placement.GroupOptions{Gates: q.Gates}
		require.Equal(t, filter.Unschedulable, placer.DecideGroup(q.Queued, o).Code, "the default gives it up")
		o.Complete = gang.Completion(q, gang.Options{})
		d := placer.DecideGroup(q.Queued, o)
		require.Equal(t, filter.Success, d.Code)
		require.NoError(t, placer.AssumeGroup(d))
		if len(d.Members) == 3 && !d.Members[2].Placed() {
			require.NotEmpty(t, d.Members[2].Text, "a member beyond the minimum has a cause of its own")
		}
		for _, g := range d.Groups {
			require.Equal(t, podgroup.ReasonScheduled, g.Reason)
		}
	}
	q := question.Of(t, "node n1:3; node n2:3; group g gang3; pod a,b,c:2 in=g")
	placer, err := placement.NewPlacer(q.Snapshot, placement.DefaultProfile())
	require.NoError(t, err)
	plain := placer.DecideGroup(q.Queued, placement.GroupOptions{})
	require.Equal(t, plain.Groups, placer.DecideGroup(q.Queued, placement.GroupOptions{Complete: gang.Completion(q, gang.Options{})}).Groups, "without a placement nothing differs")
}

// What a caller's search says is decided again.
func TestCompletionIsDecided(t *testing.T) {
	q := question.Of(t, "gates=T; node big:4 zone=a; node small:2 zone=b; node c1:2 zone=b; group g gang2 key=zone; pod p1:2 in=g; pod p2:3 in=g")
	placer, err := placement.NewPlacer(q.Snapshot, placement.DefaultProfile())
	require.NoError(t, err)
	at := func(nodes ...string) (out []placement.GroupPlace) {
		for k, n := range nodes {
			out = append(out, placement.GroupPlace{Pod: q.Queued[k%2], Node: n})
		}
		return out
	}
	for why, places := range map[string][]placement.GroupPlace{
		"no room": at("small", "small"), "two domains": at("small", "big"), "too few": at("small"), "twice": at("small", "big", "small"), "no such node": at("gone", "big"), "nothing": nil,
	} {
		d := placer.DecideGroup(q.Queued, placement.GroupOptions{Gates: q.Gates, Complete: func([]*v1.Pod) ([]placement.GroupPlace, error) { return places, nil }})
		require.Equal(t, filter.Unschedulable, d.Code, why)
	}
	broken := func([]*v1.Pod) ([]placement.GroupPlace, error) { return nil, errors.New("the search broke") }
	d := placer.DecideGroup(q.Queued, placement.GroupOptions{Gates: q.Gates, Complete: broken})
	require.Equal(t, filter.Error, d.Code)
	for _, m := range d.Members {
		require.Equal(t, "the search broke", m.Text, "an error is that of all members")
	}
}
