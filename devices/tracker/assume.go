package tracker

import (
	"errors"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/podgroup"
)

// touched is a claim that Assume has written.
type touched struct {
	origin *resourcev1.ResourceClaim // before the first of the steps; nil: Assume created the claim
	steps  []step
}

// step is what Assume of one pod has written.
type step struct {
	pod           types.UID
	before, after *resourcev1.ResourceClaim
}

// Assume writes the claims of Bound into a snapshot, so that the next decision counts them. The special claim for extended resources
// gets the name POD-extended-resources. The snapshot must be the tracker's
// cluster. The time is that of [Options.Now]. The error is that of Bound; the snapshot has not changed then. Neither the snapshot nor the pod may be nil.
func (t *Tracker) Assume(s *cluster.Snapshot, pod *v1.Pod, d devices.Allocation) error {
	if len(d.Claims) == 0 && len(pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	t.follow()
	id, named := podinfo.UID(pod), *pod
	named.UID = id
	group := t.ClaimGroup(&named)
	claims, created, err := t.writes(&named, group, d, t.clock())
	if err != nil {
		return err
	}
	for _, c := range created {
		admit(c)
		claims = append(claims, c)
	}
	for k, c := range claims {
		before := t.ResourceClaim(c.Namespace, c.Name)
		if err := s.Set(c); err != nil {
			return errors.Join(err, t.restore(s, claims[:k], id))
		}
		t.touch(id, before, c)
	}
	t.join(&named, group, claims)
	return nil
}

// join notes that a pod uses claims that are reserved for its group and that Assume has allocated for another member.
func (t *Tracker) join(pod *v1.Pod, group *podgroup.Group, written []*resourcev1.ResourceClaim) {
	for k := range pod.Spec.ResourceClaims {
		e := &pod.Spec.ResourceClaims[k]
		if group == nil || !group.Shares(e) {
			continue
		}
		c := t.ResourceClaim(pod.Namespace, claimName(pod, e))
		if c != nil && t.touched[keyOf(c)] != nil && !slices.Contains(written, c) {
			t.touch(pod.UID, c, c)
		}
	}
}

// admit gives a claim that PreBind creates what the API server gives it: a UID, and the special claim its name.
func admit(c *resourcev1.ResourceClaim) {
	if c.Name != "" {
		c.UID = types.UID(c.Name)
		return
	}
	c.Name = strings.TrimSuffix(c.GenerateName, "-")
	c.UID = types.UID(c.Namespace + "/" + c.Name)
}

func (t *Tracker) touch(pod types.UID, before, after *resourcev1.ResourceClaim) {
	key := keyOf(after)
	x := t.touched[key]
	if x == nil {
		x = &touched{origin: before}
		t.touched[key] = x
	}
	x.steps = append(x.steps, step{pod, before, after})
	t.assumed[pod] = append(t.assumed[pod], key)
}

// restore takes back the last steps of Assume.
func (t *Tracker) restore(s *cluster.Snapshot, claims []*resourcev1.ResourceClaim, pod types.UID) (err error) {
	for k := len(claims) - 1; k >= 0; k-- {
		err = errors.Join(err, t.back(s, keyOf(claims[k]), pod))
	}
	return err
}

// Forget takes back what Assume wrote for a pod. A claim that nobody has changed since is as before. Of another claim only the
// pod's reservation goes; with the last reservation goes the allocation too, if Assume made it. A pod that Assume does not know,
// and a nil pod, change nothing.
func (t *Tracker) Forget(s *cluster.Snapshot, pod *v1.Pod) error {
	if pod == nil {
		return nil
	}
	t.follow()
	var err error
	id := podinfo.UID(pod)
	for _, key := range slices.Backward(t.assumed[id]) {
		err = errors.Join(err, t.back(s, key, id))
	}
	delete(t.assumed, id)
	return err
}

// back takes back the step of one pod at one claim.
func (t *Tracker) back(s *cluster.Snapshot, key types.NamespacedName, pod types.UID) error {
	x := t.touched[key]
	if x == nil {
		return nil
	}
	at := slices.IndexFunc(x.steps, func(y step) bool { return y.pod == pod })
	if at < 0 {
		return nil
	}
	mine := x.steps[at]
	x.steps = slices.Delete(x.steps, at, at+1)
	if len(x.steps) == 0 {
		delete(t.touched, key)
	}
	before := mine.before
	if before == mine.after { // the pod used what another member has allocated
		before = x.origin
	}
	now := t.ResourceClaim(key.Namespace, key.Name)
	switch {
	case now == nil:
		return nil
	case now == mine.after && slices.ContainsFunc(x.steps, func(y step) bool { return y.after == now }): // another member uses what the group has
		return nil
	case now == mine.after && before == nil:
		return s.Remove(now)
	case now == mine.after:
		return s.Set(before)
	}
	left := devices.Unreserved(now, pod)
	if len(x.steps) == 0 { // the last member: the reservation of the group goes
		left.Status.ReservedFor = slices.DeleteFunc(left.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool {
			return r.Resource != "pods" && !(x.origin != nil && slices.Contains(x.origin.Status.ReservedFor, r))
		})
	}
	switch {
	case len(left.Status.ReservedFor) > 0:
	case x.origin == nil:
		return s.Remove(now)
	case x.origin.Status.Allocation == nil:
		left = devices.Deallocated(left)
	}
	return s.Set(left)
}

// untouch forgets the steps at a claim that has no allocation any more, such as after a Rollback.
func (t *Tracker) untouch(key types.NamespacedName) {
	x := t.touched[key]
	if x == nil {
		return
	}
	delete(t.touched, key)
	for _, y := range x.steps {
		if t.assumed[y.pod] = slices.DeleteFunc(t.assumed[y.pod], func(k types.NamespacedName) bool { return k == key }); len(t.assumed[y.pod]) == 0 {
			delete(t.assumed, y.pod)
		}
	}
}

// untouchMissing is untouch for every claim that has no allocation now.
func (t *Tracker) untouchMissing() {
	for key := range t.touched {
		if c := t.ResourceClaim(key.Namespace, key.Name); c == nil || c.Status.Allocation == nil {
			t.untouch(key)
		}
	}
}
