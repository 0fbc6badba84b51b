package filter

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// Predicate is one filter plugin, for one pod and one cluster: the State that a package's Count returns. Check and Reasons
// must not change what they read, and may be called by several goroutines.
type Predicate interface {
	// Name returns the plugin's name, such as "NodeResourcesFit".
	Name() string
	// Check returns the verdict on slot i: 0 allows; any other value rejects, with the bit Unresolvable set when
	// preemption cannot help.
	Check(i int) resources.Verdict
	// Reasons returns the texts of a verdict, in the plugin's order; none for 0.
	Reasons(v resources.Verdict) []string
}

// Coder is implemented by a predicate that has verdicts with a code other than Unschedulable and
// UnschedulableAndUnresolvable, such as Error. Code is only asked about verdicts other than 0.
type Coder interface {
	Code(v resources.Verdict) Code
}

// Detailer is implemented by a predicate some of whose verdicts do not name every reason. Partial reports whether v is
// such a verdict; ReasonsAt returns all reasons on slot i.
type Detailer interface {
	Partial(v resources.Verdict) bool
	ReasonsAt(i int) []string
}

// Trial is a predicate's cheap copy for what-if questions. Add and Remove pretend that a pod comes to or leaves slot i,
// with the effects that kube-scheduler's AddPod and RemovePod have; Reset forgets them all. A Trial belongs to one
// goroutine.
type Trial interface {
	Check(i int) resources.Verdict
	Add(p *v1.Pod, i int)
	Remove(p *v1.Pod, i int)
	Reset()
}

// Rejection says which predicate of a list turned a slot down, and its verdict. The zero value means that none did.
type Rejection struct {
	// Predicate is the position in the list.
	Predicate uint16
	// Verdict is what its Check returned; 0 allows.
	Verdict resources.Verdict
}

// Allowed reports whether no predicate rejects.
func (r Rejection) Allowed() bool { return r.Verdict == 0 }

// unresolvable reports whether removing pods cannot help.
func (r Rejection) unresolvable() bool { return r.Verdict&resources.Unresolvable != 0 }

// Predicates is the list of filters of a pod in plugin order (see Order). Predicates that the pod makes no use of are left
// out, as a plugin is left out whose PreFilter answered Skip.
type Predicates []Predicate

// First returns the first rejection of slot i in list order; the predicates after it are not asked. Rule: "Scheduling
// Framework", Filter: when any filter marks the node as infeasible the remaining ones are not called. No allocation.
func (ps Predicates) First(i int) Rejection {
	for k, p := range ps {
		if v := p.Check(i); v != 0 {
			return Rejection{uint16(k), v}
		}
	}
	return Rejection{}
}

// AppendAll appends every rejection of slot i in list order: what the older schedulers report with
// alwaysCheckAllPredicates.
func (ps Predicates) AppendAll(dst []Rejection, i int) []Rejection {
	for k, p := range ps {
		if v := p.Check(i); v != 0 {
			dst = append(dst, Rejection{uint16(k), v})
		}
	}
	return dst
}

// Code returns the code of a rejection that First or AppendAll returned.
func (ps Predicates) Code(r Rejection) Code {
	if r.Allowed() {
		return Success
	}
	if c, ok := ps[r.Predicate].(Coder); ok {
		return c.Code(r.Verdict)
	}
	if r.unresolvable() {
		return UnschedulableAndUnresolvable
	}
	return Unschedulable
}

// Reasons returns the texts of a rejection of slot i that First or AppendAll returned; none when it allows.
func (ps Predicates) Reasons(r Rejection, i int) []string {
	if r.Allowed() {
		return nil
	}
	p := ps[r.Predicate]
	if d, ok := p.(Detailer); ok && d.Partial(r.Verdict) {
		return d.ReasonsAt(i)
	}
	return p.Reasons(r.Verdict)
}

// Err returns an error when the rejection of slot i is none: the predicate failed (code Error), or answered with a code
// that a filter must not use. It ends the whole attempt.
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

// Nominated returns, of the pods nominated to a node, those that take part when pod is filtered: of at least its priority
// and with another UID, in the given order. A pod without priority has priority 0.
func Nominated(pod *v1.Pod, nominated []*v1.Pod) []*v1.Pod {
	var out []*v1.Pod
	for _, q := range nominated {
		if q.UID != pod.UID && podinfo.Priority(q) >= podinfo.Priority(pod) {
			out = append(out, q)
		}
	}
	return out
}

// TwoPass is First for a slot to which pods are nominated (those that the function Nominated leaves): the pod must pass
// with all of them there, and must pass without them. The rejection of the pass that failed is returned, the first one's
// before the second's. Without nominated pods it is a single pass.
//
// trials[k] is the Trial of ps[k], nil when that predicate does not look at other pods. TwoPass resets the trials at the
// start and end of each pass. base, nil or not, is called after each reset at a pass's start, so that a caller can repeat
// changes of its own, such as the victims that a preemption has taken away.
func (ps Predicates) TwoPass(trials []Trial, i int, nominated []*v1.Pod, base func()) Rejection {
	if len(nominated) > 0 {
		if r := ps.pass(trials, i, nominated, base); !r.Allowed() {
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

func quote(s string) string { return `"` + s + `"` }
