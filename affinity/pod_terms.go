package affinity

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// terms are the compiled inter-pod terms of a running pod. They depend only on the pod's namespace and its affinity terms,
// and pods that are equal in both share them. nil means no terms. terms are immutable.
type terms struct {
	anti, affinity, preferred, preferredAnti []term

	pairs uint64 // label pairs of which a pod must have one for any term to match it (see guard)
}

func requiredAffinity(pod *v1.Pod) ([]term, error) {
	if affinity, _ := podinfo.PodAffinity(pod); affinity != nil {
		return newTerms(pod, affinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return nil, nil
}

func requiredAntiAffinity(pod *v1.Pod) ([]term, error) {
	if _, anti := podinfo.PodAffinity(pod); anti != nil {
		return newTerms(pod, anti.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return nil, nil
}

// compileTerms compiles the inter-pod terms of a running pod; nil when it has none. As in v1.37.2 a term that cannot be
// converted empties its whole list (required or preferred, affinity or anti-affinity) without an error (rule A7.6).
func compileTerms(pod *v1.Pod) *terms {
	affinity, anti := podinfo.PodAffinity(pod)
	if affinity == nil && anti == nil {
		return nil
	}
	t := &terms{}
	t.affinity, _ = requiredAffinity(pod)
	t.anti, _ = requiredAntiAffinity(pod)
	if affinity != nil {
		t.preferred, _ = newWeightedTerms(pod, affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if anti != nil {
		t.preferredAnti, _ = newWeightedTerms(pod, anti.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	for _, list := range [...][]term{t.anti, t.affinity, t.preferred, t.preferredAnti} {
		for i := range list {
			t.pairs |= guard(list[i].selector)
		}
	}
	return t
}

// excludes reports that no term matches a pod with these label pairs. It does not see every such pod. nil has no terms.
func (t *terms) excludes(pairs uint64) bool {
	return t == nil || t.pairs&pairs == 0 && t.pairs != ^uint64(0)
}

// appendWhich appends which terms match an incoming pod, 64 terms to a word. Bit k is term k, in the order required
// anti-affinity, required affinity, preferred affinity, preferred anti-affinity. namespaceLabels are the labels of the
// pod's namespace, nil for an unknown namespace. When two incoming pods have equal bits, running pods with these terms
// treat both alike.
func (t *terms) appendWhich(dst []uint64, pod *v1.Pod, namespaceLabels map[string]string) []uint64 {
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
