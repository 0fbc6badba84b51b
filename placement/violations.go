package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podinfo"
)

// Violation is a running pod that would not be allowed where it is if it came now.
type Violation struct {
	Pod        string      `json:"pod"` // namespace/name
	Node       string      `json:"node"`
	Rejections []Rejection `json:"rejections"`
}

// rules are the filters whose rules can stop holding for a running pod: it stays all the same, except that a NoExecute
// taint evicts it.
var rules = map[string]bool{"TaintToleration": true, "NodeAffinity": true, "InterPodAffinity": true, "PodTopologySpread": true}

// remover is a predicate over counts of running pods.
type remover interface {
	Add(p *v1.Pod, i int)
	Remove(p *v1.Pod, i int)
}

// Violations returns the running pods whose taints, node affinity, inter-pod affinity or spread rules no longer hold, each
// judged as if it came to its node now and did not run there yet; pods that are terminating are left out. In scan order of
// the nodes. Equal pods share the count of the cluster: O(distinct pods x (nodes + pod sets) + pods).
func (p *Plan) Violations() []Violation {
	var out []Violation
	kept := map[string]*Explained{}
	var k keyer
	for _, i := range p.order() {
		for pod := range p.cluster.Pods(i) {
			if pod.DeletionTimestamp != nil {
				continue
			}
			k.b = k.b[:0]
			k.pod(pod)
			e, ok := kept[string(k.b)]
			if !ok {
				e = p.prepareRules(pod)
				kept[string(k.b)] = e
			}
			if r := e.without(pod, i); len(r) > 0 {
				out = append(out, Violation{podinfo.Name(pod), p.cluster.Node(i).Name, r})
			}
		}
	}
	return out
}

func (p *Plan) prepareRules(pod *v1.Pod) *Explained {
	e := &Explained{Attempt: Attempt{plan: p, pod: pod}, texts: map[filter.Rejection]Rejection{}}
	for _, plugin := range p.profile.Filters {
		if !rules[plugin.Name()] {
			continue
		}
		if f := plugin.Filter(pod, p.cluster); f.Code == filter.Success && f.Predicate != nil {
			e.Predicates = append(e.Predicates, f.Predicate)
		}
	}
	return e
}

// without asks about the pod's own slot as if the pod were not there.
func (e *Explained) without(pod *v1.Pod, slot int) []Rejection {
	for _, p := range e.Predicates {
		if r, ok := p.(remover); ok {
			r.Remove(pod, slot)
			defer r.Add(pod, slot)
		}
	}
	return e.Rejections(slot)
}
