package groups

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/api/scheduling/v1alpha3"
	"k8s.io/api/scheduling/v1beta1"

	"github.com/podberth/podberth/podgroup"
)

// Of returns the group that an object describes. Fields of gates that are off are kept: [podgroup.Gates] says which of them count. An
// object without policy, which the API server refuses, has the basic policy.
func Of(o *v1beta1.PodGroup) *podgroup.Group {
	g := &podgroup.Group{ObjectMeta: o.ObjectMeta, Conditions: o.Status.Conditions}
	s := &o.Spec
	g.Spec = podgroup.Spec{
		Parent: value(s.ParentCompositePodGroupName), DisruptAll: s.DisruptionMode != nil && s.DisruptionMode.All != nil,
		Priority: s.Priority, PreemptionPolicy: (*v1.PreemptionPolicy)(s.PreemptionPolicy),
	}
	if gang := s.SchedulingPolicy.Gang; gang != nil {
		g.Minimum = &gang.MinCount
	}
	if c := s.SchedulingConstraints; c != nil {
		g.Constraints = &podgroup.Constraints{}
		for _, t := range c.Topology {
			g.Constraints.Topology = append(g.Constraints.Topology, t.Key)
		}
	}
	for _, c := range s.ResourceClaims {
		g.Claims = append(g.Claims, podgroup.Claim{
			Name: c.Name, ClaimName: value(c.ResourceClaimName), TemplateName: value(c.ResourceClaimTemplateName), Generated: generated(o, c.Name),
		})
	}
	return g
}

// generated returns the name of the claim that was made for a claim of the group; nil when the status does not say.
func generated(o *v1beta1.PodGroup, claim string) *string {
	for _, s := range o.Status.ResourceClaimStatuses {
		if s.Name == claim {
			name := value(s.ResourceClaimName)
			return &name
		}
	}
	return nil
}

// OfComposite returns the composite group that an object describes, as [Of] does.
func OfComposite(o *v1alpha3.CompositePodGroup) *podgroup.Composite {
	c := &podgroup.Composite{ObjectMeta: o.ObjectMeta}
	s := &o.Spec
	c.Spec = podgroup.Spec{
		Parent: value(s.ParentCompositePodGroupName), DisruptAll: s.DisruptionMode != nil && s.DisruptionMode.All != nil,
		Priority: s.Priority, PreemptionPolicy: (*v1.PreemptionPolicy)(s.PreemptionPolicy),
	}
	if gang := s.SchedulingPolicy.Gang; gang != nil {
		c.Minimum = &gang.MinGroupCount
	}
	if x := s.SchedulingConstraints; x != nil {
		c.Constraints = &podgroup.Constraints{}
		for _, t := range x.Topology {
			c.Constraints.Topology = append(c.Constraints.Topology, t.Key)
		}
	}
	return c
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
