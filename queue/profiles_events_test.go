package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Each profile has registrations of its own: what wakes a pod of one profile does not wake a pod of another that the same plugin rejected.
func TestRegistrationsOfEachProfile(t *testing.T) {
	waits := func(a Action) Profile { return Profile{Events: []Registration{{"P", Event{"Node", a, ""}, nil}}} }
	q, err := New(Options{Profiles: map[string]Profile{"one": waits(Add), "two": waits(UpdateNodeLabel)}})
	require.NoError(t, err)
	entries := map[string]*Entry{}
	for _, name := range []string{"one", "two"} {
		p := testkit.Pod(name).Obj()
		p.Spec.SchedulerName = name
		_, err := q.Add(p, noon)
		require.NoError(t, err)
		e, _ := q.Pop(noon)
		_, err = q.Return(e, Failure{Rejecters: []string{"P"}}, noon)
		require.NoError(t, err)
		entries[name] = e
	}
	q.Move(Change{Event: Event{"Node", Add, ""}, New: new(v1.Node)}, noon)
	require.Equal(t, Backoff, entries["one"].Place())
	require.Equal(t, Unschedulable, entries["two"].Place())
	q.Move(Change{Event: Event{"Node", UpdateNodeLabel, ""}, Old: new(v1.Node), New: new(v1.Node)}, noon)
	require.Equal(t, Backoff, entries["two"].Place())
}
