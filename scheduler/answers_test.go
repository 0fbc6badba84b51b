package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// sums is a Metrics that adds up what the scheduler measures.
type sums struct {
	mu    sync.Mutex
	lines map[string]*sum
}

type sum struct {
	times int
	value float64
}

func (s *sums) Add(name string, n float64, labels ...string) { s.note("+", name, n, labels) }

func (s *sums) Observe(name string, value float64, labels ...string) {
	s.note("~", name, value, labels)
}

func (s *sums) Set(name string, value float64, labels ...string) {
	s.note("=", name, value, append(labels, fmt.Sprint(value)))
}

func (s *sums) note(kind, name string, value float64, labels []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %s %v", strings.TrimPrefix(name, "scheduler_"), kind, labels)
	if s.lines == nil {
		s.lines = map[string]*sum{}
	}
	if s.lines[key] == nil {
		s.lines[key] = &sum{}
	}
	s.lines[key].times++
	s.lines[key].value += value
}

// story is all that a rig did, a line each.
func (r *rig) story(s *script, m *sums) (lines []string) {
	add := func(kind string, list []string) {
		for _, x := range list {
			lines = append(lines, kind+" "+x)
		}
	}
	lines = append(lines, "calls "+strings.Join(s.calls, " "))
	for _, x := range r.results {
		var victims []string
		for _, v := range x.Victims {
			victims = append(victims, v.Name)
		}
		lines = append(lines, fmt.Sprintf("result %s %s on %q nominated %q %v, %d of %d feasible, total %d, attempt %d: %s",
			x.Pod.Name, x.Outcome, x.Node, x.Nominated, victims, x.Feasible, x.Evaluated, x.Total, x.Attempts, x.Message))
	}
	add("move", r.moves)
	r.s.queue.Read(func(q *queue.Queue) {
		for _, name := range sortedKeys(r.pods) {
			if e, ok := q.Lookup(r.pods[name]); ok {
				lines = append(lines, fmt.Sprintf("waits %s for %v, %v of them pending", name, e.Rejecters, e.PendingPlugins))
			}
		}
	})
	add("patch", r.patches)
	add("event", r.events)
	add("deleted", r.deleted)
	for _, err := range r.errs {
		lines = append(lines, "error "+err.Error())
	}
	for _, key := range sortedKeys(m.lines) {
		if strings.HasSuffix(key, " 0]") {
			continue // a gauge without anything
		}
		lines = append(lines, fmt.Sprintf("metric %s %d times, %g", key, m.lines[key].times, m.lines[key].value))
	}
	return lines
}

// differences returns the lines that only one of two stories has, in their order.
func differences(before, after []string) (out []string) {
	for _, x := range before {
		if !slices.Contains(after, x) {
			out = append(out, "- "+x)
		}
	}
	for _, x := range after {
		if !slices.Contains(before, x) {
			out = append(out, "+ "+x)
		}
	}
	return out
}

// compareStories writes the story of the first name in full, and for the others what differs from the first.
func compareStories(t *testing.T, file string, names []string, tell func(name string) []string) {
	t.Helper()
	var out strings.Builder
	var first []string
	for k, name := range names {
		lines := tell(name)
		if k == 0 {
			first = lines
		} else {
			lines = differences(first, lines)
		}
		fmt.Fprintf(&out, "%s\n\t%s\n", name, strings.Join(lines, "\n\t"))
	}
	testkit.Golden(t, file, out.String())
}

// A plugin gives every status at every point. The story has the calls, the outcome, what the API server and the caller hear, and
// what is measured: a call of A takes a second, a call of B two seconds.
func TestEveryAnswerAtEveryPoint(t *testing.T) { // the table of points, W12
	points := []Point{PreEnqueue, PreFilter, Filter, PostFilter, PreScore, Score, Reserve, Permit, PreBind, Bind, PostBind}
	answers := map[string]*Status{
		"Unschedulable": u("no"), "UnschedulableAndUnresolvable": uau("never"), "Error": bad, "Skip": NewStatus(Skip), "Wait": NewStatus(Wait),
		"Pending": NewStatus(Pending, "later"), "Code(17)": NewStatus(17),
	}
	names := []string{"Success"}
	for _, at := range append(points, "Normalize", "PreFlight") {
		for _, name := range sortedKeys(answers) {
			names = append(names, string(at)+" "+name)
		}
	}
	compareStories(t, "testdata/answers.golden", names, func(name string) []string {
		where, what, _ := strings.Cut(name, " ")
		at, st := Point(where), answers[what]
		s, list := probes(2)
		p, reg := on(list, append([]Point{"-"}, points...)...)
		m := &sums{}
		r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, Metrics: m}, three()[:2])
		for k, x := range list {
			for _, point := range append(points, "Normalize", "PreFlight", "Unreserve") {
				x.do[point] = func() { r.clock.advance(time.Duration(k+1) * time.Second) }
			}
			x.score = map[string]int64{"n1": int64(k), "n2": 3}
			x.timeout = time.Hour
		}
		list[0].answer[at] = st
		switch at {
		case PostFilter:
			list[1].answer[Filter] = u("full")
		case "PreFlight":
			list[0].preflight = st
		}
		x := pod("p")
		r.add(x).step()
		if r.s.waiting.has(x.UID) {
			r.clock.advance(time.Minute)
			r.s.waiting.allow(x.UID, "A")
			r.work()
		}
		r.s.Gauges()
		return r.story(s, m)
	})
}

// everyNode is the answer of an extender that filters nothing.
func everyNode(nodes []*v1.Node) (out rules.Filtered) {
	for _, n := range nodes {
		out.Nodes = append(out.Nodes, n.Name)
	}
	return out
}

// sameVictims is the answer of an extender that agrees with every candidate.
func sameVictims(list []preemption.Candidate) (out []preemption.ExtenderVictims) {
	for _, c := range list {
		v := preemption.ExtenderVictims{Node: c.Node, Violations: c.Violations}
		for _, p := range c.Victims {
			v.UIDs = append(v.UIDs, p.Pod.UID)
		}
		out = append(out, v)
	}
	return out
}

// scripted is an extender that notes its calls.
type scripted struct {
	name      string
	script    *script
	ignorable bool
	aloof     bool          // not interested in any pod
	offers    map[Verb]bool // nil: all but BindVerb
	fails     map[Verb]error
	filtered  *rules.Filtered
	scores    map[string]int64
	weight    int64
}

func (e *scripted) Name() string { return e.name }
func (e *scripted) Offers(v Verb) bool {
	if e.offers == nil {
		return v != BindVerb
	}
	return e.offers[v]
}
func (e *scripted) Interested(*v1.Pod) bool { return !e.aloof }
func (e *scripted) Ignorable() bool         { return e.ignorable }

func (e *scripted) says(v Verb, nodes ...string) error {
	e.script.note("%s.%v %v", e.name, v, nodes)
	return e.fails[v]
}

func (e *scripted) Filter(_ context.Context, _ *v1.Pod, nodes []*v1.Node) (rules.Filtered, error) {
	out := everyNode(nodes)
	err := e.says(FilterVerb, out.Nodes...)
	if e.filtered != nil {
		out = *e.filtered
	}
	return out, err
}

func (e *scripted) Prioritize(_ context.Context, _ *v1.Pod, nodes []*v1.Node) (out score.Column, err error) {
	for _, n := range nodes {
		out.Hosts, out.Scores = append(out.Hosts, n.Name), append(out.Scores, e.scores[n.Name])
	}
	out.Weight = e.weight
	return out, e.says(PrioritizeVerb, out.Hosts...)
}

func (e *scripted) Preempt(_ context.Context, _ *v1.Pod, list []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
	var nodes []string
	for _, c := range list {
		nodes = append(nodes, c.Node)
	}
	return sameVictims(list), e.says(PreemptVerb, nodes...)
}

func (e *scripted) Bind(_ context.Context, _ *v1.Pod, node string) error {
	return e.says(BindVerb, node)
}

// Two extenders, X that may be ignored and Y that may not, answer in many ways. Y filters first.
func TestEveryAnswerOfExtenders(t *testing.T) { // E4
	lost := errors.New("no answer")
	changes := map[string]func(x, y *scripted){
		"no extenders":            nil,
		"X is not interested":     func(x, y *scripted) { x.aloof = true },
		"Y is not interested":     func(x, y *scripted) { y.aloof = true },
		"nobody is interested":    func(x, y *scripted) { x.aloof, y.aloof = true, true },
		"X offers nothing":        func(x, y *scripted) { x.offers = map[Verb]bool{} },
		"X only prioritizes":      func(x, y *scripted) { x.offers = map[Verb]bool{PrioritizeVerb: true} },
		"nobody filters":          func(x, y *scripted) { x.offers = map[Verb]bool{PrioritizeVerb: true}; y.offers = x.offers },
		"nobody offers anything":  func(x, y *scripted) { x.offers = map[Verb]bool{}; y.offers = x.offers },
		"X fails to filter":       func(x, y *scripted) { x.fails[FilterVerb] = lost },
		"Y fails to filter":       func(x, y *scripted) { y.fails[FilterVerb] = lost },
		"X fails to prioritize":   func(x, y *scripted) { x.fails[PrioritizeVerb] = lost },
		"Y fails to prioritize":   func(x, y *scripted) { y.fails[PrioritizeVerb] = lost },
		"both fail to prioritize": func(x, y *scripted) { x.fails[PrioritizeVerb], y.fails[PrioritizeVerb] = lost, lost },
		"X keeps n2":              func(x, y *scripted) { x.filtered = &rules.Filtered{Nodes: []string{"n2"}} },
		"X says why n1 fails": func(x, y *scripted) {
			x.filtered = &rules.Filtered{Nodes: []string{"n2", "n3"}, Failed: map[string]string{"n1": "small"}}
		},
		"X keeps no node": func(x, y *scripted) {
			x.filtered = &rules.Filtered{Failed: map[string]string{"n1": "small", "n3": "dark"}}
		},
		"Y keeps no node": func(x, y *scripted) {
			y.filtered = &rules.Filtered{Unresolvable: map[string]string{"n1": "never", "n2": "never"}, Failed: map[string]string{"n1": "small"}}
		},
		"Y names a foreign node": func(x, y *scripted) { y.filtered = &rules.Filtered{Nodes: []string{"n9", "n3"}} },
		"X scores":               func(x, y *scripted) { x.scores = map[string]int64{"n1": 1, "n2": 5, "n3": 2} },
		"X and Y score":          func(x, y *scripted) { x.scores, y.scores = map[string]int64{"n2": 5}, map[string]int64{"n3": 3} },
		"X binds":                func(x, y *scripted) { x.offers = map[Verb]bool{BindVerb: true} },
		"X fails to bind":        func(x, y *scripted) { x.offers, x.fails[BindVerb] = map[Verb]bool{BindVerb: true}, lost },
		"Y fails to bind":        func(x, y *scripted) { y.offers, y.fails[BindVerb] = map[Verb]bool{BindVerb: true}, lost },
		"X fails to bind, Y binds": func(x, y *scripted) {
			x.offers, x.fails[BindVerb] = map[Verb]bool{BindVerb: true}, lost
			y.offers = x.offers
		},
		"X fails to preempt": func(x, y *scripted) { x.fails[PreemptVerb] = lost },
		"Y fails to preempt": func(x, y *scripted) { y.fails[PreemptVerb] = lost },
		"Y does not preempt": func(x, y *scripted) { y.offers = map[Verb]bool{FilterVerb: true} },
	}
	compareStories(t, "testdata/extenders.golden", append([]string{"both answer"}, sortedKeys(changes)...), func(name string) []string {
		s := &script{}
		x := &scripted{name: "X", script: s, ignorable: true, fails: map[Verb]error{}, weight: 1}
		y := &scripted{name: "Y", script: s, fails: map[Verb]error{}, weight: 2}
		o := Options{Extenders: []Extender{x, y}}
		if change, ok := changes[name]; ok && change == nil {
			o.Extenders = nil
		} else if ok {
			change(x, y)
		}
		m := &sums{}
		o.Metrics = m
		low := func(name, node string) *v1.Pod {
			return testkit.Pod("default/" + name).On(node).Priority(0).Request("cpu=3").Obj()
		}
		r := newRig(t, o, three(), low("low1", "n1"), low("low2", "n2"))
		r.add(pod("p")).step()
		r.add(testkit.Pod("default/next").Priority(0).Request("cpu=1").Obj()).step()
		r.add(testkit.Pod("default/high").Priority(9).Request("cpu=4").Obj()).step()
		r.step()
		r.s.Gauges()
		return r.story(s, m)
	})
}
