package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// waitingRoom holds the pods that wait on Permit. It has no goroutine: a caller of wait passes a function that is
// called with the outcome, and the owner calls expire at the time of next. It is safe for concurrent use, and all
// profiles share it.
type waitingRoom struct {
	mu      sync.Mutex
	pods    map[types.UID]*waiting
	leaving map[types.UID]bool // rejected pods, until their room is back
}

// waiting is one pod: the plugins that have not answered yet, and the first signal. Later signals are ignored.
type waiting struct {
	pod     *v1.Pod
	since   time.Time
	plugins map[string]time.Duration
	signal  **Status
	resume  func(*Status)
}

func newWaitingRoom() *waitingRoom {
	return &waitingRoom{pods: map[types.UID]*waiting{}, leaving: map[types.UID]bool{}}
}

// enter puts a pod into the room.
func (r *waitingRoom) enter(pod *v1.Pod, plugins map[string]time.Duration, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods[pod.UID] = &waiting{pod: pod, since: now, plugins: maps.Clone(plugins)}
}

// has reports whether the pod is in the room.
func (r *waitingRoom) has(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[uid] != nil
}

// wait calls resume once with the outcome. It calls resume at once if the outcome is known already, or if the pod is
// not in the room.
func (r *waitingRoom) wait(uid types.UID, resume func(*Status)) {
	r.mu.Lock()
	w := r.pods[uid]
	if w != nil && w.signal == nil {
		w.resume = resume
		r.mu.Unlock()
		return
	}
	delete(r.pods, uid)
	r.mu.Unlock()
	if w == nil {
		resume(nil)
		return
	}
	resume(*w.signal)
}

// resolve sets the outcome of the pod, and reports whether this outcome is the first. decide is called under the lock
// and returns the outcome, if there is an outcome.
func (r *waitingRoom) resolve(uid types.UID, decide func(*waiting) (*Status, bool)) bool {
	r.mu.Lock()
	w := r.pods[uid]
	if w == nil || w.signal != nil {
		r.mu.Unlock()
		return false
	}
	st, ok := decide(w)
	if !ok {
		r.mu.Unlock()
		return false
	}
	w.signal = &st
	if !st.Success() {
		r.leaving[uid] = true
	}
	resume := w.resume
	if resume != nil {
		delete(r.pods, uid)
	}
	r.mu.Unlock()
	if resume != nil {
		resume(st)
	}
	return true
}

// leaves reports whether the pod was rejected and its room is not back yet.
func (r *waitingRoom) leaves(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leaving[uid]
}

// left notes that the room of a pod is back.
func (r *waitingRoom) left(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.leaving, uid)
}

// allow ends the wait of one plugin. After the last wait the pod goes on.
func (r *waitingRoom) allow(uid types.UID, plugin string) bool {
	return r.resolve(uid, func(w *waiting) (*Status, bool) {
		delete(w.plugins, plugin)
		return nil, len(w.plugins) == 0
	})
}

// reject rejects the pod.
func (r *waitingRoom) reject(uid types.UID, plugin, message string) bool {
	return r.resolve(uid, func(*waiting) (*Status, bool) { return NewStatus(Unschedulable, message).by(plugin), true })
}

// preempt rejects the pod with an error, so that the pod is tried again after a backoff.
func (r *waitingRoom) preempt(uid types.UID, plugin, message string) bool {
	return r.resolve(uid, func(*waiting) (*Status, bool) {
		return AsStatus(fmt.Errorf("waiting on permit for pod: %s", message)).by(plugin), true
	})
}

// deadline returns the first time-out of a pod and its plugin. At equal times the plugin that is first by name counts.
func (w *waiting) deadline() (at time.Time, plugin string) {
	for _, name := range sortedKeys(w.plugins) {
		if d := w.since.Add(w.plugins[name]); plugin == "" || d.Before(at) {
			at, plugin = d, name
		}
	}
	return at, plugin
}

// next returns when the next pod times out.
func (r *waitingRoom) next() (at time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.pods {
		if w.signal != nil {
			continue
		}
		if d, _ := w.deadline(); !ok || d.Before(at) {
			at, ok = d, true
		}
	}
	return at, ok
}

// expire rejects the pods that have waited too long, in the order of their names.
func (r *waitingRoom) expire(now time.Time) {
	for _, pod := range r.list() {
		r.resolve(pod.UID, func(w *waiting) (*Status, bool) {
			at, plugin := w.deadline()
			if now.Before(at) {
				return nil, false
			}
			return NewStatus(Unschedulable, fmt.Sprintf("rejected due to timeout after waiting %v at plugin %v", w.plugins[plugin], plugin)).by(plugin), true
		})
	}
}

// list returns the pods in the room, by name.
func (r *waitingRoom) list() []*v1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*v1.Pod
	for _, w := range r.pods {
		out = append(out, w.pod)
	}
	slices.SortFunc(out, func(a, b *v1.Pod) int { return compareNames(a, b) })
	return out
}

// pending returns the plugins that a pod waits for, sorted.
func (r *waitingRoom) pending(uid types.UID) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.pods[uid]; w != nil {
		return sortedKeys(w.plugins)
	}
	return nil
}
