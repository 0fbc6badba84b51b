package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// Verb is an operation that an extender may offer.
type Verb string

// The verbs of extenders.
const (
	FilterVerb     Verb = "filter"
	PrioritizeVerb Verb = "prioritize"
	PreemptVerb    Verb = "preempt"
	BindVerb       Verb = "bind"
)

// Extender is a process outside the scheduler that takes part in decisions. The scheduler calls only the methods whose
// verbs the extender offers, and only for pods that the extender is interested in.
type Extender interface {
	Name() string
	Offers(v Verb) bool
	Interested(pod *v1.Pod) bool
	// Ignorable reports whether the scheduler ignores the extender's failures.
	Ignorable() bool
	// Filter returns the nodes that can take the pod. A node that is missing without a reason cannot take the pod either.
	Filter(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (rules.Filtered, error)
	// Prioritize scores nodes, 0 to 10. A score is multiplied by the column's weight and by 10. Errors are ignored.
	Prioritize(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (score.Column, error)
	// Preempt gets the candidates of preemption and returns the candidates that remain, with the victims that it chooses.
	Preempt(ctx context.Context, pod *v1.Pod, candidates []preemption.Candidate) ([]preemption.ExtenderVictims, error)
	// Bind binds the pod.
	Bind(ctx context.Context, pod *v1.Pod, node string) error
}
