package devices

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// defaultBindingTimeout is how long v1.37 waits for the binding conditions of a claim's devices.
const defaultBindingTimeout = 10 * time.Minute

// Readiness is what the binding conditions of a claim's devices say (rule U8.9).
type Readiness struct {
	// Ready: every device has all its binding conditions.
	Ready bool
	// TimedOut: the claim was allocated longer ago than the time-out, and a device has binding conditions.
	TimedOut bool
	// Failed is v1.37's text about the first device whose binding failure condition is true; empty when no device failed.
	Failed string
}

// BindingReadiness reads the binding conditions of a claim at time now (rule U8.9). A claim without an allocation is ready,
// and so is a claim whose devices have no binding conditions. The claim must not be nil.
func BindingReadiness(claim *resourcev1.ResourceClaim, timeout time.Duration, now time.Time) Readiness {
	r := Readiness{Ready: true}
	allocation := claim.Status.Allocation
	if allocation == nil {
		return r
	}
	for k := range allocation.Devices.Results {
		result := &allocation.Devices.Results[k]
		if len(result.BindingConditions) == 0 {
			continue
		}
		if at := allocation.AllocationTimestamp; at != nil && at.Add(timeout).Before(now) {
			r.TimedOut = true
		}
		if !r.Ready {
			continue
		}
		status := deviceStatus(claim, result)
		if status == nil {
			r.Ready = false
			continue
		}
		for _, name := range result.BindingFailureConditions {
			if c := condition(status.Conditions, name); c != nil && c.Status == metav1.ConditionTrue {
				r.Ready, r.Failed = false, fmt.Sprintf("device binding failed: claim=%s, reason=%s, message=%q", claim.Name, c.Reason, c.Message)
				break
			}
		}
		for _, name := range result.BindingConditions {
			if c := condition(status.Conditions, name); c == nil || c.Status != metav1.ConditionTrue {
				r.Ready = false
			}
		}
	}
	return r
}

func deviceStatus(claim *resourcev1.ResourceClaim, r *resourcev1.DeviceRequestAllocationResult) *resourcev1.AllocatedDeviceStatus {
	for k := range claim.Status.Devices {
		if s := &claim.Status.Devices[k]; s.Driver == r.Driver && s.Pool == r.Pool && s.Device == r.Device {
			return s
		}
	}
	return nil
}

func condition(list []metav1.Condition, name string) *metav1.Condition {
	for k := range list {
		if list[k].Type == name {
			return &list[k]
		}
	}
	return nil
}

// Reserved returns a copy of a claim with an allocation and with the finalizer that protects the claim. An attempt keeps
// this copy in memory from Reserve on (rule U8.8). The claim must not be nil.
func Reserved(claim *resourcev1.ResourceClaim, allocation *resourcev1.AllocationResult) *resourcev1.ResourceClaim {
	c := claim.DeepCopy()
	c.Status.Allocation = allocation.DeepCopy()
	if !slices.Contains(c.Finalizers, resourcev1.Finalizer) {
		c.Finalizers = append(c.Finalizers, resourcev1.Finalizer)
	}
	return c
}

// Bound is [BoundFor] with the pod as consumer. The pod must not be nil.
func Bound(latest *resourcev1.ResourceClaim, pod *v1.Pod, allocation *resourcev1.AllocationResult, now time.Time) (*resourcev1.ResourceClaim, error) {
	return BoundFor(latest, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID}, allocation, now)
}

// BoundFor returns the claim that PreBind writes for a consumer, which is a pod or its group (rules U8.8, PG8.1). latest is the claim
// as the API server has it. allocation is what the attempt reserved; nil means that the claim was allocated before. BoundFor adds the
// consumer to status.reservedFor and sets the time of the allocation, each only where it is missing. The error is v1.37's text when the
// claim was deleted, allocated or deallocated in the meantime. latest must not be nil.
func BoundFor(latest *resourcev1.ResourceClaim, consumer resourcev1.ResourceClaimConsumerReference, allocation *resourcev1.AllocationResult, now time.Time) (*resourcev1.ResourceClaim, error) {
	name := latest.Namespace + "/" + latest.Name
	switch {
	case latest.DeletionTimestamp != nil:
		return nil, fmt.Errorf("claim %s got deleted in the meantime", name)
	case allocation != nil && latest.Status.Allocation != nil:
		return nil, fmt.Errorf("claim %s got allocated elsewhere in the meantime", name)
	case allocation == nil && latest.Status.Allocation == nil:
		return nil, fmt.Errorf("claim %s got deallocated elsewhere in the meantime", name)
	}
	c := latest.DeepCopy()
	if allocation != nil {
		c = Reserved(latest, allocation)
	}
	if !reservedFor(c, consumer.UID) {
		c.Status.ReservedFor = append(c.Status.ReservedFor, consumer)
	}
	if c.Status.Allocation.AllocationTimestamp == nil {
		at := metav1.NewTime(now)
		c.Status.Allocation.AllocationTimestamp = &at
	}
	return c, nil
}

// Unreserved returns a copy of a claim without the pod's reservation. The allocation stays. The claim must not be nil.
func Unreserved(claim *resourcev1.ResourceClaim, pod types.UID) *resourcev1.ResourceClaim {
	c := claim.DeepCopy()
	c.Status.ReservedFor = slices.DeleteFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod })
	return c
}

// Deallocated returns a copy of a claim without allocation, reservations and device status: PostFilter writes this claim
// (rule U8.5). The finalizer stays. The claim must not be nil.
func Deallocated(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	c := claim.DeepCopy()
	c.Status.Allocation, c.Status.ReservedFor, c.Status.Devices = nil, nil, nil
	return c
}

// Abandoned returns what the controllers of claims leave of a claim when a pod is gone, as a copy: the pod's reservation is
// gone, and a claim that no other pod has reserved loses its allocation, its reservations and its device status. Abandoned returns
// nil for a claim that the pod controls: it goes with the pod. Claim and pod must not be nil.
func Abandoned(claim *resourcev1.ResourceClaim, pod *v1.Pod) *resourcev1.ResourceClaim {
	if metav1.IsControlledBy(claim, pod) {
		return nil
	}
	left := Unreserved(claim, pod.UID)
	if len(left.Status.ReservedFor) == 0 {
		return Deallocated(left)
	}
	return left
}

func reservedFor(claim *resourcev1.ResourceClaim, consumer types.UID) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == consumer })
}
