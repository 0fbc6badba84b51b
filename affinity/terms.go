package affinity

import (
	v1 "k8s.io/api/core/v1"
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
	affinity, anti := podAffinity(pod)
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
	if t.Len() == 0 {
		return nil
	}
	for _, list := range [...][]term{t.anti, t.affinity, t.preferred, t.preferredAnti} {
		for i := range list {
			t.pairs |= guard(list[i].selector)
		}
	}
	return t
}

// Len returns the number of terms: required anti-affinity first, then required affinity, preferred affinity and preferred
// anti-affinity. That is the order in which Which and AppendWhich count them.
func (t *Terms) Len() int {
	if t == nil {
		return 0
	}
	return len(t.anti) + len(t.affinity) + len(t.preferred) + len(t.preferredAnti)
}

// Which returns which terms match an incoming pod: bit k is term k in the order of Len. namespaceLabels are the labels of
// the pod's namespace, nil when it is unknown. Two incoming pods with equal bits for every running pod are treated alike
// by them. With more than 64 terms (Len) it covers the first 64 only; use AppendWhich.
func (t *Terms) Which(pod *v1.Pod, namespaceLabels map[string]string) uint64 {
	var words [1]uint64
	if w := t.AppendWhich(words[:0], pod, namespaceLabels); len(w) > 0 {
		return w[0]
	}
	return 0
}

// AppendWhich appends the bits of Which, 64 terms to a word: (Len+63)/64 words.
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
