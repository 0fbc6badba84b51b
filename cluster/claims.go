package cluster

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/podgroup"
)

// ClaimEvent is one entry of the log of devices: a ResourceClaim changed from Old to New. Old is nil for a claim that came,
// New for a claim that left. Both are nil when a ResourceSlice, a DeviceTaintRule or a DeviceClass changed: read slices, rules and
// classes again then.
type ClaimEvent struct {
	Old, New *resourcev1.ResourceClaim
}

// ClaimVersion returns the number of entries ever written to the log of devices. Claims and slices are in no other log: Version
// and Since do not see them. A change of a DeviceClass is in both logs, because a class may provide an extended resource.
func (s *Snapshot) ClaimVersion() uint64 { return s.claims.next }

// ClaimsSince yields the entries after version as Since does. The reader reads claims, slices and classes again when it
// returns false.
func (s *Snapshot) ClaimsSince(version uint64, yield func([]ClaimEvent)) bool {
	return s.claims.since(version, yield)
}

// logObject logs a change of an object that is no node or pod. A nil object was not there before, or is no longer there.
func (s *Snapshot) logObject(old, new metav1.Object) {
	switch anyNonNil(old, new).(type) {
	case *resourcev1.ResourceClaim:
		before, _ := old.(*resourcev1.ResourceClaim)
		after, _ := new.(*resourcev1.ResourceClaim)
		s.claims.add(s.own, ClaimEvent{before, after})
	case *resourcev1.ResourceSlice, *resourcev1beta2.DeviceTaintRule:
		s.claims.add(s.own, ClaimEvent{})
	case *resourcev1.DeviceClass:
		s.claims.add(s.own, ClaimEvent{})
		s.logAll()
	case *resourcev1.ResourceClaimTemplate:
	case *v1.PersistentVolumeClaim, *v1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSINode, *storagev1.CSIDriver,
		*storagev1.CSIStorageCapacity, *storagev1.VolumeAttachment:
		s.logOutside(view.Storage)
	case *policyv1.PodDisruptionBudget, *schedulingv1.PriorityClass, *podgroup.Group, *podgroup.Composite:
		s.logOutside(view.Unread)
	default:
		s.logAll()
	}
}

func anyNonNil(old, new metav1.Object) metav1.Object {
	if old != nil {
		return old
	}
	return new
}
