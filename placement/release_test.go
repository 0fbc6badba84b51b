package placement_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
)

// decide asks the default profile of a release about a pod.
func decide(t *testing.T, v release.Version, pod *v1.Pod, o cluster.Objects) placement.Decision {
	t.Helper()
	o.Release = v
	s, err := cluster.New(o)
	require.NoError(t, err)
	p, err := placement.New(s, placement.PluginArgs{Release: v}.Profile())
	require.NoError(t, err)
	return p.Decide(pod, placement.Options{})
}

// The default profiles of the releases: plugins, order, weights.
func TestProfilesOfReleases(t *testing.T) {
	const features = "NodeDeclaredFeatures"
	for _, v := range release.Versions() {
		var filters []string
		scores := map[string]int64{}
		p := placement.PluginArgs{Release: v}.Profile()
		for _, f := range p.Filters {
			filters = append(filters, f.Name)
		}
		for _, w := range p.Scores {
			scores[w.Name] = w.Weight
		}
		require.Equal(t, v.AtLeast(release.V1_36), slices.Contains(filters, features), "L2.2 in %s", v)
		require.Equal(t, v.AtLeast(release.V1_37), slices.Index(filters, "NodeName") < slices.Index(filters, "NodeUnschedulable"), "L2.1 in %s", v)
		weight, scored := scores["DynamicResources"]
		require.Equal(t, v.AtLeast(release.V1_35), scored, "L2.3 in %s", v)
		if scored {
			require.Equal(t, int64(2), weight, "L2.3 in %s", v)
		}
	}
}

func TestDecisionsOfReleases(t *testing.T) {
	always := v1.ContainerRestartRuleAction("RestartAllContainers")
	restarting := testkit.Pod("p").Request("cpu=1").Obj()
	restarting.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: always}}
	named := testkit.Pod("p").Request("cpu=1").Obj()
	named.Spec.NodeName = "elsewhere"
	gpu := v1.ResourceName("example.com/gpu")
	class := &resourcev1.DeviceClass{}
	class.Name, class.Spec.ExtendedResourceName = "gpu", (*string)(&gpu)
	one := func() *v1.Node { return testkit.Node("n1").Capacity("cpu=4,memory=4Gi").Obj() }
	resized := testkit.Containers("container c requests cpu=2\ncontainer d requests cpu=1\nstatus c requests cpu=1\nstatus d requests cpu=2")
	resized.Name, resized.Namespace, resized.UID, resized.Spec.NodeName = "r", "default", "r", "n1"
	const placed = ""
	type test struct {
		name, why string
		pod       *v1.Pod
		objects   cluster.Objects
		want      testkit.ByRelease[string]
	}
	cordoned := one()
	cordoned.Spec.Unschedulable = true
	missing, other := "0/1 nodes are available: 1 Insufficient example.com/gpu.", "0/1 nodes are available: 1 cannot allocate all claims."
	n1, n2 := "n1", "n2"
	pool := resourcev1.ResourcePool{Name: "p", ResourceSliceCount: 1}
	offered := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: "drv", Pool: pool, NodeName: &n1, Devices: []resourcev1.Device{{Name: "d"}}}}
	counters := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Driver: "drv", Pool: pool, NodeName: &n2, SharedCounters: []resourcev1.CounterSet{{Name: "set"}}}}
	offered.Name, counters.Name = "offered", "counters"
	testkit.Run(t, []test{
		{"L1.6", "the slice with counters is another node's", testkit.Pod("p").Request("example.com/gpu=1").Obj(),
			cluster.Objects{Nodes: []*v1.Node{one()}, DeviceClasses: []*resourcev1.DeviceClass{class}, ResourceSlices: []*resourcev1.ResourceSlice{offered, counters}},
			testkit.ByRelease[string]{missing, missing, other, placed}},
		{"L2.2", "the node does not declare the feature", restarting, cluster.Objects{Nodes: []*v1.Node{one()}},
			testkit.ByRelease[string]{placed, placed, "0/1 nodes are available: 1 node(s) didn't match Pod's required features.", "0/1 nodes are available: 1 node(s) didn't match Pod's required features."}},
		{"L2.1", "the first plugin speaks", named, cluster.Objects{Nodes: []*v1.Node{cordoned}},
			testkit.ByRelease[string]{"0/1 nodes are available: 1 node(s) were unschedulable.", "0/1 nodes are available: 1 node(s) were unschedulable.", "0/1 nodes are available: 1 node(s) were unschedulable.", "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeName]."}},
		{"L3.5", "PreFilter names the node", named, cluster.Objects{Nodes: []*v1.Node{one()}},
			testkit.ByRelease[string]{"0/1 nodes are available: 1 node(s) didn't match the requested node name.", "0/1 nodes are available: 1 node(s) didn't match the requested node name.", "0/1 nodes are available: 1 node(s) didn't match the requested node name.", "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeName]."}},
		{"L3.3", "a class provides the resource, and no slice has a device", testkit.Pod("p").Request("example.com/gpu=1").Obj(), cluster.Objects{Nodes: []*v1.Node{one()}, DeviceClasses: []*resourcev1.DeviceClass{class}},
			testkit.ByRelease[string]{missing, missing, other, other}},
		{"L4.1", "the running pod is being resized", testkit.Pod("p").Request("cpu=1").Obj(), cluster.Objects{Nodes: []*v1.Node{one()}, Pods: []*v1.Pod{resized}},
			testkit.ByRelease[string]{"0/1 nodes are available: 1 Insufficient cpu.", "0/1 nodes are available: 1 Insufficient cpu.", "0/1 nodes are available: 1 Insufficient cpu.", placed}},
	}, func(t *testing.T, tc test) {
		for _, v := range release.Versions() {
			d := decide(t, v, tc.pod, tc.objects)
			if tc.want.In(v) == placed {
				require.True(t, d.Placed(), "%s: %s", v, tc.why)
				continue
			}
			require.NotNil(t, d.Failure, "%s: %s", v, tc.why)
			require.Equal(t, tc.want.In(v), d.Failure.Text(), "%s: %s", v, tc.why)
		}
	})
}
