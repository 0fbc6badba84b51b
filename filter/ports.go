package filter

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// HostPort is a port that a pod holds on its node's address.
type HostPort struct {
	// IP is the address as written; 0.0.0.0 stands for all. "::" is an address like any other.
	IP       string
	Protocol v1.Protocol
	Port     int32
}

const anyIP = "0.0.0.0"

// AppendHostPorts appends the host ports of the pod: those of its sidecars, then those of its containers, in the order
// written. An empty address becomes 0.0.0.0 and an empty protocol TCP; nothing else is normalized. Plain init containers
// hold no ports.
func AppendHostPorts(dst []HostPort, pod *v1.Pod) []HostPort {
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

// Conflicts reports whether both ports cannot be held on one node: equal in protocol and port, and equal in address or
// one of them 0.0.0.0. Both are expected as AppendHostPorts returns them. Ports of 0 and below never conflict.
func (h HostPort) Conflicts(o HostPort) bool {
	return h.Port > 0 && h.Port == o.Port && h.Protocol == o.Protocol && (h.IP == o.IP || h.IP == anyIP || o.IP == anyIP)
}

// Ports is a pod's side of NodePorts: the host ports it asks for. It is immutable.
type Ports struct{ want []HostPort }

// CompilePorts collects the host ports of the pod. Ports that conflict with each other inside the pod are not an error.
func CompilePorts(pod *v1.Pod) *Ports { return &Ports{AppendHostPorts(nil, pod)} }

// Skip reports whether the pod asks for no host port; the predicate then allows every node.
func (e *Ports) Skip() bool { return len(e.want) == 0 }

// Want returns the ports asked for, as AppendHostPorts does. The slice must not be changed.
func (e *Ports) Want() []HostPort { return e.want }

// PortsEffect is what one running pod does to a PortsState: 1 when its ports conflict, else 0.
type PortsEffect int32

// Effect returns what one running pod does to the states of this evaluator. No allocation.
func (e *Ports) Effect(pod *v1.Pod) PortsEffect {
	for k := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[k]; overhead.IsSidecar(c) && e.hits(c) {
			return 1
		}
	}
	for k := range pod.Spec.Containers {
		if e.hits(&pod.Spec.Containers[k]) {
			return 1
		}
	}
	return 0
}

func (e *Ports) hits(c *v1.Container) bool {
	for k := range c.Ports {
		if c.Ports[k].HostPort <= 0 {
			continue
		}
		if e.hit(hostPort(&c.Ports[k])) {
			return true
		}
	}
	return false
}

func (e *Ports) hit(used HostPort) bool {
	for _, want := range e.want {
		if want.Conflicts(used) {
			return true
		}
	}
	return false
}

// Count finds the nodes on which a port is taken. O(slots + pods), or O(slots + pods with host ports) when the cluster
// offers PortPods(i int) []*v1.Pod. A pod without host ports costs nothing.
func (e *Ports) Count(c Cluster) *PortsState {
	s := &PortsState{ports: e, cluster: c}
	if e.Skip() {
		return s
	}
	s.conflicts = make([]int32, c.Len())
	if holders, ok := c.(podPorts); ok {
		for i := range s.conflicts {
			for _, p := range holders.PortPods(i) {
				s.conflicts[i] += int32(e.Effect(p))
			}
		}
		return s
	}
	for i := range s.conflicts {
		for p := range c.Pods(i) {
			s.conflicts[i] += int32(e.Effect(p))
		}
	}
	return s
}

// PortsState is NodePorts for one pod and one cluster.
type PortsState struct {
	ports     *Ports
	cluster   Cluster
	conflicts []int32 // per slot, the pods whose ports conflict
}

const portsTaken resources.Verdict = 1

// Name returns "NodePorts".
func (s *PortsState) Name() string { return "NodePorts" }

// Check rejects slot i with verdict 1 when a pod there holds a conflicting port. Slots that did not exist at Count and had
// nothing applied to them are free of pods. No allocation.
func (s *PortsState) Check(i int) resources.Verdict {
	if i < len(s.conflicts) && s.conflicts[i] > 0 {
		return portsTaken
	}
	return 0
}

// Reasons returns the text of a verdict.
func (s *PortsState) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{portsText}
}

const portsText = "node(s) didn't have free ports for the requested pod ports"

// PortConflict is a port asked for that a pod on the node holds already.
type PortConflict struct {
	Want, Used HostPort
	Holder     *v1.Pod
}

// Explain returns the conflicts on slot i, by wanted port and then in the order of the pods there.
func (s *PortsState) Explain(i int) []PortConflict {
	if s.ports.Skip() {
		return nil
	}
	var out []PortConflict
	for _, want := range s.ports.want {
		s.each(i, func(p *v1.Pod) {
			for _, used := range AppendHostPorts(nil, p) {
				if want.Conflicts(used) {
					out = append(out, PortConflict{want, used, p})
				}
			}
		})
	}
	return out
}

// Apply counts n pods (-n: gone) with that effect on slot i. The result equals a fresh Count.
func (s *PortsState) Apply(e PortsEffect, i, n int) {
	if s.ports.Skip() || e == 0 {
		return
	}
	for i >= len(s.conflicts) {
		s.conflicts = append(s.conflicts, 0)
	}
	s.conflicts[i] += int32(e) * int32(n)
}

// Add counts one more pod on slot i.
func (s *PortsState) Add(pod *v1.Pod, i int) { s.Apply(s.ports.Effect(pod), i, 1) }

// Remove counts one pod less on slot i.
func (s *PortsState) Remove(pod *v1.Pod, i int) { s.Apply(s.ports.Effect(pod), i, -1) }

// AppendSignature appends the verdict: it changes only by events on slot i.
func (s *PortsState) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(s.Check(i)))
}

// Dynamic returns false: other slots do not matter.
func (s *PortsState) Dynamic() bool { return false }

// each calls f for the pods of slot i that may hold ports.
func (s *PortsState) each(i int, f func(*v1.Pod)) {
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

// PortsFree answers the simple question: whether the pod's host ports are free beside the given pods of a node.
func PortsFree(pod *v1.Pod, running []*v1.Pod) bool {
	e := CompilePorts(pod)
	for _, p := range running {
		if e.Effect(p) != 0 {
			return false
		}
	}
	return true
}
