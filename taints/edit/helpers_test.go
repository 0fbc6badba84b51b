package edit

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// taint reads "key=value:Effect"; value and effect may be missing.
func taint(s string) v1.Taint {
	s, effect, _ := strings.Cut(s, ":")
	key, value, _ := strings.Cut(s, "=")
	return v1.Taint{Key: key, Value: value, Effect: v1.TaintEffect(effect)}
}

func taintList(ss ...string) []v1.Taint {
	var list []v1.Taint
	for _, s := range ss {
		list = append(list, taint(s))
	}
	return list
}

// tol reads "key operator value effect" and an optional number of seconds; "_" is the empty string.
func tol(s string, seconds ...int64) v1.Toleration {
	f := strings.Fields(s)
	for i := range f {
		if f[i] == "_" {
			f[i] = ""
		}
	}
	t := v1.Toleration{Key: f[0], Operator: v1.TolerationOperator(f[1]), Value: f[2], Effect: v1.TaintEffect(f[3])}
	if len(seconds) > 0 {
		t.TolerationSeconds = &seconds[0]
	}
	return t
}

func node(ss ...string) *v1.Node {
	return &v1.Node{Spec: v1.NodeSpec{Taints: taintList(ss...)}}
}

func cordoned(n *v1.Node) *v1.Node {
	n.Spec.Unschedulable = true
	return n
}

func tols(ts ...v1.Toleration) []v1.Toleration { return ts }
