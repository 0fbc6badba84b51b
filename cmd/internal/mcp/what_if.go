package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/tools/whatif"
)

// action is one change of what_if.
type action struct {
	Do string `json:"do"`
	On string `json:"on"`
	To string `json:"to"`
}

// actionNames are the names of changes here and as flags of the command what-if.
type actionNames [][2]string

var actions = actionNames{{"cordon", "cordon"}, {"taint", "taint"}, {"untaint", "untaint"}, {"label", "label"}, {"scale", "scale"}, {"request", "request"}, {"removeNode", "remove-node"}, {"addNodeLike", "add-node-like"}, {"evict", "evict"}}

// withoutTo are the changes that say all in "on".
var withoutTo = []string{"cordon", "removeNode", "evict"}

func (a actionNames) names() (out []string) {
	for _, x := range a {
		out = append(out, x[0])
	}
	return out
}

// name returns the name of a change for that of a flag.
func (a actionNames) name(flag string) string {
	for _, x := range a {
		if x[1] == flag {
			return x[0]
		}
	}
	return flag
}

func (a actionNames) flag(name string) (flag string, ok bool) {
	for _, x := range a {
		if x[0] == name {
			return x[1], true
		}
	}
	return "", false
}

// changed is what program what-if says.
type changed struct {
	Summary struct {
		WaitingBefore int `json:"waitingBefore"`
		WaitingAfter  int `json:"waitingAfter"`
		NewlyWaiting  int `json:"newlyWaiting"`
		Placed        int `json:"placed"`
		Moves         int `json:"moves"`
	} `json:"summary"`
	Waits []struct {
		Pod     string `json:"pod"`
		Since   string `json:"since"`
		From    string `json:"from"`
		Message string `json:"message"`
	} `json:"waits"`
	Placed []struct {
		Pod  string `json:"pod"`
		Node string `json:"node"`
		New  bool   `json:"new"`
	} `json:"placed"`
	Moves []struct {
		Pod  string `json:"pod"`
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"moves"`
	Gone []struct {
		Pod  string `json:"pod"`
		Node string `json:"node"`
		Why  string `json:"why"`
	} `json:"gone"`
	Victims []struct {
		Pod string `json:"pod"`
		By  string `json:"by"`
	} `json:"victims"`
	Refused []struct {
		Pod      string   `json:"pod"`
		Message  string   `json:"message"`
		Cause    string   `json:"cause"`
		Remedies []string `json:"remedies"`
	} `json:"refused"`
}

// whatIfAnswer is the answer of what_if: the pods that wait because of the changes by reason, and the lists of the command.
type whatIfAnswer struct {
	changed
	Waits     []group `json:"waits"`     // because of the changes
	WaitsToo  []group `json:"waitsToo"`  // without the changes too
	WaitsFrom int     `json:"waitsFrom"` // pods that ran before and wait now
}

// whatIf answers what_if with the command what-if.
func whatIf(q *question, in *input) (reply, error) {
	var args []string
	for k, c := range in.Changes {
		flag, ok := actions.flag(c.Do)
		switch {
		case !ok:
			return reply{}, fmt.Errorf("changes[%d].do: Unsupported value: %q: supported values: %s", k, cut(c.Do, 100), strings.Join(actions.names(), ", "))
		case c.On == "" || len(c.On) > mostArgument || len(c.To) > mostArgument:
			return reply{}, fmt.Errorf("changes[%d]: Invalid value: on must be named, and texts have at most %d bytes", k, mostArgument)
		case c.To != "" && slices.Contains(withoutTo, c.Do):
			return reply{}, fmt.Errorf("changes[%d].to: Forbidden: %s has none", k, c.Do)
		case strings.Contains(c.On, "="):
			return reply{}, fmt.Errorf("changes[%d].on: Invalid value: %q: must be a name", k, c.On)
		}
		value := c.On
		if c.Do == "evict" {
			value = q.qualified(c.On)
		}
		if c.To != "" {
			value += "=" + c.To
		}
		args = append(args, "-"+flag+"="+value)
	}
	var c changed
	if err := q.run("what-if", whatif.Run, q.snapshot.in, &c, args...); err != nil {
		return reply{}, err
	}
	a := whatIfAnswer{changed: c, Waits: []group{}, WaitsToo: []group{}}
	for _, x := range c.Waits {
		if x.From != "" {
			a.WaitsFrom++
		}
		if x.Since == "change" {
			a.Waits = grouped(a.Waits, x.Message, x.Pod)
		} else {
			a.WaitsToo = grouped(a.WaitsToo, x.Message, x.Pod)
		}
	}
	s := c.Summary
	lines := []string{fmt.Sprintf("%d pods wait, %d before; %d because of the changes; %d get a node, %d move, %d go, %d give way.", s.WaitingAfter, s.WaitingBefore, s.NewlyWaiting, s.Placed, s.Moves, len(c.Gone), len(c.Victims))}
	for _, r := range c.Refused {
		lines = append(lines, fmt.Sprintf("Refused: %s: %s %s", r.Pod, r.Message, r.Cause))
	}
	for _, g := range a.Waits {
		lines = append(lines, fmt.Sprintf("Waits: %s: %s", these(g.Examples, g.Pods), g.Reason))
	}
	return reply{a, lines}, nil
}
