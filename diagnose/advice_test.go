package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// At most three remedies; nodes to add are one remedy.
func TestAdvice(t *testing.T) {
	add := func(from string) Relaxation {
		return Relaxation{Node: from + "-more", Changes: []Change{{Kind: AddNode, From: from}}}
	}
	cordoned := func(n string) Relaxation {
		return Relaxation{Node: n, Changes: []Change{{Kind: Uncordon, Object: "Node " + n}}}
	}
	both := Relaxation{Node: "x", Changes: []Change{{Kind: AddNode, From: "a"}, {Kind: Uncordon, Object: "Node n"}}}
	d := &Diagnosis{Relaxations: []Relaxation{cordoned("n1"), add("a"), add("b"), both, add("a"), cordoned("n2")}, Changes: []Change{{Kind: Uncordon}, {Kind: AddNode}, {Kind: AddNode}}}
	require.Equal(t, []string{
		"Node n1: uncordon, if its maintenance is over: then it goes to n1", "add a node like a or b: then it runs there",
		"add a node like a; Node n: uncordon, if its maintenance is over: then it goes to x",
	}, d.Advice()[:3])
	require.Len(t, d.Advice(), 3)
	both.Changes = append(both.Changes, Change{Kind: Untaint})
	require.Len(t, (&Diagnosis{Relaxations: []Relaxation{both, add("a")}}).Advice(), 1, "two changes more")
	require.Nil(t, (&Diagnosis{}).Advice())
	require.Equal(t, []string{"AddNode", "Uncordon"}, d.Tried())
}
