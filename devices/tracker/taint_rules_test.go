package tracker_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/release"
)

// A tracker follows rules that come, change and go.
func TestFollowsTaintRules(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "k", UID: "k"}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "drv", NodeName: new("n1"), Pool: resourcev1.ResourcePool{Name: "p", Generation: 1, ResourceSliceCount: 1}, Devices: []resourcev1.Device{{Name: "g"}}}}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "w", UID: "w"}, Spec: v1.PodSpec{ResourceClaims: []v1.PodResourceClaim{{Name: "c", ResourceClaimName: new("k")}}}}
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node}, ResourceClaims: []*resourcev1.ResourceClaim{claim}, ResourceSlices: []*resourcev1.ResourceSlice{slice}, DeviceClasses: []*resourcev1.DeviceClass{class}})
	require.NoError(t, err)
	follows := tracker.New(s, tracker.Of(s))
	rejects := func(x *tracker.Tracker) bool {
		f := x.Filter(tracker.Options{Search: devices.Options{Release: release.V1_37}})
		return f.On(f.Compile(pod)).Check(0) != 0
	}
	require.False(t, rejects(follows))
	rule := &resourcev1beta2.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: resourcev1beta2.DeviceTaintRuleSpec{DeviceSelector: &resourcev1beta2.DeviceTaintSelector{}, Taint: resourcev1beta2.DeviceTaint{Key: "maint", Effect: "NoSchedule"}}}
	require.NoError(t, s.Set(rule))
	require.True(t, rejects(follows), "a rule came")
	other := rule.DeepCopy()
	other.Spec.DeviceSelector = nil
	require.NoError(t, s.Set(other))
	require.False(t, rejects(follows), "without a selector it matches nothing")
	require.NoError(t, s.Set(rule))
	require.True(t, rejects(follows))
	require.NoError(t, s.Remove(rule))
	require.False(t, rejects(follows), "the rule is gone")
}
