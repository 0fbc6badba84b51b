package spread

import (
	"iter"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ListDefaulting is the type of [Defaults] that have a list of constraints. An empty list means no default constraints.
const ListDefaulting = "List"

// systemDefaulting is the type of the built-in constraints: maxSkew 3 by hostname and maxSkew 5 by zone, both
// ScheduleAnyway (rule S6.1).
const systemDefaulting = "System"

// Defaults are the default constraints of a scheduler profile (PodTopologySpreadArgs). They apply to a pod that has no
// constraint itself and belongs to a service, ReplicationController, ReplicaSet or StatefulSet (rules S6.1 to S6.4). The
// zero value is v1.37's default: the built-in constraints, maxSkew 3 by hostname and 5 by zone, both ScheduleAnyway. Rule:
// documentation, "Pod Topology Spread Constraints" (Cluster-level default constraints).
type Defaults struct {
	// Type is "System" for the built-in constraints, or ListDefaulting. "" means "System", as in the versioned
	// configuration.
	Type string
	// Constraints are used with ListDefaulting. Their labelSelector must be nil, because it is derived for each pod. Their
	// matchLabelKeys have no effect.
	Constraints []v1.TopologySpreadConstraint
}

// constraints returns the constraints of Defaults when one of them has the action, otherwise nil.
func (d *Defaults) constraints(action v1.UnsatisfiableConstraintAction) []v1.TopologySpreadConstraint {
	list := d.Constraints
	if d.system() {
		list = systemConstraints
	}
	for i := range list {
		if list[i].WhenUnsatisfiable == action {
			return list
		}
	}
	return nil
}

func (d *Defaults) system() bool { return d.Type == "" || d.Type == systemDefaulting }

// systemConstraints are the built-in default constraints (documentation of pod topology spread constraints, "Built-in default
// constraints").
var systemConstraints = []v1.TopologySpreadConstraint{
	{MaxSkew: 3, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway},
	{MaxSkew: 5, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway},
}

// Owners finds the objects from which the selector of default constraints is derived. A look-up returns nil for an object
// that does not exist. Returned objects are only read.
type Owners interface {
	// Services yields the services of a namespace, in any order.
	Services(namespace string) iter.Seq[*v1.Service]
	ReplicationController(namespace, name string) *v1.ReplicationController
	ReplicaSet(namespace, name string) *appsv1.ReplicaSet
	StatefulSet(namespace, name string) *appsv1.StatefulSet
}

// OwnerSelector returns the selector of default constraints for a pod, nil when there is none (rule S6.3). Nil owners have
// no objects; a nil pod panics. The selector asks for
//  1. the label pairs of every service of the namespace whose selector matches the pod;
//  2. the selector of the controlling v1 ReplicationController, apps/v1 ReplicaSet or apps/v1 StatefulSet, looked up by
//     name. The owner's UID is not compared; other owners and invalid selectors add nothing.
//
// A Deployment acts through its ReplicaSet, whose selector has the pod-template-hash: pods spread by revision.
func OwnerSelector(pod *v1.Pod, owners Owners) labels.Selector {
	if owners == nil {
		return nil
	}
	var pairs labels.Set
	add := func(selector map[string]string) {
		if pairs == nil {
			pairs = labels.Set{}
		}
		maps.Copy(pairs, selector)
	}
	for s := range owners.Services(pod.Namespace) {
		if s.Spec.Selector != nil && labels.SelectorFromValidatedSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			add(s.Spec.Selector)
		}
	}
	var extra *metav1.LabelSelector
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		switch {
		case owner.APIVersion == "v1" && owner.Kind == "ReplicationController":
			if o := owners.ReplicationController(pod.Namespace, owner.Name); o != nil {
				add(o.Spec.Selector)
			}
		case owner.APIVersion == "apps/v1" && owner.Kind == "ReplicaSet":
			if o := owners.ReplicaSet(pod.Namespace, owner.Name); o != nil {
				extra = o.Spec.Selector
			}
		case owner.APIVersion == "apps/v1" && owner.Kind == "StatefulSet":
			if o := owners.StatefulSet(pod.Namespace, owner.Name); o != nil {
				extra = o.Spec.Selector
			}
		}
	}
	if len(pairs) == 0 && extra == nil {
		return nil
	}
	out := labels.SelectorFromValidatedSet(pairs)
	if s, err := metav1.LabelSelectorAsSelector(extra); err == nil {
		requirements, _ := s.Requirements() // none without extra
		out = out.Add(requirements...)
	}
	if out.Empty() {
		return nil
	}
	return out
}
