package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// Room says how many more pods of one kind fit: one for each of Nodes.
type Room struct {
	// Nodes are the nodes that the copies took, in the order of the copies. A node that took several copies is listed once for each.
	Nodes []string `json:"nodes"`
	// Stop says why the next copy does not fit: the message with the reasons and their numbers of nodes, and the plugins that
	// reject. nil when the caller ended the search.
	Stop *Failure `json:"stop,omitempty"`
}

// HowMany returns how many copies of the pod fit into the cluster, on which nodes, and why the next copy does not fit. It
// places copies one after the other until a copy has no place, and takes all of them back.
//
// more is called before each copy, with the number of copies that have a place; HowMany ends when it returns false. A node
// may allow more pods than anybody can count: a caller that asks about any pod sets a limit with more, or shows progress. nil
// sets no limit.
//
// A copy has the pod's name with a number. All copies use the same claims; each copy has generic ephemeral volumes and
// ResourceClaims from templates of its own. The nomination of the pod does not count. The errors are those of Assume; the [Room] is empty
// then. The cost is one decision for each copy.
func (p *Placer) HowMany(pod *v1.Pod, more func(placed int) bool) (room Room, err error) {
	defer must.Catch(&err)
	return p.howMany(pod, more, func(c *v1.Pod) Decision { return p.Decide(c, Options{}) }), nil
}

func (p *Placer) howMany(pod *v1.Pod, more func(placed int) bool, decide func(c *v1.Pod) Decision) (room Room) {
	s := p.snapshot
	defer s.Rollback(s.Mark())
	for more == nil || more(len(room.Nodes)) {
		c := copyOf(s, pod, len(room.Nodes)+1, nil)
		setClaims(s, c)
		d := decide(c)
		if !d.Placed() {
			room.Stop = d.Failure
			break
		}
		must.Do(p.Assume(c, d))
		room.Nodes = append(room.Nodes, d.Node)
	}
	return room
}

// setClaims makes the claims that the controllers would make for a copy.
func setClaims(s *cluster.Snapshot, c *v1.Pod) {
	for _, claim := range podinfo.EphemeralClaims(c) {
		must.Do(s.Set(claim))
	}
	for _, claim := range templateClaims(s, c) {
		must.Do(s.Set(claim))
	}
}

// copyOf returns the pod under a name that no pod of the snapshot has, and that is not in used.
func copyOf(s *cluster.Snapshot, pod *v1.Pod, n int, used map[string]bool) *v1.Pod {
	c := *pod
	c.Name = fmt.Sprintf("%s-%d", pod.Name, n)
	for k := 2; s.Pod(c.Namespace, c.Name) != nil || used[c.Name]; k++ {
		c.Name = fmt.Sprintf("%s-%d-%d", pod.Name, n, k)
	}
	c.UID = types.UID(c.Namespace + "/" + c.Name)
	c.Status.NominatedNodeName = ""
	return &c
}

// templateClaims returns the claims that the resource claim controller would make for the copy of a pod, and names them in the
// status of the copy. A template that the snapshot does not have is read off the claim that the pod itself has.
func templateClaims(s *cluster.Snapshot, pod *v1.Pod) (out []*resourcev1.ResourceClaim) {
	var status []v1.PodResourceClaimStatus
	own := func(entry string) *v1.PodResourceClaimStatus {
		for k := range pod.Status.ResourceClaimStatuses {
			if x := &pod.Status.ResourceClaimStatuses[k]; x.Name == entry {
				return x
			}
		}
		return nil
	}
	for k := range pod.Spec.ResourceClaims {
		e := &pod.Spec.ResourceClaims[k]
		if e.ResourceClaimTemplateName == nil {
			continue
		}
		old := own(e.Name)
		if old != nil && old.ResourceClaimName == nil { // the entry needs no claim
			status = append(status, *old)
			continue
		}
		template, ok := cluster.List[*resourcev1.ResourceClaimTemplate](s).Get(pod.Namespace, *e.ResourceClaimTemplateName)
		if !ok && old != nil {
			var claim *resourcev1.ResourceClaim
			if claim, ok = cluster.List[*resourcev1.ResourceClaim](s).Get(pod.Namespace, *old.ResourceClaimName); ok {
				template = &resourcev1.ResourceClaimTemplate{Spec: resourcev1.ResourceClaimTemplateSpec{Spec: claim.Spec}}
			}
		}
		if ok {
			claim := devices.ClaimFromTemplate(pod, e.Name, template, "copy")
			out = append(out, claim)
			status = append(status, v1.PodResourceClaimStatus{Name: e.Name, ResourceClaimName: &claim.Name})
		}
	}
	pod.Status.ResourceClaimStatuses = status
	return out
}
