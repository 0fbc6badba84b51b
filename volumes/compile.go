package volumes

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/filter"
)

// Annotations of claims that the rules read.
const (
	// annBindCompleted, with any value, marks a claim that stays bound.
	annBindCompleted = "pv.kubernetes.io/bind-completed"
	// AnnSelectedNode has the name of the node for which a claim is being provisioned.
	AnnSelectedNode = "volume.kubernetes.io/selected-node"
	// annBoundByController marks a volume whose claimRef the binder wrote rather than its creator.
	annBoundByController = "pv.kubernetes.io/bound-by-controller"
)

// noProvisioner is the provisioner of classes without dynamic provisioning.
const noProvisioner = "kubernetes.io/no-provisioner"

// Evaluator is a pod's side of one plugin, compiled once and immutable. C is what the plugin reads of the cluster. S is the
// predicate.
type Evaluator[C any, S filter.Predicate] interface {
	// PreFilter returns the plugin's answer about the pod as a whole. The code Skip means that every node is allowed.
	PreFilter() filter.PreFilterResult
	// On returns the plugin's predicate.
	On(c C) S
}

// Pod is a pod's volumes with the objects behind them. It is immutable. Its methods compile the four plugins.
type Pod struct {
	pod     *v1.Pod
	objects Objects
	options Options
	claims  []podClaim
	inline  bool // whether the pod has GCE PD, EBS, ISCSI or RBD volumes
}

// podClaim is a volume of the pod that names or makes a claim.
type podClaim struct {
	name      string // of the claim
	ephemeral bool
	claim     *v1.PersistentVolumeClaim // nil: missing
}

// Compile resolves the pod's claims. O(volumes of the pod).
func Compile(pod *v1.Pod, objects Objects, o Options) *Pod {
	p := &Pod{pod: pod, objects: objects, options: o}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		p.inline = p.inline || len(appendDiskNames(nil, v)) > 0
		name, ephemeral, ok := claimName(pod, v)
		if !ok {
			continue
		}
		claim, _ := lookUp(objects.Claims, pod.Namespace, name)
		p.claims = append(p.claims, podClaim{name, ephemeral, claim})
	}
	return p
}

// claimName returns the claim of a volume. The claim of a generic ephemeral volume is <pod>-<volume>.
func claimName(pod *v1.Pod, v *v1.Volume) (name string, ephemeral, ok bool) {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName, false, true
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name, true, true
	}
	return
}

// class returns the class of a claim: the old annotation, or else the field, or else "".
func class(claim *v1.PersistentVolumeClaim) string {
	if c, ok := claim.Annotations[v1.BetaStorageClassAnnotation]; ok {
		return c
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}

// volumeClass returns the class of a volume: the old annotation, or else the field.
func volumeClass(pv *v1.PersistentVolume) string {
	if c, ok := pv.Annotations[v1.BetaStorageClassAnnotation]; ok {
		return c
	}
	return pv.Spec.StorageClassName
}

// owned reports whether the pod controls the claim.
func owned(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
	owner := metav1.GetControllerOf(claim)
	return claim.Namespace == pod.Namespace && owner != nil && owner.UID == pod.UID
}

func notOwner(pod *v1.Pod, claim *v1.PersistentVolumeClaim) string {
	return "PVC " + claim.Namespace + "/" + claim.Name + " was not created for pod " + pod.Namespace + "/" + pod.Name + " (pod is not owner)"
}

func claimNotFound(name string) string { return `persistentvolumeclaim "` + name + `" not found` }

func volumeNotFound(name string) string { return `persistentvolume "` + name + `" not found` }

func classNotFound(name string) string {
	return `storageclass.storage.k8s.io "` + name + `" not found`
}

func modeNotSet(name string) string {
	return `VolumeBindingMode not set for StorageClass "` + name + `"`
}

func (p *Pod) class(name string) (*storagev1.StorageClass, bool) {
	return lookUp(p.objects.StorageClasses, "", name)
}

func result(plugin string, code filter.Code, reasons ...string) filter.PreFilterResult {
	return filter.PreFilterResult{Plugin: plugin, Code: code, Reasons: reasons}
}

func hasMode(modes []v1.PersistentVolumeAccessMode, mode v1.PersistentVolumeAccessMode) bool {
	return slices.Contains(modes, mode)
}
