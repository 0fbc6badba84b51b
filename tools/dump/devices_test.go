package dump

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// LimitRanges, claims, templates, slices and classes are read.
func TestDevicesAndLimitRangesAreRead(t *testing.T) {
	o, err := readText(`
{apiVersion: v1, kind: LimitRange, metadata: {name: a}, spec: {limits: [{type: Container, defaultRequest: {cpu: 100m}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: a}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: a}, spec: {driver: d, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: g, capacity: {memory: {value: 40Gi}}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {resourceClaims: [{name: g, resourceClaimName: a}], containers: [{name: c, resources: {requests: {example.com/gpu: "1", cpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {resourceClaims: [{name: g, resourceClaimName: a}], containers: [{name: c, resources: {requests: {deviceclass.resource.kubernetes.io/gpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: runs}, spec: {nodeName: n1, resourceClaims: [{name: g, resourceClaimName: a}], containers: [{name: c}]}}
`, Options{})
	require.NoError(t, err)
	require.Equal(t, []int{1, 1, 1, 1, 1}, []int{len(o.LimitRanges), len(o.ResourceClaims), len(o.ResourceClaimTemplates), len(o.ResourceSlices), len(o.DeviceClasses)})
	require.Equal(t, "default default", o.ResourceClaims[0].Namespace+" "+o.LimitRanges[0].Namespace)
	require.Empty(t, o.Warnings.Lines())
	require.Len(t, o.Admission().LimitRanges, 1)
	o.WithoutDevices()
	require.Equal(t, []string{
		"3 pods have resourceClaims, which are not considered; the first: pod default/a has resourceClaims, which are not considered (-v lists them)",
		"pod default/a asks for example.com/gpu, and DeviceClass gpu, which provides it, is not considered",
		"pod default/b asks for deviceclass.resource.kubernetes.io/gpu, and DeviceClass gpu, which provides it, is not considered",
	}, o.Warnings.Lines())
}

// Objects of earlier versions of resource.k8s.io have other fields: they are refused, not dropped.
func TestEarlierDevicesAreRefused(t *testing.T) {
	testkit.Run(t, []struct{ name, why, text, want string }{
		{"v1beta1", "its requests have no exactly", "{apiVersion: resource.k8s.io/v1alpha2, kind: ResourceClaim, metadata: {namespace: shop, name: gpu}}",
			`standard input: document 1 (ResourceClaim shop/gpu): apiVersion: Unsupported value: "resource.k8s.io/v1alpha2": must be resource.k8s.io/v1; kubectl get resourceclaims.v1.resource.k8s.io prints that`},
		{"class", "the plural of kubectl", "{apiVersion: resource.k8s.io/v1alpha1, kind: DeviceClass, metadata: {name: gpu}}",
			`standard input: document 1 (DeviceClass gpu): apiVersion: Unsupported value: "resource.k8s.io/v1alpha1": must be resource.k8s.io/v1; kubectl get deviceclasses.v1.resource.k8s.io prints that`},
	}, func(t *testing.T, c struct{ name, why, text, want string }) {
		_, err := readText(c.text, Options{})
		require.EqualError(t, err, c.want)
	})
}

// A claim and a template get what the API server sets at creation; what is set stays.
func TestClaimDefaults(t *testing.T) {
	o, err := readText(`
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a}, spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu, tolerations: [{key: k}]}}, {name: all, exactly: {deviceClassName: gpu, allocationMode: All}}, {name: two, exactly: {deviceClassName: gpu, count: 2}}]}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: a}, spec: {spec: {devices: {requests: [{name: first, firstAvailable: [{name: s, deviceClassName: gpu, tolerations: [{key: k, operator: Exists}]}]}]}}}}
`, Options{})
	require.NoError(t, err)
	requests := o.ResourceClaims[0].Spec.Devices.Requests
	one, all, two := requests[0].Exactly, requests[1].Exactly, requests[2].Exactly
	require.Equal(t, []any{resourcev1.DeviceAllocationModeExactCount, int64(1), resourcev1.DeviceTolerationOpEqual}, []any{one.AllocationMode, one.Count, one.Tolerations[0].Operator})
	require.Equal(t, []any{resourcev1.DeviceAllocationModeAll, int64(0)}, []any{all.AllocationMode, all.Count})
	require.Equal(t, []any{resourcev1.DeviceAllocationModeExactCount, int64(2)}, []any{two.AllocationMode, two.Count})
	first := o.ResourceClaimTemplates[0].Spec.Spec.Devices.Requests[0].FirstAvailable[0]
	require.Equal(t, []any{resourcev1.DeviceAllocationModeExactCount, int64(1), resourcev1.DeviceTolerationOpExists}, []any{first.AllocationMode, first.Count, first.Tolerations[0].Operator})
}

// Rules that taint devices are read in the version of v1.37 and in that of v1.36, which are equal.
func TestTaintRulesAreRead(t *testing.T) {
	for _, version := range []string{"v1", "v1beta2"} {
		o, err := readText("{apiVersion: resource.k8s.io/"+version+", kind: DeviceTaintRule, metadata: {name: all}, spec: {deviceSelector: {pool: p}, taint: {key: maint, effect: NoExecute}}}", Options{})
		require.NoError(t, err)
		require.Empty(t, o.Warnings.Lines())
		require.Len(t, o.Cluster().DeviceTaintRules, 1)
		require.Equal(t, "p", *o.Cluster().DeviceTaintRules[0].Spec.DeviceSelector.Pool)
	}
	_, err := readText("{apiVersion: resource.k8s.io/v1alpha3, kind: DeviceTaintRule, metadata: {name: all}}", Options{})
	require.ErrorContains(t, err, "must be resource.k8s.io/v1", "its selector has other fields")
}
