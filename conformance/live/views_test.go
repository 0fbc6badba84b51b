package live

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/podberth/podberth/scheduler/live/daemon"
)

// view is what a scheduler knows of the nodes, and of the pods of the namespace default; nil: nothing.
type view struct {
	node     func(name string) *v1.Node
	pod      func(name string) *v1.Pod // on its node or in the queue
	informer func(name string) *v1.Pod // as the informer has it: a pod that is being bound does not change in the scheduler
}

// viewed adds what a scheduler knows to the world, until the returned function is called.
func (w *world) viewed(v *view) (gone func()) {
	w.views = append(w.views, v)
	return func() { w.views = slices.DeleteFunc(w.views, func(x *view) bool { return x == v }) }
}

// seen waits until every scheduler that runs knows what a condition asks for.
func (w *world) seen(what string, met func(v *view) bool) {
	w.t.Helper()
	for _, v := range w.views {
		w.until("a scheduler knows "+what, func() bool { return met(v) })
	}
}

// nodeSeen waits until every scheduler that runs knows the version of the node.
func (w *world) nodeSeen(n *v1.Node) {
	w.t.Helper()
	w.seen("node "+n.Name, func(v *view) bool {
		known := v.node(n.Name)
		return known != nil && known.ResourceVersion == n.ResourceVersion
	})
}

// boundSeen waits until every scheduler that runs knows that a pod is on a node.
func (w *world) boundSeen(name, node string) {
	w.t.Helper()
	w.seen("where "+name+" is", func(v *view) bool {
		p := v.pod(name)
		return p != nil && p.Spec.NodeName == node
	})
}

func viewOf(d *daemon.Daemon) *view {
	return &view{
		node: func(name string) *v1.Node {
			n, _ := d.Feed.Reported("nodes", "", name).(*v1.Node)
			return n
		},
		pod: func(name string) *v1.Pod {
			p, _ := d.Feed.Reported("pods", "default", name).(*v1.Pod)
			return p
		},
		informer: func(name string) *v1.Pod { return d.Feed.Pod("default", name) },
	}
}

func viewOfKube(s *scheduler.Scheduler, pods corelisters.PodLister) *view {
	informer := func(name string) *v1.Pod {
		p, err := pods.Pods("default").Get(name)
		if err != nil {
			return nil // the only error is that there is no such pod
		}
		return p
	}
	return &view{
		node: func(name string) *v1.Node {
			n, err := s.Cache.GetNode(name)
			if err != nil {
				return nil // the same
			}
			return n.Node()
		},
		pod: func(name string) *v1.Pod {
			p := informer(name)
			if p != nil && p.Spec.NodeName != "" {
				known, err := s.Cache.GetPod(p)
				if err != nil {
					return nil // the cache does not have it yet
				}
				return known
			}
			if q, ok := s.SchedulingQueue.GetPod(name, "default", nil); ok {
				return q.Pod
			}
			return p
		},
		informer: informer,
	}
}
