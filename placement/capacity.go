package placement

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
)

// snapshot returns the cluster of questions that need to try placements, and an error for a cluster that cannot be tried on.
func (p *Plan) snapshot(verb string) (*cluster.Snapshot, error) {
	s, ok := p.cluster.(*cluster.Snapshot)
	if !ok {
		return nil, fmt.Errorf("%s: needs a *cluster.Snapshot to try placements on, have %T", verb, p.cluster)
	}
	return s, nil
}

// Assume puts the pod where the decision says, in the snapshot and in the plan's Volumes, so that the next decision sees it.
// An error, after which everything is as before, says that the decision has no node, that the cluster is no
// *cluster.Snapshot, that the pod is placed already, or that its volumes have been promised otherwise.
func (p *Plan) Assume(pod *v1.Pod, d Decision) error {
	s, err := p.snapshot("Assume")
	if err != nil {
		return err
	}
	if !d.Placed() {
		return fmt.Errorf("pod %s/%s: Assume: the decision has no node", pod.Namespace, pod.Name)
	}
	if err := s.Assume(pod, d.Slot); err != nil {
		return err
	}
	if err := p.profile.Volumes.assume(pod, d.Slot, d.Volumes); err != nil {
		return errors.Join(err, s.Unset(pod))
	}
	return nil
}

// Forget takes back what Assume did. The error says that the pod is on no node, or that the cluster is no
// *cluster.Snapshot.
func (p *Plan) Forget(pod *v1.Pod) error {
	s, err := p.snapshot("Forget")
	if err != nil {
		return err
	}
	if err := s.Unset(pod); err != nil {
		return err
	}
	p.profile.Volumes.Unreserve(pod)
	return nil
}

// PlaceAll places the pods one after the other, each seeing those before. Either all have a place: then they are assumed as
// by Assume, in order, and placed is true; or one has none: then everything is as it was, and the last decision says why. Pods need names of their own. The error says that the cluster is no *cluster.Snapshot, or names a pod that is placed
// already.
func (p *Plan) PlaceAll(pods []*v1.Pod, o Options) (decisions []Decision, placed bool, err error) {
	s, err := p.snapshot("PlaceAll")
	if err != nil {
		return nil, false, err
	}
	mark := s.Mark()
	for _, pod := range pods {
		d := p.Decide(pod, o)
		o.Next = d.Next
		decisions = append(decisions, d)
		if d.Placed() {
			err = p.Assume(pod, d)
		}
		if err != nil || !d.Placed() {
			s.Rollback(mark)
			return decisions, false, err
		}
	}
	s.Release(mark)
	return decisions, true, nil
}

// Room says how many more pods of one kind fit.
type Room struct {
	// Count is how many fit. It is the limit when there was one and it was reached; Stop is nil then.
	Count int `json:"count"`
	// Nodes are the nodes in the order in which the pods took them, one for each.
	Nodes []string `json:"nodes"`
	// Stop says why one more does not fit.
	Stop *Failure `json:"stop,omitempty"`
}

// HowMany places copies of the pod until one has no place, or until limit of them have one (0: no limit), and takes them
// all back. Copies are named after the pod with a number; they mount the same claims, and have generic ephemeral volumes of
// their own. O(copies) decisions. The error is as for PlaceAll.
func (p *Plan) HowMany(pod *v1.Pod, limit int) (Room, error) {
	s, err := p.snapshot("HowMany")
	if err != nil {
		return Room{}, err
	}
	defer s.Rollback(s.Mark())
	var room Room
	for limit <= 0 || room.Count < limit {
		c := copyOf(s, pod, room.Count+1)
		for _, claim := range ephemeralClaims(c) {
			if err := s.Set(claim); err != nil {
				return Room{}, err
			}
		}
		d := p.Decide(c, Options{})
		if !d.Placed() {
			room.Stop = d.Failure
			break
		}
		if err := p.Assume(c, d); err != nil {
			return Room{}, err
		}
		room.Count, room.Nodes = room.Count+1, append(room.Nodes, d.Node)
	}
	return room, nil
}

// copyOf returns the pod under a name that no pod of the snapshot has.
func copyOf(s *cluster.Snapshot, pod *v1.Pod, n int) *v1.Pod {
	c := *pod
	c.Name = fmt.Sprintf("%s-%d", pod.Name, n)
	for k := 2; s.Pod(c.Namespace, c.Name) != nil; k++ {
		c.Name = fmt.Sprintf("%s-%d-%d", pod.Name, n, k)
	}
	c.UID = types.UID(c.Namespace + "/" + c.Name)
	c.Status.NominatedNodeName = ""
	return &c
}

// ephemeralClaims returns the claims that the ephemeral volume controller would make for the pod.
func ephemeralClaims(pod *v1.Pod) []*v1.PersistentVolumeClaim {
	var out []*v1.PersistentVolumeClaim
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		controller := true
		claim := &v1.PersistentVolumeClaim{Spec: v.Ephemeral.VolumeClaimTemplate.Spec}
		claim.Namespace, claim.Name = pod.Namespace, pod.Name+"-"+v.Name
		claim.UID = types.UID(claim.Namespace + "/" + claim.Name)
		claim.Annotations = v.Ephemeral.VolumeClaimTemplate.Annotations
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &controller}}
		claim.Status.Phase = v1.ClaimPending
		out = append(out, claim)
	}
	return out
}

// WithNodes returns a plan over a fork of the snapshot that has more nodes: verdicts against nodes that do not exist yet.
// The plan's own cluster stays as it is; what its Volumes
// have reserved is reserved there too. The error names a node whose name is taken, or says that the cluster is no
// *cluster.Snapshot.
func (p *Plan) WithNodes(nodes ...*v1.Node) (*Plan, error) {
	s, err := p.snapshot("WithNodes")
	if err != nil {
		return nil, err
	}
	fork := s.Fork()
	for _, n := range nodes {
		if n != nil && fork.Slot(n.Name) >= 0 {
			return nil, fmt.Errorf("WithNodes: node %q is in the cluster already", n.Name)
		}
		if err := fork.Set(n); err != nil {
			return nil, err
		}
	}
	profile := p.profile
	profile.Volumes = profile.Volumes.fork(fork)
	return New(fork, profile)
}
