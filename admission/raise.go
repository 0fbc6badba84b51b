package admission

import (
	"maps"

	v1 "k8s.io/api/core/v1"
)

// Raise changes some of the hard amounts of a quota; the others stay. Raise does nothing for a namespace or a quota that does not exist, and for nil
// Quotas.
func (q *Quotas) Raise(namespace, name string, hard v1.ResourceList) {
	if q == nil {
		return
	}
	for _, x := range q.quotas[namespace] {
		if x.name == name {
			whole := maps.Clone(x.hard)
			if whole == nil {
				whole = v1.ResourceList{}
			}
			maps.Copy(whole, hard)
			x.hard = whole
		}
	}
}
