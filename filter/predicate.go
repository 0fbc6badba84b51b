package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

// Predicate is one filter plugin for one pod and one cluster. Check and Reasons must not change what they read. Several
// goroutines may call them.
type Predicate interface {
	// Name returns the plugin's name, such as "NodeResourcesFit".
	Name() string
	// Check returns the verdict on slot i. 0 allows. Any other value rejects. The bit resources.Unresolvable says that
	// preemption cannot help. A free slot is rejected.
	Check(i int) resources.Verdict
	// Reasons returns the texts of a verdict in the plugin's order; none for 0.
	Reasons(v resources.Verdict) []string
}

// Evaluator is a pod's side of a filter, compiled once and immutable. C is what the filter reads of a cluster, and S the
// predicate that On returns.
type Evaluator[C any, S Predicate] interface {
	// Skip reports whether the filter leaves the pod out. The filter then allows every node.
	Skip() bool
	// On returns the filter over a cluster.
	On(c C) S
}

// State is a predicate that can show the numbers behind its verdicts, one T for each reason.
type State[T any] interface {
	Predicate
	// Explain returns the numbers behind the verdict on slot i. It allocates: call it to show the result to a person.
	Explain(i int) []T
}

// TrialState is a [State] whose verdicts depend on running pods.
type TrialState[T any] interface {
	State[T]
	// NewTrial returns a copy for what-if questions. The copy is cheap and independent of other copies.
	NewTrial() Trial
}

// Trial is a cheap copy of a predicate for what-if questions. A Trial belongs to one goroutine.
type Trial interface {
	// Check is Predicate.Check after the changes.
	Check(i int) resources.Verdict
	// Add pretends that p comes to slot i, with the effect of kube-scheduler's AddPod.
	Add(p *v1.Pod, i int)
	// Remove pretends that p leaves slot i, with the effect of kube-scheduler's RemovePod. p must be there.
	Remove(p *v1.Pod, i int)
	// Reset forgets all changes and keeps the memory.
	Reset()
}

// Coder is implemented by a predicate that has verdicts with a code other than [Unschedulable] and
// [UnschedulableAndUnresolvable], such as [Error]. Code is not called with verdict 0.
type Coder interface {
	Code(v resources.Verdict) Code
}

// Detailer is implemented by a predicate that has verdicts for which Reasons does not return every text.
type Detailer interface {
	// Partial reports whether v is such a verdict.
	Partial(v resources.Verdict) bool
	// ReasonsAt returns all texts for slot i.
	ReasonsAt(i int) []string
}
