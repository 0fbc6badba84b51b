package podinfo

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// SamePort reports whether all pods want one host port of all addresses, so that a node takes one of them at most. It reads the ports of
// containers, not those of sidecars. false for no pods.
func SamePort(pods iter.Seq[*v1.Pod]) bool {
	type port struct {
		protocol v1.Protocol
		number   int32
	}
	var common map[port]bool // that all pods so far want
	for pod := range pods {
		own := map[port]bool{}
		for _, container := range pod.Spec.Containers {
			for _, p := range container.Ports {
				x := port{p.Protocol, p.HostPort}
				if x.protocol == "" {
					x.protocol = v1.ProtocolTCP
				}
				if p.HostPort > 0 && (p.HostIP == "" || p.HostIP == "0.0.0.0") && (common == nil || common[x]) {
					own[x] = true
				}
			}
		}
		common = own
	}
	return len(common) > 0
}

// HostPort is a port that a pod holds on an address of its node.
type HostPort struct {
	IP       string // as written; 0.0.0.0 means all addresses, and "::" is an ordinary address
	Protocol v1.Protocol
	Port     int32
}

const anyIP = "0.0.0.0"

// AppendHostPorts appends the host ports of the pod: the ports of its sidecars, then the ports of its containers, in the
// order written. An empty address becomes 0.0.0.0 and an empty protocol TCP; nothing else is normalized. Init containers that
// are not sidecars hold no ports.
func AppendHostPorts(dst []HostPort, pod *v1.Pod) []HostPort {
	for k := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[k]; Sidecar(c) {
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
			dst = append(dst, PortOf(p))
		}
	}
	return dst
}

// PortOf returns a port of a container with its defaults filled in.
func PortOf(p *v1.ContainerPort) HostPort {
	h := HostPort{p.HostIP, p.Protocol, p.HostPort}
	if h.IP == "" {
		h.IP = anyIP
	}
	if h.Protocol == "" {
		h.Protocol = v1.ProtocolTCP
	}
	return h
}

// ContainerPort returns the port as the API writes it.
func (h HostPort) ContainerPort() v1.ContainerPort {
	return v1.ContainerPort{HostIP: h.IP, Protocol: h.Protocol, HostPort: h.Port}
}

// Conflicts reports whether two ports cannot both be held on one node: they are equal in protocol and port, and equal in
// address or one address is 0.0.0.0. Both ports are as AppendHostPorts returns them.
func (h HostPort) Conflicts(o HostPort) bool {
	return h.Port == o.Port && h.Protocol == o.Protocol && (h.IP == o.IP || h.IP == anyIP || o.IP == anyIP)
}
