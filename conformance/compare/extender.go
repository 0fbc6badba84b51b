package compare

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/scheduler/httpextender"
	"github.com/podberth/podberth/score"
)

// extender rejects some nodes and scores the others, by the hash of its seed and their names.
type extender struct {
	seed                 int64
	weight               int64
	filters, prioritizes bool
	ignorable, fails     bool
	victims              func(node string) []*v1.Pod // of which it may name any

	interested    bool
	shown, scored string // the nodes that it was asked to filter and to score
}

func (e *extender) roll(node string, sides int) int {
	h := e.seed
	for _, c := range node {
		h = h*31 + int64(c)
	}
	return rand.New(rand.NewSource(h)).Intn(sides)
}

const (
	refusal      = "the extender says no"
	firmRefusal  = "the extender says never"
	extenderName = "http://extender"
)

var errExtender = errors.New("the extender is away")

// verdict is the extender's answer about a node: "", refusal or firmRefusal.
func (e *extender) verdict(node string) string {
	return [...]string{"", "", refusal, firmRefusal, ""}[e.roll(node, 5)]
}

func (e *extender) score(node string) int64 { return int64(e.roll(node, 11)) }

func (e *extender) Name() string                   { return extenderName }
func (e *extender) IsBinder() bool                 { return false }
func (e *extender) IsInterested(*v1.Pod) bool      { return e.interested }
func (e *extender) IsPrioritizer() bool            { return e.prioritizes }
func (e *extender) IsFilter() bool                 { return e.filters }
func (e *extender) SupportsPreemption() bool       { return e.victims != nil }
func (e *extender) IsIgnorable() bool              { return e.ignorable }
func (e *extender) Bind(binding *v1.Binding) error { return errExtender }

func (e *extender) Filter(_ *v1.Pod, nodes []fwk.NodeInfo) (stay []fwk.NodeInfo, failed, never extenderv1.FailedNodesMap, err error) {
	if e.filters {
		e.shown = namesOf(nodes, func(n fwk.NodeInfo) string { return n.Node().Name })
	}
	if e.filters && e.fails {
		return nil, nil, nil, errExtender
	}
	if !e.filters {
		return nodes, nil, nil, nil
	}
	failed, never = extenderv1.FailedNodesMap{}, extenderv1.FailedNodesMap{}
	for _, n := range nodes {
		switch name := n.Node().Name; e.verdict(name) {
		case refusal:
			failed[name] = refusal
		case firmRefusal:
			never[name] = firmRefusal
		default:
			stay = append(stay, n)
		}
	}
	return stay, failed, never, nil
}

func (e *extender) Prioritize(_ *v1.Pod, nodes []fwk.NodeInfo) (*extenderv1.HostPriorityList, int64, error) {
	e.scored = namesOf(nodes, func(n fwk.NodeInfo) string { return n.Node().Name })
	if e.fails {
		return nil, 0, errExtender
	}
	list := extenderv1.HostPriorityList{}
	if e.prioritizes {
		for _, n := range nodes {
			list = append(list, extenderv1.HostPriority{Host: n.Node().Name, Score: e.score(n.Node().Name)})
		}
	}
	return &list, e.weight, nil
}

// namesOf returns the names of nodes, sorted: of a search in several parts neither side promises an order.
func namesOf[N any](nodes []N, name func(N) string) string {
	var out []string
	for _, n := range nodes {
		out = append(out, name(n))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// library is an extender in the form that podberth asks.
type library struct {
	*extender
	record *extender // what podberth asked it
}

func (e library) Interested(*v1.Pod) bool { return e.interested }
func (e library) Ignorable() bool         { return e.ignorable }

func (e library) Offers(v httpextender.Verb) bool {
	return v == httpextender.Filter && e.filters || v == httpextender.Prioritize && e.prioritizes
}

func (e library) Filter(_ context.Context, _ *v1.Pod, nodes []*v1.Node) (httpextender.Answer, error) {
	e.record.shown = namesOf(nodes, func(n *v1.Node) string { return n.Name })
	if e.fails {
		return httpextender.Answer{}, errExtender
	}
	var out httpextender.Answer
	out.Unresolvable, out.Failed = map[string]string{}, map[string]string{}
	for _, n := range nodes {
		switch e.verdict(n.Name) {
		case refusal:
			out.Failed[n.Name] = refusal
		case firmRefusal:
			out.Unresolvable[n.Name] = firmRefusal
		default:
			out.Nodes = append(out.Nodes, n.Name)
		}
	}
	return out, nil
}

func (e library) Prioritize(_ context.Context, _ *v1.Pod, nodes []*v1.Node) (score.Column, error) {
	e.record.scored = namesOf(nodes, func(n *v1.Node) string { return n.Name })
	if e.fails {
		return score.Column{}, errExtender
	}
	x := score.Column{Plugin: e.Name(), Weight: e.weight}
	if e.prioritizes {
		for _, n := range nodes {
			x.Hosts, x.Scores = append(x.Hosts, n.Name), append(x.Scores, e.score(n.Name))
		}
	}
	return x, nil
}

func (library) Preempt(context.Context, *v1.Pod, map[string]httpextender.Victims) (map[string]httpextender.MetaVictims, error) {
	return nil, errExtender
}

func (library) Bind(context.Context, *v1.Pod, string) error { return errExtender }

// Extenders compares attempts with extenders that filter and score, or fail, or are not interested: which nodes each of them is
// asked about, the error, the message, and the choice.
func (s *Side) Extenders(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewSource(c.Seed))
	var theirs []*extender
	var ours []library
	s.Real.(*real.Scheduler).Sched.Extenders = nil
	for range 1 + r.Intn(2) {
		e := &extender{seed: r.Int63(), weight: int64(1 + r.Intn(20)), filters: r.Intn(2) == 0, prioritizes: r.Intn(3) > 0, ignorable: r.Intn(2) == 0, fails: r.Intn(6) == 0, interested: r.Intn(6) > 0}
		theirs, ours = append(theirs, e), append(ours, library{e, &extender{}})
		s.Real.(*real.Scheduler).Sched.Extenders = append(s.Real.(*real.Scheduler).Sched.Extenders, e)
	}
	for _, pod := range c.Pending {
		what := fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name)
		for k := range theirs {
			theirs[k].shown, theirs[k].scored, *ours[k].record = "", "", extender{}
		}
		result, theirErr := s.Real.Schedule(pod)
		host, err := s.extended(w, pod, ours, what, result.SuggestedHost, theirErr)
		if err != nil {
			return nil, err
		}
		for k := range theirs {
			same(s, "extender", fmt.Sprintf("%s: nodes that extender %d filters", what, k), theirs[k].shown, ours[k].record.shown)
			same(s, "extender", fmt.Sprintf("%s: nodes that extender %d scores", what, k), theirs[k].scored, ours[k].record.scored)
		}
		if host {
			if err := s.assume(w, pod, result.SuggestedHost); err != nil {
				return nil, err
			}
		}
	}
	return s.differences, nil
}

// extended compares one attempt and reports whether the pod got a node.
func (s *Side) extended(w *World, pod *v1.Pod, extenders []library, what, host string, theirErr error) (placed bool, err error) {
	a := w.Plan.Prepare(pod)
	found := a.Search(placement.Options{Scored: true})
	if w.Snapshot.Len() == 0 || found.Err != nil {
		same(s, "extender", what+" fails", theirErr != nil, true)
		return false, nil
	}
	nodes := make([]*v1.Node, len(found.Feasible))
	for k, i := range found.Feasible {
		nodes[k] = w.Snapshot.Node(i)
	}
	answer, err := httpextender.FilterAll(context.Background(), extenders, pod, nodes)
	if err != nil {
		s.Seen.Produced("extender", "failure of one that is not ignorable")
		same(s, "extender", what+" error", errText(theirErr), err.Error())
		return false, nil
	}
	if len(answer.Nodes) == 0 {
		m := filter.Message{Nodes: len(w.Snapshot.Order()), PreFilter: a.Pre.Message, Absent: a.Pre.LeftOut(), Reasons: found.Rejected.Counts(a.Predicates)}
		for _, reasons := range []map[string]string{answer.Failed, answer.Unresolvable} {
			for _, reason := range reasons {
				m.Reasons = append(m.Reasons, filter.Count{Reason: reason, Nodes: 1})
			}
		}
		m.AbsentNodes = m.Nodes - found.Rejected.Nodes() - len(answer.Failed) - len(answer.Unresolvable)
		same(s, "extender", what+" message", errText(theirErr), m.String())
		return false, nil
	}
	if len(answer.Nodes) == 1 { // nothing is scored
		same(s, "extender", what+" only node", host, answer.Nodes[0])
		return theirErr == nil, nil
	}
	feasible := make([]int, len(answer.Nodes))
	left := make([]*v1.Node, len(answer.Nodes))
	for k, name := range answer.Nodes {
		feasible[k] = w.Snapshot.Slot(name)
		left[k] = w.Snapshot.Node(feasible[k])
	}
	columns, _, err := a.Scores(feasible)
	if err != nil || theirErr != nil {
		same(s, "extender", what+" error", errText(theirErr), errText(err))
		return false, nil
	}
	totals, err := score.Totals(answer.Nodes, columns, nil)
	if err != nil {
		return false, err
	}
	for k, more := range httpextender.ScoreAll(context.Background(), extenders, pod, left) {
		totals[k] += more
	}
	at := slices.Index(answer.Nodes, host)
	if !same(s, "extender", what+" node is feasible", true, at >= 0) {
		return false, nil
	}
	return same(s, "extender", what+" best total", slices.Max(totals), totals[at]), nil
}
