package lint

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// allPlaced reports that the pods of a workload all get nodes alone, as far as that is known without a trial: they do beside the pods of the
// other manifests, and nothing that other pods do helps them. Pods of one template without rules about pods fill whatever room
// there is, and those of a DaemonSet have a node each.
func (c *checker) allPlaced(w *work) bool {
	if c.alone || c.snap == nil || len(c.works) < 2 || len(c.in.Cluster.DeviceClasses) > 0 {
		return false
	}
	t := c.asked(w)
	if t.made == nil || t.refuse != nil || len(t.made.Claims)+len(t.made.ResourceClaims)+len(w.pod.Spec.Volumes)+len(w.pod.Spec.ResourceClaims) > 0 || len(requiredWith(w.pod))+len(requiredApart(w.pod)) > 0 {
		return false
	}
	plain := true
	hard(w, func(int, v1.TopologySpreadConstraint) { plain = false })
	_, short := c.together()[w]
	return plain && !short
}

// together places the pods of all manifests on one cluster. Pods of higher priority come first. Pods without a node are tried again as long
// as another pod gets one. It returns the manifests that have pods without a node, each with the number of its pods that have one.
func (c *checker) together() map[*work]int {
	if c.beside != nil {
		return c.beside
	}
	c.beside = map[*work]int{}
	if c.snap == nil || len(c.works) < 2 {
		return c.beside
	}
	s := c.snap.Fork()
	placer := must.Get(placement.NewPlacer(s, c.profile()))
	type waiting struct {
		w   *work
		pod *v1.Pod
	}
	var queue []waiting
	for _, w := range c.works {
		t := c.asked(w)
		if w.waits() != "" || t.made == nil {
			continue
		}
		for _, claim := range t.made.Claims {
			must.Do(s.Set(c.withClass(claim)))
		}
		for _, claim := range t.made.ResourceClaims {
			must.Do(s.Set(claim))
		}
		for _, p := range t.pods {
			queue = append(queue, waiting{w, p})
		}
	}
	slices.SortStableFunc(queue, func(a, b waiting) int { return int(podinfo.Priority(b.pod)) - int(podinfo.Priority(a.pod)) })
	got := map[*work]int{}
	for progress := true; progress; { // a pod may wait for a pod that comes later
		var left []waiting
		progress = false
		c.beside = map[*work]int{}
		for _, q := range queue {
			d := placement.Decision{Slot: -1}
			if _, full := c.beside[q.w]; !full {
				d = placer.Decide(q.pod, placement.Options{})
			}
			if !d.Placed() {
				c.beside[q.w] = got[q.w]
				left = append(left, q)
				continue
			}
			must.Do(placer.Assume(q.pod, d))
			got[q.w]++
			progress = true
		}
		queue = left
	}
	return c.beside
}
