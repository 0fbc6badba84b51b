package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// HostPort is a port that a pod holds on an address of its node.
type HostPort struct {
	// IP is the address as written. 0.0.0.0 means all addresses; "::" is an address like any other.
	IP       string
	Protocol v1.Protocol
	Port     int32
}

const anyIP = "0.0.0.0"

// appendHostPorts appends the host ports of the pod: the ports of its sidecars, then the ports of its containers, in the
// order written. An empty address becomes 0.0.0.0 and an empty protocol TCP; nothing else is normalized. Init containers that
// are not sidecars hold no ports.
func appendHostPorts(dst []HostPort, pod *v1.Pod) []HostPort {
	for k := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[k]; overhead.IsSidecar(c) {
			dst = appendContainerPorts(dst, c)
		}
	}
	for k := range pod.Spec.Containers {
		dst = appendContainerPorts(dst, &pod.Spec.Containers[k])
	}
	return dst
}

func appendContainerPorts(dst []HostPort, c *v1.Container) []HostPort {
	for k := range c.Ports {
		if p := &c.Ports[k]; p.HostPort > 0 {
			dst = append(dst, hostPort(p))
		}
	}
	return dst
}

func hostPort(p *v1.ContainerPort) HostPort {
	h := HostPort{p.HostIP, p.Protocol, p.HostPort}
	if h.IP == "" {
		h.IP = anyIP
	}
	if h.Protocol == "" {
		h.Protocol = v1.ProtocolTCP
	}
	return h
}

// conflicts reports whether two ports cannot both be held on one node: they are equal in protocol and port, and equal in
// address or one address is 0.0.0.0. Both ports are as appendHostPorts returns them. Ports of 0 and below never conflict.
func (h HostPort) conflicts(o HostPort) bool {
	return h.Port > 0 && h.Port == o.Port && h.Protocol == o.Protocol && (h.IP == o.IP || h.IP == anyIP || o.IP == anyIP)
}

// Ports is a pod's side of NodePorts: the host ports that the pod asks for. It is immutable.
type Ports struct{ want []HostPort }

// CompilePorts collects the host ports of the pod. Ports that conflict with each other inside the pod are not an error.
func CompilePorts(pod *v1.Pod) *Ports { return &Ports{appendHostPorts(nil, pod)} }

// Skip reports whether the pod asks for no host port. The filter then allows every node.
func (e *Ports) Skip() bool { return len(e.want) == 0 }

// conflict reports whether a running pod holds a port that conflicts with a wanted port. No allocation.
func (e *Ports) conflict(pod *v1.Pod) bool {
	for k := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[k]; overhead.IsSidecar(c) && e.hits(c) {
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

func (e *Ports) hits(c *v1.Container) bool {
	for k := range c.Ports {
		if c.Ports[k].HostPort > 0 && e.hit(hostPort(&c.Ports[k])) {
			return true
		}
	}
	return false
}

func (e *Ports) hit(used HostPort) bool {
	for _, want := range e.want {
		if want.conflicts(used) {
			return true
		}
	}
	return false
}

// On finds the nodes on which a port is taken. O(slots + pods), or O(slots + pods with host ports) when the cluster has the
// method PortPods(i int) []*v1.Pod. O(1) for a pod without host ports.
func (e *Ports) On(c Cluster) *PortsState {
	s := &PortsState{ports: e, cluster: c}
	if e.Skip() {
		return s
	}
	s.taken = make([]bool, c.Len())
	for i := range s.taken {
		s.each(i, func(p *v1.Pod) { s.taken[i] = s.taken[i] || e.conflict(p) })
	}
	return s
}

// PortsState is NodePorts for one pod and one cluster. It has the pods that ran when On was called.
type PortsState struct {
	ports   *Ports
	cluster Cluster
	taken   []bool // per slot: a pod there holds a conflicting port
}

const portsTaken resources.Verdict = 1

// Name returns "NodePorts".
func (s *PortsState) Name() string { return "NodePorts" }

// Check rejects slot i with verdict 1 when a pod there holds a conflicting port. A free slot is rejected with
// resources.Unresolvable too. A slot that did not exist when On was called has no pods. No allocation.
func (s *PortsState) Check(i int) resources.Verdict {
	switch {
	case s.cluster.Node(i) == nil:
		return portsTaken | resources.Unresolvable
	case i < len(s.taken) && s.taken[i]:
		return portsTaken
	}
	return 0
}

// Reasons returns the text of a verdict, nil for 0.
func (s *PortsState) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{portsText}
}

const portsText = "node(s) didn't have free ports for the requested pod ports"

// PortConflict is a wanted port that a pod on the node holds already.
type PortConflict struct {
	Want, Used HostPort
	Holder     *v1.Pod
}

// Explain returns the conflicts on slot i, ordered by wanted port and then by pod; none on a free slot.
func (s *PortsState) Explain(i int) []PortConflict {
	var out []PortConflict
	for _, want := range s.ports.want {
		s.each(i, func(p *v1.Pod) {
			for _, used := range appendHostPorts(nil, p) {
				if want.conflicts(used) {
					out = append(out, PortConflict{want, used, p})
				}
			}
		})
	}
	return out
}

// each calls f for the pods of slot i that may hold ports, for none on a free slot.
func (s *PortsState) each(i int, f func(*v1.Pod)) {
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

// portsFree reports whether the pod's host ports are free beside the given pods of a node.
func portsFree(pod *v1.Pod, running []*v1.Pod) bool {
	e := CompilePorts(pod)
	for _, p := range running {
		if e.conflict(p) {
			return false
		}
	}
	return true
}
