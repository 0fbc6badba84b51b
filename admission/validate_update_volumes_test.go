package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
)

// object is what an update changes.
type object interface {
	metav1.Object
	runtime.Object
}

func updatedClaim(phase v1.PersistentVolumeClaimPhase, change func(c *v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	c := &v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: new("gp3")}}
	c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("10Gi")}
	if c.Status.Phase = phase; phase == v1.ClaimBound {
		c.Spec.VolumeName = "pv"
		c.Status.Capacity = v1.ResourceList{v1.ResourceStorage: resource.MustParse("8Gi")}
	}
	if change != nil {
		change(c)
	}
	return c
}

func size(text string) func(c *v1.PersistentVolumeClaim) {
	return func(c *v1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse(text)}
	}
}

func updatedVolume(change func(v *v1.PersistentVolume)) *v1.PersistentVolume {
	v := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/a"}}}}
	v.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelFailureDomainBetaZone, Operator: "In", Values: []string{"a"}}}}}}}
	if change != nil {
		change(v)
	}
	return v
}

// What stays of claims, volumes and claims of devices.
func TestVolumeUpdates(t *testing.T) {
	const fixedClaim = "spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
	unnamed := func(c *v1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }
	claim, volume := updatedClaim, updatedVolume
	devices := func(n int64) resourcev1.ResourceClaimSpec {
		return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: n}}}}}
	}
	template := func(n int64) *resourcev1.ResourceClaimTemplate {
		return &resourcev1.ResourceClaimTemplate{Spec: resourcev1.ResourceClaimTemplateSpec{Spec: devices(n)}}
	}
	all := func(n int64) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{Spec: devices(n)}
		c.Spec.Devices.Requests[0].Exactly.AllocationMode = resourcev1.DeviceAllocationModeAll
		return c
	}
	type test struct {
		name, why string
		new, old  object
		want      string // part of the errors, "" for none
	}
	testkit.Run(t, []test{
		{"a claim as it is", "nothing changes", claim(v1.ClaimBound, nil), claim(v1.ClaimBound, nil), ""},
		{"a larger request", "a bound claim may grow", claim(v1.ClaimBound, size("20Gi")), claim(v1.ClaimBound, nil), ""},
		{"a larger request too early", "the claim waits for its volume", claim(v1.ClaimPending, size("20Gi")), claim(v1.ClaimPending, nil), fixedClaim},
		{"a smaller request", "an expansion that failed is taken back", claim(v1.ClaimBound, size("9Gi")), claim(v1.ClaimBound, nil), ""},
		{"a request of what the volume has", "it must be above the capacity", claim(v1.ClaimBound, size("8Gi")), claim(v1.ClaimBound, nil), "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"},
		{"another class", "the class stays", claim(v1.ClaimBound, func(c *v1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("gp2") }), claim(v1.ClaimBound, nil), fixedClaim},
		{"a first class", "a claim without a class may get one", claim(v1.ClaimPending, nil), claim(v1.ClaimPending, unnamed), ""},
		{"no class any more", "the class stays", claim(v1.ClaimPending, unnamed), claim(v1.ClaimPending, nil), fixedClaim},
		{"a volume", "a claim gets its volume once", claim(v1.ClaimPending, func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" }), claim(v1.ClaimPending, nil), ""},
		{"another volume", "the volume stays", claim(v1.ClaimBound, func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv2" }), claim(v1.ClaimBound, nil), fixedClaim},
		{"the default mode of a claim", "Filesystem is the default", claim(v1.ClaimBound, func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeMode = new(v1.PersistentVolumeFilesystem) }), claim(v1.ClaimBound, nil), ""},
		{"an attributes class", "a bound claim may change it", claim(v1.ClaimBound, func(c *v1.PersistentVolumeClaim) { c.Spec.VolumeAttributesClassName = new("fast") }), claim(v1.ClaimBound, nil), ""},
		{"modes", "the access modes stay", claim(v1.ClaimBound, func(c *v1.PersistentVolumeClaim) { c.Spec.AccessModes = nil }), claim(v1.ClaimBound, nil), fixedClaim},

		{"a volume as it is", "nothing changes", volume(nil), volume(nil), ""},
		{"a source", "the source stays", volume(func(v *v1.PersistentVolume) { v.Spec.HostPath.Path = "/b" }), volume(nil), "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation"},
		{"a mode", "the mode stays", volume(func(v *v1.PersistentVolume) { v.Spec.VolumeMode = new(v1.PersistentVolumeBlock) }), volume(nil), "field is immutable"},
		{"a zone", "the node affinity stays", volume(func(v *v1.PersistentVolume) {
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0] = "b"
		}), volume(nil), "nodeAffinity: Invalid value"},
		{"a label of the new name", "the beta label may get its new name", volume(func(v *v1.PersistentVolume) {
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = v1.LabelTopologyZone
		}), volume(nil), ""},
		{"a label of the old name", "a new name stays", volume(nil), volume(func(v *v1.PersistentVolume) {
			v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = v1.LabelTopologyZone
		}), "nodeAffinity: Invalid value"},
		{"a first node affinity", "a volume without one may get one", volume(nil), volume(func(v *v1.PersistentVolume) { v.Spec.NodeAffinity = nil }), ""},
		{"no node affinity any more", "the node affinity stays", volume(func(v *v1.PersistentVolume) { v.Spec.NodeAffinity = nil }), volume(nil), "nodeAffinity: Invalid value"},

		{"devices", "the spec stays", &resourcev1.ResourceClaim{Spec: devices(2)}, &resourcev1.ResourceClaim{Spec: devices(1)}, "field is immutable"},
		{"equal devices", "nothing changes", &resourcev1.ResourceClaim{Spec: devices(1)}, &resourcev1.ResourceClaim{Spec: devices(1)}, ""},
		{"a count of all devices", "only a request of a count has the count 1 by default", all(1), all(0), "field is immutable"},
		{"a template of devices", "the spec stays", template(2), template(1), "field is immutable"},
		{"another kind", "two kinds have no errors", template(2), claim(v1.ClaimBound, nil), ""},
	}, func(t *testing.T, c test) {
		testkit.Unchanged(t, func() {
			errs := ValidateUpdate(c.new, c.old, Options{})
			requireOne(t, c.want, errs, c.why)
		}, c.new, c.old)
	})
}

// A claim whose mode changes has the error about its spec and one about the mode.
func TestModeOfAClaim(t *testing.T) {
	old := &v1.PersistentVolumeClaim{}
	block := old.DeepCopy()
	block.Spec.VolumeMode = new(v1.PersistentVolumeBlock)
	errs := ValidateUpdate(block, old, Options{})
	require.Len(t, errs, 2)
	require.EqualError(t, errs[1], `volumeMode: Invalid value: "Block": field is immutable`)
}

// requireOne requires one error with a text; "" is no error.
func requireOne(t *testing.T, want string, errs field.ErrorList, why string) {
	t.Helper()
	if want == "" {
		require.Empty(t, errs, why)
		return
	}
	require.Len(t, errs, 1, why)
	require.Contains(t, errs[0].Error(), want, why)
}
