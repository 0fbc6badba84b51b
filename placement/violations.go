package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/key"
	"github.com/podberth/podberth/internal/podinfo"
)

// Violation is a running pod that its node would reject if the pod came now.
type Violation struct {
	Pod        string      `json:"pod"` // namespace/name
	Node       string      `json:"node"`
	Rejections []Rejection `json:"rejections"`
}

// Violations returns the running pods whose taints, node affinity, inter-pod affinity or spread rules no longer hold. Each
// pod is checked as if it did not run yet and came to its node now. Terminating pods are left out. The result is in scan
// order of the nodes. Equal pods share their counts: O(distinct pods x (nodes + pod sets) + pods).
func (p *Plan) Violations() []Violation {
	var out []Violation
	kept := map[string]*explained{}
	var rules []byte
	for _, i := range p.order() {
		for pod := range p.cluster.Pods(i) {
			if pod.DeletionTimestamp != nil {
				continue
			}
			var e *explained
			if rules = p.rulesKey(rules[:0], pod); rules != nil {
				e = kept[string(rules)]
			}
			if e == nil {
				e = p.prepareRules(pod)
				kept[string(rules)] = e
			}
			if r := e.without(pod, i); len(r) > 0 {
				out = append(out, Violation{podinfo.Name(pod), p.cluster.Node(i).Name, r})
			}
		}
	}
	return out
}

// rulesKey appends what the filters with CanStopHolding read of a pod. It returns nil when one of them has no AppendKey.
func (p *Plan) rulesKey(dst []byte, pod *v1.Pod) []byte {
	for _, plugin := range p.profile.Filters {
		if !plugin.CanStopHolding {
			continue
		}
		if plugin.AppendKey == nil {
			return nil
		}
		at := len(dst)
		dst = key.Close(plugin.AppendKey(key.Open(dst), pod), at)
	}
	return append(dst, 0)
}

func (p *Plan) prepareRules(pod *v1.Pod) *explained {
	e := &explained{Attempt: Attempt{plan: p, pod: pod}, texts: map[filter.Rejection]Rejection{}}
	for _, plugin := range p.profile.Filters {
		if !plugin.CanStopHolding {
			continue
		}
		if f := plugin.Filter(pod, p.cluster); f.Code == filter.Success && f.Predicate != nil {
			e.Predicates = append(e.Predicates, f.Predicate)
		}
	}
	return e
}

// without checks the pod's own slot as if the pod were not there.
func (e *explained) without(pod *v1.Pod, slot int) []Rejection {
	for _, p := range e.Predicates {
		if r, ok := p.(remover); ok {
			r.Remove(pod, slot)
			defer r.Add(pod, slot)
		}
	}
	return e.rejections(slot)
}
