package filter

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// hostPort is a port that a pod holds on an address of its node.
type hostPort = podinfo.HostPort

// ports is a pod's side of NodePorts: the host ports that the pod asks for.
type ports struct{ want []hostPort }

// CompilePorts compiles the filter NodePorts: no pod on the node may hold a host port that conflicts with a host port of the
// pod. Two ports conflict when they are equal in protocol and number, and equal in address or one address is 0.0.0.0. An
// empty address is 0.0.0.0 and an empty protocol TCP. Ports that conflict with each other inside the pod are not an error.
// A node with a conflict is rejected with verdict 1, a free slot with [resources.Unresolvable] too. The filter skips a pod
// without host ports.
//
// On counts the pods that run at the time of the call. It takes O(1) for a pod without host ports, O(slots + pods with host
// ports) when the cluster has the method PortPods(i int) []*v1.Pod, and else O(slots + pods). Check does not allocate.
// Explain returns the conflicts ordered by wanted port and then by pod.
func CompilePorts(pod *v1.Pod) Evaluator[Cluster, TrialState[PortConflict]] { return compilePorts(pod) }

var noPorts = &ports{} // most pods: shared, because it never changes

func compilePorts(pod *v1.Pod) *ports {
	want := podinfo.AppendHostPorts(nil, pod)
	if want == nil {
		return noPorts
	}
	return &ports{want}
}

func (e *ports) Skip() bool { return len(e.want) == 0 }

// conflict reports whether a running pod holds a port that conflicts with a wanted port. No allocation.
func (e *ports) conflict(pod *v1.Pod) bool {
	for k := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[k]; podinfo.Sidecar(c) && e.hits(c) {
			return true
		}
	}
	for k := range pod.Spec.Containers {
		if e.hits(&pod.Spec.Containers[k]) {
			return true
		}
	}
	return false
}

func (e *ports) hits(c *v1.Container) bool {
	for k := range c.Ports {
		if e.hit(podinfo.PortOf(&c.Ports[k])) {
			return true
		}
	}
	return false
}

func (e *ports) hit(used hostPort) bool {
	for _, want := range e.want {
		if want.Conflicts(used) {
			return true
		}
	}
	return false
}

func (e *ports) On(c Cluster) TrialState[PortConflict] { return e.on(c) }

func (e *ports) on(c Cluster) *portsState {
	s := &portsState{ports: e, cluster: c}
	if e.Skip() {
		return s
	}
	s.taken = make([]bool, c.Len())
	slot := 0
	count := func(p *v1.Pod) { s.taken[slot] = s.taken[slot] || e.conflict(p) } // one function for all slots
	for ; slot < len(s.taken); slot++ {
		s.each(slot, count)
	}
	return s
}

// Live is On for a caller that goes on using the state while pods come and leave: Check looks at the pods that are there.
func (e *ports) Live(c Cluster) TrialState[PortConflict] {
	return &portsState{ports: e, cluster: c, live: true}
}

// portsState is NodePorts for one pod and one cluster.
type portsState struct {
	ports   *ports
	cluster Cluster
	live    bool
	taken   []bool // unless live: by slot, whether a pod there holds a conflicting port
}

const portsTaken resources.Verdict = 1

func (s *portsState) Name() string { return "NodePorts" }

// Check counts no pods on a slot that did not exist when On was called.
func (s *portsState) Check(i int) resources.Verdict {
	switch {
	case s.cluster.Node(i) == nil:
		return portsTaken | resources.Unresolvable
	case s.live && s.conflicts(i), i < len(s.taken) && s.taken[i]:
		return portsTaken
	}
	return 0
}

// conflicts reports whether a pod of slot i holds a conflicting port.
func (s *portsState) conflicts(i int) bool {
	if c, ok := s.cluster.(podPorts); ok { // without a function that is allocated
		return slices.ContainsFunc(c.PortPods(i), s.ports.conflict)
	}
	found := false
	s.each(i, func(p *v1.Pod) { found = found || s.ports.conflict(p) })
	return found
}

func (s *portsState) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{portsText}
}

const portsText = "node(s) didn't have free ports for the requested pod ports"

// PortConflict is a wanted port that a pod on the node holds already. Want and Used have the fields HostIP, Protocol and
// HostPort.
type PortConflict struct {
	Want, Used v1.ContainerPort
	Holder     *v1.Pod
}

func (s *portsState) Explain(i int) []PortConflict {
	var out []PortConflict
	for _, want := range s.ports.want {
		s.each(i, func(p *v1.Pod) {
			for _, used := range podinfo.AppendHostPorts(nil, p) {
				if want.Conflicts(used) {
					out = append(out, PortConflict{want.ContainerPort(), used.ContainerPort(), p})
				}
			}
		})
	}
	return out
}

// each calls f for the pods of slot i that may hold ports. It never calls f for a free slot.
func (s *portsState) each(i int, f func(*v1.Pod)) {
	if s.cluster.Node(i) == nil {
		return
	}
	if c, ok := s.cluster.(podPorts); ok {
		for _, p := range c.PortPods(i) {
			f(p)
		}
		return
	}
	for p := range s.cluster.Pods(i) {
		f(p)
	}
}
