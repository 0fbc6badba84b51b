package volumes

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/score"
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
	return shareScore(byClass(choices), shapeOf(s.binding.options))
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

// shareScore returns the mean score of the shares in use. A class whose storage is too small counts as full.
func shareScore(classes []storage, at func(utilization int64) int64) int64 {
	if len(classes) == 0 {
		return 0
	}
	var sum int64
	for _, c := range classes {
		used := int64(100)
		if c.capacity > 0 && c.requested <= c.capacity {
			used = c.requested * 100 / c.capacity
		}
		sum += at(used)
	}
	return int64(math.Round(float64(sum) / float64(len(classes))))
}

// shapeOf returns the function of the options' shape.
func shapeOf(o Options) func(utilization int64) int64 {
	if len(o.Shape) == 0 {
		return func(utilization int64) int64 { return 100 - utilization }
	}
	return score.ShapeAt(o.Shape)
}
