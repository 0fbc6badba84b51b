package devices

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/release"
)

// This file has the differences between releases in the allocation of devices.

// released returns the options without the quirks that the release does not have: v1.37 has no U10.1 (rule L1.2), U10.2 (L1.3),
// U10.4 (L1.4), U10.6 (L1.5) and U10.8 (L1.7). Releases before v1.37 have no amounts in thousandths.
func (o Options) released() Options {
	if o.Release.AtLeast(release.V1_37) {
		o.CountersOnce, o.CountersByDriver, o.AllDistinct, o.AllStatic, o.ConfigOnce = true, true, true, true, true
		o.TaintRules = true // rule L1.10
	} else {
		o.FractionalRange = false
	}
	return o
}

// offering returns the slices without counters, and in v1.37 also those with counters, that the node may reach (rule L1.6).
func (a *Allocator) offering(node *v1.Node) [][]*slice {
	inv := a.inventory
	if countersEverywhere(a.options.Release) {
		return [][]*slice{inv.byNode[node.Name], inv.open}
	}
	return [][]*slice{inv.byNode[node.Name], inv.open, inv.countersByNode[node.Name], inv.countersOpen}
}

// countersEverywhere reports whether every node looks at all slices with counters and at the counters of devices in them, as up to
// v1.36. In v1.37 a node looks only at the slices with counters that reach the node, and not at the counters of devices in these slices
// (rule L1.6).
func countersEverywhere(v release.Version) bool { return !v.AtLeast(release.V1_37) }

// leavesOutNames reports whether a config that holds for all requests of a claim names no request in the allocation, as in v1.37
// (rule L1.7).
func leavesOutNames(v release.Version) bool { return v.AtLeast(release.V1_37) }

// selectorFault returns the error of a selector. v1.37 names the device of an error in the evaluation, and has a hint for absent
// attributes (rule L1.8).
func selectorFault(v release.Version, ref selectorRef, d *device, err error) error {
	if e, ok := err.(*selectorError); !ok || e.stage != evaluating || !v.AtLeast(release.V1_37) {
		return fatal("%s: selector #%d: %w", ref.prefix, ref.at, err)
	}
	hint := ""
	if strings.Contains(err.Error(), "no such key: ") {
		hint = ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields"
	}
	return fatal("%s: selector #%d on device %s: %w%s", ref.prefix, ref.at, d.id, err, hint)
}

// unreadable returns the error of a device that no selector can read: up to v1.36 one with an attribute that is a list. Of several the
// first by name has the say (rule L1.9).
func unreadable(v release.Version, attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute) error {
	if v.AtLeast(release.V1_37) {
		return nil
	}
	name, any := resourcev1.QualifiedName(""), false
	for n, a := range attributes {
		if len(a.IntValues)+len(a.BoolValues)+len(a.StringValues)+len(a.VersionValues) > 0 && (!any || n < name) {
			name, any = n, true
		}
	}
	if !any {
		return nil
	}
	return fmt.Errorf("attribute %s: unsupported attribute value", name)
}

// endsAttempt reports whether a search that was cut ends the attempt on every node. Up to v1.35 it rejects its node alone (rule L3.6).
func endsAttempt(v release.Version) bool { return v.AtLeast(release.V1_36) }

// refusesAmounts reports whether an amount that is negative or beyond int64 ends the attempt, as in v1.37 (rule L1.11).
func refusesAmounts(v release.Version) bool { return v.AtLeast(release.V1_37) }

// tooManyDevices returns the error of a request for n devices of a claim whose earlier requests want taken devices; nil when n is not
// too many. v1.37 names the request (rule L1.12).
func tooManyDevices(v release.Version, c *claimAsk, x *ask, n, taken int) error {
	if !v.AtLeast(release.V1_37) || n <= maxResults-taken {
		return nil
	}
	return fatal("claim %s, request %s: adding %d devices exceeds the claim limit of %d, with %d already accounted for", c.name, x.alternatives[0].base, n, maxResults, taken)
}

// passesLimit reports whether a claim with some devices may not get n more. Up to v1.36 the sum wraps around (rule L1.12).
func passesLimit(v release.Version, have, n int) bool {
	if v.AtLeast(release.V1_37) {
		return n > maxResults-have
	}
	return have+n > maxResults
}
