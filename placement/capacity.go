package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/copies"
	"github.com/podberth/podberth/internal/must"
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
		c := copies.Of(s, pod, len(room.Nodes)+1, nil)
		must.Do(copies.SetClaims(s, c))
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
