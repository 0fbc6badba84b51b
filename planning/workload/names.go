package workload

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// names finds pods by namespace and name. As long as the pods of the input come in the order of their names, they are found in the input, without
// memory: a planner asks for the replicas of one controller again and again.
type names struct {
	ordered []*v1.Pod      // the first pods of the input, each after the one before by namespace and name
	others  map[id]*v1.Pod // nil: there are none
}

// namesOf returns the names of the pods of the input. The error names the first pod that is nil, has no name or the name of another pod.
func namesOf(pods []*v1.Pod) (names, error) {
	var n names
	for i, p := range pods {
		if err := named("Pod", i, p); err != nil {
			return n, err
		}
		at := id{p.Namespace, p.Name}
		switch {
		case n.others == nil && (i == 0 || byName(pods[i-1], at) < 0):
			n.ordered = pods[:i+1]
		case n.find(at) != nil:
			return n, duplicate("Pod", p)
		default:
			n.add(p)
		}
	}
	return n, nil
}

func byName(p *v1.Pod, at id) int {
	return cmp.Or(strings.Compare(p.Namespace, at.namespace), strings.Compare(p.Name, at.name))
}

// add adds a pod whose name is new.
func (n *names) add(p *v1.Pod) {
	if n.others == nil {
		n.others = map[id]*v1.Pod{}
	}
	n.others[id{p.Namespace, p.Name}] = p
}

// find returns the pod of a name, nil when there is none.
func (n *names) find(at id) *v1.Pod {
	if p := n.others[at]; p != nil {
		return p
	}
	if k, ok := slices.BinarySearchFunc(n.ordered, at, byName); ok {
		return n.ordered[k]
	}
	return nil
}

func (n *names) len() int { return len(n.ordered) + len(n.others) }
