package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
)

// claimAsk is a claim that needs an allocation.
type claimAsk struct {
	object      *resourcev1.ResourceClaim
	name        string // namespace/name
	asks        []ask
	constraints []constraintSpec
	err         error // the error of a constraint
}

// ask is one request of a claim. It has a single alternative, or the alternatives of firstAvailable.
type ask struct {
	first        bool // firstAvailable
	alternatives []request
}

// request is one alternative.
type request struct {
	id          int    // index among all requests of the search
	base, sub   string // name of the request, and name of the alternative of firstAvailable
	admin       bool
	all         bool
	count       int
	tolerations []resourcev1.DeviceToleration
	capacity    capacities
	class       *resourcev1.DeviceClass
	selectors   []selectorRef
	err         error
}

// selectorRef is a selector with the prefix of errors about it.
type selectorRef struct {
	program *program
	prefix  string
	at      int
}

// result returns the request's name as an allocation has it.
func (r *request) result() string {
	if r.sub == "" {
		return r.base
	}
	return r.base + "/" + r.sub
}

// short returns the request's name as an error text has it.
func (r *request) short() string {
	if r.sub == "" {
		return r.base
	}
	return r.sub
}

func (a *Allocator) compileClaim(c *resourcev1.ResourceClaim, requests *int) claimAsk {
	out := claimAsk{object: c, name: c.Namespace + "/" + c.Name}
	add := func(r request, selectors []resourcev1.DeviceSelector, class string, mode resourcev1.DeviceAllocationMode, count int64) request {
		r.id = *requests
		*requests++
		a.compileRequest(out.name, &r, selectors, class, mode, count)
		return r
	}
	for k := range c.Spec.Devices.Requests {
		q := &c.Spec.Devices.Requests[k]
		if e := q.Exactly; e != nil {
			r := request{base: q.Name, admin: e.AdminAccess != nil && *e.AdminAccess, tolerations: e.Tolerations, capacity: amounts(e.Capacity)}
			out.asks = append(out.asks, ask{alternatives: []request{add(r, e.Selectors, e.DeviceClassName, e.AllocationMode, e.Count)}})
			continue
		}
		x := ask{first: true}
		for j := range q.FirstAvailable {
			e := &q.FirstAvailable[j]
			r := request{base: q.Name, sub: e.Name, tolerations: e.Tolerations, capacity: amounts(e.Capacity)}
			x.alternatives = append(x.alternatives, add(r, e.Selectors, e.DeviceClassName, e.AllocationMode, e.Count))
		}
		out.asks = append(out.asks, x)
	}
	for k := range c.Spec.Devices.Constraints {
		spec, err := compileConstraint(&c.Spec.Devices.Constraints[k], out.name, k)
		if out.err == nil {
			out.err = err
		}
		out.constraints = append(out.constraints, spec)
	}
	return out
}

func amounts(c *resourcev1.CapacityRequirements) capacities {
	if c == nil {
		return nil
	}
	return c.Requests
}

// compileRequest checks a request, in the order of rule U6.1.
func (a *Allocator) compileRequest(claim string, r *request, selectors []resourcev1.DeviceSelector, class string, mode resourcev1.DeviceAllocationMode, count int64) {
	for k := range selectors {
		if selectors[k].CEL == nil {
			r.err = fatal("claim %s, request %s, selector #%d: CEL expression empty (unsupported selector type?)", claim, r.short(), k)
			return
		}
	}
	if class == "" {
		r.err = fatal("claim %s, request %s: missing device class name (unsupported request type?)", claim, r.short())
		return
	}
	if r.class = a.classes(class); r.class == nil {
		r.err = fatal("claim %s, request %s: could not retrieve device class %s: deviceclasses.resource.k8s.io %q not found", claim, r.short(), class, class)
		return
	}
	switch mode {
	case resourcev1.DeviceAllocationModeAll:
		r.all = true
	case resourcev1.DeviceAllocationModeExactCount:
		r.count = int(count)
	default:
		r.err = fatal("claim %s, request %s: unsupported count mode %s", claim, r.short(), mode)
		return
	}
	for k := range r.class.Spec.Selectors {
		if cel := r.class.Spec.Selectors[k].CEL; cel != nil {
			r.selectors = append(r.selectors, selectorRef{a.program(cel.Expression), "class " + class, k})
			continue
		}
		r.err = fatal("class %s: selector #%d: CEL expression empty (unsupported selector type?)", class, k)
		return
	}
	for k := range selectors {
		r.selectors = append(r.selectors, selectorRef{a.program(selectors[k].CEL.Expression), "claim " + claim, k})
	}
}

// selectable reports whether a device can serve a request on a node: the selectors of the class match, the selectors of the
// request match, and the node is in the device's reach (rule U4.1).
func (s *Search) selectable(d *device, r *request) (bool, error) {
	for _, ref := range r.selectors {
		ok, err := s.allocator.matches(ref.program, d)
		if err != nil {
			return false, selectorFault(s.options.Release, ref, d, err)
		}
		if !ok {
			return false, nil
		}
	}
	if !d.slice.each {
		return true, nil
	}
	ok, err := d.reach.has(s.node)
	if err != nil {
		return false, fatal("%w", err)
	}
	return ok, nil
}
