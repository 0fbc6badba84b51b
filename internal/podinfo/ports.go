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
