package placement

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/score"
)

// waiter is a filter of the caller that waits for events.
func waiter(name string, events ...queue.Event) *Plugin {
	return &Plugin{Name: name, Events: events, Filter: func(*v1.Pod, Cluster) PreFiltered { return PreFiltered{Code: filter.Skip} }}
}

// ofPlugin returns the registrations of one plugin, without their hints.
func ofPlugin(list []queue.Registration, name string) (out []queue.Event) {
	for _, r := range list {
		if r.Plugin == name {
			out = append(out, r.Event)
		}
	}
	return out
}

// The registrations of a default profile are the queue's table with the hints of the profile.
func TestRegistrationsOfDefaultProfiles(t *testing.T) {
	for _, v := range release.Versions() {
		s, err := cluster.New(cluster.Objects{})
		require.NoError(t, err)
		profile := PluginArgs{Release: v}.Profile()
		got, err := profile.Registrations(s, v)
		require.NoError(t, err)
		table := queue.DefaultEvents(nil, v)
		require.Equal(t, len(table), len(got))
		for k, r := range got {
			require.Equal(t, queue.Registration{Plugin: table[k].Plugin, Event: table[k].Event}, queue.Registration{Plugin: r.Plugin, Event: r.Event})
			f := profile.Filter(r.Plugin)
			require.Equal(t, f != nil && f.Hint != nil || table[k].Hint != nil, r.Hint != nil, "%v %s", v, r.Plugin)
		}
	}
}

// The events of built-in plugins stand in the queue's table, those of the caller's filters in the plugins. Nobody else waits.
func TestRegistrations(t *testing.T) {
	s, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	calls := 0
	hinted := waiter("Hinted", queue.Event{Resource: "Node", Action: queue.Add})
	hinted.Hint = func(n affinity.Namespaces) queue.Hint {
		require.Equal(t, affinity.Namespaces(s), n)
		return func(*v1.Pod, any, any) (bool, error) { calls++; return true, nil }
	}
	silent := waiter("Silent")
	silent.Events = []queue.Event{}
	scored := &Plugin{Name: "Scored", Score: scoreTenant, Events: []queue.Event{{Resource: "Node", Action: queue.Add}}}
	own := queue.Event{Resource: "racks.v1.example.com", Action: queue.All}
	all := DefaultProfile()
	got, err := Profile{
		Filters: []*Plugin{hinted, all.Filter(plugins.NodeName), waiter("Open"), silent, waiter("Custom", own)},
		Scores:  []Weighted{{Plugin: scored}, {Plugin: newImageLocality(release.Current)}},
	}.Registrations(s, release.Current)
	require.NoError(t, err)
	var names []string
	for _, r := range got {
		names = append(names, r.Plugin)
		require.Equal(t, slices.Contains([]string{plugins.SchedulingGates, plugins.DefaultPreemption, plugins.NodeName, "Hinted"}, r.Plugin), r.Hint != nil, r.Plugin)
		if r.Plugin == "Hinted" {
			_, err := r.Hint(nil, nil, nil)
			require.NoError(t, err)
		}
	}
	require.Equal(t, 1, calls)
	require.Equal(t, []string{plugins.SchedulingGates, plugins.NodeName, plugins.DefaultPreemption, "Hinted", "Open", "Custom"}, slices.Compact(names))
	require.Equal(t, hinted.Events, ofPlugin(got, "Hinted"))
	require.Equal(t, ofPlugin(queue.UnregisteredEvents("Open"), "Open"), ofPlugin(got, "Open"))
	require.Equal(t, []queue.Event{own}, ofPlugin(got, "Custom"))

	_, err = queue.New(queue.Options{Profiles: map[string]queue.Profile{"": {Events: got}}})
	require.NoError(t, err)
	none, err := Profile{}.Registrations(nil, release.Current)
	require.NoError(t, err)
	require.Len(t, none, 2, "of the gates and of preemption")
}

// A plugin that has no Events and a hint asks the hint about every event.
func TestHintsOfAllEvents(t *testing.T) {
	p := waiter("Open")
	p.Hint = func(affinity.Namespaces) queue.Hint {
		return func(*v1.Pod, any, any) (bool, error) { return false, nil }
	}
	got, err := Profile{Filters: []*Plugin{p}}.Registrations(nil, release.Current)
	require.NoError(t, err)
	for _, r := range got {
		require.NotNil(t, r.Hint, r.Event)
	}
}

// What a profile does not give the queue, and why.
func TestRegistrationErrors(t *testing.T) {
	added := queue.Event{Resource: "Node", Action: queue.Add}
	type test struct {
		name, why string
		profile   Profile
		want      string // "" for no error
	}
	testkit.Run(t, []test{
		{"twice", "a name is known once", Profile{Filters: []*Plugin{waiter("A"), waiter("A")}}, `filters[1]: Duplicate value: "A"`},
		{"nil", "there is nothing to ask", Profile{Filters: []*Plugin{nil}}, "filters[0]: Required value: a plugin"},
		{"a negative weight", "the profile is checked as a whole", Profile{Scores: []Weighted{{newImageLocality(0), -1}}}, "scores[0].weight: Invalid value: -1"},
		{"a built-in name with events", "the table of the queue is the one truth about built-in plugins", Profile{Filters: []*Plugin{waiter(plugins.NodeName, added)}},
			"filters[0].events: Forbidden: the events of the built-in plugin NodeName stand in queue.DefaultEvents; a plugin with events of its own needs another name"},
		{"a built-in name without events", "the plugin takes the place of the built-in one", Profile{Filters: []*Plugin{waiter(plugins.NodeName)}}, ""},
		{"the name of a gate", "the pods would wait for the events of the gate", Profile{Filters: []*Plugin{waiter(plugins.SchedulingGates)}},
			`filters[0].name: Invalid value: "SchedulingGates": is the name of a built-in plugin that filters nothing`},
		{"the name of a score", "the pods would wait for nothing", Profile{Filters: []*Plugin{waiter(plugins.ImageLocality, added)}},
			`filters[0].name: Invalid value: "ImageLocality": is the name of a built-in plugin that filters nothing`},
	}, func(t *testing.T, c test) {
		got, err := c.profile.Registrations(nil, release.Current)
		if c.want == "" {
			require.NoError(t, err)
			require.NotEmpty(t, got)
			return
		}
		require.ErrorContains(t, err, c.want)
		require.Nil(t, got)
	})
}

// A plugin at both points registers once, and what a score takes from the caller does not change the queue.
func TestRegistrationsOfBothPoints(t *testing.T) {
	both := tenant()
	both.Events = []queue.Event{{Resource: "Node", Action: queue.Add}}
	got, err := Profile{Filters: []*Plugin{both}, Scores: []Weighted{{both, 2}, {newNodeResourcesBalancedAllocation(score.BalanceArgs{}, PluginArgs{}.Devices), 1}}}.Registrations(nil, release.Current)
	require.NoError(t, err)
	require.Equal(t, both.Events, ofPlugin(got, both.Name))
}
