package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/score"
)

// Nil, zero and extreme arguments give an error or the zero answer, but for objects that must not be nil.
func TestMisuse(t *testing.T) {
	const object, noFailure = "pods, clusters and snapshots must not be nil", "the error has no Failure"
	snapshot := func() *cluster.Snapshot {
		s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
		require.NoError(t, err)
		return s
	}
	placer := func() *Placer {
		p, err := NewPlacer(snapshot(), DefaultProfile())
		require.NoError(t, err)
		return p
	}
	pod := testkit.Pod("p").Request("cpu=1").Obj()
	testkit.Misuse(t, map[string]any{
		"NotAsked": NotAsked, "AllNodes": AllNodes,
		"DefaultProfile":     DefaultProfile,
		"New":                New,
		"NewPlacer":          NewPlacer,
		"NewNominations":     NewNominations,
		"Nominations":        func() *Nominations { return NewNominations(snapshot(), []*v1.Pod{pod}) },
		"Rows":               Rows,
		"Entries":            Entries,
		"MemberOutcome":      func() *MemberOutcome { return new(MemberOutcome) },
		"Attempt":            func() *Attempt { return placer().Prepare(pod) },
		"Decision":           func() *Decision { return new(Decision) },
		"Failure":            func() *Failure { return new(Failure) },
		"NoPlaceError":       func() *NoPlaceError { return new(NoPlaceError) },
		"NodeReport":         func() NodeReport { return NodeReport{} },
		"Placer":             placer,
		"PluginArgs":         func() PluginArgs { return PluginArgs{} },
		"Profile":            func() Profile { return Profile{} },
		"slot of Choice":     func(slot int) (score.Explanation, error) { return placer().Choice(pod, slot) },
		"slot of Assume":     func(slot int) error { return placer().Assume(pod, Decision{Slot: slot}) },
		"slot of Rejections": func(slot int) []Rejection { return placer().Rejections(pod, slot) },
		"options": func(next int, o PreemptOptions) preemption.Result {
			p := placer()
			d := p.Decide(pod, Options{Next: next})
			return p.Preempt(pod, d.Failure, Options{Next: next}, o)
		},
	}, map[string]string{
		"DefaultProfile.Schedules":    object,
		"Entries":                     object,
		"NewNominations":              object,
		"Nominations.Node":            object,
		"Nominations.Nominate":        object,
		"Nominations.Of":              object,
		"Nominations.Options":         object,
		"Nominations.WaitsForVictims": object,
		"Profile.Schedules":           object,
		"NewPlacer":                   object,
		"NoPlaceError.MarshalJSON":    noFailure,
		"Placer.Choice":               object,
		"Placer.Decide":               object,
		"Placer.DecideGroup":          object,
		"Placer.HowMany":              object,
		"Placer.PlaceAll":             object,
		"Placer.Preempt":              object,
		"Placer.Prepare":              object,
		"Placer.Rejections":           object,
		"Placer.Table":                object,
		"Rows":                        object,
		"slot of Rejections":          "a slot is a number from 0 to Len()-1",
	}, Cluster(snapshot()), DefaultProfile(), &v1.Pod{}, pod, Decision{Slot: 100}, Decision{Slot: 1, Node: "a2"})
}
