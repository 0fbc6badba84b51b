package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/placement/internal/reuse"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/volumes"
)

// Decision is the answer to "where can this pod go, and why not elsewhere?".
type Decision struct {
	// Slot and Node are the chosen node; -1 and "" when no node was chosen.
	Slot int
	Node string
	// Total is the weighted sum of the chosen node's scores. It is 0 when only that node was feasible: v1.37 scores nothing
	// then.
	Total int64
	// Nodes is the number of nodes of the cluster, Evaluated the number of nodes that were checked, and Feasible the number
	// of those that can take the pod.
	Nodes     int
	Evaluated int
	Feasible  int
	// Next is where the next search begins (Options.Next).
	Next int
	// Volumes is what has to happen to the pod's claims on that node (Placer.Assume reserves it). It is empty for most pods.
	Volumes volumes.Decision
	// Devices is what the pod's claims get on that node (Placer.Assume writes it into the claims). It is empty for most pods.
	Devices devices.Allocation
	// Failure says why no node was chosen; nil when a node was chosen.
	Failure *Failure
}

// Placed reports whether a node was chosen.
func (d Decision) Placed() bool { return d.Slot >= 0 }

// Failure says why a pod has no node. The failures of equal pods may share lists, whose elements must not be changed.
type Failure struct {
	// Code is Unschedulable, UnschedulableAndUnresolvable, or Error.
	Code filter.Code
	// Message is what kube-scheduler reports, without the text of preemption. Message.String is the text of the condition.
	Message filter.Message
	// Rejecters are the plugins that rejected the pod, in plugin order: events of these plugins may make the pod schedulable.
	Rejecters []string
	// Err is the error of a plugin that failed; Message is empty then.
	Err error

	shown *shownMessage
}

// shownMessage is a message with its text, which failures of equal pods share. nil is none.
type shownMessage struct {
	message filter.Message
	text    string
}

// show makes the text of a failure.
func (f *Failure) show() {
	m := f.Message
	f.shown = &shownMessage{m, m.String()}
	f.shown.message.Reasons, f.shown.message.Absent = slices.Clone(m.Reasons), slices.Clone(m.Absent)
}

// of reports whether the text is that of a message. A caller may have changed the message of a failure.
func (s *shownMessage) of(m *filter.Message) bool {
	if s == nil {
		return false
	}
	k := &s.message
	return k.Nodes == m.Nodes && k.PreFilter == m.PreFilter && k.PostFilter == m.PostFilter && k.AbsentNodes == m.AbsentNodes &&
		slices.Equal(k.Reasons, m.Reasons) && slices.Equal(k.Absent, m.Absent)
}

// Text returns the message, or the text of Err. Of nil, the failure of a pod that has a node, it returns "".
func (f *Failure) Text() string {
	if f == nil {
		return ""
	}
	if f.Err != nil {
		return f.Err.Error()
	}
	if f.Message.Nodes == 0 {
		return filter.NoNodes
	}
	if f.shown.of(&f.Message) {
		return f.shown.text
	}
	return f.Message.String()
}

// Decide chooses a node for the pod as v1.37 does: the filters in their order, then the scores, then the largest total. Of
// equal totals it chooses the first in scan order, unless [Options.Tie] chooses. Decide changes nothing; [Placer.Assume] puts the
// pod on the node. Without nodes the [Failure] has the text of v1.37. The cost is in the package comment.
func (p *Plan) Decide(pod *v1.Pod, o Options) Decision {
	p.ahead = readAhead(pod)
	p.unadmitted.note(pod)
	d := Decision{Slot: -1, Nodes: p.nodes(&o), Next: o.Next}
	if d.Nodes == 0 {
		d.Failure = &Failure{Code: filter.UnschedulableAndUnresolvable}
		return d
	}
	a, x, ok := p.kept(pod, o, d.Nodes)
	if ok {
		p.answer(&d, a, pod, o, &x)
		return d
	}
	if a == nil {
		a = p.attempt(pod, o)
	}
	return a.decide(d, o)
}

// kept asks the engine, which answers from kept work. It reports false when the nodes must be asked one by one. The attempt is nil when
// the pod was not prepared.
func (p *Plan) kept(pod *v1.Pod, o Options, nodes int) (a *Attempt, x reuse.Answer, ok bool) {
	if p.engine == nil {
		return nil, x, false
	}
	q := reuse.Question{Pod: pod, Order: p.inOrder(), From: view.Around(o.Next, nodes), Slots: o.within, Tie: o.Tie}
	if limit := p.limit(nodes, o); limit < nodes {
		q.Limit = limit
	}
	if o.Nominated == nil && pod.Status.NominatedNodeName == "" {
		opened, ok := p.engine.Open(&q)
		if ok {
			x, ok = p.engine.Decide(&opened, &q)
		}
		return nil, x, ok
	}
	return p.keptBesideNominated(&q, o)
}

// keptBesideNominated is kept for a pod that is nominated to a node, or beside other nominated pods.
func (p *Plan) keptBesideNominated(q *reuse.Question, o Options) (a *Attempt, x reuse.Answer, ok bool) {
	n := asksNominated{plan: p, pod: q.Pod, options: o}
	if n.decidedByOwn() {
		return n.attempt, x, false
	}
	opened, ok := p.engine.Open(q)
	if !ok {
		return n.attempt, x, false
	}
	matter, ok := n.addOthers(q, &opened)
	if !ok {
		return n.attempt, x, false
	}
	x, ok = p.engine.Decide(&opened, q)
	// Why nominated pods keep a pod out is asked node by node.
	return n.attempt, x, ok && (x.Slot >= 0 || !matter)
}

// answer writes the engine's answer into the decision. a is the attempt of the pod; nil when the pod was not prepared.
func (p *Plan) answer(d *Decision, a *Attempt, pod *v1.Pod, o Options, x *reuse.Answer) {
	d.Feasible, d.Slot, d.Total = x.Feasible, x.Slot, x.Total
	if d.Evaluated = x.Examined; d.Evaluated == 0 {
		d.Evaluated = d.Nodes
	}
	d.Next = view.Around(d.Next+d.Evaluated, d.Nodes)
	if d.Feasible > 1 && len(p.profile.Scores) == 0 {
		d.Total = 1 // as in score.Totals
	}
	if d.Slot >= 0 {
		d.Node = p.cluster.Node(d.Slot).Name
		if !volumes.Ignores(pod) {
			if a == nil {
				a = p.binders(pod, x.Statics)
			}
			d.Volumes = a.Volumes(d.Slot)
		}
		d.Devices = devicesOn(d.Slot, x.Predicates)
		return
	}
	d.Failure = p.refuse(d.Nodes, pod, x)
	p.failure, p.failed = d.Failure, nil
	p.refusal = refusal{pod, o.within, x.Predicates, x.Rejected, x.VerdictKey, p.version()}
}

func (a *Attempt) decide(d Decision, o Options) Decision {
	var verdicts []filter.Rejection
	if !a.Rejected() {
		verdicts = a.plan.blank()
	}
	found := a.search(o, a.recorded(o, verdicts))
	d.Evaluated, d.Feasible, d.Next = found.Examined, len(found.Feasible), found.Next
	switch {
	case found.Err != nil:
		d.Failure = &Failure{Code: filter.Error, Err: found.Err}
	case d.Feasible == 0:
		d.Failure = a.failure(d.Nodes, &found.Rejected, found.NominatedBy)
		a.plan.verdicts = nil // the failure keeps the list
		a.fail(d.Failure, verdicts)
	case d.Feasible == 1:
		d.Slot = found.Feasible[0]
	default:
		_, totals, err := a.Scores(found.Feasible)
		if err != nil {
			d.Failure = &Failure{Code: filter.Error, Err: err}
			break
		}
		best := score.Best(totals, tie(o))
		d.Slot, d.Total = found.Feasible[best], totals[best]
	}
	if d.Slot >= 0 {
		d.Node, d.Volumes, d.Devices = a.plan.cluster.Node(d.Slot).Name, a.Volumes(d.Slot), devicesOn(d.Slot, a.Predicates)
	}
	return d
}

func tie(o Options) func([]int) int {
	if o.Tie == nil {
		return nil
	}
	return func(tied []int) int { return o.Tie(len(tied)) }
}

// binders returns the part of a pod's attempt that knows about claims. shared are the predicates of pods that share work. Those that know
// about claims are prepared again, because each of these pods has claims of its own.
func (p *Plan) binders(pod *v1.Pod, shared []filter.Predicate) *Attempt {
	a := &Attempt{plan: p, pod: pod}
	for k, s := range shared {
		if _, ok := s.(binder); !ok {
			continue
		}
		if f := p.profile.Filters[k].Filter(pod, p.cluster); f.Predicate != nil {
			a.Predicates = append(a.Predicates, f.Predicate)
		}
	}
	return a
}

// maxRefused limits the failures that a plan keeps.
const maxRefused = 1 << 11

// refuse returns the failure of an answer. Pods that get the same answer get copies of one failure, which share their lists.
func (p *Plan) refuse(nodes int, pod *v1.Pod, x *reuse.Answer) *Failure {
	if now := p.log.Version(); now != p.refusedAt || len(p.refused) == maxRefused {
		p.refused, p.refusedAt = map[*filter.Histogram]Failure{}, now
	}
	if f, known := p.refused[x.Rejected]; known {
		return &f
	}
	f := (&Attempt{plan: p, pod: pod, Predicates: x.Predicates}).failure(nodes, x.Rejected)
	if x.Kept {
		p.refused[x.Rejected] = *f
	}
	return f
}

// failure makes the message of what the predicates returned.
func (a *Attempt) failure(nodes int, rejected *filter.Histogram, nominatedBy ...string) *Failure {
	f := &Failure{Code: filter.Unschedulable, Message: filter.Message{Nodes: nodes}}
	if a.Rejected() {
		f.Code, f.Err = a.Pre.Code, a.Pre.Err
		f.Message.PreFilter, f.Rejecters = a.Pre.Message, a.Pre.Rejecters()
		f.show()
		return f
	}
	f.Message.Reasons = rejected.Counts(a.Predicates)
	f.Message.Absent, f.Message.AbsentNodes = a.Pre.LeftOut(nominatedBy...), nodes-rejected.Nodes()
	f.show()
	f.Rejecters = a.inOrder(append(a.Pre.Rejecters(), rejected.Rejecters(a.Predicates)...))
	return f
}

// inOrder returns the plugins of the profile that are among names, in plugin order and each once: a plugin that names the
// only nodes may also reject some of them.
func (a *Attempt) inOrder(names []string) []string {
	var out []string
	for _, p := range a.plan.profile.Filters {
		if slices.Contains(names, p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}
