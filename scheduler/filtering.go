package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// This file runs PreFilter, Filter, the extenders' filters and PostFilter.

// NodeStatuses holds the rejections of the nodes in an attempt that found no node.
type NodeStatuses struct {
	explicit map[int]*Status // by slot
	absent   *Status         // of nodes without a status of their own

	failure  *placement.Failure // of the plan; nil without one
	attempt  *placement.Attempt // instead of explicit
	verdicts []filter.Rejection
}

// Get returns the status of a slot.
func (n *NodeStatuses) Get(slot int) *Status {
	if n.attempt != nil {
		r := n.verdicts[slot]
		switch {
		case r == placement.NotAsked():
			return n.absent
		case r.Verdict == 0:
			return nil
		}
		p := n.attempt.Predicates
		return NewStatus(p.Code(r), p.Reasons(r, slot)...).by(p[r.Predicate].Name())
	}
	if st, ok := n.explicit[slot]; ok {
		return st
	}
	return n.absent
}

// code is the code of Get without the texts.
func (n *NodeStatuses) code(slot int) Code {
	if n.attempt != nil && n.verdicts[slot] != placement.NotAsked() {
		return n.attempt.Predicates.Code(n.verdicts[slot])
	}
	return n.Get(slot).Code()
}

// foundNodes is the outcome of the search for nodes.
type foundNodes struct {
	nodes     []*NodeInfo
	evaluated int
	pre       filter.PreFilters
	statuses  *NodeStatuses
	rejecters []string // plugins of Filter and extenders, each once
	pending   []string
}

func (d *foundNodes) rejected(st *Status) {
	if p := st.Plugin(); p != "" {
		if !slices.Contains(d.rejecters, p) {
			d.rejecters = append(d.rejecters, p)
		}
		if st.Code() == Pending && !slices.Contains(d.pending, p) {
			d.pending = append(d.pending, p)
		}
	}
}

// runPreFilter calls the PreFilter plugins in order and combines their answers.
func (f *Framework) runPreFilter(ctx context.Context, state *State, pod *v1.Pod, nodes []*NodeInfo) filter.PreFilters {
	var pre filter.PreFilters
	began := f.s.metricsNow()
	defer func() { f.point(PreFilter, began, pre.Code) }()
	for _, p := range f.preFilter {
		only, st := call(f, ctx, PreFilter, p, func(ctx context.Context) ([]string, *Status) { return p.PreFilter(ctx, state, pod, nodes) })
		code, reasons := st.Code(), st.Reasons()
		switch code {
		case Skip:
			state.skipFilter[p.Name()] = true
		case Success, Unschedulable, UnschedulableAndUnresolvable, Error, Pending, Wait:
		default:
			code, reasons = Error, []string{st.failure().Error()}
		}
		if pre.Add(filter.PreFilterResult{Plugin: p.Name(), Code: code, Reasons: reasons, Nodes: only}) {
			break
		}
	}
	return pre
}

// runFilters calls the Filter plugins for one node, until a plugin rejects the node.
func (f *Framework) runFilters(ctx context.Context, state *State, pod *v1.Pod, node *NodeInfo) *Status {
	for _, p := range f.filter {
		if state.skipFilter[p.Name()] {
			continue
		}
		st := f.status(ctx, Filter, p, func(ctx context.Context) *Status { return p.Filter(ctx, state, pod, node) })
		switch {
		case st.Success():
		case st.Rejected():
			return st.by(p.Name())
		default:
			return AsStatus(fmt.Errorf("running %q filter plugin: %w", p.Name(), st.failure()))
		}
	}
	return nil
}

// runFiltersWithNominated does what runFilters does, for a node with nominated pods. The pod must pass with the
// nominated pods of at least its priority on the node, and without them.
func (f *Framework) runFiltersWithNominated(ctx context.Context, state *State, pod *v1.Pod, node *NodeInfo, nominated []*v1.Pod) *Status {
	if counted := filter.Nominated(pod, nominated); len(counted) > 0 {
		with, there := state.Clone(), node.clone()
		for _, q := range counted {
			if st := f.addPod(ctx, with, pod, q, there); !st.Success() {
				return st
			}
		}
		if st := f.runFilters(ctx, with, pod, there); !st.Success() {
			return st
		}
	}
	return f.runFilters(ctx, state, pod, node)
}

func (f *Framework) addPod(ctx context.Context, state *State, pod, other *v1.Pod, node *NodeInfo) *Status {
	node.add(other)
	return f.follow(state, "AddPod", func(p Plugin, x PreFilterExtensions) *Status {
		return f.status(ctx, addPodPoint, p, func(ctx context.Context) *Status { return x.AddPod(ctx, state, pod, other, node) })
	})
}

func (f *Framework) removePod(ctx context.Context, state *State, pod, other *v1.Pod, node *NodeInfo) *Status {
	node.remove(other)
	return f.follow(state, "RemovePod", func(p Plugin, x PreFilterExtensions) *Status {
		return f.status(ctx, removePodPoint, p, func(ctx context.Context) *Status { return x.RemovePod(ctx, state, pod, other, node) })
	})
}

// follow reports an added or removed pod of a what-if to the PreFilter plugins that do not skip.
func (f *Framework) follow(state *State, verb string, tell func(Plugin, PreFilterExtensions) *Status) *Status {
	for _, p := range f.preFilter {
		x, ok := p.(PreFilterExtensions)
		if !ok || state.skipFilter[p.Name()] {
			continue
		}
		if st := tell(p, x); !st.Success() {
			return AsStatus(fmt.Errorf("running %s on PreFilter plugin %q: %w", verb, p.Name(), st.failure()))
		}
	}
	return nil
}

// findNodes runs PreFilter, Filter and the extenders' filters. An error ends the attempt.
func (f *Framework) findNodes(ctx context.Context, a *attempt) (*foundNodes, error) {
	s, state, pod := f.s, a.state, a.pod
	all := s.nodes.list
	d := &foundNodes{pre: f.runPreFilter(ctx, state, pod, all)}
	d.statuses = &NodeStatuses{explicit: map[int]*Status{}, absent: NewStatus(UnschedulableAndUnresolvable, d.pre.LeftOut()...)}
	if err := d.pre.Err; err != nil {
		return d, err
	}
	if d.pre.Code != Success {
		d.statuses.absent = NewStatus(d.pre.Code, d.pre.Message)
		return d, nil
	}
	candidates := all
	if only := d.pre.Nodes; only != nil {
		candidates = slices.DeleteFunc(slices.Clone(all), func(n *NodeInfo) bool { return !slices.Contains(only, n.Node.Name) })
	}
	hint := f.nodeHint(a, func(node string) (full, found bool) {
		n := s.nodes.named(node)
		return n != nil && !f.runFilters(ctx, state, pod, n).Success(), n != nil
	})
	outside := 0
	if n := s.nodes.named(cmp.Or(pod.Status.NominatedNodeName, hint)); n != nil {
		if f.nominatedTakes(ctx, state, pod, n, d) {
			d.nodes, d.evaluated = []*NodeInfo{n}, 1
			return d, nil
		}
		if st := d.statuses.explicit[n.Slot]; st != nil { // its reasons count even where PreFilter plugins left it out
			d.statuses.absent = NewStatus(UnschedulableAndUnresolvable, d.pre.LeftOut(st.Plugin())...)
			if !slices.Contains(candidates, n) {
				outside = 1
			}
		}
	}
	began := f.s.metricsNow()
	sampling := f.sampling
	sampling.Unscored = len(f.score) == 0 && !s.extendersRank()
	limit := filter.NumToFind(len(candidates), sampling)
	for d.evaluated < len(candidates) && len(d.nodes) < limit {
		n := candidates[(s.next+d.evaluated)%len(candidates)]
		d.evaluated++
		st := f.runFiltersWithNominated(ctx, state, pod, n, s.queue.NominatedFor(n.Node.Name))
		switch {
		case st.Success():
			d.nodes = append(d.nodes, n)
		case st.Rejected():
			d.statuses.explicit[n.Slot] = st
			d.rejected(st)
		default:
			s.next = (s.next + d.evaluated) % len(all)
			f.point(Filter, began, st.Code())
			return d, st.AsError()
		}
	}
	s.next = (s.next + d.evaluated) % len(all)
	d.evaluated += outside
	f.point(Filter, began, Success)
	var err error
	d.nodes, err = s.extenderFilters(ctx, pod, d.nodes, d)
	return d, err
}

// nominatedTakes tries the pod's nominated node before the other nodes. If a plugin fails, the nominated node does not
// take the pod, and the failure has no other effect.
func (f *Framework) nominatedTakes(ctx context.Context, state *State, pod *v1.Pod, n *NodeInfo, d *foundNodes) bool {
	began := f.s.metricsNow()
	st := f.runFiltersWithNominated(ctx, state, pod, n, f.s.queue.NominatedFor(n.Node.Name))
	f.point(Filter, began, Success)
	if st.Rejected() {
		d.statuses.explicit[n.Slot] = st
		d.rejected(st)
	}
	if !st.Success() {
		return false
	}
	trial := &foundNodes{statuses: &NodeStatuses{explicit: map[int]*Status{}}}
	left, err := f.s.extenderFilters(ctx, pod, []*NodeInfo{n}, trial)
	return err == nil && len(left) == 1
}

// message returns the text of an attempt that found no node, without the part of the PostFilter plugins.
func (d *foundNodes) message(nodes int) filter.Message {
	m := filter.Message{Nodes: nodes, PreFilter: d.pre.Message}
	if d.pre.Code != Success {
		return m
	}
	counts := map[string]int{}
	for _, st := range d.statuses.explicit {
		for _, reason := range st.Reasons() {
			counts[reason]++
		}
	}
	for _, reason := range sortedKeys(counts) {
		m.Reasons = append(m.Reasons, filter.Count{Reason: reason, Nodes: counts[reason]})
	}
	m.Absent, m.AbsentNodes = d.statuses.absent.Reasons(), nodes-len(d.statuses.explicit)
	return m
}

// extendersRank reports whether an extender filters or prioritizes, so that one feasible node is not enough.
func (s *Scheduler) extendersRank() bool {
	ranks, err := ask(s, context.Background(), "Extender.Offers", func(context.Context) (bool, error) {
		return slices.ContainsFunc(s.o.Extenders, func(e Extender) bool { return e.Offers(FilterVerb) || e.Offers(PrioritizeVerb) }), nil
	})
	s.report(err)
	return ranks || err != nil
}

// extenderFilters calls the extenders that filter, one after the other. Extenders that are not ignorable come first.
func (s *Scheduler) extenderFilters(ctx context.Context, pod *v1.Pod, nodes []*NodeInfo, d *foundNodes) ([]*NodeInfo, error) {
	for _, ignorable := range [...]bool{false, true} {
		for _, e := range s.o.Extenders {
			if len(nodes) == 0 {
				return nodes, nil
			}
			if s.ignorable(e) != ignorable {
				continue
			}
			answer, asked, err := consult(s, ctx, e, FilterVerb, pod, func(ctx context.Context) (rules.Filtered, error) {
				return e.Filter(ctx, pod, objects(nodes))
			})
			switch {
			case err != nil && ignorable:
				s.passOver(e, err)
				continue
			case err != nil:
				return nil, err
			case !asked:
				continue
			}
			for _, n := range nodes {
				if text, ok := answer.Unresolvable[n.Node.Name]; ok {
					d.statuses.explicit[n.Slot] = NewStatus(UnschedulableAndUnresolvable, text)
				} else if text, ok := answer.Failed[n.Node.Name]; ok {
					d.statuses.explicit[n.Slot] = NewStatus(Unschedulable, text)
				}
			}
			nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *NodeInfo) bool { return !slices.Contains(answer.Nodes, n.Node.Name) })
			d.rejected(NewStatus(Unschedulable).by("Extender")) // read only if no node is left
		}
	}
	return nodes, nil
}

func objects(nodes []*NodeInfo) []*v1.Node {
	out := make([]*v1.Node, len(nodes))
	for k, n := range nodes {
		out[k] = n.Node
	}
	return out
}

// runPostFilter calls the PostFilter plugins in order, until a plugin succeeds or ends the attempt. The nomination is
// the last nomination that a plugin returned, whatever its code. nil keeps the pod's nomination.
func (f *Framework) runPostFilter(ctx context.Context, state *State, pod *v1.Pod, statuses *NodeStatuses) (*Nomination, string) {
	var nomination *Nomination
	var reasons []string
	began, code := f.s.metricsNow(), Unschedulable
	defer func() { f.point(PostFilter, began, code) }()
	for _, p := range f.postFilter {
		n, st := call(f, ctx, PostFilter, p, func(ctx context.Context) (*Nomination, *Status) { return p.PostFilter(ctx, state, pod, statuses) })
		if n != nil {
			nomination = n
		}
		switch st.Code() {
		case Success, UnschedulableAndUnresolvable, Error:
			code = st.Code()
			return nomination, st.Message()
		case Unschedulable, Pending:
			reasons = append(reasons, st.Reasons()...)
		default:
			code = Error
			return nomination, st.failure().Error()
		}
	}
	return nomination, NewStatus(Unschedulable, reasons...).Message()
}
