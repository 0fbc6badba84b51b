package placement

import (
	"encoding/binary"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// scoredDevices has the devices behind the extended resources that a score reads (rule U9.10). nil: the score reads none.
type scoredDevices struct {
	tracker *tracker.Tracker
	filter  offers
	names   []v1.ResourceName
}

// offers is a tracker.Filter.
type offers interface {
	// Offered returns how many devices of the class that provides an extended resource the node of slot i sees, and how many of these
	// are allocated; 0 and 0 for a free slot and a resource that no class provides.
	Offered(resource v1.ResourceName, i int) (count, allocated int64)
}

// overDevices returns a score over resources. When one of the resources may be provided by a device class, the score is over the
// devices that the plans of a cluster share. A pod that asks for such a resource then has a key of its own after each change of
// the devices, because the devices of a node change without the node and its pods.
func overDevices(scored []score.Resource, o tracker.Options, plugin func(*scoredDevices) *Plugin) *Plugin {
	var names []v1.ResourceName
	for _, r := range scored {
		if resources.IsScalar(v1.ResourceName(r.Name)) {
			names = append(names, v1.ResourceName(r.Name))
		}
	}
	p := plugin(nil)
	if len(names) == 0 {
		return p
	}
	p.WithShared = func(shared Profile) *Plugin {
		x := &scoredDevices{shared.Devices, shared.Devices.Filter(o).(offers), names}
		p := plugin(x)
		p.AppendKey, p.KeyName = x.appendKey, ""
		return p
	}
	return p
}

// asked reports whether the pod asks for a resource that the score reads and that a class provides.
func (x *scoredDevices) asked(pod *v1.Pod) bool {
	if x == nil {
		return false
	}
	requests := overhead.Requests(pod, overhead.Options{})
	asked := func(name v1.ResourceName) bool { amount := requests[name]; return !amount.IsZero() }
	if !slices.ContainsFunc(x.names, asked) {
		return false
	}
	provided := x.tracker.ExtendedResources()
	return slices.ContainsFunc(x.names, func(name v1.ResourceName) bool { return provided[name] != nil && asked(name) })
}

// rows returns the cluster, with its devices when the pod asks for some, and whether there are rows alone.
func (x *scoredDevices) rows(pod *v1.Pod, c Cluster) (_ score.Rows, alone bool) {
	if !x.asked(pod) {
		return c, true
	}
	return deviceRows{c, x.filter}, false
}

func (x *scoredDevices) appendKey(dst []byte, pod *v1.Pod) []byte {
	version := uint64(0)
	if x.asked(pod) {
		version = x.tracker.Version() + 1
	}
	return binary.AppendUvarint(podkey.Requests(dst, pod), version)
}

// deviceRows are the rows of a cluster with the devices of its nodes.
type deviceRows struct {
	Cluster
	filter offers
}

// Devices returns how many devices of the class that provides a resource slot i has, and how many are allocated.
func (r deviceRows) Devices(name v1.ResourceName, i int) (devices, allocated int64) {
	return r.filter.Offered(name, i)
}
