package lint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// The fix for closed nodes names no toleration of what agents set, and the toleration of a pool only for a pod that is meant for it.
func TestClosedNodes(t *testing.T) {
	type test struct{ name, why, taint, selector, want string }
	testkit.Run(t, []test{
		{"pressure", "the kubelet refuses the pod", v1.TaintNodeDiskPressure + ":NoSchedule", "", "free disk on n1 (the kubelet then lifts the taint)"},
		{"leaving", "the node goes away", "ToBeDeletedByClusterAutoscaler=1:NoSchedule", "", "add a node that the pod may use"},
		{"starting", "the cloud controller lifts it", "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule", "", "start the cloud controller (it lifts the taint of n1)"},
		{"pool of others", "the pod does not ask for it", "team=x:NoSchedule", "", "add a node that the pod may use"},
		{"pool of the pod", "it selects the pool", "team=x:NoSchedule", "pool=x", "tolerate team=x:NoSchedule"},
		{"control plane", "no pod of kube-system", "node-role.kubernetes.io/control-plane:NoSchedule", "pool=x", "add a node that the pod may use"},
	}, func(t *testing.T, c test) {
		pod := testkit.Pod("p").Request("cpu=1")
		if c.selector != "" {
			pod = pod.NodeSelector(c.selector)
		}
		n := testkit.Node("n1").Label("pool", "x").Capacity("cpu=4,memory=8Gi,pods=10").Taint(c.taint).Obj()
		found, err := Check(Input{Pods: []*v1.Pod{pod.Obj()}, Cluster: &cluster.Objects{Nodes: []*v1.Node{n}}})
		require.NoError(t, err)
		var fixes []string
		for _, f := range found {
			if f.Rule == "all-nodes-closed" {
				fixes = append(fixes, f.Fix)
			}
		}
		require.Equal(t, c.want, strings.Join(fixes, "; "))
	})
}
