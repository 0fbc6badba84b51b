package filter

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
)

type portCase struct {
	name, why  string
	used, want v1.ContainerPort
	conflict   bool
}

func TestPortConflicts(t *testing.T) {
	testkit.Run(t, []portCase{
		{"defaults are any address and TCP", "empty fields are filled in", port("", "", 80), port("0.0.0.0", "TCP", 80), true},
		{"any address used", "0.0.0.0 covers 127.0.0.1", port("0.0.0.0", "TCP", 80), port("127.0.0.1", "TCP", 80), true},
		{"any address wanted", "and the other way round", port("127.0.0.1", "TCP", 80), port("0.0.0.0", "TCP", 80), true},
		{"two addresses", "different addresses are free of each other", port("127.0.0.1", "TCP", 80), port("10.0.0.1", "TCP", 80), false},
		{"two protocols", "different protocols are free of each other", port("127.0.0.1", "TCP", 80), port("127.0.0.1", "UDP", 80), false},
		{"two ports", "different ports are free of each other", port("127.0.0.1", "TCP", 80), port("127.0.0.1", "TCP", 81), false},
		{"double colon used", ":: is no wildcard", port("::", "TCP", 80), port("127.0.0.1", "TCP", 80), false},
		{"double colon wanted", ":: is no wildcard", port("127.0.0.1", "TCP", 80), port("::", "TCP", 80), false},
		{"double colon against any", "0.0.0.0 covers :: too", port("::", "TCP", 80), port("0.0.0.0", "TCP", 80), true},
		{"addresses as text", "two spellings of one IPv6 address are two addresses", port("::1", "TCP", 80), port("0:0:0:0:0:0:0:1", "TCP", 80), false},
		{"protocol case", "the protocol is compared as written", port("", "tcp", 80), port("", "TCP", 80), false},
		{"same", "equal tuples conflict", port("10.0.0.1", "SCTP", 80), port("10.0.0.1", "SCTP", 80), true},
		{"no host port", "port 0 holds nothing", port("", "", 0), port("", "", 0), false},
		{"the first port", "every number above 0 holds a port", port("", "", 1), port("", "", 1), true},
	}, func(t *testing.T, c portCase) {
		used, want := withPorts(pod("used"), c.used), withPorts(pod("want"), c.want)
		w := newWorld(node("n")).put(0, used)
		s := CompilePorts(want).On(w)
		require.Equal(t, c.conflict, s.Check(0) != 0)
		require.Equal(t, c.conflict, len(s.Explain(0)) > 0)
		require.Equal(t, c.conflict, compilePorts(used).conflict(want), "conflict is mutual")
		if c.conflict {
			ps := Predicates{s}
			require.Equal(t, Unschedulable, ps.Code(ps.First(0)))
			require.Equal(t, []string{"node(s) didn't have free ports for the requested pod ports"}, ps.Reasons(ps.First(0), 0))
		}
	})
}

// The port of the node counts, not that of the container.
func TestContainerPortsAreFree(t *testing.T) {
	with := func(host, container int32) *v1.Pod {
		return withPorts(pod("p"), v1.ContainerPort{HostPort: host, ContainerPort: container})
	}
	for _, c := range []struct {
		used, want *v1.Pod
		conflict   bool
	}{
		{with(80, 8080), with(80, 9090), true},
		{with(80, 8080), with(81, 8080), false},
		{with(80, 8080), with(8080, 80), false},
		{with(0, 80), with(80, 80), false},
	} {
		s := CompilePorts(c.want).On(newWorld(node("n")).put(0, c.used))
		require.Equal(t, c.conflict, s.Check(0) != 0)
		tr := CompilePorts(c.want).On(newWorld(node("n"))).NewTrial()
		tr.Add(c.used, 0)
		require.Equal(t, c.conflict, tr.Check(0) != 0)
	}
}

// The framework article's NodePorts: PreFilter collects the ports of the containers once, Filter compares them with those
// in use on each node.
func TestNodePortsOfTheArticle(t *testing.T) {
	web := withPorts(pod("web"), port("", "", 80), port("", "", 443))
	w := newWorld(node("free"), node("busy"), node("other")).put(1, withPorts(pod("a"), port("", "", 443))).put(2, withPorts(pod("b"), port("", "", 8080)))
	ports := compilePorts(web)
	require.Equal(t, []hostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: 80}, {IP: "0.0.0.0", Protocol: "TCP", Port: 443}}, ports.want)
	ps := Predicates{ports.On(w)}
	require.Zero(t, ps.First(0).Verdict)
	require.Equal(t, []string{"node(s) didn't have free ports for the requested pod ports"}, ps.Reasons(ps.First(1), 1))
	require.Zero(t, ps.First(2).Verdict, "another port")
	require.True(t, CompilePorts(pod("plain")).Skip(), "a pod without host ports is not filtered")
}

func TestWhosePorts(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	p := withPorts(pod("p"), port("", "", 80))
	p.Spec.InitContainers = []v1.Container{
		{Name: "init", Ports: []v1.ContainerPort{port("", "", 1)}},
		{Name: "sidecar", RestartPolicy: &always, Ports: []v1.ContainerPort{port("", "UDP", 2)}},
	}
	require.Equal(t, []hostPort{{IP: "0.0.0.0", Protocol: "UDP", Port: 2}, {IP: "0.0.0.0", Protocol: "TCP", Port: 80}}, podinfo.AppendHostPorts(nil, p))
	require.True(t, CompilePorts(pod("none")).Skip())
	for n, free := range map[int32]bool{1: true, 2: false, 80: false} { // an init container that has ended holds nothing
		protocol := v1.ProtocolTCP
		if n == 2 {
			protocol = v1.ProtocolUDP
		}
		q := withPorts(pod("q"), port("", protocol, n))
		require.Equal(t, free, CompilePorts(q).On(newWorld(node("n")).put(0, p)).Check(0) == 0, "port %d", n)
	}
	twice := withPorts(pod("twice"), port("", "", 80), port("", "", 80))
	require.Zero(t, CompilePorts(twice).On(newWorld(node("n"))).Check(0), "conflicts inside one pod are not checked")
	require.Zero(t, CompilePorts(pod("none")).On(newWorld(node("n")).put(0, p)).Check(0))
}

// The simulation keeps ports as a set. So removing one of two holders of a port frees the port, unlike in a new count.
func TestPortsTrialIsASet(t *testing.T) {
	a, b := withPorts(pod("a"), port("", "", 80)), withPorts(pod("b"), port("", "", 80))
	s := CompilePorts(withPorts(pod("p"), port("", "", 80))).On(newWorld(node("n"), node("m")).put(0, a, b))
	tr := s.NewTrial()
	require.NotZero(t, tr.Check(0))
	tr.Remove(a, 0)
	require.Zero(t, tr.Check(0), "the tuple is gone though b holds it")
	tr.Remove(b, 0)
	tr.Add(a, 0)
	require.NotZero(t, tr.Check(0))
	tr.Add(a, 1)
	require.NotZero(t, tr.Check(1))
	tr.Reset()
	require.NotZero(t, tr.Check(0))
	require.Zero(t, tr.Check(1))
}

// A live state follows pods that come and leave; it says what a new state says.
func TestLivePorts(t *testing.T) {
	want := withPorts(pod("want"), port("", "", 80))
	w := newWorld(node("n"), node("m"), nil)
	e := compilePorts(want)
	for _, c := range []Cluster{w, knowing{w}} {
		live := e.Live(c)
		for range 2 {
			for i := range 3 {
				require.Equal(t, e.On(c).Check(i), live.Check(i))
			}
			w.put(0, withPorts(pod("used"), port("", "", 80)), pod("none"))
		}
		require.NotZero(t, live.Check(0))
		require.Zero(t, live.Check(1))
		require.NotZero(t, live.Check(2), "a free slot")
		require.NotZero(t, live.NewTrial().Check(0))
		w.pods[0] = nil
	}
}
