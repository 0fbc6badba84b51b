package cluster_test

import (
	"iter"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/resources"
)

// Views that the other packages declare or look for, as docs/design.md lists them.
type (
	required interface {
		Len() int
		Node(i int) *v1.Node
		Pods(i int) iter.Seq[*v1.Pod]
	}
	namespaces interface {
		Namespaces() iter.Seq2[string, map[string]string]
	}
	rows interface {
		Schema() *resources.Schema
		Allocatable(i int) resources.Vector
		Requested(i int) resources.Vector
		NonZero(i int) (cpuMilli, memoryBytes int64)
	}
	domains interface {
		Domains(key string) (ids []int32, domains, have int)
	}
	podSets interface {
		PodSets(namespace, key, value string, yield func(id int32))
		PodSet(id int32) (rep *v1.Pod, nodes, counts []int32)
	}
	termSets interface {
		TermSets() int
		TermSet(id int32) (rep *v1.Pod, nodes, counts []int32)
	}
	classes interface {
		Classes(reads []string) (ids, reps []int32, ok bool)
	}
	ports interface {
		PortPods(i int) []*v1.Pod
	}
	images interface {
		Image(name string) (sizeBytes int64, nodes int, has func(i int) bool)
	}
	podRows interface {
		PodRequests(pod *v1.Pod) (resources.Vector, bool)
	}
	scan interface {
		Order() []int32
		Slot(name string) int
	}
	changes interface {
		Version() uint64
		Since(version uint64, yield func([]cluster.Event)) bool
	}
)

var _ interface {
	required
	namespaces
	rows
	domains
	podSets
	termSets
	classes
	ports
	images
	podRows
	scan
	changes
} = (*cluster.Snapshot)(nil)
