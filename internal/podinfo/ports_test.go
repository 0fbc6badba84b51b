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
