package podinfo

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// EphemeralClaims returns the claims that the ephemeral volume controller makes for the pod, in the order of the volumes.
// O(volumes).
func EphemeralClaims(pod *v1.Pod) []*v1.PersistentVolumeClaim {
	var out []*v1.PersistentVolumeClaim
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		controller := true
		claim := &v1.PersistentVolumeClaim{Spec: v.Ephemeral.VolumeClaimTemplate.Spec}
		claim.Namespace, claim.Name = pod.Namespace, pod.Name+"-"+v.Name
		claim.UID = types.UID(claim.Namespace + "/" + claim.Name)
		claim.Annotations = v.Ephemeral.VolumeClaimTemplate.Annotations
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &controller}}
		claim.Status.Phase = v1.ClaimPending
		out = append(out, claim)
	}
	return out
}
