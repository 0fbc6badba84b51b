package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// Terms are the compiled inter-pod terms of a running pod, as far as they can concern other pods. They depend on the pod's
// namespace and its affinity terms only, so pods that are equal in both can share them. nil means no terms. They are
// immutable and safe for concurrent use.
type Terms struct {
	anti, affinity, preferred, preferredAnti []term

	pairs uint64 // the label pairs of which a pod must have one for any term to match it (see guard)
}

// CompileTerms compiles the inter-pod terms of a running pod; it returns nil when there are none. As in v1.36.3 a term
// that cannot be converted silently empties its whole list (required or preferred, affinity or anti-affinity).
func CompileTerms(pod *v1.Pod) *Terms {
	affinity, anti := podinfo.PodAffinity(pod)
	if affinity == nil && anti == nil {
		return nil
	}
	t := &Terms{}
	if affinity != nil {
		t.affinity, _ = newTerms(pod, affinity.RequiredDuringSchedulingIgnoredDuringExecution)
		t.preferred, _ = newWeightedTerms(pod, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if anti != nil {
		t.anti, _ = newTerms(pod, anti.RequiredDuringSchedulingIgnoredDuringExecution)
		t.preferredAnti, _ = newWeightedTerms(pod, anti.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if t.size() == 0 {
		return nil
	}
	for _, list := range [...][]term{t.anti, t.affinity, t.preferred, t.preferredAnti} {
		for i := range list {
			t.pairs |= guard(list[i].selector)
		}
	}
	return t
}

// size returns the number of terms.
func (t *Terms) size() int {
	if t == nil {
		return 0
	}
	return len(t.anti) + len(t.affinity) + len(t.preferred) + len(t.preferredAnti)
}

// AppendWhich appends which terms match an incoming pod, 64 terms to a word: bit k is term k, in the order required
// anti-affinity, required affinity, preferred affinity, preferred anti-affinity. namespaceLabels are the labels of the pod's
// namespace, nil when it is unknown. Running pods treat two incoming pods alike when the bits are equal for all of them.
func (t *Terms) AppendWhich(dst []uint64, pod *v1.Pod, namespaceLabels map[string]string) []uint64 {
	if t == nil {
		return dst
	}
	get := func() map[string]string { return namespaceLabels }
	k := 0
	for _, list := range [...][]term{t.anti, t.affinity, t.preferred, t.preferredAnti} {
		for i := range list {
			if k%64 == 0 {
				dst = append(dst, 0)
			}
			if list[i].matchesIn(pod, get) {
				dst[len(dst)-1] |= 1 << (k % 64)
			}
			k++
		}
	}
	return dst
}
