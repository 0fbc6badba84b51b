package compare

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// extender rejects some nodes and scores the others, by the hash of its seed and their names.
type extender struct {
	seed                 int64
	weight               int64
	filters, prioritizes bool
	ignorable, fails     bool
	victims              func(node string) []*v1.Pod // of which it may name any
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
func (e *extender) IsInterested(*v1.Pod) bool      { return true }
func (e *extender) IsPrioritizer() bool            { return e.prioritizes }
func (e *extender) IsFilter() bool                 { return e.filters }
func (e *extender) SupportsPreemption() bool       { return e.victims != nil }
func (e *extender) IsIgnorable() bool              { return e.ignorable }
func (e *extender) Bind(binding *v1.Binding) error { return errExtender }

func (e *extender) Filter(_ *v1.Pod, nodes []fwk.NodeInfo) (stay []fwk.NodeInfo, failed, never extenderv1.FailedNodesMap, err error) {
	if e.fails {
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

// Extenders compares attempts with extenders that filter and score.
func (s *Side) Extenders(c *gen.Cluster) ([]Difference, error) {
	w, err := s.Load(c)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewSource(c.Seed))
	var list []*extender
	s.Real.(*real.Scheduler).Sched.Extenders = nil
	for range 1 + r.Intn(2) {
		e := &extender{seed: r.Int63(), weight: int64(1 + r.Intn(20)), filters: r.Intn(2) == 0, prioritizes: r.Intn(3) > 0, ignorable: true, fails: r.Intn(8) == 0}
		list = append(list, e)
		s.Real.(*real.Scheduler).Sched.Extenders = append(s.Real.(*real.Scheduler).Sched.Extenders, e)
	}
	for _, pod := range c.Pending {
		result, theirErr := s.Real.Schedule(pod)
		what := fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name)
		a := w.Plan.Prepare(pod)
		found := a.Search(placement.Options{Scored: true})
		m := filter.Message{Nodes: len(c.Nodes), PreFilter: a.Pre.Message, Absent: a.Pre.Outside(), Reasons: found.Rejected.Counts(a.Predicates)}
		rejected := found.Rejected.Nodes()
		feasible := slices.DeleteFunc(slices.Clone(found.Feasible), func(i int) bool {
			for _, e := range list {
				if !e.filters || e.fails {
					continue
				}
				if v := e.verdict(w.Snapshot.Node(i).Name); v != "" {
					m.Reasons = append(m.Reasons, filter.Count{Reason: v, Nodes: 1})
					rejected++
					return true
				}
			}
			return false
		})
		m.AbsentNodes = len(c.Nodes) - rejected
		switch {
		case len(c.Nodes) == 0 || found.Err != nil:
			same(s, "extender", what+" fails", theirErr != nil, true)
		case len(feasible) == 0:
			same(s, "extender", what+" message", errText(theirErr), m.String())
		case theirErr != nil && len(feasible) > 1:
			_, _, err := a.Scores(feasible)
			same(s, "extender", what+" error", theirErr.Error(), errText(err))
		case theirErr != nil:
			s.differ("extender", "%s: kube-scheduler says %v, podberth has %d nodes", what, theirErr, len(feasible))
		default:
			if err := s.extended(w, a, feasible, list, what, result.SuggestedHost); err != nil {
				return nil, err
			}
			if err := s.assume(w, pod, result.SuggestedHost); err != nil {
				return nil, err
			}
		}
	}
	return s.differences, nil
}

// extended checks that the chosen node has the best total of plugins and extenders.
func (s *Side) extended(w *World, a *placement.Attempt, feasible []int, list []*extender, what, host string) error {
	names := make([]string, len(feasible))
	for k, i := range feasible {
		names[k] = w.Snapshot.Node(i).Name
	}
	if len(feasible) == 1 { // nothing is scored
		same(s, "extender", what+" only node", host, names[0])
		return nil
	}
	columns, _, err := a.Scores(feasible)
	if err != nil {
		return err
	}
	var extra []score.Column
	for _, e := range list {
		if !e.prioritizes || e.fails {
			continue
		}
		x := score.Column{Plugin: e.Name(), Weight: e.weight}
		for _, n := range names {
			x.Hosts, x.Scores = append(x.Hosts, n), append(x.Scores, e.score(n))
		}
		extra = append(extra, x)
	}
	totals, err := score.Totals(names, columns, extra)
	if err != nil {
		return err
	}
	at := slices.Index(names, host)
	if !same(s, "extender", what+" node is feasible", true, at >= 0) {
		return nil
	}
	same(s, "extender", what+" best total", slices.Max(totals), totals[at])
	return nil
}
