package edit

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// Short names of what most tables use.
var (
	taint     = testkit.Taint
	taintList = testkit.Taints
	tol       = testkit.Toleration
)

func node(ss ...string) *v1.Node {
	return &v1.Node{Spec: v1.NodeSpec{Taints: taintList(ss...)}}
}

func cordoned(n *v1.Node) *v1.Node {
	n.Spec.Unschedulable = true
	return n
}

func tols(ts ...v1.Toleration) []v1.Toleration { return ts }
