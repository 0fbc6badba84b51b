package devices_test

import (
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// boundClaim returns a claim that was allocated a minute before noon and whose device has the binding condition Attached.
func boundClaim(conditions ...metav1.Condition) *resourcev1.ResourceClaim {
	at := metav1.NewTime(noon.Add(-time.Minute))
	c := gpuClaim("web", 1)
	c.Status.Allocation = &resourcev1.AllocationResult{AllocationTimestamp: &at, Devices: resourcev1.DeviceAllocationResult{
		Results: []resourcev1.DeviceRequestAllocationResult{{
			Request: "gpu", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0",
			BindingConditions: []string{"Attached"}, BindingFailureConditions: []string{"Broken"},
		}},
	}}
	if conditions != nil {
		c.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0", Conditions: conditions}}
	}
	return c
}

func TestBindingReadiness(t *testing.T) {
	attached := metav1.Condition{Type: "Attached", Status: metav1.ConditionTrue}
	type test struct {
		name, why string
		claim     *resourcev1.ResourceClaim
		timeout   time.Duration
		want      devices.Readiness
	}
	testkit.Run(t, []test{
		{"no allocation", "there is nothing to wait for", gpuClaim("web", 1), time.Hour, devices.Readiness{Ready: true}},
		{"no device status", "the driver has not reported yet", boundClaim(), time.Hour, devices.Readiness{}},
		{"condition true", "the only binding condition is true", boundClaim(attached), time.Hour, devices.Readiness{Ready: true}},
		{"condition false", "the device is not attached yet", boundClaim(metav1.Condition{Type: "Attached", Status: metav1.ConditionFalse}), time.Hour, devices.Readiness{}},
		{"failed", "a failure condition wins over a binding condition", boundClaim(attached, metav1.Condition{Type: "Broken", Status: metav1.ConditionTrue, Reason: "Cable", Message: "no link"}), time.Hour,
			devices.Readiness{Failed: `device binding failed: claim=web, reason=Cable, message="no link"`}},
		{"at the limit", "the time-out must have passed", boundClaim(), time.Minute, devices.Readiness{}},
		{"after the limit", "the claim was allocated a minute ago", boundClaim(), time.Minute - 1, devices.Readiness{TimedOut: true}},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, devices.BindingReadiness(c.claim, c.timeout, noon))
	})
}

func TestBound(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p-uid"}}
	allocation := boundClaim().Status.Allocation
	allocation.AllocationTimestamp = nil
	deleted := gpuClaim("web", 1)
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	type test struct {
		name, why  string
		latest     *resourcev1.ResourceClaim
		allocation *resourcev1.AllocationResult
		want       string // error
	}
	testkit.Run(t, []test{
		{"new allocation", "the attempt reserved devices for the claim", gpuClaim("web", 1), allocation, ""},
		{"allocated before", "only the reservation is missing", boundClaim(), nil, ""},
		{"deleted", "a claim that goes away cannot serve", deleted, allocation, "claim default/web got deleted in the meantime"},
		{"allocated meanwhile", "two attempts must not allocate one claim", boundClaim(), allocation, "claim default/web got allocated elsewhere in the meantime"},
		{"deallocated meanwhile", "the devices may belong to another claim", gpuClaim("web", 1), nil, "claim default/web got deallocated elsewhere in the meantime"},
	}, func(t *testing.T, c test) {
		before := c.latest.DeepCopy()
		bound, err := devices.Bound(c.latest, pod, c.allocation, noon)
		require.Equal(t, before, c.latest, "the argument stays as it is")
		if c.want != "" {
			require.EqualError(t, err, c.want)
			return
		}
		require.NoError(t, err)
		require.Equal(t, []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p-uid"}}, bound.Status.ReservedFor)
		require.NotNil(t, bound.Status.Allocation.AllocationTimestamp)
		require.Equal(t, c.allocation != nil, slices.Contains(bound.Finalizers, resourcev1.Finalizer), "Reserved adds the finalizer")
		again, err := devices.Bound(bound, pod, nil, noon.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, bound, again, "a second PreBind changes nothing")
		free := devices.Unreserved(bound, pod.UID)
		require.Empty(t, free.Status.ReservedFor)
		require.NotNil(t, free.Status.Allocation)
		bound.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"}}
		released := devices.Deallocated(bound)
		require.Empty(t, released.Status.Devices, "what the driver says of devices goes with them")
		require.Equal(t, resourcev1.ResourceClaimStatus{}, released.Status)
		require.Equal(t, bound.Finalizers, released.Finalizers)
		require.NotNil(t, bound.Status.Allocation, "the argument stays as it is")
	})
}

// An allocation that has a time keeps it, and one without gets that of PreBind.
func TestBoundKeepsTheTime(t *testing.T) {
	allocation := boundClaim().Status.Allocation
	early := metav1.NewTime(noon.Add(-time.Hour))
	for want, given := range map[time.Time]*metav1.Time{noon: nil, early.Time: &early} {
		allocation.AllocationTimestamp = given
		bound, err := devices.Bound(gpuClaim("web", 1), user("a"), allocation, noon)
		require.NoError(t, err)
		require.True(t, want.Equal(bound.Status.Allocation.AllocationTimestamp.Time))
		require.Equal(t, given, allocation.AllocationTimestamp, "the argument stays as it is")
	}
}

// When a pod is gone, its own claims go with it. A claim that no other pod has reserved loses its allocation.
func TestAbandoned(t *testing.T) {
	pod := user("a")
	claim := boundClaim()
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "a", UID: "a"}, {Resource: "pods", Name: "b", UID: "b"}}
	left := devices.Abandoned(claim, pod)
	require.Equal(t, claim.Status.ReservedFor[1:], left.Status.ReservedFor)
	require.Equal(t, claim.Status.Allocation, left.Status.Allocation)
	require.Len(t, claim.Status.ReservedFor, 2, "the argument stays as it is")
	require.Equal(t, resourcev1.ResourceClaimStatus{}, devices.Abandoned(left, user("b")).Status)
	claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}
	require.Nil(t, devices.Abandoned(claim, pod))
}

// world has the claims of a namespace by name.
type world map[string]*resourcev1.ResourceClaim

func (w world) ResourceClaim(_, name string) *resourcev1.ResourceClaim { return w[name] }
func (w world) ResourceClaims(string) iter.Seq[*resourcev1.ResourceClaim] {
	return func(yield func(*resourcev1.ResourceClaim) bool) {
		for _, c := range w {
			if !yield(c) {
				return
			}
		}
	}
}
func (w world) InFlight(types.UID) bool                         { return false }
func (w world) DeviceClass(name string) *resourcev1.DeviceClass { return class(name) }
