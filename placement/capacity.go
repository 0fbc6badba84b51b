package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
)

// Room says how many more pods of one kind fit: one for each of Nodes.
type Room struct {
	// Nodes are the nodes that the copies took, in the order of the copies. A node that took several is there as often.
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
// A copy has the pod's name with a number. All copies use the same claims; each copy has generic ephemeral volumes of its
// own. The nomination of the pod does not count. The errors are those of Assume; the Room is empty then. One decision a copy.
func (p *Placer) HowMany(pod *v1.Pod, more func(placed int) bool) (Room, error) {
	s := p.snapshot
	defer s.Rollback(s.Mark())
	var room Room
	for more == nil || more(len(room.Nodes)) {
		c := copyOf(s, pod, len(room.Nodes)+1)
		for _, claim := range podinfo.EphemeralClaims(c) {
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
		room.Nodes = append(room.Nodes, d.Node)
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
