package devices

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
)

// Pod is the claims of one pod, looked up and checked as DynamicResources does in PreFilter. It is immutable.
type Pod struct {
	pod      *v1.Pod
	claims   []podClaim
	special  *resourcev1.ResourceClaim // the special claim for extended resources, last of claims; nil without such resources
	extended ExtendedResources
	asked    []v1.ResourceName // the pod's extended resources

	code   filter.Code
	reason string
}

// podClaim is one claim of a pod.
type podClaim struct {
	object *resourcev1.ResourceClaim
	reach  *affinity.Selector // of an allocated claim; nil allows all nodes
}

// allocated reports whether the API server has an allocation for the claim.
func (c *podClaim) allocated() bool { return c.object.Status.Allocation != nil }

// Gate returns v1.37's text about why a pod must not enter the active queue; empty when the pod may enter (rule U8.1). Neither
// pod nor objects may be nil.
func Gate(pod *v1.Pod, objects Objects) string {
	if _, err := PodClaims(pod, objects); err != nil {
		return err.Error()
	}
	return ""
}

// Compile looks up and checks the claims of a pod (rule U8.2). With a nil extended no class provides an extended resource.
// When no node can serve the pod, Code and Reason of the result say why. Neither pod nor objects may be nil.
func Compile(pod *v1.Pod, objects Objects, extended ExtendedResources) *Pod {
	p := &Pod{pod: pod, extended: extended}
	claims, err := PodClaims(pod, objects)
	if err != nil {
		return p.refuse(filter.UnschedulableAndUnresolvable, err.Error())
	}
	names, mapped := extended.asked(pod)
	if mapped {
		p.asked, p.special = names, extendedClaim(pod, objects)
		claims = append(claims, p.special)
	}
	if len(claims) == 0 {
		p.code = filter.Skip
		return p
	}
	for _, c := range claims {
		x := podClaim{object: c}
		switch {
		case c.Status.Allocation != nil:
			if x.reach, err = affinity.CompileSelector(c.Status.Allocation.NodeSelector); err != nil {
				return p.refuse(filter.Error, err.Error())
			}
		case c != p.special || c.UID != "":
			if objects.InFlight(c.UID) {
				return p.refuse(filter.UnschedulableAndUnresolvable, fmt.Sprintf("resource claim %s/%s is in the process of being allocated", c.Namespace, c.Name))
			}
			if code, reason := checkClasses(c, objects); reason != "" {
				return p.refuse(code, reason)
			}
		}
		p.claims = append(p.claims, x)
	}
	return p
}

func (p *Pod) refuse(code filter.Code, reason string) *Pod {
	p.code, p.reason, p.claims = code, reason, nil
	return p
}

// checkClasses returns why no node can serve a claim; empty when a node may serve it.
func checkClasses(c *resourcev1.ResourceClaim, objects Objects) (filter.Code, string) {
	class := func(request, name string) (filter.Code, string) {
		switch {
		case name == "":
			return filter.Error, fmt.Sprintf("request %s: unsupported request type", request)
		case objects.DeviceClass(name) == nil:
			return filter.UnschedulableAndUnresolvable, fmt.Sprintf("request %s: device class %s does not exist", request, name)
		}
		return filter.Success, ""
	}
	for k := range c.Spec.Devices.Requests {
		r := &c.Spec.Devices.Requests[k]
		switch {
		case r.Exactly != nil:
			if code, reason := class(r.Name, r.Exactly.DeviceClassName); reason != "" {
				return code, reason
			}
		case len(r.FirstAvailable) > 0:
			for j := range r.FirstAvailable {
				sub := &r.FirstAvailable[j]
				if code, reason := class(r.Name+"/"+sub.Name, sub.DeviceClassName); reason != "" {
					return code, reason
				}
			}
		default:
			return filter.UnschedulableAndUnresolvable, fmt.Sprintf("resource claim %s/%s, request %s: unknown request type", c.Namespace, c.Name, r.Name)
		}
	}
	return filter.Success, ""
}

// Code returns Success, Skip for a pod that needs no devices, or the code with which every node rejects the pod.
func (p *Pod) Code() filter.Code { return p.code }

// Reason returns v1.37's text for a code that rejects the pod or is an error; empty otherwise.
func (p *Pod) Reason() string { return p.reason }

// Claims returns the claims of the pod in their order. The special claim for extended resources comes last.
func (p *Pod) Claims() []*resourcev1.ResourceClaim {
	out := make([]*resourcev1.ResourceClaim, len(p.claims))
	for k := range p.claims {
		out[k] = p.claims[k].object
	}
	return out
}
