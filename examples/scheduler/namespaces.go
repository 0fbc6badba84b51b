package scheduler

import (
	"iter"
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
)

// namespaces are the labels of namespaces for queueing hints, which do not run in a scheduling cycle.
type namespaces struct {
	mu     sync.Mutex
	labels map[string]map[string]string
}

func newNamespaces(s *cluster.Snapshot) *namespaces {
	return &namespaces{labels: maps.Collect(s.Namespaces())}
}

// set follows the object if it is a namespace.
func (n *namespaces) set(obj metav1.Object, gone bool) {
	ns, ok := obj.(*v1.Namespace)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.labels = maps.Clone(n.labels)
	if gone {
		delete(n.labels, ns.Name)
	} else {
		n.labels[ns.Name] = ns.Labels
	}
}

// Namespaces yields the present namespaces.
func (n *namespaces) Namespaces() iter.Seq2[string, map[string]string] {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.All(n.labels)
}
