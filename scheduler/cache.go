package scheduler

import (
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
)

// cache knows which pods hold room: bound pods, and assumed pods. An assumed pod has a node by this scheduler's
// decision, and the API server does not know the decision yet. Binding cycles and events write to the cache at any
// time. Their changes reach the snapshot at the start of the next scheduling cycle, so that a cycle sees one state of
// the cluster from its start to its end. While there is nothing to schedule, they reach it mostWaiting at a time.
type cache struct {
	mu   sync.Mutex
	pods map[types.UID]*cached
	todo []func(*cluster.Snapshot) error
	node bool          // a node is among what is to do
	ttl  time.Duration // of assumed pods after binding; 0: none

	groups *groups // hears which pods hold room; nil without Options.Groups
}

// cached is a pod in the cache: assumed until its binding is seen.
type cached struct {
	pod      *v1.Pod
	assumed  bool
	deadline time.Time // of an assumed pod whose binding has finished; zero: none
}

func newCache(ttl time.Duration) *cache { return &cache{pods: map[types.UID]*cached{}, ttl: ttl} }

var errNoUID = errors.New("cannot get cache key for pod with empty UID")

// later records a change for the next refresh. The caller holds the lock.
func (c *cache) later(change func(*cluster.Snapshot) error) { c.todo = append(c.todo, change) }

// mostWaiting is how many changes may wait for the next scheduling cycle. A change keeps the object that it is about in memory.
const mostWaiting = 1000

// full reports whether as many changes wait as may.
func (c *cache) full() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.todo) >= mostWaiting
}

// refresh applies the recorded changes to the snapshot. It reports whether nodes may have changed, and returns the
// errors of changes that the snapshot refused.
func (c *cache) refresh(s *cluster.Snapshot) (nodes bool, err error) {
	c.mu.Lock()
	todo, nodes := c.todo, c.node
	c.todo, c.node = nil, false
	c.mu.Unlock()
	var errs []error
	for _, change := range todo {
		if err := change(s); err != nil {
			errs = append(errs, err)
		}
	}
	return nodes, errors.Join(errs...)
}

// assume counts a pod, whose spec.nodeName is set, before it is bound.
func (c *cache) assume(pod *v1.Pod) error {
	if pod.UID == "" {
		return errNoUID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pods[pod.UID]; ok {
		return fmt.Errorf("pod %v(%v) is in the cache, so can't be assumed", pod.UID, podName(pod))
	}
	c.pods[pod.UID] = &cached{pod: pod, assumed: true}
	c.groups.place(pod, true)
	c.put(pod)
	return nil
}

func (c *cache) put(pod *v1.Pod) {
	c.later(func(s *cluster.Snapshot) error { return s.Set(pod) })
}

func (c *cache) drop(pod *v1.Pod) {
	c.later(func(s *cluster.Snapshot) error {
		if s.Pod(pod.Namespace, pod.Name) == nil && !orphan(s, pod) {
			return nil // the node was deleted, and its assumed pods with it
		}
		return s.Remove(pod)
	})
}

func orphan(s *cluster.Snapshot, pod *v1.Pod) bool {
	for _, p := range s.Orphans() {
		if p.Namespace == pod.Namespace && p.Name == pod.Name {
			return true
		}
	}
	return false
}

// forget removes an assumed pod. A pod that the cache does not know is no error.
func (c *cache) forget(pod *v1.Pod) error {
	if pod.UID == "" {
		return errNoUID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.pods[pod.UID]
	switch {
	case !ok:
		return nil
	case known.pod.Spec.NodeName != pod.Spec.NodeName:
		return fmt.Errorf("pod %v(%v) was assumed on %v but assigned to %v", pod.UID, podName(pod), pod.Spec.NodeName, known.pod.Spec.NodeName)
	case !known.assumed:
		return fmt.Errorf("pod %v(%v) wasn't assumed so cannot be forgotten", pod.UID, podName(pod))
	}
	delete(c.pods, pod.UID)
	c.groups.place(pod, false)
	c.drop(known.pod)
	return nil
}

// bound starts the time to live of an assumed pod whose binding has finished.
func (c *cache) bound(pod *v1.Pod, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.pods[pod.UID]; ok && known.assumed && c.ttl > 0 {
		known.deadline = now.Add(c.ttl)
	}
}

// set stores a new or changed pod that has a node in the API server. It confirms an assumed pod, or moves the pod to
// the node to which the pod was really bound: then left is the assumed pod, whose room is free. An assumed pod cannot be
// updated before it is confirmed.
func (c *cache) set(pod *v1.Pod) (left *v1.Pod, err error) {
	if pod.UID == "" {
		return nil, errNoUID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.pods[pod.UID]; known != nil && known.assumed && known.pod.Spec.NodeName != pod.Spec.NodeName {
		left = known.pod
	}
	c.pods[pod.UID] = &cached{pod: pod}
	c.groups.place(pod, true)
	c.put(pod)
	return left, nil
}

// remove removes a deleted pod.
func (c *cache) remove(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.pods[pod.UID]; ok {
		delete(c.pods, pod.UID)
		c.groups.place(pod, false)
		c.drop(known.pod)
	}
}

// has reports whether the pod holds room.
func (c *cache) has(pod *v1.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[pod.UID] != nil
}

// stays reports whether the pod holds room and is not being deleted.
func (c *cache) stays(pod *v1.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.pods[pod.UID]
	return known != nil && known.pod.DeletionTimestamp == nil
}

// lastKnown returns the cache's version of the pod. It returns the argument if the cache does not know the pod.
func (c *cache) lastKnown(pod *v1.Pod) *v1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.pods[pod.UID]; ok {
		return known.pod
	}
	return pod
}

// assumed returns the assumed pod with the UID, nil if there is no such pod.
func (c *cache) assumed(uid types.UID) *v1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.pods[uid]; ok && known.assumed {
		return known.pod
	}
	return nil
}

// overdue returns the assumed pods whose time to live is over, by name. They live as long again.
func (c *cache) overdue(now time.Time) []*v1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := map[string]*v1.Pod{}
	for _, known := range c.pods {
		if known.assumed && !known.deadline.IsZero() && !now.Before(known.deadline) {
			gone[podName(known.pod)] = known.pod
			known.deadline = now.Add(c.ttl)
		}
	}
	var out []*v1.Pod
	for _, name := range sortedKeys(gone) {
		out = append(out, gone[name])
	}
	return out
}

// next returns when the next assumed pod expires.
func (c *cache) next() (at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ttl == 0 {
		return at, false
	}
	for _, known := range c.pods {
		if d := known.deadline; known.assumed && !d.IsZero() && (!ok || d.Before(at)) {
			at, ok = d, true
		}
	}
	return at, ok
}

// change records that an object other than a pod was set or deleted.
func (c *cache) change(obj metav1.Object, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, node := obj.(*v1.Node)
	c.node = c.node || node
	if gone {
		c.later(func(s *cluster.Snapshot) error { return s.Remove(obj) })
	} else {
		c.later(func(s *cluster.Snapshot) error { return s.Set(obj) })
	}
}

// sizes returns the number of pods and the number of assumed pods among them.
func (c *cache) sizes() (pods, assumed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.pods {
		if known.assumed {
			assumed++
		}
	}
	return len(c.pods), assumed
}
