package preemption

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer, except for objects that must not be nil.
func TestMisuse(t *testing.T) {
	nodes := func() Cluster { return testkit.NewCluster([]*v1.Node{{}, nil}, nil) }
	testkit.Misuse(t, map[string]any{
		"NewIndex":       NewIndex,
		"PostFilterText": PostFilterText,
		"Preempted":      func(p v1.Pod) bool { return Preempted(&p) },
		"Preempt":        Preempt,
		"Priority":       Priority,
		"WhatIfOver":     WhatIfOver,
		"CandidateArgs":  func() CandidateArgs { return CandidateArgs{} },
		"Index":          func() *index { return newIndex(nodes()) },
		"Planner":        func() *Planner { return new(Planner) },
		"Result":         func() *Result { return new(Result) },
	}, map[string]string{
		"Preempt":         "the pod, the cluster and the filters of a request must not be nil",
		"Planner.Preempt": "the pod, the cluster and the filters of a request must not be nil",
	}, nodes(), Request{Pod: &v1.Pod{}, Cluster: nodes()})
}

// The program of the package comment compiles and runs: it stands in the examples.
func TestComment(t *testing.T) {
	testkit.CommentRuns(t, "doc.go", "example_comment_test.go")
}
