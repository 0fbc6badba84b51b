package filter

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Claims stands where DynamicResources stands in the list of filters. Allocating devices is outside this library, so a pod
// that needs it is rejected with a reason that says so, never allowed in silence. A caller with an allocator of its own
// puts its predicate here instead. It is immutable.
type Claims struct {
	claims []string // spec.resourceClaims
	fit    *Fit     // requests that a DeviceClass provides
}

// CompileClaims looks for dynamic resource allocation in a pod: spec.resourceClaims, and requests of extended resources
// that a DeviceClass provides (FitOptions.DeviceResources).
func CompileClaims(pod *v1.Pod, o FitOptions) *Claims {
	e := &Claims{fit: &Fit{}}
	for _, c := range pod.Spec.ResourceClaims {
		e.claims = append(e.claims, c.Name)
	}
	for _, r := range CompileFit(pod, o).requests {
		if r.device {
			e.fit.requests = append(e.fit.requests, r)
		}
	}
	return e
}

// Skip reports whether the pod has nothing to do with dynamic resource allocation.
func (e *Claims) Skip() bool { return len(e.claims) == 0 && len(e.fit.requests) == 0 }

// OutsideError says that a pod needs dynamic resource allocation, which this library does not decide.
type OutsideError struct {
	// Claims are the names in spec.resourceClaims.
	Claims []string
}

// Error names the claims.
func (e *OutsideError) Error() string {
	return "spec.resourceClaims [" + strings.Join(e.Claims, " ") + "]: dynamic resource allocation is outside podberth"
}

// Err returns an *OutsideError when the pod has resource claims, nil otherwise.
func (e *Claims) Err() error {
	if len(e.claims) == 0 {
		return nil
	}
	return &OutsideError{slices.Clone(e.claims)}
}

// Count binds the rule to the rows of a cluster. O(resources of the pod).
func (e *Claims) Count(rows Rows) *ClaimsState { return &ClaimsState{e, e.fit.Count(rows)} }

// ClaimsState is Claims for one pod and one cluster.
type ClaimsState struct {
	claims *Claims
	fit    *FitState
}

// Name returns "DynamicResources".
func (s *ClaimsState) Name() string { return "DynamicResources" }

const (
	claimsOutside = 1 | resources.Unresolvable
	deviceOutside = 2 | resources.Unresolvable
)

// Check rejects every slot when the pod has resource claims, and otherwise a slot whose node offers none of an extended
// resource that the pod asks for and a DeviceClass provides. No allocation.
func (s *ClaimsState) Check(i int) resources.Verdict {
	if len(s.claims.claims) > 0 {
		return claimsOutside
	}
	for _, c := range s.fit.columns {
		if s.fit.rows.Allocatable(i).At(c) == 0 {
			return deviceOutside
		}
	}
	return 0
}

// Reasons returns the text of a verdict. It is this library's own.
func (s *ClaimsState) Reasons(v resources.Verdict) []string {
	switch v {
	case claimsOutside:
		return []string{"pod has resourceClaims: dynamic resource allocation is outside the library"}
	case deviceOutside:
		return []string{"extended resource comes from a DeviceClass: dynamic resource allocation is outside the library"}
	}
	return nil
}

// AppendSignature appends the verdict: it changes only by events on slot i.
func (s *ClaimsState) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(s.Check(i)))
}

// Dynamic returns false: other slots do not matter.
func (s *ClaimsState) Dynamic() bool { return false }
