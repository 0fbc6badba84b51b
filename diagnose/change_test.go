package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// What each kind of change costs and says.
func TestCostAndText(t *testing.T) {
	lower := func(from, v int64) *span { return &span{from: from, v: v} }
	two := []Leaving{{Pod: "default/a", Node: "n1", To: "n2"}, {Pod: "default/b", Node: "n1"}}
	type test struct {
		name string
		c    Change
		cost int64
		text string
	}
	testkit.Run(t, []test{
		{"Uncordon", Change{Kind: Uncordon, Object: "Node n1"}, 2, "Node n1: uncordon, if its maintenance is over"},
		{"DropGate", Change{Kind: DropGate, Object: "O", Path: "p", From: "f"}, 2, "O: drop p (f)"},
		{"RaiseMaxSkew", Change{Kind: RaiseMaxSkew, Object: "O", Path: "p", From: "1", To: "2"}, 3, "O: p from 1 to 2"},
		{"LowerMinDomains", Change{Kind: LowerMinDomains, Object: "O", Path: "p", From: "2", To: "1"}, 3, "O: p from 2 to 1"},
		{"Tolerate", Change{Kind: Tolerate, Object: "O", To: "t"}, 3, "O: tolerate t"},
		{"Label that is set", Change{Kind: Label, Object: "O", From: "f", To: "k=v"}, 3, "O: label k=v"},
		{"Label that goes", Change{Kind: Label, Object: "O", From: "f"}, 3, "O: remove the label f"},
		{"Prefer", Change{Kind: Prefer, Object: "O", Path: "p", From: "f"}, 4, "O: make p a preference (f)"},
		{"DropSelector", Change{Kind: DropSelector, Object: "O", Path: "p", From: "f"}, 4, "O: drop p (f)"},
		{"DropRequirement", Change{Kind: DropRequirement, Object: "O", Path: "p", From: "f"}, 4, "O: drop p (f)"},
		{"Untaint", Change{Kind: Untaint, Object: "O", From: "f"}, 4, "O: remove the taint f"},
		{"DropConstraint", Change{Kind: DropConstraint, Object: "O", Path: "p", From: "f"}, 4, "O: drop p (f)"},
		{"DropPort", Change{Kind: DropPort, Object: "O", Path: "p", From: "f"}, 5, "O: drop p (f)"},
		{"HonorTaints", Change{Kind: HonorTaints, Object: "O", Path: "p"}, 2, "O: p: Honor"},
		{"LowerRequest by nobody", Change{Kind: LowerRequest, Object: "O", Path: "p", From: "2", To: "1"}, 5, "O: p from 2 to 1"},
		{"LowerRequest of nothing", Change{Kind: LowerRequest, value: lower(0, 0)}, 5, ":  from  to "},
		{"LowerRequest of one", Change{Kind: LowerRequest, value: lower(1, 0)}, 20, ":  from  to "},
		{"LowerRequest by half", Change{Kind: LowerRequest, value: lower(100, 50)}, 11, ":  from  to "},
		{"LowerCount by none", Change{Kind: LowerCount, value: lower(4, 4)}, 2, ":  from  to "},
		{"LowerCount by a quarter", Change{Kind: LowerCount, value: lower(4, 3)}, 6, ":  from  to "},
		{"ReleaseClaim of the pod", Change{Kind: ReleaseClaim, Object: "O", Again: true}, 12, "O, made again: it then holds no devices"},
		{"Untaint of a mark", Change{Kind: Untaint, Object: "O", From: "f", mark: true}, 4, "O: remove the taint f, if it is over"},
		{"Tolerate with a note", Change{Kind: Tolerate, Object: "O", To: "t", Note: "a risk"}, 3, "O: tolerate t (a risk)"},
		{"Recover", Change{Kind: Recover, Object: "O", To: "bring n1 back"}, 2, "bring n1 back"},
		{"AddNode", Change{Kind: AddNode, From: "n1"}, 12, "add a node like n1"},
		{"ReleaseClaim", Change{Kind: ReleaseClaim, Object: "O"}, 12, "O: delete it: no pod uses its devices"},
		{"MovePods", Change{Kind: MovePods, Leaving: two[:1]}, 7, "move default/a from n1 to n2"},
		{"RemovePods", Change{Kind: RemovePods, Leaving: two, Alike: 1}, 20, "remove default/a from n1 (fits on n2), default/b from n1 (1 more node is alike)"},
		{"no pod", Change{Kind: RemovePods, Alike: 2}, 4, " (2 more nodes are alike)"},
		{"RaiseBudget", Change{Kind: RaiseBudget, Object: "O", Path: "p", From: "1", To: "0"}, 20, "O: p from 1 to 0"},
		{"a volume", Change{Kind: dropVolume, Object: "O", Path: "p", From: "f"}, 20, "O: drop p (f)"},
		{"a claim", Change{Kind: dropClaim, Object: "O", Path: "p", From: "f"}, 20, "O: drop p (f)"},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.cost, DefaultCost(c.c))
		require.Equal(t, c.text, c.c.Text())
	})
	r := Relaxation{Changes: []Change{{Kind: AddNode, From: "a"}, {Kind: AddNode, From: "b"}, {Kind: AddNode, From: "c"}}}
	require.Equal(t, "add a node like a; add a node like b; add a node like c", r.Text())
	require.Empty(t, Relaxation{}.Text())
}

// One more node has a name that no node has.
func TestNameOfOneMoreNode(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1-more").Obj(), testkit.Node("n1").Obj(), testkit.Node("n1-more-more").Obj()}})
	require.NoError(t, err)
	d := &diagnosis{base: s}
	require.Equal(t, "n1-more-more-more", d.freeName("n1"))
	require.Equal(t, "n2-more", d.freeName("n2"))
}
