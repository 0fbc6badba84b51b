package devices

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
)

// leave lets a bound pod end at times: its reservations go, claims made for the pod are deleted, others are deallocated or
// kept.
func (q *sequence) leave() {
	if len(q.bound) == 0 || !q.g.chance(45) {
		return
	}
	at := q.g.IntN(len(q.bound))
	pod := q.bound[at]
	q.bound = slices.Delete(q.bound, at, at+1)
	q.note("pod %s leaves", pod.Name)
	q.names["a pod leaves"] = true
	for _, name := range sorted(namesOf(q.claims)) {
		c := q.claims[name]
		if !slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID }) {
			continue
		}
		c = devices.Unreserved(c, pod.UID)
		switch {
		case len(c.OwnerReferences) > 0:
			c.Finalizers = nil
			q.user(c)
			q.drop(name)
			q.names["a claim is deleted"] = true
			continue
		case len(c.Status.ReservedFor) == 0 && q.g.chance(60):
			c = devices.Deallocated(c)
			c.Finalizers = nil
			q.names["a claim is deallocated"] = true
		}
		q.user(c)
	}
	q.sync()
}

// plainClaim asks for one device.
func (g *generator) plainClaim() resourcev1.ResourceClaimSpec {
	r := &resourcev1.ExactDeviceRequest{DeviceClassName: "c", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1, Tolerations: g.tolerations()}
	if g.chance(50) {
		r.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"mem": resource.MustParse(pick(g, "500Mi", "1Gi", "2Gi"))}}
	}
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r0", Exactly: r}}}}
}

func namesOf(claims map[string]*resourcev1.ResourceClaim) map[string]bool {
	out := map[string]bool{}
	for name := range claims {
		out[name] = true
	}
	return out
}

// newPod makes a pod with claims of its own, claims that exist, and extended resources.
func (q *sequence) newPod(n int) *v1.Pod {
	g, w := q.g, q.w
	name := fmt.Sprintf("p%d", n)
	w.pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	w.asks = g.chance(30)
	for k := range pick(g, 0, 1, 1, 1, 2) {
		if g.defect = ""; g.chance(10) {
			g.defect = pick(g, defects...)
		}
		c := g.claim(fmt.Sprintf("%s-k%d", name, k))
		if g.chance(60) {
			c.Spec = g.plainClaim()
		}
		g.use(w, c)
		if k == 0 && g.chance(12) {
			q.outOfReach(c)
		}
		if g.chance(96) {
			q.user(c)
		}
	}
	free := sorted(namesOf(q.claims))
	free = slices.DeleteFunc(free, func(name string) bool {
		return strings.HasPrefix(name, "running") || len(q.claims[name].OwnerReferences) > 0
	})
	if len(free) > 0 && g.chance(35) {
		c := q.claims[pick(g, free...)]
		if !slices.ContainsFunc(w.pod.Spec.ResourceClaims, func(e v1.PodResourceClaim) bool { return e.Name == "use-"+c.Name }) {
			w.pod.Spec.ResourceClaims = append(w.pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: "use-" + c.Name, ResourceClaimName: ptr(c.Name)})
			q.names["a claim is shared"] = true
		}
	}
	g.containers(w)
	if w.asks && g.chance(15) { // the claim of a former attempt
		c := g.leftOver(w)
		c.Finalizers = []string{resourcev1.Finalizer}
		q.user(c)
	}
	q.sync()
	q.podHints(w.pod)
	return w.pod
}

// outOfReach allocates a claim where no node can use the devices.
func (q *sequence) outOfReach(c *resourcev1.ResourceClaim) {
	gone := v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"gone"}}}}
	c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{gone}},
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r0", Driver: "drv", Pool: "elsewhere", Device: c.Name}}}}
	c.Finalizers = []string{resourcev1.Finalizer}
	user := pick(q.g, "", q.w.pod.Name, "another")
	kind := map[string]string{"": "free", q.w.pod.Name: "of this pod", "another": "of another pod"}[user]
	q.names["a claim that no node can use: "+kind] = true
	if user != "" {
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: user, UID: types.UID(user)}}
	}
}
