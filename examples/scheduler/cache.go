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

// cache knows which pods hold room: those bound, and those that this scheduler has decided on and that the API server does
// not know of yet (assumed). Binding cycles and events write to it at any time. What they say reaches the snapshot at the
// start of the next scheduling cycle, so that a cycle sees one state of the cluster from its start to its end.
type cache struct {
	mu   sync.Mutex
	pods map[types.UID]*cached
	todo []func(*cluster.Snapshot) error
	node bool          // a node is among what is to do
	ttl  time.Duration // of assumed pods after binding; 0: none
}

// cached is a pod in the cache: assumed until its binding is seen.
type cached struct {
	pod      *v1.Pod
	assumed  bool
	deadline time.Time // of an assumed pod whose binding has finished; zero: none
}

func newCache(ttl time.Duration) *cache { return &cache{pods: map[types.UID]*cached{}, ttl: ttl} }

var errNoUID = errors.New("cannot get cache key for pod with empty UID")

func podName(p *v1.Pod) string { return p.Namespace + "/" + p.Name }

// later tells the snapshot at the next refresh. The lock is held.
func (c *cache) later(change func(*cluster.Snapshot) error) { c.todo = append(c.todo, change) }

// refresh brings the snapshot up to date. It reports whether nodes may have changed, and what the snapshot refused.
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
	c.put(pod)
	return nil
}

func (c *cache) put(pod *v1.Pod) {
	c.later(func(s *cluster.Snapshot) error { return s.Set(pod) })
}

func (c *cache) drop(pod *v1.Pod) {
	c.later(func(s *cluster.Snapshot) error {
		if s.Pod(pod.Namespace, pod.Name) == nil && !orphan(s, pod) {
			return nil // its node went, and an assumed pod with it
		}
		return s.Unset(pod)
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

// forget takes an assumption back. A pod that is not known is fine.
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

// set takes over a pod that has a node as the API server reports it, new or changed: it confirms an assumption, or moves
// the pod to where it was really bound. A pod that is still assumed cannot be updated, only confirmed.
func (c *cache) set(pod *v1.Pod) error {
	if pod.UID == "" {
		return errNoUID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[pod.UID] = &cached{pod: pod}
	c.put(pod)
	return nil
}

// remove takes a deleted pod out.
func (c *cache) remove(pod *v1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.pods[pod.UID]; ok {
		delete(c.pods, pod.UID)
		c.drop(known.pod)
	}
}

// has reports whether the pod holds room.
func (c *cache) has(pod *v1.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods[pod.UID] != nil
}

// lastKnown returns the pod as the cache has it, or else as it is given.
func (c *cache) lastKnown(pod *v1.Pod) *v1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.pods[pod.UID]; ok {
		return known.pod
	}
	return pod
}

// assumed returns the assumed pod of that UID, nil when there is none.
func (c *cache) assumed(uid types.UID) *v1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.pods[uid]; ok && known.assumed {
		return known.pod
	}
	return nil
}

// expire drops the assumed pods whose time to live is over and returns them, by name.
func (c *cache) expire(now time.Time) []*v1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := map[string]*v1.Pod{}
	for uid, known := range c.pods {
		if known.assumed && !known.deadline.IsZero() && !now.Before(known.deadline) {
			gone[podName(known.pod)] = known.pod
			delete(c.pods, uid)
			c.drop(known.pod)
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

// change tells the snapshot of an object other than a pod: set, or gone.
func (c *cache) change(obj metav1.Object, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, node := obj.(*v1.Node)
	c.node = c.node || node
	if gone {
		c.later(func(s *cluster.Snapshot) error { return s.Unset(obj) })
	} else {
		c.later(func(s *cluster.Snapshot) error { return s.Set(obj) })
	}
}

// sizes returns how many pods are known and how many of them are assumed.
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
