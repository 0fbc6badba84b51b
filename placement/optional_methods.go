package placement

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/follow"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/volumes"
)

// This file has the optional interfaces of predicates and trials. The plan finds them by type assertion and knows no plugin.

// binder is a predicate that knows what has to happen to the pod's claims on a slot that it allows.
type binder interface {
	Bindings(i int) (volumes.Decision, bool)
}

// allocator is a predicate that knows what the pod's claims of devices get on a slot that it allows.
type allocator interface {
	Allocation(i int) devices.Allocation
}

// overRows is a predicate that can check the rows of another cluster with the same nodes.
type overRows interface {
	WithRequested(c Cluster) filter.Predicate
}

// remover is a predicate over counts of running pods, to which a pod can be added or removed.
type remover interface {
	Add(p *v1.Pod, i int)
	Remove(p *v1.Pod, i int)
}

// counter is a trial that computes once what a running pod does to it.
type counter interface {
	// CounterOf returns what the pod does; nil when the caller must use Add and Remove. known is nil for a pod that the cluster
	// does not know.
	CounterOf(pod *v1.Pod, known *runningPod) hooks.Counter
}

// inRange is part of a scorer whose scores are in 0 to 100 on every node.
type inRange struct{}

func (inRange) InRange() {}

// changedSlots yields the slots that changed since a version, and returns the version now. It yields all slots when the log does not
// reach back that far. A nil yield asks for the version alone.
func changedSlots(log follow.Log, slots int, version uint64, yield func(slot int)) uint64 {
	c := follow.Cursor{Version: version}
	if yield == nil {
		return log.Version()
	}
	reached := c.Read(log, func(e *cluster.Event) {
		if e.Node >= 0 {
			yield(int(e.Node))
		}
	})
	if !reached {
		for i := range slots {
			yield(i)
		}
	}
	return c.Version
}
