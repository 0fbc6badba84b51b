package place

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// On a node where all pods fit together a kubelet says of each what it says when it looks at all the others.
func TestRoomyNodes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	roomy, ports, crowded := 0, 0, 0
	for range 2000 {
		n := testkit.Node("n").Capacity(fmt.Sprintf("cpu=%d,memory=8Gi,pods=%d,example.com/gpu=%d", 1+r.IntN(5), 1+r.IntN(6), r.IntN(3))).Obj()
		objects := cluster.Objects{Nodes: []*v1.Node{n}}
		for k := range 1 + r.IntN(5) {
			b := testkit.Pod(fmt.Sprint("p", k)).On("n").Request(fmt.Sprintf("cpu=%d", r.IntN(3)))
			if r.IntN(4) == 0 {
				b = b.Request(fmt.Sprintf("cpu=1,example.com/gpu=%d", r.IntN(2)))
			}
			if r.IntN(3) == 0 {
				b = b.HostPort("", v1.ProtocolTCP, int32(80+r.IntN(2)))
			}
			p := b.Obj()
			if r.IntN(6) == 0 {
				p.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}}
				p.Status.ContainerStatuses = []v1.ContainerStatus{{Name: p.Spec.Containers[0].Name, AllocatedResources: v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(r.IntN(3)), resource.DecimalSI)}}}
			}
			objects.Pods = append(objects.Pods, p)
		}
		c, err := cluster.New(objects)
		require.NoError(t, err)
		var pods []*v1.Pod
		for p := range c.Pods(0) {
			pods = append(pods, granted(p))
		}
		together := fitTogether(c, 0)
		for k, p := range pods {
			want, fails := kubelets(taints.Options{}).Admit(p, n, slices.Delete(slices.Clone(pods), k, k+1))
			got, failed := kubelets(taints.Options{}).Admit(p, n, beside(pods, k, together))
			require.Equal(t, fails, failed)
			require.Equal(t, want, got)
			switch {
			case !together && fails:
				crowded++
			case together && fails:
				ports++
			case together:
				roomy++
			}
		}
	}
	require.Greater(t, min(roomy, crowded), 500)
	require.Greater(t, ports, 50, "pods that take the port of another one on a node with room")
}
