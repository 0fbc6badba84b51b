package overhead

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Phase is what sets a pod's request of a resource, before overhead.
type Phase int

// The phases of a pod and the level that overrides them.
const (
	// None: only the overhead names the resource.
	None Phase = iota
	// Running: the containers together with the sidecars need most.
	Running
	// Starting: an init container together with the sidecars declared before it needs more than Running.
	Starting
	// PodLevel: spec.resources names the resource and replaces what containers ask for; in v1.37 the status of the pod as a whole may
	// do so, too.
	PodLevel
)

// String returns "none", "running", "starting" or "pod level".
func (p Phase) String() string {
	if p < None || p > PodLevel {
		return "unknown"
	}
	return [...]string{"none", "running", "starting", "pod level"}[p]
}

// Part is the request of one resource with its parts. Total is the amount of [Phase] plus Overhead.
type Part struct {
	Name     v1.ResourceName
	Running  resource.Quantity // containers and sidecars
	Starting resource.Quantity // largest need while an init container runs
	Step     string            // name of that init container, the first one with this need; "" without init containers
	PodLevel resource.Quantity // amount of the pod as a whole; zero unless Phase is PodLevel
	Overhead resource.Quantity
	Total    resource.Quantity
	Phase    Phase
}

// Explain returns the parts of Requests(pod, o): cpu, memory and ephemeral-storage first, then by name. Phase prefers
// [Running] to [Starting] where both need the same.
// A nil pod has no parts.
func Explain(pod *v1.Pod, o Options) []Part {
	if pod == nil {
		return nil
	}
	sources, whole := []source{sourceOf(pod, o, effectiveRequests)}, [2]v1.ResourceList{}
	level := func(name v1.ResourceName) (resource.Quantity, bool) {
		if o.IgnorePodLevel || !podLevelRequests(pod) || !PodLevelSupported(name) || !hasName(pod.Spec.Resources.Requests, name) {
			return resource.Quantity{}, false
		}
		return podLevelRequest(pod, name, pod.Spec.Resources.Requests[name], o), true
	}
	if o.UseStatus && sumsFirst(o.Release) {
		var of []amounts
		of, whole = summed(pod, o)
		sources = nil
		for _, x := range of {
			sources = append(sources, sourceOf(pod, o, x.effective))
		}
		held := podLevelHeld(pod, o)
		level = func(name v1.ResourceName) (resource.Quantity, bool) { return held[name], hasName(held, name) }
	}
	total := Requests(pod, o)
	parts := make([]Part, 0, len(total))
	for _, name := range sortedNames(total) {
		p := Part{Name: name}
		for _, s := range sources { // the first with the largest amount
			if next := s.part(name); next.Phase != None && (p.Phase == None || larger(next.base(), p.base())) {
				p = next
			}
		}
		for _, list := range whole {
			if q, ok := list[name]; ok && (p.Phase == None || larger(q, p.base())) {
				p.Phase, p.PodLevel = PodLevel, q.DeepCopy()
			}
		}
		if q, ok := level(name); ok {
			p.Phase, p.PodLevel = PodLevel, q.DeepCopy()
		}
		p.Total = total[name]
		if !o.IgnoreOverhead {
			p.Overhead = pod.Spec.Overhead[name].DeepCopy()
		}
		parts = append(parts, p)
	}
	return parts
}

// source is what a walk over the containers finds.
type source struct {
	running, starting v1.ResourceList
	steps             map[v1.ResourceName]string
}

func sourceOf(pod *v1.Pod, o Options, effective func(pod *v1.Pod, c *v1.Container, plainInit bool, o Options) v1.ResourceList) source {
	w, steps := walk{}, map[v1.ResourceName]string{}
	for i := range pod.Spec.Containers {
		w.container(effective(pod, &pod.Spec.Containers[i], false, o))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		before := clone(w.peak)
		w.step(c, effective(pod, c, !IsSidecar(c), o))
		for name, q := range w.peak {
			if old, ok := before[name]; !ok || q.Cmp(old) > 0 {
				steps[name] = c.Name
			}
		}
	}
	return source{w.sum, w.peak, steps}
}

// part returns the part of a resource, without what the pod as a whole says and without overhead.
func (s source) part(name v1.ResourceName) Part {
	p := Part{Name: name, Running: s.running[name].DeepCopy(), Starting: s.starting[name].DeepCopy(), Step: s.steps[name]}
	switch runs, starts := hasName(s.running, name), hasName(s.starting, name); {
	case starts && (!runs || p.Starting.Cmp(p.Running) > 0):
		p.Phase = Starting
	case runs:
		p.Phase = Running
	}
	return p
}

func larger(a, b resource.Quantity) bool { return a.Cmp(b) > 0 }

// base returns the amount of the phase.
func (p Part) base() resource.Quantity {
	switch p.Phase {
	case Running:
		return p.Running
	case Starting:
		return p.Starting
	case PodLevel:
		return p.PodLevel
	}
	return resource.Quantity{}
}

// String returns one line such as
//
//	memory 3G: init container ic2 needs 3G, the containers 2G
//	cpu 2250m: the containers 2 + overhead 250m
func (p Part) String() string {
	var b strings.Builder
	b.WriteString(string(p.Name) + " " + p.Total.String() + ":")
	switch p.Phase {
	case Running:
		b.WriteString(" the containers " + p.Running.String())
	case Starting:
		b.WriteString(" init container " + p.Step + " needs " + p.Starting.String())
		if !p.Running.IsZero() {
			b.WriteString(", the containers " + p.Running.String())
		}
	case PodLevel:
		b.WriteString(" the pod as a whole " + p.PodLevel.String())
	}
	if !p.Overhead.IsZero() {
		if p.Phase != None {
			b.WriteString(" +")
		}
		b.WriteString(" overhead " + p.Overhead.String())
	}
	return b.String()
}

func hasName(list v1.ResourceList, name v1.ResourceName) bool {
	_, ok := list[name]
	return ok
}
