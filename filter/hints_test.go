package filter

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

type hintCase struct {
	name, why string
	hint      func(pod *v1.Pod, old, new any) (bool, error)
	old, new  any
	want      bool
}

func TestHints(t *testing.T) {
	fit := FitHint(FitOptions{})
	on := func(p *v1.Pod) *v1.Pod { p.Spec.NodeName = "n"; return p }
	holding := func(p *v1.Pod) *v1.Pod {
		p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: "c", Resources: &v1.ResourceRequirements{Requests: list("cpu", "2")}}}
		return p
	}
	nominated := func(p *v1.Pod) *v1.Pod { p.Status.NominatedNodeName = "n"; return p }
	ports := func(p *v1.Pod, n int32) *v1.Pod { return withPorts(p, port("", "", n)) }
	declares := func(f ...string) *v1.Node { n := node("n"); n.Status.DeclaredFeatures = f; return n }
	class := func(resource v1.ResourceName) *DeviceClass {
		return &DeviceClass{Name: "gpu", ExtendedResourceName: resource}
	}
	self := func() *v1.Pod { return ports(pod("p", "cpu", "2", "example.com/x", "1"), 80) }
	big := []string{"cpu", "4", "example.com/x", "1", "pods", "5"}
	needy := self()
	needy.Spec.HostNetwork, needy.Spec.HostUsers = true, ptr(false)
	needyOther := needy.DeepCopy()
	needyOther.UID = "q"

	testkit.Run(t, []hintCase{
		{"fit: scheduled pod deleted", "it frees something", fit, on(pod("q")), nil, true},
		{"fit: nominated pod deleted", "it gives up its room", fit, nominated(pod("q")), nil, true},
		{"fit: pending pod deleted", "it held nothing", fit, pod("q"), nil, false},
		{"fit: pod added", "takes, never gives", fit, nil, on(pod("q")), false},
		{"fit: this pod added", "nobody has learned anything", fit, nil, self(), false},
		{"fit: this pod shrank", "it asks for less itself", fit, self(), self(), true},
		{"fit: another asks for less cpu", "a resource this pod asks for", fit, on(pod("q", "cpu", "2")), on(pod("q", "cpu", "1")), true},
		{"fit: another asks for less cpu and as much of x", "one resource is enough", fit, on(pod("q", "cpu", "2", "example.com/x", "1")), on(pod("q", "cpu", "1", "example.com/x", "1")), true},
		{"fit: another asks for less of x", "this pod asks for one", fit, on(pod("q", "example.com/x", "2")), on(pod("q", "example.com/x", "1")), true},
		{"fit: another asks for less and still for more than this pod", "what counts is the difference", fit, on(pod("q", "cpu", "9")), on(pod("q", "cpu", "8")), true},
		{"fit: another asks for less memory", "not a resource this pod asks for", fit, on(pod("q", "memory", "2")), on(pod("q", "memory", "1")), false},
		{"fit: another asks for less of what this pod asks none of", "a request of 0 is none", func(p *v1.Pod, old, new any) (bool, error) {
			return FitHint(FitOptions{})(pod("p", "cpu", "0", "memory", "1"), old, new)
		}, on(pod("q", "cpu", "2")), on(pod("q", "cpu", "1")), false},
		{"fit: node grew in what this pod asks none of", "a request of 0 is none", func(p *v1.Pod, old, new any) (bool, error) {
			return FitHint(FitOptions{})(pod("p", "cpu", "0", "memory", "1"), old, new)
		}, node("n", "cpu", "1", "memory", "1", "pods", "1"), node("n", "cpu", "2", "memory", "1", "pods", "1"), false},
		{"fit: node shrank", "the pod fits, and nothing is new", fit, node("n", "cpu", "8", "example.com/x", "1", "pods", "6"), node("n", big...), false},
		{"fit: this pod asks for what the other never had", "other resources do not replace the missing resource", func(p *v1.Pod, old, new any) (bool, error) {
			return FitHint(FitOptions{})(pod("p", "example.com/x", "1"), old, new)
		}, on(pod("q", "cpu", "2")), on(pod("q", "cpu", "1")), false},
		{"fit: another pod asks for less and still holds the resource", "what the containers hold counts until the resize is done", fit, on(holding(pod("q", "cpu", "2"))), on(holding(pod("q", "cpu", "1"))), false},
		{"fit: a pending pod asks for less", "it holds nothing", fit, pod("q", "cpu", "2"), pod("q", "cpu", "1"), false},
		{"fit: another asks for more", "takes, never gives", fit, on(pod("q", "cpu", "1")), on(pod("q", "cpu", "2")), false},
		{"fit: node added", "the pod fits it empty", fit, nil, node("n", big...), true},
		{"fit: small node added", "the pod does not fit it even empty", fit, nil, node("n", "cpu", "1", "pods", "5"), false},
		{"fit: node grew", "more of what this pod asks for", fit, node("n", "cpu", "3", "example.com/x", "1", "pods", "5"), node("n", big...), true},
		{"fit: node allows more pods", "pods count for every pod", fit, node("n", "cpu", "4", "example.com/x", "1", "pods", "4"), node("n", big...), true},
		{"fit: node got memory", "not asked for", fit, node("n", big...), node("n", append([]string{"memory", "9"}, big...)...), false},
		{"fit: node unchanged", "nothing new", fit, node("n", big...), node("n", big...), false},
		{"fit: node deleted", "never helps", fit, node("n", big...), nil, false},
		{"fit: device class whose name is asked for", "every class provides the resource of its name", func(p *v1.Pod, old, new any) (bool, error) {
			return FitHint(FitOptions{})(pod("p", "deviceclass.resource.kubernetes.io/gpu", "1"), old, new)
		}, nil, class(""), true},
		{"fit: device class whose name is asked for changes", "it provided the resource before", func(p *v1.Pod, old, new any) (bool, error) {
			return FitHint(FitOptions{})(pod("p", "deviceclass.resource.kubernetes.io/gpu", "1"), old, new)
		}, class(""), class("example.com/x"), false},
		{"fit: device class for the resource", "it newly provides what is asked for", fit, nil, class("example.com/x"), true},
		{"fit: device class in v1.35", "devices serve extended resources since v1.36 (L3.3)", FitHint(FitOptions{Release: release.V1_35}), nil, class("example.com/x"), false},
		{"fit: device class for a resource asked for with 0", "the name is enough", func(p *v1.Pod, old, new any) (bool, error) {
			return FitHint(FitOptions{})(pod("p", "example.com/x", "0"), old, new)
		}, nil, class("example.com/x"), true},
		{"fit: node added without an ignored resource", "ignored by the filter, not by its hint", func(p *v1.Pod, old, new any) (bool, error) {
			return FitHint(FitOptions{IgnoredResources: []string{"example.com/x"}, IgnoredResourceGroups: []string{"example.com"}})(p, old, new)
		}, nil, node("n", "cpu", "4", "pods", "5"), false},
		{"fit: device class renamed", "it newly provides what is asked for", fit, class("example.com/z"), class("example.com/x"), true},
		{"fit: device class as before", "nothing new", fit, class("example.com/x"), class("example.com/x"), false},
		{"fit: device class for another", "not asked for", fit, nil, class("example.com/z"), false},
		{"fit: device class deleted", "takes, never gives", fit, class("example.com/x"), nil, false},
		{"fit: device class without a resource", "provides none", fit, nil, class(""), false},

		{"ports: holder deleted", "frees the port", PortsWouldHelp, on(ports(pod("q"), 80)), nil, true},
		{"ports: nominated holder deleted", "gives the port up", PortsWouldHelp, nominated(ports(pod("q"), 80)), nil, true},
		{"ports: other port", "does not matter", PortsWouldHelp, on(ports(pod("q"), 81)), nil, false},
		{"ports: pending holder deleted", "held nothing", PortsWouldHelp, ports(pod("q"), 80), nil, false},
		{"ports: pod without ports deleted", "held nothing", PortsWouldHelp, on(pod("q")), nil, false},
		{"ports: pod updated", "ports do not change", PortsWouldHelp, on(ports(pod("q"), 80)), on(ports(pod("q"), 80)), false},
		{"ports: node", "a new node has free ports", PortsWouldHelp, nil, node("n"), true},

		{"name: node", "any node may have the name", NodeNameWouldHelp, nil, node("n"), true},
		{"name: node deleted", "never helps", NodeNameWouldHelp, node("n"), nil, false},

		{"features: node added", "it may declare them", FeaturesWouldHelp, nil, declares(), true},
		{"features: list differs", "it may declare them now", FeaturesWouldHelp, declares("a"), declares("a", "b"), true},
		{"features: list equal", "nothing new", FeaturesWouldHelp, declares("a"), declares("a"), false},
		{"features: this pod needs others", "an update of its spec", FeaturesWouldHelp, self(), needy, true},
		{"features: this pod as before", "needs what it needed", FeaturesWouldHelp, self(), self(), false},
		{"features: another pod", "does not matter", FeaturesWouldHelp, pod("q"), pod("q"), false},
		{"features: another pod needs others", "does not matter", FeaturesWouldHelp, pod("q"), needyOther, false},
		{"features: this pod in place of another", "it needs others", FeaturesWouldHelp, needyOther, self(), true},
		{"features: another pod in place of this", "does not matter", FeaturesWouldHelp, self(), needyOther, false},
		{"features: this pod added", "it needs what it needed", FeaturesWouldHelp, nil, needy, false},
		{"features: this pod deleted", "never helps", FeaturesWouldHelp, needy, nil, false},
		{"features: node deleted", "never helps", FeaturesWouldHelp, declares("a"), nil, false},
		{"ports: node deleted", "never helps", PortsWouldHelp, node("n"), nil, false},
		{"fit: waiting pod with a new node", "it is this pod", fit, self(), on(self()), true},
	}, func(t *testing.T, c hintCase) {
		got, err := c.hint(self(), c.old, c.new)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		helps, err := c.hint(self(), new(int), "a string")
		plugin, _, _ := strings.Cut(c.name, ":")
		want := map[string]string{"fit": "*v1.Pod, *v1.Node or *DeviceClass", "ports": "*v1.Pod or *v1.Node", "name": "*v1.Node", "features": "*v1.Node or *v1.Pod"}[plugin]
		require.EqualError(t, err, "objects of an event: got *int and string, want "+want)
		require.False(t, helps)
		_, err = c.hint(self(), nil, nil)
		require.EqualError(t, err, "objects of an event: got <nil> and <nil>, want "+want)
		_, err = c.hint(self(), (*v1.Node)(nil), new(int))
		require.EqualError(t, err, "objects of an event: got *v1.Node and *int, want "+want)
	})
}
