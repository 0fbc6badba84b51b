package filter

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// Predicates is the list of filters of a pod in plugin order. Leave out predicates that skip the pod, as kube-scheduler
// leaves out a plugin whose PreFilter answers [Skip].
type Predicates []Predicate

// Rejection is a predicate of a list and its verdict on a slot. The zero value means that every predicate allows the slot.
type Rejection struct {
	// Predicate is the position in the list.
	Predicate uint16
	// Verdict is the result of Check. 0 means that no predicate rejects.
	Verdict resources.Verdict
}

// First returns the first rejection of slot i in list order. It does not ask later predicates. No allocation. Rule:
// documentation, "Scheduling Framework", Filter.
func (ps Predicates) First(i int) Rejection {
	for k, p := range ps {
		if v := p.Check(i); v != 0 {
			return Rejection{uint16(k), v}
		}
	}
	return Rejection{}
}

// Code returns the code of a rejection; Success when the rejection allows.
func (ps Predicates) Code(r Rejection) Code {
	if r.Verdict == 0 {
		return Success
	}
	if c, ok := ps[r.Predicate].(Coder); ok {
		return c.Code(r.Verdict)
	}
	if r.Verdict&resources.Unresolvable != 0 {
		return UnschedulableAndUnresolvable
	}
	return Unschedulable
}

// Reasons returns the texts of a rejection of slot i; none when the rejection allows.
func (ps Predicates) Reasons(r Rejection, i int) []string {
	if r.Verdict == 0 {
		return nil
	}
	p := ps[r.Predicate]
	if d, ok := p.(Detailer); ok && d.Partial(r.Verdict) {
		return d.ReasonsAt(i)
	}
	return p.Reasons(r.Verdict)
}

// Err returns an error when the predicate of the rejection failed (code [Error]) or gave a code that a filter must not give.
// Such an error ends the whole attempt. Err returns nil when the predicate allows or rejects slot i.
func (ps Predicates) Err(r Rejection, i int) error {
	switch code := ps.Code(r); code {
	case Success, Unschedulable, UnschedulableAndUnresolvable, Pending:
		return nil
	case Error:
		return &pluginError{Plugin: ps[r.Predicate].Name(), Text: strings.Join(ps.Reasons(r, i), ", ")}
	default:
		return &pluginError{Plugin: ps[r.Predicate].Name(), Text: "unexpected status " + code.String()}
	}
}

// pluginError is the failure of a filter plugin on a node.
type pluginError struct {
	Plugin string
	Text   string
}

// Error returns kube-scheduler's text: running "<plugin>" filter plugin: <text>.
func (e *pluginError) Error() string {
	return "running " + quote(e.Plugin) + " filter plugin: " + e.Text
}

func quote(s string) string { return `"` + s + `"` }

// Nominated returns the pods that count when pod is filtered on the node to which they are nominated: those with another UID
// and at least the priority of pod, in the given order. A pod without priority has priority 0.
func Nominated(pod *v1.Pod, nominated []*v1.Pod) []*v1.Pod {
	var out []*v1.Pod
	for _, q := range nominated {
		if q.UID != pod.UID && podinfo.Priority(q) >= podinfo.Priority(pod) {
			out = append(out, q)
		}
	}
	return out
}

// TwoPass is First for a slot to which pods are nominated. nominated holds the pods that the function [Nominated] returns.
//
//  1. All predicates must allow the slot while the nominated pods are there. This pass is left out without nominated pods.
//  2. All predicates must allow the slot without the nominated pods.
//
// TwoPass returns the rejection of the first pass that fails.
//
// trials[k] is the [Trial] of ps[k], nil when that predicate does not look at running pods. TwoPass resets the trials at the
// start and at the end of each pass. After the reset at the start it calls base, unless base is nil. base repeats changes of
// the caller, such as the victims that a preemption has removed.
func (ps Predicates) TwoPass(trials []Trial, i int, nominated []*v1.Pod, base func()) Rejection {
	if len(nominated) > 0 {
		if r := ps.pass(trials, i, nominated, base); r.Verdict != 0 {
			return r
		}
	}
	return ps.pass(trials, i, nil, base)
}

func (ps Predicates) pass(trials []Trial, i int, nominated []*v1.Pod, base func()) Rejection {
	reset(trials)
	defer reset(trials)
	if base != nil {
		base()
	}
	for _, t := range trials {
		if t == nil {
			continue
		}
		for _, q := range nominated {
			t.Add(q, i)
		}
	}
	for k, p := range ps {
		check := p.Check
		if k < len(trials) && trials[k] != nil {
			check = trials[k].Check
		}
		if v := check(i); v != 0 {
			return Rejection{uint16(k), v}
		}
	}
	return Rejection{}
}

func reset(trials []Trial) {
	for _, t := range trials {
		if t != nil {
			t.Reset()
		}
	}
}
