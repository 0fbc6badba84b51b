package rules

import configv1 "k8s.io/kube-scheduler/config/v1"

// Of returns the part of an extender's configuration that decides when it is asked and how its answer counts. The configuration must not be nil.
func Of(x *configv1.Extender) Extender {
	out := Extender{
		FilterVerb: x.FilterVerb, PreemptVerb: x.PreemptVerb, PrioritizeVerb: x.PrioritizeVerb, BindVerb: x.BindVerb,
		Weight: x.Weight, Ignorable: x.Ignorable,
	}
	for _, m := range x.ManagedResources {
		out.ManagedResources = append(out.ManagedResources, ManagedResource(m))
	}
	return out
}
