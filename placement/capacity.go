package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
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

// PlaceAll places the pods one after the other, each seeing those before. Either all have a place: then they are assumed in
// the snapshot, in order, and placed is true; or one has none: then the snapshot is as it was, and the last decision says
// why. Pods need names of their own. The error says that the cluster is no *cluster.Snapshot, or names a pod that is placed
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
			err = s.Assume(pod, d.Slot)
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
// all back. Copies are named after the pod with a number. O(copies) decisions. The error is as for PlaceAll.
func (p *Plan) HowMany(pod *v1.Pod, limit int) (Room, error) {
	s, err := p.snapshot("HowMany")
	if err != nil {
		return Room{}, err
	}
	defer s.Rollback(s.Mark())
	var room Room
	for limit <= 0 || room.Count < limit {
		c := *pod
		c.Name = fmt.Sprintf("%s-%d", pod.Name, room.Count+1)
		for n := 2; s.Pod(c.Namespace, c.Name) != nil; n++ {
			c.Name = fmt.Sprintf("%s-%d-%d", pod.Name, room.Count+1, n)
		}
		c.UID = types.UID(c.Namespace + "/" + c.Name)
		d := p.Decide(&c, Options{})
		if !d.Placed() {
			room.Stop = d.Failure
			break
		}
		if err := s.Assume(&c, d.Slot); err != nil {
			return Room{}, err
		}
		room.Count, room.Nodes = room.Count+1, append(room.Nodes, d.Node)
	}
	return room, nil
}

// WithNodes returns a plan over a fork of the snapshot that has more nodes: verdicts against nodes that do not exist yet.
// The plan's own cluster stays as it is. The error names a node whose name is taken, or says that the cluster is no
// *cluster.Snapshot.
func (p *Plan) WithNodes(nodes ...*v1.Node) (*Plan, error) {
	s, err := p.snapshot("WithNodes")
	if err != nil {
		return nil, err
	}
	fork := s.Fork()
	for _, n := range nodes {
		if _, err := fork.AddNode(n); err != nil {
			return nil, err
		}
	}
	return New(fork, p.profile)
}
