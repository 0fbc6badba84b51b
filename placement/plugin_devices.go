package placement

import (
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/plugins"
	"github.com/podberth/podberth/queue"
)

// newDynamicResources returns the filter and score of that name. A node is allowed when it has devices for the pod's claims.
// Decision.Devices is what the claims get. It skips a pod without spec.resourceClaims and without an extended resource that a
// device class provides. The zero Options are v1.36's without a compiler of selectors.
func newDynamicResources(o tracker.Options) *Plugin { return devicesOver(o, nil) }

// devicesOver returns the plugin over a tracker; nil: over the cluster of each question.
func devicesOver(o tracker.Options, t *tracker.Tracker) *Plugin {
	x := &dynamicResources{options: o, tracker: t}
	if t != nil {
		x.shared = t.Filter(o)
	}
	return &Plugin{
		Name: plugins.DynamicResources, Args: o,
		Group: GroupAbsent, AppendKey: devices.AppendKey, Skips: x.skips,
		Over:   func(p Profile) *Plugin { return devicesOver(o, p.Devices) },
		Hint:   devicesHint,
		Filter: x.filter, Score: x.score,
	}
}

// dynamicResources is the plugin over a tracker.
type dynamicResources struct {
	options tracker.Options
	tracker *tracker.Tracker // nil: none is shared
	shared  *tracker.Filter  // over the tracker

	latest *v1.Pod // the pod of the latest answer, so that filter and score of an attempt search once
	at     uint64  // the tracker's version then
	pod    *devices.Pod
	state  *devices.State
}

func (x *dynamicResources) skips(pod *v1.Pod) bool {
	if x.shared == nil {
		return len(pod.Spec.ResourceClaims) == 0
	}
	return x.shared.Skips(pod)
}

// ask looks up the claims of a pod. The state is nil when the pod is skipped or rejected.
func (x *dynamicResources) ask(pod *v1.Pod, c Cluster, again bool) (*devices.Pod, *devices.State) {
	if again && x.latest == pod && x.tracker != nil && x.at == x.tracker.Version() {
		return x.pod, x.state
	}
	f := x.shared
	if f == nil {
		f = newDevices(c).Filter(x.options)
	}
	compiled := f.Compile(pod)
	var state *devices.State
	if compiled.Code() == filter.Success {
		state = f.On(compiled)
	}
	x.latest, x.pod, x.state = pod, compiled, state
	if x.tracker != nil {
		x.at = x.tracker.Version()
	}
	return compiled, state
}

func (x *dynamicResources) filter(pod *v1.Pod, c Cluster) Filtering {
	if x.shared != nil && x.shared.Skips(pod) {
		return Filtering{Code: filter.Skip}
	}
	compiled, state := x.ask(pod, c, false)
	switch code := compiled.Code(); code {
	case filter.Success:
		return Filtering{Predicate: state}
	case filter.Skip:
		return Filtering{Code: code}
	default:
		return Filtering{Code: code, Reasons: []string{compiled.Reason()}}
	}
}

func (x *dynamicResources) score(pod *v1.Pod, c Cluster) (Scorer, error) {
	if x.shared != nil && x.shared.Skips(pod) {
		return nil, nil
	}
	if _, state := x.ask(pod, c, true); state != nil {
		return state, nil
	}
	return nil, nil
}

// devicesHint returns the hint for events of claims and of the pod itself. Every other event may help.
func devicesHint(known affinity.Namespaces) queue.Hint {
	objects := deviceObjectsOf(known)
	claim, own := devices.ClaimHint(objects), devices.PodHint(objects)
	return func(pod *v1.Pod, old, new any) (bool, error) {
		for _, object := range [...]any{old, new} {
			switch object.(type) {
			case *v1.Pod:
				return own(pod, old, new)
			case *resourcev1.ResourceClaim:
				return claim(pod, old, new)
			}
		}
		return true, nil
	}
}
