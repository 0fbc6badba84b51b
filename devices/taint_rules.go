package devices

import (
	"iter"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// ruled returns the taints that rules give to a device (rule L1.10).
func ruled(rules []*resourcev1beta2.DeviceTaintRule, id ID) (out []resourcev1.DeviceTaint) {
	for _, rule := range rules {
		if selects(rule, id) {
			out = append(out, taintOf(rule))
		}
	}
	return out
}

// selects reports whether a rule selects a device: one that has its driver, its pool and its device name, as far as the rule names them.
// A rule without a deviceSelector selects no device, a rule with an empty one selects all.
func selects(rule *resourcev1beta2.DeviceTaintRule, id ID) bool {
	is := func(want *string, name string) bool { return want == nil || *want == name }
	s := rule.Spec.DeviceSelector
	return s != nil && is(s.Driver, id.Driver) && is(s.Pool, id.Pool) && is(s.Device, id.Device)
}

// taintOf returns the taint of a rule.
func taintOf(rule *resourcev1beta2.DeviceTaintRule) resourcev1.DeviceTaint {
	t := &rule.Spec.Taint
	return resourcev1.DeviceTaint{Key: t.Key, Value: t.Value, Effect: resourcev1.DeviceTaintEffect(t.Effect), TimeAdded: t.TimeAdded}
}

// RuleMatters reports whether a change of a DeviceTaintRule changes the taints of a device in the slices, as v1.37 asks before it wakes
// pods. old is nil for a new rule, now is nil for a rule that is gone. Slices of old generations count. O(devices).
func RuleMatters(list iter.Seq[*resourcev1.ResourceSlice], old, now *resourcev1beta2.DeviceTaintRule) bool {
	for s := range list {
		for k := range s.Spec.Devices {
			id := ID{s.Spec.Driver, s.Spec.Pool.Name, s.Spec.Devices[k].Name}
			was, is := old != nil && selects(old, id), now != nil && selects(now, id)
			if was != is || was && !sameTaint(taintOf(old), taintOf(now)) {
				return true
			}
		}
	}
	return false
}

// sameTaint reports whether two taints are equal in all fields.
func sameTaint(a, b resourcev1.DeviceTaint) bool {
	return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect && a.TimeAdded.Equal(b.TimeAdded)
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
