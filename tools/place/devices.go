package place

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/tools/dump"
)

// allocation is the devices that an attempt gave to a claim.
type allocation struct {
	// NAMESPACE/NAME; the claim for extended resources is NAMESPACE/POD-extended-resources.
	Claim   string   `json:"claim"`
	Node    string   `json:"node"`    // the node that the pod goes to
	Devices []string `json:"devices"` // the devices in the order of the allocation, as DRIVER/POOL/DEVICE
}

// allocationsOf returns what the claims of a pod got, in the order of the claims. The claim for extended resources is called
// POD-extended-resources.
func allocationsOf(pod *v1.Pod, node string, d devices.Allocation) []allocation {
	var out []allocation
	for k, c := range d.Claims {
		a := allocation{Claim: pod.Namespace + "/" + c.Name, Node: node, Devices: []string{}}
		if c.UID == "" && c.GenerateName == pod.Name+"-extended-resources-" {
			a.Claim = pod.Namespace + "/" + pod.Name + "-extended-resources"
		}
		for _, r := range d.Results[k].Devices.Results {
			a.Devices = append(a.Devices, devices.ID{Driver: r.Driver, Pool: r.Pool, Device: r.Device}.String())
		}
		out = append(out, a)
	}
	return out
}

// WriteClaims writes claims at once. Binding conditions of devices stay as the input has them.
func (w *world) WriteClaims(_ context.Context, pod *v1.Pod, writes scheduler.ClaimWrites) error {
	now := w.pods[key(pod)]
	if len(writes.Mappings) > 0 && (now == nil || now.UID != pod.UID) {
		return scheduler.ErrGone
	}
	for _, c := range writes.Set {
		if c.UID == "" {
			register(c)
		}
		w.put(c)
	}
	for _, c := range writes.Unreserve {
		w.put(devices.Unreserved(c, pod.UID))
	}
	for _, c := range writes.Delete {
		w.changes++
		delete(w.others, named(c))
		w.s.Remove(c)
	}
	if len(writes.Mappings) > 0 {
		changed := now.DeepCopy()
		changed.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{
			ResourceClaimName: writes.Set[len(writes.Set)-1].Name, RequestMappings: writes.Mappings,
		}
		w.store(changed)
	}
	return nil
}

// register gives a new claim a UID, and a name when it has none.
func register(c *resourcev1.ResourceClaim) {
	if c.Name == "" {
		c.Name = strings.TrimSuffix(c.GenerateName, "-")
	}
	c.UID = types.UID(c.Namespace + "/" + c.Name)
}

// tellUnclaimed adds the entries of pods that never entered the active queue, because a claim of theirs does not exist.
func (x *simulation) tellUnclaimed() {
	x.w.s.View(func(c *cluster.Snapshot) {
		for _, p := range x.w.pending {
			p = x.w.pods[key(p)]
			if p == nil || p.Spec.NodeName != "" || x.last[key(p)].Pod != "" || x.w.s.Profile(dump.SchedulerName(p)) == nil {
				continue
			}
			if text := devices.Gate(p, tracker.Of(c)); text != "" {
				e := gatedEntry(p)
				e.Message = text
				x.add(p, e)
			}
		}
	})
}
