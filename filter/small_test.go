package filter

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Every code has a name, and other numbers show themselves.
func TestCodeNames(t *testing.T) {
	for c, want := range codeNames {
		require.Equal(t, want, Code(c).String())
	}
	require.Equal(t, "Code(-1)", Code(-1).String())
	require.Equal(t, "Code(7)", Code(len(codeNames)).String())
}

// The rules of nodes say what they read, and nothing where they are skipped.
func TestReadsOfNodeRules(t *testing.T) {
	reads := func(e Evaluator[Cluster, Predicate]) []string {
		s := e.On(newWorld(node("n1")))
		return s.(interface{ Reads(dst []string) []string }).Reads([]string{"before"})
	}
	bound := testkit.Pod("p").On("n1").Obj()
	require.Equal(t, []string{"before", "name"}, reads(CompileNodeName(bound)))
	require.Equal(t, []string{"before"}, reads(CompileNodeName(&v1.Pod{})))
}
