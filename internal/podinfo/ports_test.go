package podinfo_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
)

func TestSamePort(t *testing.T) {
	type port = v1.ContainerPort
	pod := func(ports ...port) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{}, {Ports: ports}}}}
	}
	web, any, udp := port{HostPort: 80}, port{HostPort: 80, HostIP: "0.0.0.0", Protocol: v1.ProtocolTCP}, port{HostPort: 80, Protocol: v1.ProtocolUDP}
	type test struct {
		name, why string
		pods      []*v1.Pod
		want      bool
	}
	testkit.Run(t, []test{
		{"none", "no pod wants a port", nil, false},
		{"one", "the port of one pod", []*v1.Pod{pod(web)}, true},
		{"equal", "an empty address is 0.0.0.0 and an empty protocol TCP", []*v1.Pod{pod(web), pod(any)}, true},
		{"protocols", "TCP and UDP differ", []*v1.Pod{pod(web), pod(udp)}, false},
		{"one of two", "the second pod wants both", []*v1.Pod{pod(udp), pod(web, udp)}, true},
		{"in pairs", "each two share a port, all three do not", []*v1.Pod{pod(web, udp), pod(udp, port{HostPort: 81}), pod(web, port{HostPort: 81})}, false},
		{"one without", "a pod without ports goes beside each", []*v1.Pod{pod(web), pod(), pod(web)}, false},
		{"address", "one address may be free where another is not", []*v1.Pod{pod(port{HostPort: 80, HostIP: "10.0.0.1"}), pod(port{HostPort: 80, HostIP: "10.0.0.1"})}, false},
		{"no host port", "a port of the container alone", []*v1.Pod{pod(port{ContainerPort: 80}), pod(port{ContainerPort: 80})}, false},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, podinfo.SamePort(slices.Values(c.pods)), c.why)
	})
}

// A pod holds the ports of its sidecars and containers by their host port; the container port says nothing about the node.
func TestAppendHostPorts(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	type port = v1.ContainerPort
	type held = podinfo.HostPort
	pod := func(init v1.Container, containers ...v1.Container) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{InitContainers: []v1.Container{init}, Containers: containers}}
	}
	with := func(ports ...port) v1.Container { return v1.Container{Ports: ports} }
	sidecar := with(port{HostPort: 70, ContainerPort: 7070})
	sidecar.RestartPolicy = &always
	type test struct {
		name, why string
		pod       *v1.Pod
		want      []held
	}
	testkit.Run(t, []test{
		{"two numbers", "the node gives the host port", pod(v1.Container{}, with(port{HostPort: 80, ContainerPort: 8080})), []held{{"0.0.0.0", "TCP", 80}}},
		{"as written", "an address and a protocol stay", pod(v1.Container{}, with(port{HostIP: "::", Protocol: v1.ProtocolUDP, HostPort: 53, ContainerPort: 5353})), []held{{"::", "UDP", 53}}},
		{"container port alone", "the node gives nothing", pod(v1.Container{}, with(port{ContainerPort: 8080})), nil},
		{"sidecar", "it runs beside the containers, and comes first", pod(sidecar, with(port{HostPort: 80}), with(port{HostPort: 81})), []held{{"0.0.0.0", "TCP", 70}, {"0.0.0.0", "TCP", 80}, {"0.0.0.0", "TCP", 81}}},
		{"sidecar alone", "no container is needed", pod(sidecar), []held{{"0.0.0.0", "TCP", 70}}},
		{"init container", "it has ended when the pod runs", pod(with(port{HostPort: 70}), with(port{HostPort: 80})), []held{{"0.0.0.0", "TCP", 80}}},
	}, func(t *testing.T, c test) {
		got := podinfo.AppendHostPorts(nil, c.pod)
		require.Equal(t, c.want, got, c.why)
		for _, h := range got {
			back := h.ContainerPort()
			require.Equal(t, port{HostIP: h.IP, Protocol: h.Protocol, HostPort: h.Port}, back, "the container port is not known")
			require.Equal(t, h, podinfo.PortOf(&back))
		}
	})
}
