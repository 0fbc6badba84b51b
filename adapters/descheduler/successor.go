package descheduler

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
)

// successor returns the pod that the owner makes in the place of a pod: that of a StatefulSet has the same name. The snapshot gets the claims
// of its generic ephemeral volumes, each as the old pod's was before it was bound. Claims of devices are made by the plan.
func (f *follower) successor(pod *v1.Pod, i int) (*v1.Pod, error) {
	next := pod.DeepCopy()
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.Kind != "StatefulSet" {
		next.Name = fmt.Sprintf("%s-next-%d", pod.Name, i)
	}
	next.UID, next.ResourceVersion = types.UID(fmt.Sprintf("next-%d", i)), ""
	next.DeletionTimestamp, next.DeletionGracePeriodSeconds = nil, nil
	next.Spec.NodeName, next.Spec.EphemeralContainers = "", nil
	next.Status = v1.PodStatus{Phase: v1.PodPending}
	for _, volume := range next.Spec.Volumes {
		if volume.Ephemeral == nil || volume.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		claim := &v1.PersistentVolumeClaim{Spec: *volume.Ephemeral.VolumeClaimTemplate.Spec.DeepCopy()}
		if old, ok := cluster.List[*v1.PersistentVolumeClaim](f.snapshot).Get(pod.Namespace, pod.Name+"-"+volume.Name); ok {
			claim.Spec = *old.Spec.DeepCopy() // with the class that admission gave
			claim.Spec.VolumeName = ""
		}
		controls := true
		claim.ObjectMeta = metav1.ObjectMeta{Namespace: next.Namespace, Name: next.Name + "-" + volume.Name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Pod", Name: next.Name, UID: next.UID, Controller: &controls}}}
		claim.Status.Phase = v1.ClaimPending
		if err := f.snapshot.Set(claim); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// leaveClaims does what the controllers do when a pod is gone: its claims of devices go or are free again.
func (f *follower) leaveClaims(pod *v1.Pod) error {
	if len(pod.Spec.ResourceClaims) == 0 && pod.Status.ExtendedResourceClaimStatus == nil {
		return nil
	}
	var mine []*resourcev1.ResourceClaim
	for c := range cluster.List[*resourcev1.ResourceClaim](f.snapshot).In(pod.Namespace) {
		if metav1.IsControlledBy(c, pod) || slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }) {
			mine = append(mine, c)
		}
	}
	for _, c := range mine {
		var err error
		if left := devices.Abandoned(c, pod); left != nil {
			err = f.snapshot.Set(left)
		} else {
			err = f.snapshot.Remove(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
