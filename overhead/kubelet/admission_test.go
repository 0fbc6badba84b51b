package kubelet

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func list(pairs ...string) v1.ResourceList {
	l := v1.ResourceList{}
	for k := 0; k+1 < len(pairs); k += 2 {
		l[v1.ResourceName(pairs[k])] = resource.MustParse(pairs[k+1])
	}
	return l
}

func node(name string, allocatable ...string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: list(allocatable...)}}
}

func pod(name string, requests ...string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: list(requests...)}}}},
	}
}

func withPort(p *v1.Pod, n int32) *v1.Pod {
	p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, v1.ContainerPort{HostPort: n, ContainerPort: n})
	return p
}

func ptr[T any](v T) *T { return &v }

type admissionCase struct {
	name, why string
	change    func(p *v1.Pod, n *v1.Node)
	running   []*v1.Pod
	reason    string
	message   string
}

func TestAdmission(t *testing.T) {
	rules := Admission{
		MatchesAffinity: func(p *v1.Pod, n *v1.Node) bool {
			for k, v := range p.Spec.NodeSelector {
				if n.Labels[k] != v {
					return false
				}
			}
			return true
		},
		ToleratesNoExecute: func(p *v1.Pod, n *v1.Node) bool {
			for _, taint := range n.Spec.Taints {
				if taint.Effect == v1.TaintEffectNoExecute {
					return false
				}
			}
			return true
		},
	}
	ask := func(pairs ...string) func(*v1.Pod, *v1.Node) {
		return func(p *v1.Pod, _ *v1.Node) { p.Spec.Containers[0].Resources.Requests = list(pairs...) }
	}
	taint := func(effect v1.TaintEffect) func(*v1.Pod, *v1.Node) {
		return func(_ *v1.Pod, n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "k", Effect: effect}} }
	}
	full := []*v1.Pod{pod("a"), pod("b"), pod("c")}
	testkit.Run(t, []admissionCase{
		{"admitted", "no rule rejects the pod", func(*v1.Pod, *v1.Node) {}, nil, "", ""},
		{"cpu", "thousandths of a core", ask("cpu", "2"), nil, "OutOfcpu",
			"Pod was rejected: Node didn't have enough resource: cpu, requested: 2000, used: 0, capacity: 1000"},
		{"memory", "bytes, beside what runs", ask("memory", "2"), []*v1.Pod{pod("a", "memory", "9")}, "OutOfmemory",
			"Pod was rejected: Node didn't have enough resource: memory, requested: 2, used: 9, capacity: 10"},
		{"ephemeral storage", "by its name", ask("ephemeral-storage", "1"), nil, "OutOfephemeral-storage",
			"Pod was rejected: Node didn't have enough resource: ephemeral-storage, requested: 1, used: 0, capacity: 0"},
		{"pods before cpu", "a full node says so even when cpu is short too", ask("cpu", "2"), full, "OutOfpods",
			"Pod was rejected: Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"},
		{"extended resource", "one that the node offers is checked", ask("example.com/x", "3"), nil, "OutOfexample.com/x",
			"Pod was rejected: Node didn't have enough resource: example.com/x, requested: 3, used: 0, capacity: 2"},
		{"missing extended resource", "one that the node does not know is dropped", ask("example.com/y", "3"), nil, "", ""},
		{"missing huge pages", "not extended, so checked", ask("hugepages-2Mi", "2Mi"), nil, "OutOfhugepages-2Mi",
			"Pod was rejected: Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, capacity: 0"},
		{"selector", "required node affinity", func(p *v1.Pod, _ *v1.Node) { p.Spec.NodeSelector = map[string]string{"a": "b"} }, nil, "NodeAffinity",
			"Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		{"name", "another node's pod", func(p *v1.Pod, _ *v1.Node) { p.Spec.NodeName = "other" }, nil, "NodeName",
			"Pod was rejected: Predicate NodeName failed: node(s) didn't match the requested node name"},
		{"port", "taken on this node", func(p *v1.Pod, _ *v1.Node) { withPort(p, 80) }, []*v1.Pod{withPort(pod("a"), 80)}, "NodePorts",
			"Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"},
		{"no execute", "a taint that is not tolerated", taint(v1.TaintEffectNoExecute), nil, "TaintToleration",
			"Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"},
		{"no schedule", "that effect is the scheduler's", taint(v1.TaintEffectNoSchedule), nil, "", ""},
		{"static pod", "static pods run in spite of taints", func(p *v1.Pod, n *v1.Node) {
			taint(v1.TaintEffectNoExecute)(p, n)
			p.Annotations = map[string]string{"kubernetes.io/config.source": "file"}
		}, nil, "", ""},
		{"pod from the API server", "is not static", func(p *v1.Pod, n *v1.Node) {
			taint(v1.TaintEffectNoExecute)(p, n)
			p.Annotations = map[string]string{"kubernetes.io/config.source": "api"}
		}, nil, "TaintToleration", "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"},
		{"label of another system", "before everything else", func(p *v1.Pod, n *v1.Node) {
			ask("cpu", "9")(p, n)
			p.Labels = map[string]string{"kubernetes.io/os": "windows"}
		}, nil, "PodOSSelectorNodeLabelDoesNotMatch", "Pod was rejected: Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"},
		{"spec of another system", "before everything else", func(p *v1.Pod, _ *v1.Node) { p.Spec.OS = &v1.PodOS{Name: v1.Windows} }, nil, "PodOSNotSupported",
			"Pod was rejected: Failed to admit pod as the OS field doesn't match node OS"},
		{"node without a system", "nothing to compare with", func(p *v1.Pod, n *v1.Node) {
			n.Status.NodeInfo.OperatingSystem = ""
			p.Spec.OS, p.Labels = &v1.PodOS{Name: v1.Windows}, map[string]string{"kubernetes.io/os": "windows"}
		}, nil, "", ""},
		{"same system", "nothing to say", func(p *v1.Pod, _ *v1.Node) {
			p.Spec.OS, p.Labels = &v1.PodOS{Name: v1.Linux}, map[string]string{"kubernetes.io/os": "linux"}
		}, nil, "", ""},
		{"strict groups", "the node's runtime does not know them", func(p *v1.Pod, _ *v1.Node) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: ptr(v1.SupplementalGroupsPolicyStrict)}
		}, nil, "SupplementalGroupsPolicyNotSupported", "Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node"},
		{"strict groups supported", "the node says so", func(p *v1.Pod, n *v1.Node) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{SupplementalGroupsPolicy: ptr(v1.SupplementalGroupsPolicyStrict)}
			n.Status.Features = &v1.NodeFeatures{SupplementalGroupsPolicy: ptr(true)}
		}, nil, "", ""},
	}, func(t *testing.T, c admissionCase) {
		p, n := pod("p"), node("n", "cpu", "1", "memory", "10", "pods", "3", "example.com/x", "2")
		n.Status.NodeInfo.OperatingSystem = "linux"
		p.Spec.NodeName = "n"
		c.change(p, n)
		var f AdmissionFailure
		var failed bool
		testkit.Unchanged(t, func() {
			testkit.Unchanged(t, func() { f, failed = rules.Admit(p, n, c.running) }, n)
		}, append(c.running, p)...)
		require.Equal(t, c.reason != "", failed)
		require.Equal(t, c.reason, f.Reason)
		require.Equal(t, c.message, f.Message)
	})
}

func TestAdmissionCollectsAll(t *testing.T) {
	no := func(*v1.Pod, *v1.Node) bool { return false }
	p := withPort(pod("p", "cpu", "2", "memory", "1"), 80)
	p.Spec.NodeName = "other"
	var reasons []string
	onlyResources := true
	for _, f := range (Admission{no, no}).failures(p, node("n", "cpu", "1"), []*v1.Pod{withPort(pod("a"), 80)}) {
		reasons = append(reasons, f.Reason)
		onlyResources = onlyResources && f.Lack != nil
	}
	require.Equal(t, []string{"OutOfpods", "OutOfcpu", "OutOfmemory", "NodeAffinity", "NodeName", "NodePorts", "TaintToleration"}, reasons)
	require.False(t, onlyResources)
	for _, f := range (Admission{}).failures(pod("p", "cpu", "2"), node("n", "cpu", "1"), nil) {
		require.NotNil(t, f.Lack)
		require.Equal(t, "OutOf"+string(f.Lack.Resource), f.Reason, "each failure has its own numbers")
	}
}

// A kubelet with one of the two rules applies that one.
func TestAdmissionWithOneRule(t *testing.T) {
	never := func(*v1.Pod, *v1.Node) bool { return false }
	for want, rules := range map[string]Admission{"NodeAffinity": {MatchesAffinity: never}, "TaintToleration": {ToleratesNoExecute: never}} {
		f, failed := rules.Admit(pod("p"), node("n", "pods", "3"), nil)
		require.True(t, failed)
		require.Equal(t, want, f.Reason)
	}
}
