package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

const driver = "gpu.example.com"

// gpus gives a node a slice of devices; device k belongs to NUMA node k modulo 2.
func gpus(o *cluster.Objects, node string, n int) {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}}
	s.Spec = resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}}
	for k := range n {
		numa := int64(k % 2)
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", k), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"numa": {IntValue: &numa}}})
	}
	o.ResourceSlices = append(o.ResourceSlices, s)
}

// claim makes a claim of so many devices, of one NUMA node if alike.
func claim(o *cluster.Objects, name string, count int64, alike bool) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("c-" + name)}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}}}
	if alike {
		numa := resourcev1.FullyQualifiedName(driver + "/numa")
		c.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &numa}}
	}
	o.ResourceClaims = append(o.ResourceClaims, c)
	return c
}

// give gives a claim a device of a node, for a pod or for nobody.
func give(c *resourcev1.ResourceClaim, node string, device int, pod *v1.Pod) {
	c.Status.Allocation = &resourcev1.AllocationResult{
		Devices:      resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: node, Device: fmt.Sprintf("gpu-%d", device)}}},
		NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}},
	}
	if pod != nil {
		pod.UID = types.UID("u-" + pod.Name)
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
		uses(pod, c.Name)
	}
}

func uses(p *v1.Pod, claim string) *v1.Pod {
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	return p
}

func gpuClass() []*resourcev1.DeviceClass {
	return []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}}
}

// randomDevices gives nodes devices, the pod a claim, and two of the devices to a running pod or to nobody.
func randomDevices(b *testkit.Bytes, o *cluster.Objects, pod *v1.Pod) {
	o.DeviceClasses = gpuClass()
	for _, n := range o.Nodes {
		gpus(o, n.Name, b.Below(4))
	}
	pod.UID = "u-pending"
	uses(pod, "pending")
	claim(o, "pending", int64(1+b.Below(3)), b.OneIn(2))
	for k, s := range o.ResourceSlices[:min(2, len(o.ResourceSlices))] {
		if len(s.Spec.Devices) == 0 || b.OneIn(3) {
			continue
		}
		var user *v1.Pod
		for _, p := range o.Pods {
			if p.Spec.NodeName == s.Name && b.OneIn(2) {
				user = p
			}
		}
		give(claim(o, fmt.Sprintf("other-%d", k), 1, false), s.Name, 0, user)
	}
}

// Fewer devices, a constraint less, a claim that holds devices for nobody, and a pod that gives its devices back.
func TestDevices(t *testing.T) {
	type test struct {
		name, why string
		setup     func(o *cluster.Objects)
		want      []string
	}
	testkit.Run(t, []test{
		{"count", "a node has three devices", func(o *cluster.Objects) { gpus(o, "n1", 3); claim(o, "pending", 5, false) }, []string{
			"ResourceClaim default/pending, made again: spec.devices.requests[0].exactly.count from 5 to 3"}},
		{"constraint", "each NUMA node has two devices of four", func(o *cluster.Objects) { gpus(o, "n1", 4); claim(o, "pending", 3, true) }, []string{
			"ResourceClaim default/pending, made again: spec.devices.requests[0].exactly.count from 3 to 2",
			"ResourceClaim default/pending, made again: drop spec.devices.constraints[0] (matchAttribute gpu.example.com/numa)"}},
		{"claim of nobody", "it holds the only device", func(o *cluster.Objects) {
			gpus(o, "n1", 1)
			claim(o, "pending", 1, false)
			give(claim(o, "old", 1, false), "n1", 0, nil)
		}, []string{"ResourceClaim default/old: delete it: no pod uses its devices"}},
		{"own claim", "it has a device of a node without room", func(o *cluster.Objects) {
			gpus(o, "n1", 1)
			gpus(o, "n2", 1)
			o.Nodes[0].Spec.Unschedulable = true
			give(claim(o, "pending", 1, false), "n1", 0, nil)
		}, []string{"ResourceClaim default/pending, made again: it then holds no devices"}},
		{"claim of a running pod", "the pod gives the device back", func(o *cluster.Objects) {
			gpus(o, "n1", 1)
			claim(o, "pending", 1, false)
			o.Pods = []*v1.Pod{running("user", "n1", "cpu=1")}
			give(claim(o, "used", 1, false), "n1", 0, o.Pods[0])
		}, []string{"remove default/user from n1"}},
	}, func(t *testing.T, c test) {
		o := cluster.Objects{Nodes: five()[:2], DeviceClasses: gpuClass()}
		c.setup(&o)
		d := relax(t, o, uses(testkit.Pod("web").Obj(), "pending"), Options{Size: 1})
		var have []string
		for _, r := range d.Relaxations {
			if text := r.Text(); !strings.Contains(text, "uncordon") && !strings.Contains(text, "tolerate") && !strings.Contains(text, "add a node") {
				have = append(have, text)
			}
		}
		require.ElementsMatch(t, c.want, have)
	})
}

// Two nodes lose their taints: only with both there are as many domains as minDomains asks for.
func TestTwoNodes(t *testing.T) {
	nodes := five()
	nodes[2].Spec.Taints, nodes[3].Spec.Taints = testkit.Taints("old:NoSchedule"), testkit.Taints("old:NoSchedule")
	nodes[4].Spec.Taints = testkit.Taints("new:NoSchedule")
	var pods []*v1.Pod
	for i, n := range []string{"n1", "n1", "n3", "n3", "n5", "n5"} {
		pods = append(pods, running(fmt.Sprintf("a%d", i), n, "cpu=1"))
	}
	pod := testkit.Pod("a").Labels("app=a").Spread(1, zone, v1.DoNotSchedule, "app=a").Obj()
	three, honor := int32(3), v1.NodeInclusionPolicyHonor
	pod.Spec.TopologySpreadConstraints[0].MinDomains, pod.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = &three, &honor
	d := relax(t, cluster.Objects{Nodes: nodes, Pods: pods}, pod, Options{Cost: only(Untaint, Uncordon, Label, AddNode)})
	var have []string
	for _, r := range d.Relaxations {
		have = append(have, r.Text())
	}
	require.Contains(t, have, "Node n3: remove the taint old:NoSchedule, if it is over; Node n5: remove the taint new:NoSchedule, if it is over")
}
