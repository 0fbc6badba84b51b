package devices

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// holder is a claim that holds a device or a share of the device. The holders of one device form a list.
type holder struct {
	claim  *resourcev1.ResourceClaim
	result *resourcev1.DeviceRequestAllocationResult
	next   int32 // place of the next holder in Ledger.holders, from 1; 0: none
}

// hold notes that a claim holds a device. It ignores a nil claim.
func (l *Ledger) hold(at int32, claim *resourcev1.ResourceClaim, result *resourcev1.DeviceRequestAllocationResult) {
	if claim == nil {
		return
	}
	x := holder{claim, result, l.first[at]}
	if place := l.unused; place > 0 {
		l.unused = l.holders[place-1].next
		l.holders[place-1], l.first[at] = x, place
		return
	}
	l.holders = append(l.holders, x)
	l.first[at] = int32(len(l.holders))
}

// release takes back what hold has noted for a claim of the same name.
func (l *Ledger) release(at int32, claim *resourcev1.ResourceClaim) {
	if claim == nil {
		return
	}
	for link := &l.first[at]; *link > 0; link = &l.holders[*link-1].next {
		place := *link
		x := &l.holders[place-1]
		if x.claim != claim && !sameHolder(x.claim, claim) {
			continue
		}
		*link = x.next
		*x = holder{next: l.unused}
		l.unused = place
		return
	}
}

// sameHolder reports whether two objects are the same claim, with or without an allocation in both.
func sameHolder(a, b *resourcev1.ResourceClaim) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && a.GenerateName == b.GenerateName && (a.Status.Allocation == nil) == (b.Status.Allocation == nil)
}

// appendHolders appends the names of the claims that hold a device, and whose results the function wants.
func (l *Ledger) appendHolders(dst []string, at int32, wants func(*resourcev1.DeviceRequestAllocationResult) bool) []string {
	for place := l.first[at]; place > 0; place = l.holders[place-1].next {
		if x := &l.holders[place-1]; wants(x.result) {
			dst = append(dst, holderName(x.claim))
		}
	}
	return dst
}

// holderName returns "namespace/name". An allocation that the claim itself does not show is in flight.
func holderName(c *resourcev1.ResourceClaim) string {
	name := c.Name
	if name == extendedClaimName {
		name = strings.TrimSuffix(c.GenerateName, "-")
	}
	if name = c.Namespace + "/" + name; c.Status.Allocation == nil {
		name += " in flight"
	}
	return name
}

// blame says about which devices a test of a request is whose outcome depends on other claims.
type blame struct {
	request, test int // index in Explanation.Requests and in RequestReport.Refused
	failure       failure
	devices       []int32 // place among the devices of the usable pools
}

// name writes the claims to blame into an explanation. Nodes of one class have equal explanations apart from these names.
func (s *Search) name(e *Explanation, blames []blame, v *view) {
	var places []candidate
	for _, p := range v.pools {
		if p.state != complete {
			continue
		}
		for _, d := range p.devices {
			places = append(places, candidate{p, d})
		}
	}
	for k := range blames {
		b := &blames[k]
		var names []string
		for _, at := range b.devices {
			names = s.appendBlamed(names, &b.failure, places[at])
		}
		slices.Sort(names)
		e.Requests[b.request].Refused[b.test].Claims = slices.Compact(names)
	}
}

// appendBlamed appends the claims because of which a device fails a test: holders of the device, holders of its capacity, or
// holders of devices of the pool that consume the same counters.
func (s *Search) appendBlamed(dst []string, f *failure, x candidate) []string {
	all := func(*resourcev1.DeviceRequestAllocationResult) bool { return true }
	switch f.step {
	case stepUse:
		return s.ledger.appendHolders(dst, x.device.index, all)
	case stepCapacity:
		return s.ledger.appendHolders(dst, x.device.index, func(r *resourcev1.DeviceRequestAllocationResult) bool {
			_, ok := r.ConsumedCapacity[resourcev1.QualifiedName(f.name)]
			return ok || f.name == "" && len(r.ConsumedCapacity) > 0
		})
	}
	own := map[counterID]bool{}
	eachCounter(x.device.object, func(id counterID, _ resource.Quantity) {
		if f.name == "" || f.name == id.name {
			own[id] = true
		}
	})
	for _, slice := range x.pool.all {
		for k := range slice.devices {
			d, shared := &slice.devices[k], false
			eachCounter(d.object, func(id counterID, _ resource.Quantity) { shared = shared || own[id] })
			if shared {
				dst = s.ledger.appendHolders(dst, d.index, all)
			}
		}
	}
	return dst
}
