package scheduler

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
)

// Handle is a plugin's access to the scheduler that runs it.
type Handle struct {
	s *Scheduler
	f *Framework
}

// Snapshot returns the cluster of the running scheduling cycle. The plugin may only read the cluster, and only until
// the end of the cycle.
func (h *Handle) Snapshot() *cluster.Snapshot { return h.s.snapshot }

// Client returns the client of the API server.
func (h *Handle) Client() Client { return h.s.o.Client }

// Profile returns the framework that the plugin belongs to. It is complete once the scheduler runs.
func (h *Handle) Profile() *Framework { return h.f }

// Now returns the time.
func (h *Handle) Now() time.Time { return h.s.clock.Now() }

// NominatedFor returns the pods nominated for a node.
func (h *Handle) NominatedFor(node string) []*v1.Pod { return h.s.queue.NominatedFor(node) }

// Activate moves waiting pods to the active queue. [PreEnqueue], Less and hints must not call it.
func (h *Handle) Activate(pods ...*v1.Pod) { h.s.queue.Activate(pods...) }

// WaitingPods returns the pods of all profiles that wait on [Permit], by name.
func (h *Handle) WaitingPods() []*v1.Pod { return h.s.waiting.list() }

// WaitsFor returns the plugins that a pod waits for.
func (h *Handle) WaitsFor(uid types.UID) []string { return h.s.waiting.pending(uid) }

// Allow ends a plugin's wait, and reports whether the pod waits no longer.
func (h *Handle) Allow(uid types.UID, plugin string) bool { return h.s.waiting.allow(uid, plugin) }

// Reject rejects a waiting pod, and reports whether this was the first signal.
func (h *Handle) Reject(uid types.UID, plugin, message string) bool {
	return h.s.waiting.reject(uid, plugin, message)
}
