package filter

import (
	"fmt"
	"slices"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	v1 "k8s.io/api/core/v1"
)

// Hint is that of [engine.HintOf].
func (f *fit) Hint(o FitOptions) engine.Hint          { return fitHint(o) }
func (e *ports) Hint(engine.NoOptions) engine.Hint    { return portsWouldHelp }
func (e *nodeRule) Hint(engine.NoOptions) engine.Hint { return e.hint }

// fitHint returns the queueing hint of NodeResourcesFit with these options. The hint reports whether an event could make a
// pod schedulable that the filter rejected. old and new are *v1.Pod, *v1.Node or *engine.DeviceClass; old is nil for an addition,
// and new is nil for a deletion. The hint is true for these events:
//
//   - A pod is deleted that had a node or a nominated node.
//   - This pod is updated (equal UID).
//   - Another pod is updated that has a node, and it now asks for less of a resource that this pod asks for.
//   - A node is added, and the pod fits the empty node.
//   - A node is updated, the pod fits the empty node, and the node allows more pods than before or offers more of a resource
//     that the pod asks for.
//   - A device class is added or updated, and it now provides a resource that the pod names, even with amount 0: its extended
//     resource, or for a new class the resource of its name.
//
// The ignored resources of o have no effect: v1.37 ignores them in the filter and not in its hint. Adding a node does not
// wake a pod that asks for more of an ignored resource than the node has.
//
// An object of another type is an error. A queue treats an error as true.
func fitHint(o FitOptions) engine.Hint {
	return func(pod *v1.Pod, old, new any) (bool, error) {
		if before, after, ok := engine.EventOf[v1.Pod](old, new); ok {
			return podHelps(pod, before, after, o.Release), nil
		}
		if before, after, ok := engine.EventOf[v1.Node](old, new); ok {
			if after == nil || len(Lacks(pod, after, nil, FitOptions{DeviceResources: o.DeviceResources, Release: o.Release})) > 0 {
				return false, nil
			}
			return before == nil || grew(pod, before, after), nil
		}
		if before, after, ok := engine.EventOf[engine.DeviceClass](old, new); ok {
			return devicesServe(o.Release) && after != nil && provides(pod, before, after), nil
		}
		return false, unexpected(old, new, "*v1.Pod, *v1.Node or *DeviceClass")
	}
}

// provides reports whether a class that was added or updated now provides a resource that the pod names.
func provides(pod *v1.Pod, before, after *engine.DeviceClass) bool {
	if before == nil && listed(pod, v1.ResourceName(resources.DeviceClassPrefix+after.Name)) {
		return true
	}
	known := before != nil && before.ExtendedResourceName == after.ExtendedResourceName
	return after.ExtendedResourceName != "" && !known && listed(pod, after.ExtendedResourceName)
}

func podHelps(pod, before, after *v1.Pod, v release.Version) bool {
	switch {
	case after == nil:
		return podinfo.Placed(before)
	case before == nil:
		return false
	case after.UID == pod.UID:
		return true
	}
	return after.Spec.NodeName != "" && shrank(pod, before, after, v)
}

// shrank reports whether a running pod asks for less than before of a resource that pod asks for.
func shrank(pod, before, after *v1.Pod, v release.Version) bool {
	schema := new(resources.Schema)
	was := overhead.AppendRequests(nil, schema, before, held(v))
	is := overhead.AppendRequests(nil, schema, after, held(v))
	less := false
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) {
		if c, ok := schema.Column(name); ok && value > 0 {
			less = less || is.At(c) < was.At(c)
		}
	})
	return less
}

// grew reports whether a node allows more pods, or offers more of a resource that pod asks for.
func grew(pod *v1.Pod, before, after *v1.Node) bool {
	schema := new(resources.Schema)
	was := resources.FromList(schema, before.Status.Allocatable)
	is := resources.FromList(schema, after.Status.Allocatable)
	more := is.At(resources.Pods) > was.At(resources.Pods)
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, value int64) {
		if c, ok := schema.Column(name); ok && value > 0 {
			more = more || is.At(c) > was.At(c)
		}
	})
	return more
}

// listed reports whether a resource is among the pod's requests, even with amount 0.
func listed(pod *v1.Pod, resource v1.ResourceName) bool {
	found := false
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, _ int64) {
		found = found || name == resource
	})
	return found
}

// portsWouldHelp is the queueing hint of NodePorts. It reports whether an event could make a pod schedulable that the filter
// rejected. old and new are *v1.Pod or *v1.Node; old is nil for an addition, new for a deletion. The hint is true for these
// events:
//
//   - A pod is deleted that had a node or a nominated node, and a host port of it conflicts with a host port of this pod.
//   - A node is added or updated.
//
// An object of another type is an error. A queue treats an error as true.
func portsWouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	if before, after, ok := engine.EventOf[v1.Pod](old, new); ok {
		return after == nil && podinfo.Placed(before) && compilePorts(pod).conflict(before), nil
	}
	if _, after, ok := engine.EventOf[v1.Node](old, new); ok {
		return after != nil, nil
	}
	return false, unexpected(old, new, "*v1.Pod or *v1.Node")
}

// nodeNameWouldHelp is the queueing hint of NodeName. It reports whether a node was added or updated. old and new are
// *v1.Node; old is nil for an addition, new for a deletion. An object of another type is an error. A queue treats an error as
// true.
func nodeNameWouldHelp(_ *v1.Pod, old, new any) (bool, error) {
	if _, after, ok := engine.EventOf[v1.Node](old, new); ok {
		return after != nil, nil
	}
	return false, unexpected(old, new, "*v1.Node")
}

// featuresWouldHelp is the queueing hint of NodeDeclaredFeatures. It reports whether an event could make a pod schedulable
// that the filter rejected. old and new are *v1.Node or *v1.Pod; old is nil for an addition, new for a deletion. The hint is
// true for these events:
//
//   - A node is added.
//   - A node is updated, and its list of declared features changed.
//   - This pod is updated (equal UID), and it needs other features than before.
//
// An object of another type is an error. A queue treats an error as true.
func featuresWouldHelp(pod *v1.Pod, old, new any) (bool, error) {
	if before, after, ok := engine.EventOf[v1.Node](old, new); ok {
		return after != nil && (before == nil || !slices.Equal(before.Status.DeclaredFeatures, after.Status.DeclaredFeatures)), nil
	}
	if before, after, ok := engine.EventOf[v1.Pod](old, new); ok {
		if before == nil || after == nil || after.UID != pod.UID {
			return false, nil
		}
		return !slices.Equal(RequiredFeatures(before), RequiredFeatures(after)), nil
	}
	return false, unexpected(old, new, "*v1.Node or *v1.Pod")
}

func unexpected(old, new any, want string) error {
	return fmt.Errorf("objects of an event: got %T and %T, want %s", old, new, want)
}
