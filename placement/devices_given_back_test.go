package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Which allocation goes back depends on the nodes that DynamicResources was asked about (rule U8.5), from kept work too. Of two claims the one that
// another pod uses is missing in one zone, the other claim in the other zone.
func TestGivenBackAfterSharedWork(t *testing.T) {
	type testCase struct {
		name  string
		used  string // zone of the claim that another pod uses
		room  string // the zone with room; "": both
		named bool   // the allocations name a node
		disk  bool   // the pod mounts a volume too
		want  string
	}
	testkit.Run(t, []testCase{
		{"the free claim is missing in zone b", "b", "", false, false, "in-a"},
		{"the free claim is missing in zone a", "a", "", false, false, "in-b"},
		{"no node of zone b is asked", "b", "a", false, false, ""},
		{"no node of zone a is asked", "b", "b", false, false, "in-a"},
		{"names of nodes", "b", "", true, false, "in-a"},
		{"names of other nodes", "a", "", true, false, "in-b"},
		{"names of nodes without room", "a", "b", true, false, ""},
		{"a pod with a volume", "b", "", false, true, "in-a"},
		{"names and a volume", "a", "", true, true, "in-b"},
	}, func(t *testing.T, c testCase) {
		claim, pv := waiting("data", "fast", "1Gi"), disk("pv-data", "fast", "a", "1Gi")
		pv.Spec.NodeAffinity = nil
		bind(claim, pv, "csi.example.com")
		o := cluster.Objects{DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")}, Claims: []*v1.PersistentVolumeClaim{claim}, PersistentVolumes: []*v1.PersistentVolume{pv}}
		for _, zone := range []string{"a", "b"} {
			cpu := "cpu=4"
			if c.room != "" && c.room != zone {
				cpu = "cpu=0"
			}
			o.Nodes = append(o.Nodes, testkit.Node(zone+"1").Zone(zone).Capacity(cpu+",pods=9").Obj())
			x := gpuClaim("in-"+zone, 1)
			term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}}
			if c.named {
				term = v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{zone + "1"}}}}
			}
			x.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}
			if c.used == zone {
				x.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "other", UID: "other"}}
			}
			o.ResourceClaims = append(o.ResourceClaims, x)
		}
		p, s := placerOf(t, o)
		without, err := New(s, p.profile)
		require.NoError(t, err)
		without.engine = nil
		kept := 0
		for range 4 {
			pod := claiming(testkit.Pod("p").Request("cpu=1").Obj(), "in-a", "in-b")
			if c.disk {
				pod = mounting(pod, "data")
			}
			for _, plan := range []*Plan{without, p.Plan} {
				d := plan.Decide(pod, Options{})
				require.False(t, d.Placed())
				given := released(plan, d)
				if plan.Failed(d.Failure).verdicts == nil {
					kept++
				}
				if c.want == "" {
					require.Nil(t, given.Deallocate)
					continue
				}
				require.NotNil(t, given.Deallocate)
				require.Equal(t, c.want, given.Deallocate.Name)
			}
		}
		require.GreaterOrEqual(t, kept, 3, "answers from kept work")
	})
}
