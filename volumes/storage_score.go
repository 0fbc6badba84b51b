package volumes

import (
	"math"

	v1 "k8s.io/api/core/v1"
)

// storage is what the claims of one class take, and what they take it from.
type storage struct {
	class               string
	requested, capacity int64
}

func (s *bindingState) Raw(i int) int64 {
	node := s.cluster.Node(i)
	if node == nil || s.binding.checkBound(node) != 0 {
		return 0
	}
	var buf [8]choice
	_, choices := s.binding.checkDelayed(node, buf[:0]) // none when the node is rejected
	return freeShare(byClass(choices))
}

// byClass adds up the claims of each class. When a claim takes a volume that exists, only such claims count. Otherwise claims
// count whose provisioner publishes its capacity; of several capacities of a class the last one counts.
func byClass(choices []choice) (out []storage) {
	static := false
	for _, c := range choices {
		static = static || c.volume != nil
	}
	at := func(class string) *storage {
		for k := range out {
			if out[k].class == class {
				return &out[k]
			}
		}
		out = append(out, storage{class: class})
		return &out[len(out)-1]
	}
	for _, c := range choices {
		switch {
		case static && c.volume != nil:
			x := at(c.claim.class.Name)
			size := c.volume.volume.Spec.Capacity[v1.ResourceStorage]
			x.requested, x.capacity = x.requested+c.claim.request.Value(), x.capacity+size.Value()
		case !static && c.capacity != nil:
			x := at(c.claim.class.Name)
			x.requested += c.claim.request.Value()
			x.capacity = 0
			if q := c.capacity.object.Capacity; q != nil {
				x.capacity = q.Value()
			}
		}
	}
	return out
}

// freeShare returns the mean share that stays free, in percent: 100 for an empty class, 0 for a full one.
func freeShare(classes []storage) int64 {
	if len(classes) == 0 {
		return 0
	}
	var sum int64
	for _, c := range classes {
		if c.capacity > 0 && c.requested <= c.capacity {
			sum += 100 - c.requested*100/c.capacity
		}
	}
	return int64(math.Round(float64(sum) / float64(len(classes))))
}
