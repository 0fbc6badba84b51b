package thin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/resources"
)

// racked is a plugin of the caller: a pod goes to nodes whose annotation rack is the pod's.
func racked(events []queue.Event, hint queue.Hint) *placement.Plugin {
	p := &placement.Plugin{Name: "Racked", Events: events, Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Predicate: racks{c, pod.Annotations["rack"]}}
	}}
	if hint != nil {
		p.Hint = func(affinity.Namespaces) queue.Hint { return hint }
	}
	return p
}

type racks struct {
	cluster placement.Cluster
	want    string
}

func (r racks) Name() string { return "Racked" }

func (r racks) Check(i int) resources.Verdict {
	if n := r.cluster.Node(i); n == nil || n.Annotations["rack"] != r.want {
		return 1 | resources.Unresolvable
	}
	return 0
}

func (r racks) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) were in another rack"}
}

// sameRack is the hint: a node of the pod's rack may help.
func sameRack(pod *v1.Pod, _, now any) (bool, error) {
	n, ok := now.(*v1.Node)
	return ok && n.Annotations["rack"] == pod.Annotations["rack"], nil
}

// A pod that a plugin of the caller rejected wakes at the events of the plugin, and at no others.
func TestThinWakesPodsOfOwnPlugins(t *testing.T) {
	inRack := func(name, rack string) *v1.Node {
		n := node(name, "4")
		n.Annotations = map[string]string{"rack": rack}
		return n
	}
	added := []queue.Event{{Resource: "Node", Action: queue.Add | queue.UpdateNodeAnnotation}}
	comes := func(rack string) func(t *testing.T, s *Scheduler) {
		return func(t *testing.T, s *Scheduler) { require.NoError(t, s.See("Node", nil, inRack("n2", rack))) }
	}
	turns := func(rack string) func(t *testing.T, s *Scheduler) {
		return func(t *testing.T, s *Scheduler) {
			require.NoError(t, s.See("Node", inRack("n1", "a"), inRack("n1", rack)))
		}
	}
	deleted := func(t *testing.T, s *Scheduler) { require.NoError(t, s.SeePod(on(web("db", "1"), "n1"), nil)) }
	// After do, a pod that the plugin has rejected waits in place, because of why.
	after := func(name, why string, events []queue.Event, hint queue.Hint, do func(t *testing.T, s *Scheduler), place queue.Place) {
		t.Run(name, func(t *testing.T) {
			profile := placement.DefaultProfile()
			profile.Filters = append(profile.Filters, racked(events, hint))
			objects := cluster.Objects{Nodes: []*v1.Node{inRack("n1", "a")}, Pods: []*v1.Pod{on(web("db", "1"), "n1")}}
			w := newServerOf(t, profile, objects, func() time.Time { return time.Unix(1000, 0) })
			p := web("p", "1")
			p.Annotations = map[string]string{"rack": "b"}
			w.waiting(p)
			do(t, w.s)
			require.Equal(t, place, w.place(p), why)
		})
	}
	after("a node of the rack comes", "the plugin waits for new nodes, and its hint agrees", added, sameRack, comes("b"), queue.Backoff)
	after("another node comes", "the hint says that it does not help", added, sameRack, comes("c"), queue.Unschedulable)
	after("another node comes, no hint", "every event that the plugin waits for may help", added, nil, comes("c"), queue.Backoff)
	after("a node turns", "no built-in plugin waits for annotations", added, sameRack, turns("b"), queue.Backoff)
	after("a pod goes", "the plugin does not wait for pods", added, nil, deleted, queue.Unschedulable)
	after("no events", "a plugin that does not say what it waits for hears of every event", nil, nil, deleted, queue.Backoff)
	after("no events, but a hint", "the hint judges every event", nil, sameRack, deleted, queue.Unschedulable)
	after("no events, and the hint agrees", "the hint judges every event", nil, sameRack, comes("b"), queue.Backoff)
	after("events on purpose none", "the plugin waits for nothing but the flush", []queue.Event{}, nil, comes("b"), queue.Unschedulable)
}

// New refuses a profile whose plugins wait for events that do not exist.
func TestThinRefusesUnknownEvents(t *testing.T) {
	profile := placement.DefaultProfile()
	profile.Filters = append(profile.Filters, racked([]queue.Event{{Resource: "Nodes", Action: queue.Add}}, nil))
	c, err := cluster.New(cluster.Objects{})
	require.NoError(t, err)
	_, err = New(c, profile, nil, time.Now)
	require.ErrorContains(t, err, `Invalid value: "Nodes": must be a resource of this package or plural.version.group (plugin Racked)`)
}

// A profile with a name of its own schedules the pods of that name.
func TestThinSchedulesThePodsOfItsProfile(t *testing.T) {
	profile := placement.DefaultProfile()
	profile.SchedulerName = "second"
	w := newServerOf(t, profile, cluster.Objects{Nodes: []*v1.Node{node("n1", "4")}}, func() time.Time { return time.Unix(1000, 0) })
	first, second := web("first", "1"), web("second", "1")
	second.Spec.SchedulerName = "second"
	w.add(first)
	w.add(second)
	require.Equal(t, 1, w.steps())
	require.Equal(t, []result{{Pod: "shop/second", Outcome: "Scheduled", Node: "n1"}}, w.results)
}
