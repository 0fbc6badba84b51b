package podgroup

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Gates are the feature gates that change a decision about groups. GenericWorkload is on for everyone who calls this package. The zero
// value has all the others off.
type Gates struct {
	// Topology is TopologyAwareWorkloadScheduling: constraints of groups count.
	Topology bool
	// Composites is CompositePodGroup: groups have parents. v1.37 needs Topology for it.
	Composites bool
	// PreemptionPolicy is PodGroupPreemptionPolicy: the policy of the root counts.
	PreemptionPolicy bool
	// Claims is DRAWorkloadResourceClaims: groups have claims of devices.
	Claims bool
}

// Spec is what a group and a composite group have in common.
type Spec struct {
	// Parent is spec.parentCompositePodGroupName: the composite group above, in the same namespace. "" is none.
	Parent string
	// Minimum is minCount (minGroupCount of a composite) of the gang policy. nil is the basic policy. The API server refuses numbers
	// below 1; see Validate.
	Minimum *int32
	// Constraints is spec.schedulingConstraints; nil is none.
	Constraints *Constraints
	// DisruptAll is true for disruption mode All: the pods leave together. false is mode Single.
	DisruptAll bool
	// Priority is spec.priority; nil is 0.
	Priority *int32
	// PreemptionPolicy is spec.preemptionPolicy; nil is PreemptLowerPriority.
	PreemptionPolicy *v1.PreemptionPolicy
}

// Constraints are the scheduling constraints of a group. No keys is no constraint.
type Constraints struct {
	// Topology has the label keys of nodes. v1.37 allows one, and reads the first alone.
	Topology []string
}

// Claim is one of the resource claims of a group. One of the two names is not empty.
type Claim struct {
	Name         string
	ClaimName    string // resourceClaimName
	TemplateName string // resourceClaimTemplateName
	// Generated is the name of the claim that was made from the template, of status.resourceClaimStatuses; "" when none is needed. nil:
	// it is not made yet.
	Generated *string
}

// Group is a PodGroup: the pods whose spec.schedulingGroup names it.
type Group struct {
	metav1.ObjectMeta
	Spec
	Claims []Claim
	// Conditions is status.conditions.
	Conditions []metav1.Condition
}

// Composite is a CompositePodGroup: the groups and composite groups whose Parent names it.
type Composite struct {
	metav1.ObjectMeta
	Spec
}

// Of returns the name of the pod's group, in the pod's namespace. ok is false for a pod without a group.
func Of(pod *v1.Pod) (name string, ok bool) {
	g := pod.Spec.SchedulingGroup
	if g == nil || g.PodGroupName == nil {
		return "", false
	}
	return *g.PodGroupName, true
}

// Needs returns how many members or children satisfy the group: the minimum of a gang, and 1 for the basic policy.
func (s *Spec) Needs() int {
	if s.Minimum == nil {
		return 1
	}
	return int(*s.Minimum)
}

// EffectivePriority returns the priority, 0 when it has none.
func (s *Spec) EffectivePriority() int32 {
	if s.Priority == nil {
		return 0
	}
	return *s.Priority
}

// Key returns the topology key that counts, "" for no constraint.
func (s *Spec) Key() string {
	if s.Constraints == nil || len(s.Constraints.Topology) == 0 {
		return ""
	}
	return s.Constraints.Topology[0]
}

// NeverPreempts reports whether the pods of a root must not preempt. With the gate PreemptionPolicy the root's policy decides. Without
// it one queued member with the policy Never decides.
func NeverPreempts(root *Spec, queued []*v1.Pod, g Gates) bool {
	if g.PreemptionPolicy {
		return policy(root.PreemptionPolicy) == v1.PreemptNever
	}
	for _, p := range queued {
		if policy(p.Spec.PreemptionPolicy) == v1.PreemptNever {
			return true
		}
	}
	return false
}

func policy(p *v1.PreemptionPolicy) v1.PreemptionPolicy {
	if p == nil {
		return v1.PreemptLowerPriority
	}
	return *p
}
