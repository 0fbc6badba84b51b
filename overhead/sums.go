package overhead

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/plainpod"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/resources"
)

// sums computes Requests in integers, for counted names only and without allocation. The method pod returns false where
// integers would not be exact: for an amount that is not whole, for an overflow, and for more names than sums has room for.
// The caller then uses Requests.
type sums struct {
	schema    *resources.Schema // nil without
	basic     bool              // cpu and memory only
	n, absent int
	at        [8]amount
	defaults  [4]struct {
		name  v1.ResourceName
		value int64
	}
}

type amount struct {
	name  v1.ResourceName
	total int64 // of containers and sidecars; in the end of the pod
	side  int64 // of the sidecars so far, zero without
	peak  int64 // largest need while starting
	step  int64 // of the container at hand
	has   uint8 // which of total, peak and step exist: an absent amount is not zero, because amounts may be negative
}

const (
	hasTotal uint8 = 1 << iota
	hasPeak
	hasStep
)

func (a *amount) in(bit uint8) bool { return a.has&bit != 0 }

// raise raises an amount, which exists when a has the bit, to v.
func (a *amount) raise(to *int64, bit uint8, v int64) {
	if a.in(bit) {
		v = max(v, *to)
	}
	*to = v
	a.has |= bit
}

// miss sets the value for containers that do not name the resource.
func (s *sums) miss(name v1.ResourceName, value int64) bool {
	if s.absent == len(s.defaults) {
		return false
	}
	s.defaults[s.absent].name, s.defaults[s.absent].value = name, value
	s.absent++
	return true
}

func (s *sums) pod(pod *v1.Pod, o Options) bool {
	if pod == nil {
		return true
	}
	if o.UseStatus && sumsFirst(o.Release) {
		if podinfo.Resized(pod) {
			return s.missing(o) && s.resized(pod, o) && s.overhead(pod, o)
		}
		o.UseStatus = false
	}
	if !s.missing(o) {
		return false
	}
	infeasible := o.UseStatus && podinfo.ResizeInfeasible(pod)
	for i := range pod.Spec.Containers {
		if !s.load(pod, &pod.Spec.Containers[i], o.UseStatus, infeasible) || !s.run(false) {
			return false
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		sidecar := IsSidecar(c)
		if !s.load(pod, c, o.UseStatus && sidecar, infeasible) {
			return false
		}
		if sidecar && !s.run(true) || !sidecar && !s.start() {
			return false
		}
	}
	s.raisePeaks()
	if !o.IgnorePodLevel && podLevelRequests(pod) && !s.podLevel(pod, o.usePodStatus(pod), infeasible) {
		return false
	}
	return s.overhead(pod, o)
}

// missing takes Options.Missing.
func (s *sums) missing(o Options) bool {
	for name, q := range o.Missing {
		if !s.wants(name) {
			continue
		}
		if v, ok := plainpod.Whole(name, &q); !ok || !s.miss(name, v) {
			return false
		}
	}
	return true
}

// overhead adds spec.overhead to the totals.
func (s *sums) overhead(pod *v1.Pod, o Options) bool {
	return o.IgnoreOverhead || s.put(pod.Spec.Overhead, false) && s.addSteps()
}

// load sets the step to the container's effective requests.
func (s *sums) load(pod *v1.Pod, c *v1.Container, useStatus, infeasible bool) bool {
	var status *v1.ContainerStatus
	if useStatus {
		status = statusOf(pod, c.Name)
	}
	if status == nil || status.Resources == nil {
		return s.put(c.Resources.Requests, false) && s.fill()
	}
	return (infeasible || s.put(c.Resources.Requests, false)) &&
		s.put(status.Resources.Requests, false) && s.put(status.AllocatedResources, false) && s.fill()
}

// fill sets the step of the resources that the container at hand does not name and that have a value of miss.
func (s *sums) fill() bool {
	ok := true
	for i := 0; ok && i < s.absent; i++ {
		a := s.find(s.defaults[i].name)
		if ok = a != nil; ok && !a.in(hasStep) {
			a.step = s.defaults[i].value
			a.has |= hasStep
		}
	}
	return ok
}

// put raises the step to list. With supported set it reads only the names that spec.resources may have.
func (s *sums) put(list v1.ResourceList, supported bool) bool {
	if len(list) == 0 {
		return true
	}
	seen := 0
	for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} { // this is the common case
		if q, ok := list[name]; ok {
			seen++
			if !s.raise(name, &q) {
				return false
			}
		}
	}
	if seen == len(list) || s.basic {
		return true
	}
	for name, q := range list {
		if name == v1.ResourceCPU || name == v1.ResourceMemory || supported && !PodLevelSupported(name) {
			continue
		}
		if !s.raise(name, &q) {
			return false
		}
	}
	return true
}

func (s *sums) raise(name v1.ResourceName, q *resource.Quantity) bool {
	a := s.known(name)
	if a == nil {
		if !s.wants(name) {
			return true
		}
		if a = s.find(name); a == nil {
			return false
		}
	}
	v, ok := plainpod.Whole(name, q)
	a.raise(&a.step, hasStep, v)
	return ok
}

func (s *sums) wants(name v1.ResourceName) bool {
	if s.basic {
		return name == v1.ResourceCPU || name == v1.ResourceMemory
	}
	return counted(name, s.schema)
}

// run ends the step of a container that keeps running.
func (s *sums) run(sidecar bool) bool {
	for i := range s.n {
		a := &s.at[i]
		if !a.in(hasStep) {
			continue
		}
		ok := plainpod.Plus(&a.total, a.step)
		a.has |= hasTotal
		if sidecar {
			ok = ok && plainpod.Plus(&a.side, a.step)
			a.raise(&a.peak, hasPeak, a.side)
		}
		if !ok {
			return false
		}
		a.has &^= hasStep
	}
	return true
}

// start ends the step of an init container that runs to its end.
func (s *sums) start() bool {
	for i := range s.n {
		a := &s.at[i]
		if !a.in(hasStep) {
			continue
		}
		need := a.side
		if !plainpod.Plus(&need, a.step) {
			return false
		}
		a.raise(&a.peak, hasPeak, need)
		a.has &^= hasStep
	}
	return true
}

// raisePeaks raises the totals to the largest needs while starting.
func (s *sums) raisePeaks() {
	for i := range s.n {
		if a := &s.at[i]; a.in(hasPeak) {
			a.raise(&a.total, hasTotal, a.peak)
		}
	}
}

// podLevel replaces totals with the amounts of spec.resources.
func (s *sums) podLevel(pod *v1.Pod, useStatus, infeasible bool) bool {
	if !s.put(pod.Spec.Resources.Requests, true) {
		return false
	}
	var named [len(s.at)]bool
	for i := range s.n {
		a := &s.at[i]
		if named[i] = a.in(hasStep); useStatus && infeasible {
			a.has &^= hasStep // the desired amount does not count
		}
	}
	if useStatus && (!s.put(pod.Status.Resources.Requests, true) || !s.put(pod.Status.AllocatedResources, true)) {
		return false
	}
	for i := range s.n {
		a := &s.at[i]
		if named[i] {
			if !a.in(hasStep) {
				a.step = 0
			}
			a.total = a.step
			a.has |= hasTotal
		}
		a.has &^= hasStep
	}
	return true
}

func (s *sums) addSteps() bool {
	for i := range s.n {
		a := &s.at[i]
		if !a.in(hasStep) {
			continue
		}
		if !a.in(hasTotal) {
			a.total = 0
		}
		if !plainpod.Plus(&a.total, a.step) {
			return false
		}
		a.has = a.has&^hasStep | hasTotal
	}
	return true
}

// known returns the entry of name, nil without.
func (s *sums) known(name v1.ResourceName) *amount {
	for i := range s.n {
		if s.at[i].name == name {
			return &s.at[i]
		}
	}
	return nil
}

// find returns the entry of name. It makes the entry when there is none, and returns nil when there is no room.
func (s *sums) find(name v1.ResourceName) *amount {
	if a := s.known(name); a != nil {
		return a
	}
	if s.n == len(s.at) {
		return nil
	}
	a := &s.at[s.n]
	s.n++
	a.name = name
	return a
}

func (s *sums) sort() {
	if s.n > 2 || s.n == 2 && compareNames(s.at[0].name, s.at[1].name) > 0 { // cpu and memory are in order mostly
		slices.SortFunc(s.at[:s.n], func(a, b amount) int { return compareNames(a.name, b.name) })
	}
}
