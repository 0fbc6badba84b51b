package lint

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
)

// conflictOf places the replicas that do not run yet, one after the other, and returns the number of the first replica that has no
// node although each DoNotSchedule constraint alone would leave one, with the topology keys; 0 when there is none.
func (c *checker) conflictOf(w *work) (at int, keys []string) {
	t := c.try(w, true)
	if t.failed == nil || t.placer == nil {
		return 0, nil
	}
	placer, p := t.placer, t.failed
	var hardOnes []int
	for i, t := range p.Spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == v1.DoNotSchedule {
			hardOnes, keys = append(hardOnes, i), append(keys, t.TopologyKey)
		}
	}
	for _, keep := range hardOnes {
		one := p.DeepCopy()
		for _, i := range hardOnes {
			if i != keep {
				one.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable, one.Spec.TopologySpreadConstraints[i].MinDomains = v1.ScheduleAnyway, nil
			}
		}
		if !placer.Decide(one, placement.Options{}).Placed() {
			return 0, nil
		}
	}
	return w.replicas - t.want + len(t.nodes) + 1, keys
}
