package dump

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podberth/podberth/taints"
	"github.com/podberth/podberth/tools/report"
)

// Objects are the objects of a dump by kind, in input order. Namespaced objects without a namespace are in "default".
// Objects may share equal maps, lists and pointers: copy an object deeply before changing what one of these holds.
type Objects struct {
	Nodes                  []*v1.Node
	Pods                   []*v1.Pod
	Namespaces             []*v1.Namespace
	PriorityClasses        []*schedulingv1.PriorityClass
	RuntimeClasses         []*nodev1.RuntimeClass
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget
	Services               []*v1.Service
	ReplicationControllers []*v1.ReplicationController
	ReplicaSets            []*appsv1.ReplicaSet
	StatefulSets           []*appsv1.StatefulSet
	Deployments            []*appsv1.Deployment
	Jobs                   []*batchv1.Job
	CronJobs               []*batchv1.CronJob
	Autoscalers            []*autoscalingv2.HorizontalPodAutoscaler // of v2, or what v1 has in common with it
	DaemonSets             []*appsv1.DaemonSet
	PersistentVolumes      []*v1.PersistentVolume
	PersistentVolumeClaims []*v1.PersistentVolumeClaim
	StorageClasses         []*storagev1.StorageClass
	CSINodes               []*storagev1.CSINode
	CSIDrivers             []*storagev1.CSIDriver
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity
	VolumeAttachments      []*storagev1.VolumeAttachment
	LimitRanges            []*v1.LimitRange
	ResourceQuotas         []*v1.ResourceQuota
	ResourceClaims         []*resourcev1.ResourceClaim
	ResourceClaimTemplates []*resourcev1.ResourceClaimTemplate
	ResourceSlices         []*resourcev1.ResourceSlice
	DeviceClasses          []*resourcev1.DeviceClass
	DeviceTaintRules       []*resourcev1beta2.DeviceTaintRule // of v1 or v1beta2, which are equal
	PodGroups              []*schedulingv1beta1.PodGroup      // of v1beta1 or v1alpha3, which are equal
	CompositePodGroups     []*schedulingv1alpha3.CompositePodGroup
	Evictions              []*policyv1.Eviction
	Kubelets               []*Kubelet // not of the API: a snapshot has them

	// Objects that the API server's checks have passed already; see Sound.
	sound       map[*v1.Pod]bool
	soundOthers map[metav1.Object]bool

	// Tolerations says how the pods of DaemonSets tolerate taints when Expand makes them; the zero value is the default.
	Tolerations taints.Options

	admitGroups bool // see AdmitGroups

	startup map[string][]v1.Taint // the startupTaints of NodePools, by the name of the pool

	oldGroups bool // there are PodGroups of versions that are not read

	// UnknownFields has a line for every field that the API does not have. The lines are among the warnings too.
	UnknownFields []string
	// Warnings say what was read but left aside.
	Warnings report.Warnings
}

// objectKind is one kind of object that a dump may hold.
type objectKind struct {
	group      string // without version; any version of a group but devices is read as the type
	namespaced bool
	make       func() metav1.Object
	versions   []string // the only ones that are read, the one to write first; nil: any, and v1
	add        func(o *Objects, object metav1.Object)
	list       func(o *Objects) []metav1.Object
	clip       func(o *Objects) // what is appended to the list is no longer shared
}

// kindOf makes a kind from the field of Objects that holds it. P is *T.
func kindOf[T any, P interface {
	*T
	metav1.Object
}](group string, namespaced bool, field func(*Objects) *[]P, versions ...string) objectKind {
	return objectKind{
		group, namespaced,
		func() metav1.Object { return P(new(T)) }, versions,
		func(o *Objects, object metav1.Object) { *field(o) = append(*field(o), object.(P)) },
		func(o *Objects) []metav1.Object {
			return mapped(*field(o), func(object P) metav1.Object { return object })
		},
		func(o *Objects) { *field(o) = slices.Clip(*field(o)) },
	}
}

// devices is the only group whose versions differ in what is read: its objects must be of v1.
const devices = resourcev1.GroupName

// taintRule is the kind of devices that may be of v1beta2 too: v1.36 serves no other, and the versions are equal.
const taintRule = "DeviceTaintRule"

// autoscaler is the kind whose version v1 has fields that v2 lacks.
const autoscaler = "HorizontalPodAutoscaler"

// autoscaling is the group of autoscalers.
const autoscaling = "autoscaling"

var kinds = map[string]objectKind{
	"Node":                  kindOf("", false, func(o *Objects) *[]*v1.Node { return &o.Nodes }),
	"Pod":                   kindOf("", true, func(o *Objects) *[]*v1.Pod { return &o.Pods }),
	"Namespace":             kindOf("", false, func(o *Objects) *[]*v1.Namespace { return &o.Namespaces }),
	"PriorityClass":         kindOf(schedulingv1.GroupName, false, func(o *Objects) *[]*schedulingv1.PriorityClass { return &o.PriorityClasses }),
	"RuntimeClass":          kindOf("node.k8s.io", false, func(o *Objects) *[]*nodev1.RuntimeClass { return &o.RuntimeClasses }),
	"PodDisruptionBudget":   kindOf("policy", true, func(o *Objects) *[]*policyv1.PodDisruptionBudget { return &o.PodDisruptionBudgets }),
	"Service":               kindOf("", true, func(o *Objects) *[]*v1.Service { return &o.Services }),
	"ReplicationController": kindOf("", true, func(o *Objects) *[]*v1.ReplicationController { return &o.ReplicationControllers }),
	"ReplicaSet":            kindOf("apps", true, func(o *Objects) *[]*appsv1.ReplicaSet { return &o.ReplicaSets }),
	"StatefulSet":           kindOf("apps", true, func(o *Objects) *[]*appsv1.StatefulSet { return &o.StatefulSets }),
	"Deployment":            kindOf("apps", true, func(o *Objects) *[]*appsv1.Deployment { return &o.Deployments }),
	"Job":                   kindOf("batch", true, func(o *Objects) *[]*batchv1.Job { return &o.Jobs }),
	"CronJob":               kindOf("batch", true, func(o *Objects) *[]*batchv1.CronJob { return &o.CronJobs }),
	autoscaler:              kindOf(autoscaling, true, func(o *Objects) *[]*autoscalingv2.HorizontalPodAutoscaler { return &o.Autoscalers }),
	"DaemonSet":             kindOf("apps", true, func(o *Objects) *[]*appsv1.DaemonSet { return &o.DaemonSets }),
	"PersistentVolume":      kindOf("", false, func(o *Objects) *[]*v1.PersistentVolume { return &o.PersistentVolumes }),
	"PersistentVolumeClaim": kindOf("", true, func(o *Objects) *[]*v1.PersistentVolumeClaim { return &o.PersistentVolumeClaims }),
	"StorageClass":          kindOf("storage.k8s.io", false, func(o *Objects) *[]*storagev1.StorageClass { return &o.StorageClasses }),
	"CSINode":               kindOf("storage.k8s.io", false, func(o *Objects) *[]*storagev1.CSINode { return &o.CSINodes }),
	"CSIDriver":             kindOf("storage.k8s.io", false, func(o *Objects) *[]*storagev1.CSIDriver { return &o.CSIDrivers }),
	"CSIStorageCapacity":    kindOf("storage.k8s.io", true, func(o *Objects) *[]*storagev1.CSIStorageCapacity { return &o.CSIStorageCapacities }),
	"VolumeAttachment":      kindOf("storage.k8s.io", false, func(o *Objects) *[]*storagev1.VolumeAttachment { return &o.VolumeAttachments }),
	"LimitRange":            kindOf("", true, func(o *Objects) *[]*v1.LimitRange { return &o.LimitRanges }),
	"ResourceQuota":         kindOf("", true, func(o *Objects) *[]*v1.ResourceQuota { return &o.ResourceQuotas }),
	"ResourceClaim":         kindOf(devices, true, func(o *Objects) *[]*resourcev1.ResourceClaim { return &o.ResourceClaims }),
	"ResourceClaimTemplate": kindOf(devices, true, func(o *Objects) *[]*resourcev1.ResourceClaimTemplate { return &o.ResourceClaimTemplates }),
	"ResourceSlice":         kindOf(devices, false, func(o *Objects) *[]*resourcev1.ResourceSlice { return &o.ResourceSlices }),
	"DeviceClass":           kindOf(devices, false, func(o *Objects) *[]*resourcev1.DeviceClass { return &o.DeviceClasses }),
	taintRule:               kindOf(devices, false, func(o *Objects) *[]*resourcev1beta2.DeviceTaintRule { return &o.DeviceTaintRules }),
	"PodGroup":              kindOf(schedulingv1.GroupName, true, func(o *Objects) *[]*schedulingv1beta1.PodGroup { return &o.PodGroups }, "v1beta1", "v1alpha3"),
	"CompositePodGroup":     kindOf(schedulingv1.GroupName, true, func(o *Objects) *[]*schedulingv1alpha3.CompositePodGroup { return &o.CompositePodGroups }, "v1alpha3"),
	"Eviction":              kindOf("policy", true, func(o *Objects) *[]*policyv1.Eviction { return &o.Evictions }),
	"Kubelet":               kindOf(kubeletGroup, false, func(o *Objects) *[]*Kubelet { return &o.Kubelets }),
}

// nameInMessage is what messages call an object.
func nameInMessage(kind string, o metav1.Object) string {
	if o.GetNamespace() == "" {
		return kind + " " + o.GetName()
	}
	return fmt.Sprintf("%s %s/%s", kind, o.GetNamespace(), o.GetName())
}

// version returns the version of the kind that Objects.All names.
func (k objectKind) version() string {
	if k.versions != nil {
		return k.versions[0]
	}
	switch k.group {
	case kubeletGroup:
		return kubeletVersion
	case autoscaling:
		return "v2"
	}
	return "v1"
}

// Others yields the objects of the API that are neither nodes, pods nor evictions, by kind in alphabetical order.
func (o *Objects) Others() iter.Seq[metav1.Object] {
	return func(yield func(metav1.Object) bool) {
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			if name == "Node" || name == "Pod" || name == "Eviction" || name == "Kubelet" {
				continue
			}
			for _, object := range kinds[name].list(o) {
				if !yield(object) {
					return
				}
			}
		}
	}
}

// All yields every object with its kind: nodes, pods, then the other kinds in alphabetical order, each in input order.
func (o *Objects) All() iter.Seq2[schema.GroupVersionKind, metav1.Object] {
	return func(yield func(schema.GroupVersionKind, metav1.Object) bool) {
		names := []string{"Node", "Pod"}
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			if name != "Node" && name != "Pod" {
				names = append(names, name)
			}
		}
		for _, name := range names {
			for _, object := range kinds[name].list(o) {
				if !yield(schema.GroupVersionKind{Group: kinds[name].group, Version: kinds[name].version(), Kind: name}, object) {
					return
				}
			}
		}
	}
}
