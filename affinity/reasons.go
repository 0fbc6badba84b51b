package affinity

import "github.com/podberth/podberth/resources"

// The verdicts of this package. Zero allows.
const (
	// NodeEnforced: the profile's added node affinity does not match the node.
	NodeEnforced = 1 | resources.Unresolvable
	// NodeMismatch: the pod's nodeSelector or required node affinity does not match the node.
	NodeMismatch = 2 | resources.Unresolvable
	// NotNamed: the pod is pinned to nodes by metadata.name and this is none of them; such a node is not evaluated at
	// all. Check never answers it: who narrows the search by NodeEvaluator.Names uses it for the nodes left out.
	NotNamed = 3 | resources.Unresolvable
	// TermsConflict: the pod's requirements on metadata.name exclude each other. The pod is rejected before any node
	// is looked at.
	TermsConflict = 4 | resources.Unresolvable
	// PodAffinity: a required pod affinity term has no matching pod in the node's domain, or the node lacks the key.
	PodAffinity = 5 | resources.Unresolvable
	// PodAntiAffinity: a pod in the node's domain matches one of the pod's required anti-affinity terms.
	PodAntiAffinity resources.Verdict = 6
	// ExistingAntiAffinity: a required anti-affinity term of a pod in the node's domain matches the pod.
	ExistingAntiAffinity resources.Verdict = 7
	// Unparsable: a pod affinity term of the pod cannot be converted. The pod is rejected before any node is looked at;
	// the error of CompilePods has the text.
	Unparsable = 8 | resources.Unresolvable
)

var reasons = [...]string{
	NodeEnforced &^ resources.Unresolvable:  "node(s) didn't match scheduler-enforced node affinity",
	NodeMismatch &^ resources.Unresolvable:  "node(s) didn't match Pod's node affinity/selector",
	NotNamed &^ resources.Unresolvable:      "node(s) didn't satisfy plugin(s) [NodeAffinity]",
	TermsConflict &^ resources.Unresolvable: "pod affinity terms conflict",
	PodAffinity &^ resources.Unresolvable:   "node(s) didn't match pod affinity rules",
	PodAntiAffinity:                         "node(s) didn't match pod anti-affinity rules",
	ExistingAntiAffinity:                    "node(s) didn't satisfy existing pods anti-affinity rules",
	Unparsable &^ resources.Unresolvable:    "parsing pod",
}

// Reasons returns the texts that v1.36.3 reports for a verdict, none for one that allows or that this package does not
// know. The text of Unparsable ends in the pod's own error, which the error of CompilePods prints whole.
func Reasons(verdict resources.Verdict) []string {
	n := int(verdict &^ resources.Unresolvable)
	if n == 0 || n >= len(reasons) {
		return nil
	}
	return []string{reasons[n]}
}

// Rejection is the error of a Compile function whose pod v1.36.3 rejects before it looks at any node. Preemption cannot
// help such a pod.
type Rejection struct {
	Verdict resources.Verdict // TermsConflict or Unparsable
	Err     error             // what could not be parsed; nil for TermsConflict
}

// Error prints the reason as v1.36.3 reports it.
func (r *Rejection) Error() string {
	text := Reasons(r.Verdict)[0]
	if r.Err != nil {
		return text + ": " + r.Err.Error()
	}
	return text
}

// Unwrap returns the parse error, if there is one.
func (r *Rejection) Unwrap() error { return r.Err }
