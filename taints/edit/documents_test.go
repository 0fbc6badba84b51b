package edit

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// kubectl runs "kubectl taint nodes node1 ..." on the node.
func kubectl(t *testing.T, n *v1.Node, specs string) *v1.Node {
	t.Helper()
	command, err := Parse(strings.Fields(specs))
	require.NoError(t, err)
	after := n.DeepCopy()
	after.Spec.Taints, _, err = command.Apply(n)
	require.NoError(t, err)
	return after
}

// TestDocuments holds the worked examples of the documentation chapter "Taints and Tolerations".
func TestDocuments(t *testing.T) {
	var o taints.Options
	empty := &v1.Node{}
	empty.Name = "node1"

	t.Run("two equivalent tolerations", func(t *testing.T) {
		n := kubectl(t, empty, "key1=value1:NoSchedule")
		require.NotNil(t, taints.Untolerated(n, nil, o))
		require.Nil(t, taints.Untolerated(n, tols(tol("key1 Equal value1 NoSchedule")), o))
		require.Nil(t, taints.Untolerated(n, tols(tol("key1 Exists _ NoSchedule")), o))
		require.Nil(t, taints.Untolerated(n, tols(tol("key1 _ value1 NoSchedule")), o), "the default operator is Equal")
	})
	t.Run("taint removed", func(t *testing.T) {
		n := kubectl(t, kubectl(t, empty, "key1=value1:NoSchedule"), "key1=value1:NoSchedule-")
		require.Empty(t, n.Spec.Taints)
		n = kubectl(t, kubectl(t, empty, "key=value:NoSchedule"), "key:NoSchedule-")
		require.Empty(t, n.Spec.Taints)
	})
	t.Run("example-key", func(t *testing.T) {
		nginx := tols(tol("example-key Exists _ NoSchedule"))
		require.Nil(t, taints.Untolerated(kubectl(t, empty, "example-key=anything:NoSchedule"), nginx, o))
		require.NotNil(t, taints.Untolerated(kubectl(t, empty, "example-key=anything:NoExecute"), nginx, o))
	})
	t.Run("three taints of node1", func(t *testing.T) {
		n := kubectl(t, empty, "key1=value1:NoSchedule")
		n = kubectl(t, n, "key1=value1:NoExecute")
		n = kubectl(t, n, "key2=value2:NoSchedule")
		pod := tols(tol("key1 Equal value1 NoSchedule"), tol("key1 Equal value1 NoExecute"))
		require.Equal(t, "key2=value2:NoSchedule", taints.Untolerated(n, pod, o).ToString(), "a new pod is not placed")
		require.Equal(t, taints.Forever, taints.Compile(pod, o).Deadline(n.Spec.Taints).Stay, "a running pod stays")
	})
	t.Run("tolerationSeconds 3600", func(t *testing.T) {
		pod := tols(tol("key1 Equal value1 NoExecute", 3600))
		d := taints.Compile(pod, o).Deadline(kubectl(t, empty, "key1=value1:NoExecute").Spec.Taints)
		require.Equal(t, taints.Limited, d.Stay)
		require.Equal(t, time.Hour, d.After)
		require.Equal(t, taints.NoTaint, taints.Compile(pod, o).Deadline(empty.Spec.Taints).Stay, "removed before: not evicted")
	})
	t.Run("tolerationSeconds 6000", func(t *testing.T) {
		pod := tols(tol("node.kubernetes.io/unreachable Exists _ NoExecute", 6000))
		n := withConditions(empty.DeepCopy(), "Ready=Unknown")
		n.Spec.Taints = []v1.Taint{{Key: Health(n, v1.ConditionUnknown).Wants, Effect: v1.TaintEffectNoExecute}}
		require.Equal(t, 6000*time.Second, taints.Compile(pod, o).Deadline(n.Spec.Taints).After)
	})
	t.Run("300 seconds by default", func(t *testing.T) {
		pod := admission.WithDefaultSeconds(&v1.Pod{}, admission.DefaultSeconds{}).Spec.Tolerations
		for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
			require.Equal(t, 5*time.Minute, taints.Compile(pod, o).Deadline(node(key+":NoExecute").Spec.Taints).After)
		}
	})
	t.Run("DaemonSet pods stay", func(t *testing.T) {
		pod := admission.WithDefaultSeconds(admission.WithDaemonSet(&v1.Pod{}), admission.DefaultSeconds{}).Spec.Tolerations
		n := node("node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/unreachable:NoExecute")
		require.Equal(t, taints.Forever, taints.Compile(pod, o).Deadline(n.Spec.Taints).Stay)
	})
	t.Run("dedicated nodes", func(t *testing.T) {
		n := kubectl(t, empty, "dedicated=groupName:NoSchedule")
		group := tols(tol("dedicated Equal groupName NoSchedule"))
		require.NotNil(t, taints.Untolerated(n, nil, o), "others are kept away")
		require.NotNil(t, taints.Untolerated(n, tols(tol("dedicated Equal otherGroup NoSchedule")), o))
		require.Nil(t, taints.Untolerated(n, group, o))
		require.Nil(t, taints.Untolerated(empty, group, o), "the group may use any other node as well")
	})
	t.Run("special hardware", func(t *testing.T) {
		pod := tols(tol("special Equal true _"))
		require.NotNil(t, taints.Untolerated(kubectl(t, empty, "special=true:NoSchedule"), nil, o))
		require.Nil(t, taints.Untolerated(kubectl(t, empty, "special=true:NoSchedule"), pod, o))
		soft := kubectl(t, empty, "special=true:PreferNoSchedule")
		require.Nil(t, taints.Untolerated(soft, nil, o))
		nodes := testkit.NewCluster([]*v1.Node{soft, empty}, nil)
		require.EqualValues(t, 1, taints.Compile(nil, o).On(nodes).Raw(0), "avoided when possible")
		require.EqualValues(t, 0, taints.Compile(pod, o).On(nodes).Raw(0))
	})
	t.Run("special hardware by extended resource", func(t *testing.T) {
		n := kubectl(t, empty, "example.com/gpu=present:NoSchedule")
		gpu := &v1.Pod{}
		gpu.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: testkit.Resources("example.com/gpu=1")}}}
		require.NotNil(t, taints.Untolerated(n, gpu.Spec.Tolerations, o))
		require.Nil(t, taints.Untolerated(n, admission.WithExtendedResources(gpu).Spec.Tolerations, o))
	})
	t.Run("conditions are mirrored", func(t *testing.T) {
		n, _, _ := MirrorConditions(withConditions(empty.DeepCopy(), "Ready=True", "DiskPressure=True"), noon)
		require.Equal(t, "disk-pressure:NoSchedule", formats(n.Spec.Taints))
		require.Equal(t, taints.NoTaint, taints.Compile(nil, o).Deadline(n.Spec.Taints).Stay, "nobody is evicted")
	})
	t.Run("memory pressure keeps BestEffort away", func(t *testing.T) {
		n, _, _ := MirrorConditions(withConditions(empty.DeepCopy(), "MemoryPressure=True"), noon)
		for qos, away := range map[v1.PodQOSClass]bool{v1.PodQOSBestEffort: true, v1.PodQOSBurstable: false, v1.PodQOSGuaranteed: false} {
			pod := admission.WithMemoryPressure(&v1.Pod{}, qos)
			require.Equal(t, away, taints.Untolerated(n, pod.Spec.Tolerations, o) != nil, "%s", qos)
		}
	})
}
