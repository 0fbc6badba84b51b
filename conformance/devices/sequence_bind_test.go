package devices

import (
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
)

// finish binds a pod that waits, or gives its devices back.
func (q *sequence) finish() {
	for len(q.reserved) > 0 && q.g.chance(40) {
		a := q.reserved[0]
		q.reserved = q.reserved[1:]
		q.note("pod %s goes on", a.pod.Name)
		if q.g.chance(15) {
			q.unreserve(a)
		} else {
			q.bind(a)
		}
		q.compare()
	}
}

// written forgets that claim k of the allocation is in flight.
func (q *sequence) written(a *attempt, k int) {
	if a.open[k] {
		delete(q.inFlight, a.allocation.Claims[k].UID)
		q.ledger.Remove(nil, &a.allocation.Results[k])
		delete(a.open, k)
	}
}

func (q *sequence) unreserve(a *attempt) {
	q.p.Unreserve(q.s.Context(), a.state, a.pod, a.node)
	q.note("  Unreserve %s", a.pod.Name)
	q.names["Unreserve"] = true
	for k := range a.allocation.Claims {
		q.written(a, k)
	}
	q.forgotten(a)
	for _, c := range a.compiled.Claims() {
		latest := q.claims[c.Name]
		if latest == nil || latest.Status.Allocation == nil {
			continue
		}
		if next := devices.Unreserved(latest, a.pod.UID); !equality.Semantic.DeepEqual(next, latest) {
			q.set(next)
		}
	}
	if c := q.claims[a.special]; c != nil {
		c = c.DeepCopy()
		c.Finalizers = nil
		q.claims[c.Name] = c
		q.forget(c.Name)
	}
	q.waiting = append(q.waiting, a.pod)
}

// forgotten does what kube-scheduler's Unreserve of a pod does to the attempts of other pods: it forgets their allocations of claims that
// the pod uses too. The sequence ends then: the devices are free for kube-scheduler while the other attempt still has them.
func (q *sequence) forgotten(a *attempt) {
	for _, other := range q.reserved {
		for k, c := range other.allocation.Claims {
			if other.open[k] && c.UID != "" && slices.ContainsFunc(a.compiled.Claims(), func(x *resourcev1.ResourceClaim) bool { return x.UID == c.UID }) {
				q.written(other, k)
				q.names["Unreserve forgets the allocation of another attempt"] = true
				q.broken = true
			}
		}
	}
}

// bind writes the claims of a pod on both sides.
func (q *sequence) bind(a *attempt) {
	q.meantime(a)
	status := q.p.PreBind(q.s.Context(), a.state, a.pod, a.node)
	q.note("  PreBind %s %s", a.pod.Name, statusText(status))
	q.names["PreBind "+status.Code().String()] = true
	here := "Success"
	if err := q.write(a); err != nil {
		here = "Error " + err.Error()
	}
	q.fail("PreBind", here, statusText(status))
	if q.t.Failed() {
		return
	}
	if here != "Success" || q.g.chance(12) {
		if here == "Success" {
			q.names["Unreserve after PreBind"] = true
		}
		q.unreserve(a)
		return
	}
	q.bound = append(q.bound, a.pod)
}

// meantime changes a claim between Reserve and PreBind at times.
func (q *sequence) meantime(a *attempt) {
	claims := a.compiled.Claims()
	if len(claims) > 0 && q.g.chance(20) {
		c := q.claims[pick(q.g, claims...).Name]
		if c == nil {
			return
		}
		c = c.DeepCopy()
		switch {
		case q.g.chance(40):
			c.Finalizers = []string{resourcev1.Finalizer}
			c.DeletionTimestamp = ptr(metav1.NewTime(time.Unix(1, 0)))
			q.names["deleted in the meantime"] = true
		case c.Status.Allocation == nil:
			c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r0", Driver: "drv", Pool: "elsewhere", Device: c.Name}}}}
			q.names["allocated in the meantime"] = true
		default:
			c = devices.Deallocated(c)
			q.names["deallocated in the meantime"] = true
		}
		q.user(c)
		q.note("  %s changes", c.Name)
	}
	if q.g.chance(50) {
		q.sync()
	}
}

// write is PreBind of this side.
func (q *sequence) write(a *attempt) error {
	reserved := map[string]int{}
	for k, c := range a.allocation.Claims {
		reserved[c.Name] = k
	}
	for _, c := range a.compiled.Claims() {
		k, pending := reserved[c.Name]
		if !pending && c.UID == "" {
			continue // the special claim, and nothing for it
		}
		latest := q.claims[c.Name]
		var allocation *resourcev1.AllocationResult
		if pending {
			allocation = &a.allocation.Results[k]
			if c.UID == "" {
				if latest = q.created(a, a.allocation.Claims[k]); latest == nil {
					return errors.New("no claim was created")
				}
				if len(a.allocation.Mappings) == 0 {
					return fmt.Errorf("nil or empty request mappings, no update of pod %s/%s ExtendedResourceClaimStatus", a.pod.Namespace, a.pod.Name)
				}
			}
		}
		bound, err := devices.Bound(latest, a.pod, allocation, time.Now())
		if err != nil {
			return err
		}
		if pending { // what was reserved becomes what is stored
			q.written(a, k)
		}
		q.set(bound)
	}
	return nil
}

// created returns this side's special claim under the name that the API server gave it, and compares the pod's status.
func (q *sequence) created(a *attempt, special *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	for name, theirs := range q.api.claims {
		if q.claims[name] != nil || len(theirs.OwnerReferences) == 0 || theirs.OwnerReferences[0].UID != a.pod.UID {
			continue
		}
		q.names["an extended resource is bound"] = true
		c := special.DeepCopy()
		c.Name, c.UID = theirs.Name, theirs.UID
		a.special = name
		q.claims[name] = c
		here := "no mappings"
		if len(a.allocation.Mappings) > 0 {
			here = fmt.Sprintf("%+v", v1.PodExtendedResourceClaimStatus{ResourceClaimName: name, RequestMappings: a.allocation.Mappings})
		}
		there := "no mappings"
		if s := q.api.statuses[a.pod.Name]; s != nil {
			there = fmt.Sprintf("%+v", *s)
		}
		q.fail("status of the pod", here, there)
		return c
	}
	return nil
}
