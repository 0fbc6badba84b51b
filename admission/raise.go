package admission

import (
	"maps"

	v1 "k8s.io/api/core/v1"
)

// Raise gives a quota other hard amounts, beside those that it keeps. A namespace or a quota that is not there, and a nil Quotas, stay as they are.
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
