package devicetaint

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
)

// Taints are the NoExecute taints of the devices of a cluster. Create it with [New].
type Taints struct {
	devices map[devices.ID][]resourcev1.DeviceTaint
	rules   []*resourcev1beta2.DeviceTaintRule // by name
	seen    time.Time
}

// New prepares the taints of slices and rules. A taint without timeAdded counts from seen: the API server sets timeAdded of every taint when
// it stores it, so this is a rule or a slice that is not stored yet. No element may be nil.
func New(list []*resourcev1.ResourceSlice, rules []*resourcev1beta2.DeviceTaintRule, seen time.Time) *Taints {
	t := &Taints{devices: map[devices.ID][]resourcev1.DeviceTaint{}, seen: seen}
	for _, r := range rules {
		if r.Spec.Taint.Effect == resourcev1beta2.DeviceTaintEffectNoExecute {
			t.rules = append(t.rules, r)
		}
	}
	slices.SortFunc(t.rules, func(a, b *resourcev1beta2.DeviceTaintRule) int { return cmp.Compare(a.Name, b.Name) })
	type pool struct{ driver, name string }
	newest := map[pool]int64{}
	for _, s := range list {
		p := pool{s.Spec.Driver, s.Spec.Pool.Name}
		if generation, ok := newest[p]; !ok || generation < s.Spec.Pool.Generation {
			newest[p] = s.Spec.Pool.Generation
		}
	}
	for _, s := range slices.SortedStableFunc(slices.Values(list), func(a, b *resourcev1.ResourceSlice) int { return cmp.Compare(a.Name, b.Name) }) {
		p := pool{s.Spec.Driver, s.Spec.Pool.Name}
		if s.Spec.Pool.Generation != newest[p] {
			continue
		}
		for k := range s.Spec.Devices {
			d := &s.Spec.Devices[k]
			id := devices.ID{Driver: p.driver, Pool: p.name, Device: d.Name}
			for j := range d.Taints {
				if d.Taints[j].Effect == resourcev1.DeviceTaintEffectNoExecute {
					t.devices[id] = append(t.devices[id], d.Taints[j])
				}
			}
		}
	}
	return t
}

// Eviction says when a pod is deleted, and why.
type Eviction struct {
	At     time.Time // of the deletion; the pod is deleted at once when this time is over
	Claim  string    // name of the claim
	Device devices.ID
	Taint  resourcev1.DeviceTaint
	Rule   string // name of the DeviceTaintRule that the taint comes from, "" for a taint of a slice
	// Tolerated reports whether the taint is tolerated for a time.
	Tolerated bool
}

// String returns the cause, such as "claim c, device drv/pool/gpu-0: maint=disk:NoExecute of DeviceTaintRule r, not tolerated".
func (e Eviction) String() string {
	text := fmt.Sprintf("claim %s, device %s/%s/%s: %s", e.Claim, e.Device.Driver, e.Device.Pool, e.Device.Device, e.Taint.Key)
	if e.Taint.Value != "" {
		text += "=" + e.Taint.Value
	}
	text += ":" + string(e.Taint.Effect)
	if e.Rule != "" {
		text += " of DeviceTaintRule " + e.Rule
	}
	if !e.Tolerated {
		text += ", not tolerated"
	}
	return text
}

// Eviction returns when the taints delete a pod; false when they do not. Of several evictions the first counts:
//
//  1. by time
//  2. claims in the order of the pod, the claim for extended resources last
//  3. devices in the order of the allocation
//  4. taints of slices, by name of the slice, then those of rules, by name of the rule
//
// claim returns a claim of the pod's namespace, nil for a claim that does not exist. Neither the pod nor claim may be nil.
func (t *Taints) Eviction(pod *v1.Pod, claim func(namespace, name string) *resourcev1.ResourceClaim) (first Eviction, ok bool) {
	if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
		return Eviction{}, false
	}
	for k := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[k]
		name, err := devices.ClaimName(pod, entry)
		if err != nil || name == "" {
			continue // the claim does not exist yet, or is not needed
		}
		first, ok = t.earlier(first, ok, pod, claim(pod.Namespace, name), entry.ResourceClaimName == nil)
	}
	if s := pod.Status.ExtendedResourceClaimStatus; s != nil {
		first, ok = t.earlier(first, ok, pod, claim(pod.Namespace, s.ResourceClaimName), true)
	}
	return first, ok
}

// earlier returns the first of an eviction, if ok, and those of a claim. own says that the claim was made for the pod.
func (t *Taints) earlier(first Eviction, ok bool, pod *v1.Pod, claim *resourcev1.ResourceClaim, own bool) (Eviction, bool) {
	if claim == nil || claim.Status.Allocation == nil || own && !metav1.IsControlledBy(claim, pod) {
		return first, ok
	}
	if !slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }) {
		return first, ok
	}
	results := claim.Status.Allocation.Devices.Results
	for k := range results {
		r := &results[k]
		id := devices.ID{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
		look := func(taint resourcev1.DeviceTaint, rule string) {
			after, tolerated, ever := limit(&taint, r.Tolerations)
			added := t.seen
			if taint.TimeAdded != nil {
				added = taint.TimeAdded.Time
			}
			if at := added.Add(after); !ever && (!ok || at.Before(first.At)) {
				first, ok = Eviction{at, claim.Name, id, taint, rule, tolerated}, true
			}
		}
		for _, taint := range t.devices[id] {
			look(taint, "")
		}
		for _, rule := range t.rules {
			if taint, selected := devices.RuleTaint(rule, id); selected {
				look(taint, rule.Name)
			}
		}
	}
	return first, ok
}

// limit returns for how long a NoExecute taint is tolerated; 0 when it is not tolerated, and ever when there is no limit. As in v1.37 the
// nanoseconds of more than 9,223,372,036 seconds wrap around.
func limit(taint *resourcev1.DeviceTaint, tolerations []resourcev1.DeviceToleration) (after time.Duration, tolerated, ever bool) {
	var seconds int64
	for k := range tolerations {
		t := &tolerations[k]
		switch {
		case t.Effect != resourcev1.DeviceTaintEffectNoExecute || !devices.Tolerates(t, taint):
		case t.TolerationSeconds == nil:
			return 0, true, true
		case !tolerated || *t.TolerationSeconds < seconds:
			seconds, tolerated = *t.TolerationSeconds, true
		}
	}
	return time.Duration(max(seconds, 0)) * time.Second, tolerated, false
}
