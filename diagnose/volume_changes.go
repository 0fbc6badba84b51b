package diagnose

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/must"
)

// volumeChanges lists the changes of the pod's claims and of their volumes.
func volumeChanges(s *cluster.Snapshot, pod *v1.Pod) []*Change {
	var out []*Change
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.PersistentVolumeClaim == nil {
			continue
		}
		name := v.PersistentVolumeClaim.ClaimName
		claim, ok := cluster.List[*v1.PersistentVolumeClaim](s).Get(pod.Namespace, name)
		if !ok || claim.Spec.VolumeName == "" {
			out = append(out, &Change{Kind: BindVolume, Object: "PersistentVolumeClaim " + pod.Namespace + "/" + name, Path: "spec.volumeName", make: func(s *cluster.Snapshot, _ *Change) { bindVolume(s, pod, name) }})
			continue
		}
		if pv, ok := cluster.List[*v1.PersistentVolume](s).Get("", claim.Spec.VolumeName); ok {
			if pv.Spec.NodeAffinity == nil && pv.Labels[v1.LabelTopologyZone] == "" && pv.Labels[v1.LabelTopologyRegion] == "" && pv.Labels[v1.LabelFailureDomainBetaZone] == "" {
				continue
			}
			out = append(out, &Change{Kind: FreeVolume, Object: "PersistentVolume " + pv.Name, Path: "spec.nodeAffinity and zone labels", From: pv.Name, make: func(s *cluster.Snapshot, _ *Change) {
				free := pv.DeepCopy()
				free.Spec.NodeAffinity = nil
				for _, k := range []string{v1.LabelTopologyZone, v1.LabelTopologyRegion, v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion} {
					delete(free.Labels, k)
				}
				must.Do(s.Set(free))
			}})
		}
	}
	return out
}

// bindVolume makes the claim, if there is none, and binds it to a new volume without node affinity.
func bindVolume(s *cluster.Snapshot, pod *v1.Pod, name string) {
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name}}
	if old, ok := cluster.List[*v1.PersistentVolumeClaim](s).Get(pod.Namespace, name); ok {
		claim = old.DeepCopy()
	}
	if len(claim.Spec.AccessModes) == 0 {
		claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	}
	if _, ok := claim.Spec.Resources.Requests[v1.ResourceStorage]; !ok {
		claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	}
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "new-" + pod.Namespace + "-" + name}}
	volume.Spec.AccessModes, volume.Spec.Capacity = claim.Spec.AccessModes, claim.Spec.Resources.Requests
	if claim.Spec.StorageClassName != nil {
		volume.Spec.StorageClassName = *claim.Spec.StorageClassName
	}
	volume.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
	volume.Status.Phase = v1.VolumeBound
	claim.Spec.VolumeName, claim.Status.Phase = volume.Name, v1.ClaimBound
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
	must.Do(s.Set(volume))
	must.Do(s.Set(claim))
}
