package estimate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

const (
	host = v1.LabelHostname
	zone = v1.LabelTopologyZone
)

// newEstimator returns an estimator with the default profile.
func newEstimator(t testing.TB, o cluster.Objects) *Estimator {
	t.Helper()
	s, err := cluster.New(o)
	require.NoError(t, err)
	e, err := New(Input{Snapshot: s, Profile: placement.DefaultProfile()})
	require.NoError(t, err)
	return e
}

// disks returns the class of volumes that are made where the pod goes.
func disks() []*storagev1.StorageClass {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	return []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "disks"}, Provisioner: "csi.example.com", VolumeBindingMode: &wait}}
}

// random makes a small cluster, a worker and a leader.
func random(b *testkit.Bytes) (o cluster.Objects, worker, leader *v1.Pod) {
	for k := range 2 + b.Below(4) {
		n := testkit.Node(fmt.Sprint("n", k)).Capacity(fmt.Sprintf("cpu=%d,memory=%dGi,pods=%d,example.com/gpu=%d", 2+b.Below(7), 1+b.Below(8), 2+b.Below(9), b.Below(4)))
		if !b.OneIn(6) {
			n = n.Zone(string(rune('a' + b.Below(3))))
		}
		if b.OneIn(5) {
			n = n.Taint("dedicated=ml:NoSchedule")
		}
		if b.OneIn(8) {
			n = n.Unschedulable()
		}
		if b.OneIn(2) {
			n = n.Label("disk", "ssd")
		}
		o.Nodes = append(o.Nodes, n.Obj())
		for range b.Below(3) {
			p := randomPod(b, fmt.Sprint("r", len(o.Pods)), false).On(fmt.Sprint("n", k)).Obj()
			o.Pods = append(o.Pods, p)
		}
	}
	o.StorageClasses = disks()
	o.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "any"}}}
	o.ResourceClaimTemplates = []*resourcev1.ResourceClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{
		Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "any", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}}}}}}
	for _, n := range o.Nodes {
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &n.Name, Pool: resourcev1.ResourcePool{Name: n.Name, ResourceSliceCount: 1, Generation: 1}}}
		for k := range b.Below(4) {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("gpu-", k)})
		}
		o.ResourceSlices = append(o.ResourceSlices, slice)
	}
	return o, randomPod(b, "worker", true).Obj(), randomPod(b, "leader", true).Obj()
}

// randomPod makes a pod with rules; one that is asked about may have claims too.
func randomPod(b *testkit.Bytes, name string, claims bool) testkit.PodBuilder {
	labels := []string{"app=a", "app=b"}
	p := testkit.Pod(name).Labels(labels[b.Below(2)]).Request(fmt.Sprintf("cpu=%dm,memory=%dMi", 100*b.Below(20), 64*b.Below(20)))
	keys := []string{host, zone}
	if b.OneIn(5) {
		p = p.Request(fmt.Sprint("example.com/gpu=", 1+b.Below(2)))
	}
	if b.OneIn(6) {
		p = p.HostPort("", v1.ProtocolTCP, int32(80+b.Below(2)))
	}
	if b.OneIn(5) {
		p = p.RequireApart(keys[b.Below(2)], labels[b.Below(2)])
	}
	if b.OneIn(6) {
		p = p.RequireWith(keys[b.Below(2)], labels[b.Below(2)])
	}
	if b.OneIn(5) {
		p = p.Spread(int32(1+b.Below(2)), keys[b.Below(2)], v1.DoNotSchedule, labels[b.Below(2)])
	}
	if b.OneIn(6) {
		p = p.NodeSelector("disk=ssd")
	}
	if b.OneIn(3) {
		p = p.Tolerate("dedicated", v1.TolerationOpExists, "", "")
	}
	pod := p.Obj()
	if claims && b.OneIn(6) {
		class := "disks"
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
			VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}}}}}})
	}
	if claims && b.OneIn(6) {
		template := "one"
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
		pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	}
	return p
}

// claims returns the number of ResourceClaims of the cluster.
func (e *Estimator) claims() (n int) {
	for range cluster.List[*resourcev1.ResourceClaim](e.snapshot).All() {
		n++
	}
	return n
}

// failing is a predicate that fails on every node.
type failing struct{}

func (failing) Name() string                       { return "Broken" }
func (failing) Check(int) resources.Verdict        { return 1 }
func (failing) Reasons(resources.Verdict) []string { return []string{"the disk of the plugin is full"} }
func (failing) Code(resources.Verdict) filter.Code { return filter.Error }
