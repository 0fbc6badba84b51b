package dump

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/groups"
)

// Cluster returns the objects that a [cluster.Snapshot] is made of. A namespace that only pods name is added with the label
// that the API server gives every namespace: its name.
func (o *Objects) Cluster() cluster.Objects {
	list, composites := o.AcceptedGroups()
	return cluster.Objects{
		Nodes: o.Nodes, Pods: o.Pods, Namespaces: o.namespaces(), Services: o.Services,
		ReplicationControllers: o.ReplicationControllers, ReplicaSets: o.ReplicaSets, StatefulSets: o.StatefulSets,
		Claims: o.PersistentVolumeClaims, PersistentVolumes: o.PersistentVolumes, StorageClasses: o.StorageClasses,
		CSINodes: o.CSINodes, CSIDrivers: o.CSIDrivers, CSIStorageCapacities: o.CSIStorageCapacities,
		VolumeAttachments: o.VolumeAttachments, PodDisruptionBudgets: o.PodDisruptionBudgets, PriorityClasses: o.PriorityClasses,
		ResourceClaims: o.ResourceClaims, ResourceClaimTemplates: o.ResourceClaimTemplates, ResourceSlices: o.ResourceSlices, DeviceClasses: o.DeviceClasses,
		DeviceTaintRules: o.DeviceTaintRules, PodGroups: list, CompositePodGroups: composites,
	}
}

// AcceptedGroups returns the groups that the API server takes, with the priorities that it gives them.
func (o *Objects) AcceptedGroups() ([]*podgroup.Group, []*podgroup.Composite) {
	return o.groupsOf(accepted(o.PodGroups), accepted(o.CompositePodGroups))
}

// GroupManifests returns all groups, and so those too that the API server refuses. Their priorities are those that the API server gives.
func (o *Objects) GroupManifests() ([]*podgroup.Group, []*podgroup.Composite) {
	return o.groupsOf(o.PodGroups, o.CompositePodGroups)
}

func (o *Objects) groupsOf(list []*schedulingv1beta1.PodGroup, composites []*schedulingv1alpha3.CompositePodGroup) ([]*podgroup.Group, []*podgroup.Composite) {
	classes := o.AllPriorityClasses()
	return mapped(list, func(g *schedulingv1beta1.PodGroup) *podgroup.Group {
			out := groups.Of(g)
			out.Priority = priorityOf(classes, g.Spec.PriorityClassName, g.Spec.Priority)
			return out
		}), mapped(composites, func(g *schedulingv1alpha3.CompositePodGroup) *podgroup.Composite {
			out := groups.OfComposite(g)
			out.Priority = priorityOf(classes, g.Spec.PriorityClassName, g.Spec.Priority)
			return out
		})
}

// priorityOf returns the priority of a group: what it has, or the value of its class, or that of the class for pods that name none; nil
// when there is no such class.
func priorityOf(classes []*schedulingv1.PriorityClass, class string, set *int32) *int32 {
	if set != nil {
		return set
	}
	for _, c := range classes {
		if c.Name == class || class == "" && c.GlobalDefault {
			return &c.Value
		}
	}
	return nil
}

// RefusedGroups returns what the API server refuses of the groups of the dump that it has not stored, by "PodGroup NAMESPACE/NAME" or
// "CompositePodGroup NAMESPACE/NAME".
func (o *Objects) RefusedGroups() map[string]field.ErrorList {
	out := map[string]field.ErrorList{}
	for name, g := range o.newGroups() {
		if bad := Invalid(g, admission.Options{}); len(bad) > 0 {
			out[name] = bad
		}
	}
	return out
}

// GroupClasses returns the names of the priority classes of the groups that the API server has not stored, by the names of RefusedGroups.
func (o *Objects) GroupClasses() map[string]string {
	out := map[string]string{}
	for name, g := range o.newGroups() {
		class := ""
		switch g := g.(type) {
		case *schedulingv1beta1.PodGroup:
			class = g.Spec.PriorityClassName
		case *schedulingv1alpha3.CompositePodGroup:
			class = g.Spec.PriorityClassName
		}
		if class != "" {
			out[name] = class
		}
	}
	return out
}

// newGroups yields the groups that the API server has not stored.
func (o *Objects) newGroups() iter.Seq2[string, metav1.Object] {
	return func(yield func(string, metav1.Object) bool) {
		for _, g := range o.PodGroups {
			if !stored(g) && !yield(nameInMessage("PodGroup", g), g) {
				return
			}
		}
		for _, g := range o.CompositePodGroups {
			if !stored(g) && !yield(nameInMessage("CompositePodGroup", g), g) {
				return
			}
		}
	}
}

// accepted returns the objects that the API server takes. Pods of a group that it refuses wait for the group.
func accepted[T metav1.Object](objects []T) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(o T) bool { return len(Invalid(o, admission.Options{})) > 0 })
}

func (o *Objects) namespaces() []*v1.Namespace {
	out := slices.Clone(o.Namespaces)
	known := map[string]bool{}
	for _, n := range out {
		known[n.Name] = true
	}
	for _, p := range o.Pods {
		if !known[p.Namespace] {
			known[p.Namespace] = true
			n := &v1.Namespace{}
			n.Name, n.Labels = p.Namespace, map[string]string{v1.LabelMetadataName: p.Namespace}
			out = append(out, n)
		}
	}
	return out
}

// AllPriorityClasses returns the PriorityClasses of the dump and those of system-node-critical and system-cluster-critical
// that it lacks: every cluster has them.
func (o *Objects) AllPriorityClasses() []*schedulingv1.PriorityClass {
	all := slices.Clone(o.PriorityClasses)
	for _, system := range admission.SystemPriorityClasses() {
		if !slices.ContainsFunc(all, func(c *schedulingv1.PriorityClass) bool { return c.Name == system.Name }) {
			all = append(all, system)
		}
	}
	return all
}

// Admission returns what the API server's admission reads of the dump.
func (o *Objects) Admission() admission.Cluster {
	return admission.Cluster{
		PriorityClasses: o.AllPriorityClasses(), RuntimeClasses: o.RuntimeClasses, LimitRanges: o.LimitRanges, Namespaces: o.Namespaces,
	}
}
