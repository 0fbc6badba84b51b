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
		Nodes: o.nodes(), Pods: o.Pods, Namespaces: o.namespaces(), Services: o.Services,
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
	return mapped(accepted(o, o.PodGroups), o.Group), mapped(accepted(o, o.CompositePodGroups), o.Composite)
}

// GroupManifests returns all groups, and so those too that the API server refuses. Their priorities are those that the API server gives.
func (o *Objects) GroupManifests() ([]*podgroup.Group, []*podgroup.Composite) {
	return mapped(o.PodGroups, o.Group), mapped(o.CompositePodGroups, o.Composite)
}

// Group returns a group with the priority that the API server gives it.
func (o *Objects) Group(g *schedulingv1beta1.PodGroup) *podgroup.Group {
	out := groups.Of(g)
	out.Priority = priorityOf(g, o.PriorityClasses)
	return out
}

// Composite returns a composite group with the priority that the API server gives it.
func (o *Objects) Composite(g *schedulingv1alpha3.CompositePodGroup) *podgroup.Composite {
	out := groups.OfComposite(g)
	out.Priority = priorityOf(g, o.PriorityClasses)
	return out
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

// accepted returns the groups of a list that the API server takes. Pods of a group that it refuses wait for the group.
func accepted[T metav1.Object](o *Objects, list []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(g T) bool {
		return len(Invalid(g, admission.Options{})) > 0 || RefusedPriority(g, o.PriorityClasses, o.admitGroups) != nil
	})
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
	return withSystemClasses(o.PriorityClasses)
}

func withSystemClasses(classes []*schedulingv1.PriorityClass) []*schedulingv1.PriorityClass {
	all := slices.Clone(classes)
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
