package devices

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// constraintSpec is a matchAttribute or distinctAttribute of a claim.
type constraintSpec struct {
	requests  []string // empty: all requests of the claim
	attribute string
	distinct  bool
}

func compileConstraint(c *resourcev1.DeviceConstraint, claim string, k int) (constraintSpec, error) {
	spec := constraintSpec{requests: c.Requests}
	switch {
	case c.MatchAttribute != nil:
		spec.attribute = string(*c.MatchAttribute)
	case c.DistinctAttribute != nil:
		spec.attribute, spec.distinct = string(*c.DistinctAttribute), true
	default:
		return spec, fatal("claim %s, constraint #%d: empty constraint (unsupported constraint type?)", claim, k)
	}
	return spec, nil
}

func (c *constraintSpec) covers(r *request) bool {
	return len(c.requests) == 0 || slices.Contains(c.requests, r.base) || r.sub != "" && slices.Contains(c.requests, r.result())
}

// constraint is a constraintSpec with what the search has chosen so far (rule D5.6).
type constraint struct {
	*constraintSpec
	count int                         // matchAttribute: devices
	value *resourcev1.DeviceAttribute // of the first of them
	last  map[string]*resourcev1.DeviceAttribute
	all   []*resourcev1.DeviceAttribute // Options.AllDistinct: of every device
}

// add takes a device. It reports false, and takes nothing, when the constraint would be violated.
func (c *constraint) add(r *request, d *device, every bool) bool {
	a := attribute(d, c.attribute)
	if a == nil {
		return false
	}
	switch {
	case !c.distinct:
		if c.count > 0 && !sameValue(c.value, a) {
			return false
		}
		if c.count == 0 {
			c.value = a
		}
		c.count++
	case every:
		for _, b := range c.all {
			if !differs(b, a) {
				return false
			}
		}
		c.all = append(c.all, a)
	default:
		for _, b := range c.last {
			if !differs(b, a) {
				return false
			}
		}
		if c.last == nil {
			c.last = map[string]*resourcev1.DeviceAttribute{}
		}
		c.last[r.base] = a
	}
	return true
}

// remove takes back the device that was added last. distinctAttribute forgets the value of the request (quirk D10.4).
func (c *constraint) remove(r *request, every bool) {
	switch {
	case !c.distinct:
		c.count--
	case every:
		c.all = c.all[:len(c.all)-1]
	default:
		delete(c.last, r.base)
	}
}

// attribute looks an attribute of a device up (rule D5.4); nil when the device lacks it.
func attribute(d *device, name string) *resourcev1.DeviceAttribute {
	if a, ok := d.object.Attributes[resourcev1.QualifiedName(name)]; ok {
		return &a
	}
	domain, id, ok := strings.Cut(name, "/")
	if !ok || domain != d.id.Driver {
		return nil
	}
	if a, ok := d.object.Attributes[resourcev1.QualifiedName(id)]; ok {
		return &a
	}
	return nil
}

// sameValue reports whether two attributes have the same type and value. Values of other types, such as lists, equal none.
func sameValue(a, b *resourcev1.DeviceAttribute) bool {
	switch {
	case a.IntValue != nil:
		return b.IntValue != nil && *a.IntValue == *b.IntValue
	case a.BoolValue != nil:
		return b.BoolValue != nil && *a.BoolValue == *b.BoolValue
	case a.StringValue != nil:
		return b.StringValue != nil && *a.StringValue == *b.StringValue
	case a.VersionValue != nil:
		return b.VersionValue != nil && *a.VersionValue == *b.VersionValue
	}
	return false
}

// differs reports whether two attributes have different values. A new value b of another type, such as a list, differs from
// none.
func differs(a, b *resourcev1.DeviceAttribute) bool {
	if b.IntValue == nil && b.BoolValue == nil && b.StringValue == nil && b.VersionValue == nil {
		return false
	}
	return !sameValue(a, b)
}
