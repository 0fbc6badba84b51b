package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/same"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

func podWith(ts ...v1.Toleration) *v1.Pod { return &v1.Pod{Spec: v1.PodSpec{Tolerations: ts}} }

// show writes tolerations in short: key operator value effect seconds, without the prefix of Kubernetes' own keys.
func show(ts []v1.Toleration) []string {
	var out []string
	for _, t := range ts {
		s := fmt.Sprintf("%s %s %s %s", t.Key, t.Operator, t.Value, t.Effect)
		if t.TolerationSeconds != nil {
			s += fmt.Sprintf(" %d", *t.TolerationSeconds)
		}
		out = append(out, strings.Join(strings.Fields(strings.ReplaceAll(s, "node.kubernetes.io/", "")), " "))
	}
	return out
}

func TestDefaultSeconds(t *testing.T) {
	const notReady, unreachable = "not-ready Exists NoExecute 300", "unreachable Exists NoExecute 300"
	type test struct {
		name string
		have []v1.Toleration
		want []string
		why  string
	}
	cases := []test{
		{"T-80", nil, []string{notReady, unreachable}, "both are added, not-ready first"},
		{"T-81", tols(tol("node.kubernetes.io/not-ready Equal zz _")), []string{"not-ready Equal zz", unreachable}, "operator and value are not looked at"},
		{"T-82", tols(tol("node.kubernetes.io/not-ready Exists _ NoSchedule")), []string{"not-ready Exists NoSchedule", notReady, unreachable}, "another effect does not count"},
		{"T-83", tols(tol("_ Exists _ _")), []string{"Exists"}, "tolerates all: nothing is added"},
		{"T-84", tols(tol("_ Exists _ NoSchedule")), []string{"Exists NoSchedule", notReady, unreachable}, "another effect does not count"},
		{"own seconds", tols(tol("node.kubernetes.io/unreachable Exists _ NoExecute", 6000)), []string{"unreachable Exists NoExecute 6000", notReady}, "the pod's own toleration stays"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		p := podWith(c.have...)
		testkit.Unchanged(t, func() {
			got := WithDefaultSeconds(p, DefaultSeconds{})
			require.Equal(t, c.want, show(got.Spec.Tolerations))
			require.Equal(t, got, WithDefaultSeconds(got, DefaultSeconds{}), "a second time changes nothing")
		}, p)
	})
	zero, minute := int64(0), int64(60)
	got := WithDefaultSeconds(podWith(), DefaultSeconds{NotReady: &zero, Unreachable: &minute})
	require.Equal(t, []string{"not-ready Exists NoExecute 0", "unreachable Exists NoExecute 60"}, show(got.Spec.Tolerations))
}

func TestDaemonSet(t *testing.T) {
	all := []string{"not-ready Exists NoExecute", "unreachable Exists NoExecute", "disk-pressure Exists NoSchedule",
		"memory-pressure Exists NoSchedule", "pid-pressure Exists NoSchedule", "unschedulable Exists NoSchedule"}
	require.Equal(t, all, show(WithDaemonSet(podWith()).Spec.Tolerations))

	host := podWith()
	host.Spec.HostNetwork = true
	testkit.Unchanged(t, func() {
		require.Equal(t, append(all, "network-unavailable Exists NoSchedule"), show(WithDaemonSet(host).Spec.Tolerations))
	}, host)

	t.Run("T-85", func(t *testing.T) {
		limited := podWith(tol("node.kubernetes.io/not-ready Exists _ NoExecute", 10), tol("x Exists _ _"))
		require.Equal(t, []string{"not-ready Exists NoExecute", "x Exists"}, show(WithDaemonSet(limited).Spec.Tolerations)[:2],
			"replaced in place, without its limit")
	})
	t.Run("duplicates", func(t *testing.T) {
		twice := tol("node.kubernetes.io/not-ready Exists _ NoExecute", 10)
		require.Equal(t, all[:1], show(same.AddToleration(tols(twice), tol("node.kubernetes.io/not-ready Exists _ NoExecute"))))
		require.Equal(t, append(all[:1:1], all[0]), show(same.AddToleration(tols(twice, twice), tol("node.kubernetes.io/not-ready Exists _ NoExecute"))),
			"all duplicates are replaced")
	})
	t.Run("NoSchedule of unhealthy nodes", func(t *testing.T) {
		ev := taints.Compile(WithDaemonSet(podWith()).Spec.Tolerations, taints.Options{})
		require.False(t, ev.Tolerates(tainted("node.kubernetes.io/not-ready:NoSchedule")))
		require.True(t, ev.ToleratesNoExecute(taintList("node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/not-ready:NoSchedule")))
	})
}

func TestMemoryPressure(t *testing.T) {
	pressed := tainted("node.kubernetes.io/memory-pressure:NoSchedule")
	for _, qos := range []v1.PodQOSClass{v1.PodQOSBestEffort, v1.PodQOSBurstable, v1.PodQOSGuaranteed} {
		p := podWith(tol("x Exists _ _"))
		testkit.Unchanged(t, func() {
			got := WithMemoryPressure(p, qos)
			tolerates := taints.Compile(got.Spec.Tolerations, taints.Options{}).Tolerates(pressed)
			require.Equal(t, qos != v1.PodQOSBestEffort, tolerates, "only BestEffort pods are kept away")
		}, p)
	}
	require.False(t, taints.Compile(podWith().Spec.Tolerations, taints.Options{}).Tolerates(pressed),
		"without the plugin every pod is kept away by the scheduler")
	got := WithMemoryPressure(podWith(tol("_ Exists _ _")), v1.PodQOSBurstable)
	require.Equal(t, []string{"Exists"}, show(got.Spec.Tolerations), "one that covers it makes it redundant")
}

func container(requests ...string) v1.Container {
	list := v1.ResourceList{}
	for _, r := range requests {
		name, quantity, _ := strings.Cut(r, ":")
		list[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return v1.Container{Resources: v1.ResourceRequirements{Requests: list}}
}

func TestExtendedResources(t *testing.T) {
	t.Run("T-86", func(t *testing.T) {
		p := podWith(tol("example.com/gpu Exists _ NoSchedule"), tol("a.com/zero Exists _ _"))
		p.Spec.Containers = []v1.Container{container("example.com/gpu:1", "a.com/zero:0", "cpu:1", "hugepages-2Mi:2Mi",
			"foo.kubernetes.io/x:1", "requests.foo.com/x:1")}
		p.Spec.InitContainers = []v1.Container{container("b.com/init:1")}
		testkit.Unchanged(t, func() {
			require.Equal(t, []string{"example.com/gpu Exists NoSchedule", "a.com/zero Exists", "a.com/zero Exists NoSchedule", "b.com/init Exists NoSchedule"},
				show(WithExtendedResources(p).Spec.Tolerations))
		}, p)
	})
	t.Run("what does not count", func(t *testing.T) {
		p := podWith()
		limited := container()
		limited.Resources.Limits = v1.ResourceList{"l.com/x": resource.MustParse("1")}
		p.Spec.Containers = []v1.Container{limited, container(strings.Repeat("a", 60) + ".com/" + strings.Repeat("x", 64) + ":1")}
		p.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"e.com/x": resource.MustParse("1")}}}}}
		p.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{"p.com/x": resource.MustParse("1")}}
		require.Empty(t, WithExtendedResources(p).Spec.Tolerations, "limits, invalid names, ephemeral containers, pod-level requests")
	})
}

func TestNotReady(t *testing.T) {
	fresh := tainted("a:NoSchedule")
	testkit.Unchanged(t, func() {
		created := WithNotReady(fresh)
		require.Equal(t, taintList("a:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule"), created.Spec.Taints)
		require.Equal(t, created, WithNotReady(created), "not twice")
	}, fresh)
}
