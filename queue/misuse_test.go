package queue

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// Nil, zero and extreme arguments give an error or the zero answer.
func TestMisuse(t *testing.T) {
	fresh := func() *Queue {
		q, err := New(Options{})
		if err != nil {
			panic(err)
		}
		return q
	}
	busy := func() *Queue {
		q := fresh()
		for _, name := range []string{"a", "b", "c"} {
			if _, err := q.Add(testkit.Pod(name).Obj(), noon); err != nil {
				panic(err)
			}
		}
		e, _ := q.Pop(noon)
		if _, err := q.Return(e, Failure{}, noon); err != nil {
			panic(err)
		}
		q.Pop(noon)
		return q
	}
	grouped := func() *Queue {
		c := newClique(t, podgroup.Gates{Topology: true, Composites: true})
		c.composite("job", "", 1)
		c.group("g", "job", 1, 0)
		c.come("g", "a", "b!")
		c.come("none", "c")
		c.pop()
		return c.q
	}
	testkit.Misuse(t, map[string]any{
		"grouped Queue": grouped,
		"GroupOptions":  func() *GroupOptions { return newClique(t, podgroup.Gates{}).q.o.Groups },
		"New":           func(o Options) { _, _ = New(o) },
		"New with durations": func(d time.Duration, max *time.Duration) {
			_, _ = New(Options{InitialBackoff: d, MaxBackoff: max, Leftover: d, LeftoverPeriod: d})
		},
		"New with a profile": func(g Gate, r Registration) {
			_, _ = New(Options{Profiles: map[string]Profile{"": {Gates: []Gate{g}, Events: []Registration{r}}}})
		},
		"Queue":              fresh,
		"busy Queue":         busy,
		"DefaultEvents":      DefaultEvents,
		"NodeUpdateEvents":   NodeUpdateEvents,
		"PodUpdateEvents":    PodUpdateEvents,
		"PriorityLess":       PriorityLess,
		"SchedulingGates":    func(pod *v1.Pod) GateVerdict { return SchedulingGates().Check(pod) },
		"UnregisteredEvents": UnregisteredEvents,
		"Entry":              func() *Entry { return new(Entry) },
		"Explanation":        func() Explanation { return Explanation{} },
		"Event":              func() Event { return Event{} },
		"Move":               func() Move { return Move{} },
		"Place.String":       Place.String,
		"Action.String":      Action.String,
	}, map[string]string{
		"PriorityLess": "an entry that is nil has no pod and no time",
	})
}
