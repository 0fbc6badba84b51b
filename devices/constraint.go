package devices

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
)

// constraintSpec is a matchAttribute or distinctAttribute constraint of a claim.
type constraintSpec struct {
	requests  []string // empty: the constraint binds all requests of the claim
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

// constraint is a constraintSpec with the devices that the search has chosen so far (rule U5.3).
type constraint struct {
	*constraintSpec
	count int                         // matchAttribute: number of devices chosen
	value *resourcev1.DeviceAttribute // matchAttribute: value of the chosen devices
	last  map[string]*resourcev1.DeviceAttribute
	all   []*resourcev1.DeviceAttribute // Options.AllDistinct: values of all chosen devices
}

// add counts a device as chosen. It returns false and changes nothing when the device violates the constraint.
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
		c.value = a
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

// remove takes back the device that was added last. distinctAttribute forgets the value of the whole request (quirk U10.4).
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

// attribute returns an attribute of a device (rule U5.4), nil when the device lacks it.
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

// sameValue reports whether two attributes have the same type and value. Attributes of other types, such as lists, equal no
// attribute.
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

// differs reports whether two attributes have different values. When b has another type, such as a list, it differs from no
// value.
func differs(a, b *resourcev1.DeviceAttribute) bool {
	if b.IntValue == nil && b.BoolValue == nil && b.StringValue == nil && b.VersionValue == nil {
		return false
	}
	return !sameValue(a, b)
}
