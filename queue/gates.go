package queue

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/podgroup"
)

// gate runs the gates of the entry's profile: first the gate that holds the entry, then the others in their order. gate stops
// at the first refusal and writes the refusing gate into the entry. The entry must not be enlisted.
func (q *Queue) gate(e *Entry) (refused bool, by *plugin) {
	if e.Members != nil {
		return q.gateMembers(e)
	}
	holding := e.GatingPlugin
	e.GatingPlugin, e.GateMessage, e.GateErr = "", "", nil
	if holding != "" {
		for _, g := range e.profile.gates {
			if g.Name == holding {
				if p := q.refuses(g, e); p != nil {
					return true, p
				}
			}
		}
	}
	for _, g := range e.profile.gates {
		if g.Name != holding {
			if p := q.refuses(g, e); p != nil {
				return true, p
			}
		}
	}
	return false, nil
}

func (q *Queue) refuses(g Gate, e *Entry) *plugin {
	v := q.ask(g, e.Pod)
	if !v.Refuse && v.Err == nil {
		return nil
	}
	e.GatingPlugin, e.GateMessage, e.GateErr = g.Name, v.Message, v.Err
	if at, found := slices.BinarySearch(e.Rejecters, g.Name); !found {
		e.Rejecters = slices.Insert(slices.Clone(e.Rejecters), at, g.Name)
		e.resolve()
	}
	return e.profile.plugin(g.Name)
}

// ask asks a gate. The gate of gangs says the same of all members of a group, and is asked once while the gates of a root are asked.
func (q *Queue) ask(g Gate, pod *v1.Pod) GateVerdict {
	group, ok := podgroup.Of(pod)
	if g.Name != pluginGang || q.gang == nil || !ok {
		return g.Check(pod)
	}
	v, known := q.gang[group]
	if !known {
		v = g.Check(pod)
		q.gang[group] = v
	}
	return v
}

// rejecters returns a sorted copy without repetitions.
func rejecters(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}
