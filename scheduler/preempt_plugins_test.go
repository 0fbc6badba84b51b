package scheduler

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// lonely is a filter that takes a node only while no pod is there, and fails on a node without pods if broken is set.
type lonely struct{ broken error }

func (lonely) Name() string { return "Lonely" }
func (f lonely) Filter(_ context.Context, _ *State, _ *v1.Pod, n *NodeInfo) *Status {
	for range n.Pods() {
		return NewStatus(Unschedulable, "not alone")
	}
	return AsStatus(f.broken)
}

// Filters of users see the pods that preemption tries without.
func TestPreemptionForUsersFilter(t *testing.T) {
	type test struct {
		name    string
		broken  error
		deleted []string
		message string
	}
	testkit.Run(t, []test{
		{"all leave", nil, []string{"a", "b"}, "0/1 nodes are available: 1 not alone."},
		{"the filter fails", errors.New("broken"), nil, `preemption: running "Lonely" filter plugin: broken`},
	}, func(t *testing.T, c test) {
		p := Profile{Plugins: Plugins{Filter: {Enabled: []PluginRef{{Name: "Lonely"}}}}}
		reg := Registry{"Lonely": func(any, *Handle) (Plugin, error) { return lonely{c.broken}, nil }}
		low := func(name string) *v1.Pod { return testkit.Pod("default/" + name).On("n1").Priority(0).Obj() }
		r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, []*v1.Node{node("n1")}, low("a"), low("b"))
		r.add(testkit.Pod("default/p").Priority(1).Obj()).step()
		require.Equal(t, c.deleted, r.deleted)
		require.Contains(t, r.results[0].Message, c.message)
	})
}

// shy is an extender that cannot say whether it is interested.
type shy struct{ *ext }

func (shy) Interested(*v1.Pod) bool { panic("boom") }

// Without an answer whether an extender is interested, its say about victims fails, and the extender is not asked for it.
func TestShyExtender(t *testing.T) {
	for _, ignorable := range []bool{false, true} {
		x := shy{&ext{name: "n1", ignorable: ignorable, verbs: map[Verb]bool{PreemptVerb: true}, calls: &script{}}}
		r := newRig(t, Options{Extenders: []Extender{x}}, []*v1.Node{node("n1")}, testkit.Pod("default/a").On("n1").Priority(0).Request("cpu=4").Obj())
		r.add(testkit.Pod("default/p").Priority(10).Request("cpu=4").Obj()).step()
		if ignorable {
			require.Equal(t, []string{"a"}, r.deleted, "the extender would have taken n1 off the list")
			continue
		}
		require.Empty(t, r.deleted)
		require.Contains(t, r.last().Message, "preemption: Extender.Interested panicked: boom")
	}
}
