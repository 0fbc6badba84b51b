package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/examples/httpextender/rules"
)

// Verb is something that an extender may offer.
type Verb string

// The verbs of extenders.
const (
	FilterVerb     Verb = "filter"
	PrioritizeVerb Verb = "prioritize"
	PreemptVerb    Verb = "preempt"
	BindVerb       Verb = "bind"
)

// Extender is a process outside the scheduler that has a say. Only methods whose verb it offers are called, and only for
// pods it is interested in.
type Extender interface {
	Name() string
	Offers(v Verb) bool
	Interested(pod *v1.Pod) bool
	// Ignorable reports whether its failure to answer is passed over.
	Ignorable() bool
	// Filter returns which of the nodes stay. A node that is missing without a reason is out as well.
	Filter(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (rules.Filtered, error)
	// Prioritize scores nodes, 0 to 10; a score counts times the column's weight times 10. Its errors are passed over.
	Prioritize(ctx context.Context, pod *v1.Pod, nodes []*v1.Node) (score.Column, error)
	// Preempt looks over the candidates of preemption and returns those that it agrees with, with victims of its own.
	Preempt(ctx context.Context, pod *v1.Pod, candidates []preemption.Candidate) ([]preemption.ExtenderVictims, error)
	// Bind binds the pod.
	Bind(ctx context.Context, pod *v1.Pod, node string) error
}
