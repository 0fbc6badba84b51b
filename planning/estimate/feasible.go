package estimate

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/taints"
)

// Refused is why nodes cannot take a pod, by the first filter that rejects it there.
type Refused struct {
	// Plugin is the filter. Several filters that left the nodes out before any node was asked are joined with ", ".
	Plugin string
	// Reason is v1.37's text, several parted by ", ". Two texts are finer than v1.37's: "nodeSelector" stands for nodes that only the pod's
	// nodeSelector can have kept away, before its affinity terms, and a taint is key=value:effect.
	Reason string
	// Nodes is the number of nodes, and Examples are up to three of them, the first that were asked.
	Nodes    int
	Examples []string
}

// Feasibility says which nodes can take a pod.
type Feasibility struct {
	// Nodes can take the pod, in the order of the question.
	Nodes []string
	// Refused has the other nodes, the largest number first; equal numbers by plugin and reason.
	Refused []Refused
}

// examples is the most names of Refused.
const examples = 3

// Feasible returns the nodes that can take the pod. among names the nodes to ask; nil asks all in scan order. Sampling does not count: every
// node is asked. The error is a *field.Error for a pod that is nil or has a node and for a name that no node has, or that of a filter.
// O(nodes).
func (e *Estimator) Feasible(pod *v1.Pod, among []string) (Feasibility, error) {
	slots, err := e.slots(among)
	if err != nil {
		return Feasibility{}, err
	}
	if err := check(pod, field.NewPath("pod")); err != nil {
		return Feasibility{}, err
	}
	defer e.snapshot.Rollback(e.snapshot.Mark())
	a, err := e.ask(pod)
	if err != nil {
		return Feasibility{}, err
	}
	var out Feasibility
	var tally tally
	for _, i := range slots {
		why, err := a.check(e.snapshot.Node(i), i)
		switch {
		case err != nil:
			return Feasibility{}, err
		case why == nil:
			out.Nodes = append(out.Nodes, e.snapshot.Node(i).Name)
		default:
			tally.add(*why, e.snapshot.Node(i).Name)
		}
	}
	out.Refused = tally.sorted()
	return out, nil
}

// FirstFit returns the first slot of order that the filters and accept allow, -1 without one, and why the filters refused those before it.
// accept nil allows every slot. A slot that has no node is passed over. [placement.Placer] takes the pod there: Prepare, and the Decision of
// the attempt. The errors are those of Feasible.
func (e *Estimator) FirstFit(pod *v1.Pod, order iter.Seq[int], accept func(slot int) bool) (slot int, refused []Refused, err error) {
	if err := check(pod, field.NewPath("pod")); err != nil {
		return -1, nil, err
	}
	defer e.snapshot.Rollback(e.snapshot.Mark())
	a, err := e.ask(pod)
	if err != nil {
		return -1, nil, err
	}
	var tally tally
	for i := range order {
		if i < 0 || i >= e.snapshot.Len() || e.snapshot.Node(i) == nil {
			continue
		}
		why, err := a.check(e.snapshot.Node(i), i)
		if err != nil {
			return -1, nil, err
		}
		if why != nil {
			tally.add(*why, e.snapshot.Node(i).Name)
		} else if accept == nil || accept(i) {
			return i, tally.sorted(), nil
		}
	}
	return -1, tally.sorted(), nil
}

// reason is why a node cannot take a pod.
type reason struct{ plugin, text string }

// check returns why the node of slot i cannot take the pod, nil when it can. The error is that of a filter.
func (a *asked) check(node *v1.Node, i int) (*reason, error) {
	if a.outside(node) {
		text := a.Pre.Message
		if !a.Rejected() {
			text = strings.Join(a.Pre.LeftOut(), ", ")
		}
		return &reason{strings.Join(a.Pre.Rejecters(), ", "), text}, nil
	}
	r := a.Predicates.First(i)
	if r.Verdict == 0 {
		return nil, nil
	}
	return a.reason(node, r, i)
}

// reason returns the reason of a rejection of slot i.
func (a *asked) reason(node *v1.Node, r filter.Rejection, i int) (*reason, error) {
	return a.explained(node, r, func() ([]string, bool, error) {
		if err := a.Predicates.Err(r, i); err != nil {
			return nil, false, err
		}
		d, ok := a.Predicates[r.Predicate].(filter.Detailer)
		return a.Predicates.Reasons(r, i), !ok || !d.Partial(r.Verdict), nil
	})
}

// explained returns the reason of a rejection. The function has its texts, and reports whether they follow from the verdict, for every node: then they
// are asked for once.
func (a *asked) explained(node *v1.Node, r filter.Rejection, texts func() ([]string, bool, error)) (*reason, error) {
	if why := a.known[r]; why != nil {
		return why, nil
	}
	list, follow, err := texts()
	if err != nil {
		return nil, err
	}
	out := &reason{a.Predicates[r.Predicate].Name(), strings.Join(list, ", ")}
	switch out.plugin {
	case plugins.NodeAffinity:
		for key, value := range a.pod.Spec.NodeSelector {
			if has, ok := node.Labels[key]; !ok || has != value {
				out.text = "nodeSelector"
			}
		}
	case plugins.TaintToleration:
		if t := taints.Untolerated(node, a.pod.Spec.Tolerations, a.tolerates); t != nil {
			out.text = t.ToString()
		}
	default:
		if follow {
			if a.known == nil {
				a.known = map[filter.Rejection]*reason{}
			}
			a.known[r] = out
		}
	}
	return out, nil
}

// tally counts nodes by reason.
type tally struct {
	list []Refused
	at   map[reason]int
}

func (t *tally) add(why reason, node string) {
	k, ok := t.at[why]
	if !ok {
		if t.at == nil {
			t.at = map[reason]int{}
		}
		k = len(t.list)
		t.at[why] = k
		t.list = append(t.list, Refused{Plugin: why.plugin, Reason: why.text})
	}
	r := &t.list[k]
	r.Nodes++
	if len(r.Examples) < examples {
		r.Examples = append(r.Examples, node)
	}
}

func (t *tally) sorted() []Refused {
	slices.SortFunc(t.list, func(a, b Refused) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), strings.Compare(a.Plugin, b.Plugin), strings.Compare(a.Reason, b.Reason))
	})
	return t.list
}
