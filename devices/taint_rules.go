package devices

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// ruled returns the taints that rules give to a device (rule L1.10). A rule selects the devices that have its driver, its pool and its
// device name, as far as it names them. Without a deviceSelector it selects none, with an empty one all.
func ruled(rules []*resourcev1beta2.DeviceTaintRule, id ID) (out []resourcev1.DeviceTaint) {
	is := func(want *string, name string) bool { return want == nil || *want == name }
	for _, rule := range rules {
		if s := rule.Spec.DeviceSelector; s != nil && is(s.Driver, id.Driver) && is(s.Pool, id.Pool) && is(s.Device, id.Device) {
			t := &rule.Spec.Taint
			out = append(out, resourcev1.DeviceTaint{Key: t.Key, Value: t.Value, Effect: resourcev1.DeviceTaintEffect(t.Effect), TimeAdded: t.TimeAdded})
		}
	}
	return out
}

// byRuleName orders rules by name.
func byRuleName(a, b *resourcev1beta2.DeviceTaintRule) int { return strings.Compare(a.Name, b.Name) }

// tolerates reports whether a request tolerates the taints of a device, and those of rules where they count.
func (s *Search) tolerates(r *request, d *device) bool {
	return tolerated(d.object.Taints, r.tolerations) && (!s.options.TaintRules || tolerated(d.ruled, r.tolerations))
}

// taints returns the taints of a device that count.
func (s *Search) taints(d *device) []resourcev1.DeviceTaint {
	if !s.options.TaintRules {
		return d.object.Taints
	}
	return append(d.object.Taints[:len(d.object.Taints):len(d.object.Taints)], d.ruled...)
}
