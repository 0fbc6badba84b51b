package filter

import (
	"iter"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// world is a cluster over slices, with rows that count pods as a snapshot does.
type world struct {
	nodes  []*v1.Node
	pods   [][]*v1.Pod
	schema *resources.Schema
}

func newWorld(nodes ...*v1.Node) *world {
	return &world{nodes: nodes, pods: make([][]*v1.Pod, len(nodes)), schema: new(resources.Schema)}
}

func (w *world) put(i int, pods ...*v1.Pod) *world {
	w.pods[i] = append(w.pods[i], pods...)
	return w
}

func (w *world) Len() int                  { return len(w.nodes) }
func (w *world) Node(i int) *v1.Node       { return w.nodes[i] }
func (w *world) Schema() *resources.Schema { return w.schema }
func (w *world) Pods(i int) iter.Seq[*v1.Pod] {
	return func(yield func(*v1.Pod) bool) {
		for _, p := range w.pods[i] {
			if !yield(p) {
				return
			}
		}
	}
}

func (w *world) Allocatable(i int) resources.Vector {
	if w.nodes[i] == nil {
		return nil
	}
	return resources.FromList(w.schema, w.nodes[i].Status.Allocatable)
}

func (w *world) Requested(i int) resources.Vector {
	sum := make(resources.Vector, resources.Scalars)
	for _, p := range w.pods[i] {
		r := overhead.AppendRequests(nil, w.schema, p, overhead.Options{UseStatus: true})
		sum = sum.Grow(len(r))
		sum.Add(r)
		sum[resources.Pods]++
	}
	return sum
}

// resolve interns every resource name of the world, so that the columns exist before On.
func (w *world) resolve() *world {
	for i := range w.nodes {
		w.Allocatable(i)
		w.Requested(i)
	}
	return w
}

func list(pairs ...string) v1.ResourceList {
	l := v1.ResourceList{}
	for k := 0; k+1 < len(pairs); k += 2 {
		l[v1.ResourceName(pairs[k])] = resource.MustParse(pairs[k+1])
	}
	return l
}

func node(name string, allocatable ...string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name)},
		Status:     v1.NodeStatus{Allocatable: list(allocatable...)},
	}
}

func pod(name string, requests ...string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("pod-" + name)},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Resources: v1.ResourceRequirements{Requests: list(requests...)},
		}}},
	}
}

func withPorts(p *v1.Pod, ports ...v1.ContainerPort) *v1.Pod {
	p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, ports...)
	return p
}

// port is a host port. All containers listen on one port of their own, which says nothing about the node.
func port(ip string, protocol v1.Protocol, n int32) v1.ContainerPort {
	return v1.ContainerPort{HostIP: ip, Protocol: protocol, HostPort: n, ContainerPort: 8080}
}
