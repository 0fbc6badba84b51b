package devices

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/structured"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/conformance/real/held"
)

// compare holds the claims of both sides against each other.
func (q *sequence) compare() {
	names := map[string]bool{}
	for name := range q.api.claims {
		names[name] = true
	}
	for name := range q.claims {
		names[name] = true
	}
	for _, name := range sorted(names) {
		q.fail("claim "+name, claimText(q.claims[name]), claimText(q.api.claims[name]))
	}
	q.sync()
	q.compareHeld()
}

// compareHeld compares which devices are in use, and how much of their capacity.
func (q *sequence) compareHeld() {
	tracker := q.s.Framework.SharedDRAManager().ResourceClaims()
	theirs, err := tracker.GatherAllocatedState()
	if err != nil {
		q.t.Fatal(err)
	}
	claims := slices.Collect(maps.Values(q.claims))
	for _, a := range q.reserved {
		for k := range a.open {
			claims = append(claims, &resourcev1.ResourceClaim{Status: resourcev1.ResourceClaimStatus{Allocation: &a.allocation.Results[k]}})
		}
	}
	claims = slices.DeleteFunc(claims, func(c *resourcev1.ResourceClaim) bool { return c.Status.Allocation == nil })
	for name, c := range q.claims {
		q.fail("claim "+name+" in flight", fmt.Sprint(q.InFlight(c.UID)), fmt.Sprint(tracker.GetPendingAllocation(c.UID) != nil))
	}
	ours := held.State(claims)
	q.fail("devices in use", stateText(&ours), stateText(theirs))
}

// stateText prints the devices in use. The ids of shares are random. An amount of zero is what shares that have left leave in
// kube-scheduler; nothing depends on it as long as another amount of the device is not zero.
func stateText(s *structured.AllocatedState) string {
	var out []string
	for id := range s.AllocatedDevices {
		out = append(out, id.String())
	}
	for id, amounts := range s.AggregatedCapacity {
		for name, amount := range amounts {
			if !amount.IsZero() {
				out = append(out, fmt.Sprintf("%s %s %s", id, name, amount))
			}
		}
	}
	for id := range s.AllocatedSharedDeviceIDs {
		out = append(out, fmt.Sprintf("%s/%s/%s shared", id.Driver, id.Pool, id.Device))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// claimText prints what the scheduler may write, without share ids and times.
func claimText(c *resourcev1.ResourceClaim) string {
	if c == nil {
		return "absent"
	}
	c = c.DeepCopy()
	c.ResourceVersion, c.ManagedFields, c.UID = "", nil, ""
	if a := c.Status.Allocation; a != nil {
		if a.AllocationTimestamp != nil {
			a.AllocationTimestamp = ptr(metav1.NewTime(time.Unix(0, 0)))
		}
		for k := range a.Devices.Results {
			if a.Devices.Results[k].ShareID != nil {
				a.Devices.Results[k].ShareID = ptr(types.UID("share"))
			}
		}
	}
	b, err := yaml.Marshal(c)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
