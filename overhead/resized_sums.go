package overhead

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// This file is resizedRequests in integers.

// resized sets the totals to the largest of the sums of resizedRequests, without overhead.
func (s *sums) resized(pod *v1.Pod, o Options) bool {
	of, whole := summed(pod, o)
	for _, list := range whole {
		if !s.put(list, false) {
			return false
		}
	}
	s.stepsRaiseTotals()
	infeasible := podinfo.ResizeInfeasible(pod)
	for _, x := range of {
		one := sums{schema: s.schema, basic: s.basic, absent: s.absent, defaults: s.defaults}
		if !one.containers(pod, x, infeasible) || !s.raiseTo(&one) {
			return false
		}
	}
	if o.IgnorePodLevel || !podLevelRequests(pod) {
		return true
	}
	if status := o.usePodStatus(pod); !status || !infeasible {
		if !s.put(pod.Spec.Resources.Requests, true) {
			return false
		}
		if !status {
			s.stepsReplaceTotals()
			return true
		}
	}
	if !s.put(pod.Status.Resources.Requests, true) || !s.put(pod.Status.AllocatedResources, true) {
		return false
	}
	s.stepsReplaceTotals()
	return true
}

// containers sets the totals to one sum over the containers.
func (s *sums) containers(pod *v1.Pod, of amounts, infeasible bool) bool {
	load := func(c *v1.Container) bool {
		return s.put(of.list(c, statusOf(pod, c.Name), infeasible), false) && s.fill()
	}
	for i := range pod.Spec.Containers {
		if !load(&pod.Spec.Containers[i]) || !s.run(false) {
			return false
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if !load(c) {
			return false
		}
		if sidecar := IsSidecar(c); sidecar && !s.run(true) || !sidecar && !s.start() {
			return false
		}
	}
	s.raisePeaks()
	return true
}

// raiseTo raises the totals to those of another sum.
func (s *sums) raiseTo(o *sums) bool {
	for i := range o.n {
		from := &o.at[i]
		if !from.in(hasTotal) {
			continue
		}
		a := s.find(from.name)
		if a == nil {
			return false
		}
		a.raise(&a.total, hasTotal, from.total)
	}
	return true
}

// stepsRaiseTotals raises the totals to the steps, which end.
func (s *sums) stepsRaiseTotals() {
	for i := range s.n {
		if a := &s.at[i]; a.in(hasStep) {
			a.raise(&a.total, hasTotal, a.step)
			a.has &^= hasStep
		}
	}
}

// stepsReplaceTotals replaces the totals by the steps, which end.
func (s *sums) stepsReplaceTotals() {
	for i := range s.n {
		if a := &s.at[i]; a.in(hasStep) {
			a.total = a.step
			a.has = a.has&^hasStep | hasTotal
		}
	}
}
