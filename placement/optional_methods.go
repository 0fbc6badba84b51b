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

// yielding is a predicate that knows whether pods that leave a slot can only help there.
type yielding interface {
	// Yields reports whether a trial that allows a slot also allows it after any pods of the slot were removed.
	Yields(pod *v1.Pod) bool
}

// numbered is a predicate whose trial compares what pods ask for with what a node has, and looks at nothing else.
type numbered interface {
	// Amounts returns the number of resources that are compared.
	Amounts() int
	// Missing returns how many pods have to leave slot i so that the predicate allows it, and writes how much of the resource of each column
	// they have to ask for together. Numbers below 1 ask for nothing. It returns false if the numbers are too large to be added.
	Missing(i int, amounts []int64) (pods int64, columns []int, ok bool)
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
