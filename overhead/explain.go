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
	// PodLevel: spec.resources names the resource and replaces what containers ask for.
	PodLevel
)

// String returns "none", "running", "starting" or "pod level".
func (p Phase) String() string {
	if p < None || p > PodLevel {
		return "unknown"
	}
	return [...]string{"none", "running", "starting", "pod level"}[p]
}

// Part is the request of one resource with its parts. Total is the amount of Phase plus Overhead.
type Part struct {
	Name     v1.ResourceName
	Running  resource.Quantity // containers and sidecars
	Starting resource.Quantity // largest need while an init container runs
	Step     string            // name of that init container, the first one with this need; "" without init containers
	PodLevel resource.Quantity // amount of spec.resources; zero unless Phase is PodLevel
	Overhead resource.Quantity
	Total    resource.Quantity
	Phase    Phase
}

// Explain returns the parts of Requests(pod, o): cpu, memory and ephemeral-storage first, then by name. Phase prefers
// Running to Starting where both need the same.
// A nil pod has no parts.
func Explain(pod *v1.Pod, o Options) []Part {
	if pod == nil {
		return nil
	}
	w := walk{}
	for i := range pod.Spec.Containers {
		w.container(effectiveRequests(pod, &pod.Spec.Containers[i], false, o))
	}
	steps := map[v1.ResourceName]string{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		before := clone(w.peak)
		w.step(c, effectiveRequests(pod, c, !IsSidecar(c), o))
		for name, q := range w.peak {
			if old, ok := before[name]; !ok || q.Cmp(old) > 0 {
				steps[name] = c.Name
			}
		}
	}
	running, starting := clone(w.sum), w.peak
	total := Requests(pod, o)
	parts := make([]Part, 0, len(total))
	for _, name := range sortedNames(total) {
		p := Part{Name: name, Running: running[name], Starting: starting[name], Step: steps[name], Total: total[name]}
		if !o.IgnoreOverhead {
			p.Overhead = pod.Spec.Overhead[name].DeepCopy()
		}
		_, runs := running[name]
		_, starts := starting[name]
		switch {
		case !o.IgnorePodLevel && podLevelRequests(pod) && PodLevelSupported(name) && hasName(pod.Spec.Resources.Requests, name):
			p.Phase = PodLevel
			p.PodLevel = podLevelRequest(pod, name, pod.Spec.Resources.Requests[name], o)
		case starts && (!runs || p.Starting.Cmp(p.Running) > 0):
			p.Phase = Starting
		case runs:
			p.Phase = Running
		}
		parts = append(parts, p)
	}
	return parts
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
