package scheduler

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
)

// Handle is what a plugin may ask of the scheduler that runs it.
type Handle struct {
	s *Scheduler
	f *Framework
}

// Snapshot returns the cluster of the running scheduling cycle. It is only to be read, and only until the cycle's end.
func (h *Handle) Snapshot() *cluster.Snapshot { return h.s.snapshot }

// Client returns the way to the API server.
func (h *Handle) Client() Client { return h.s.o.Client }

// Profile returns the framework that the plugin belongs to. It is complete once the scheduler runs.
func (h *Handle) Profile() *Framework { return h.f }

// Now returns the time.
func (h *Handle) Now() time.Time { return h.s.clock.Now() }

// NominatedFor returns the pods nominated for a node.
func (h *Handle) NominatedFor(node string) []*v1.Pod { return h.s.queue.NominatedFor(node) }

// Activate sends waiting pods to active. Not to be called from PreEnqueue, Less or a hint.
func (h *Handle) Activate(pods ...*v1.Pod) { h.s.queue.Activate(pods...) }

// WaitingPods returns the pods that wait on Permit, by name, of all profiles.
func (h *Handle) WaitingPods() []*v1.Pod { return h.s.waiting.list() }

// WaitsFor returns the plugins that a pod waits for.
func (h *Handle) WaitsFor(uid types.UID) []string { return h.s.waiting.pending(uid) }

// Allow takes a plugin's wait away and reports whether that let the pod go.
func (h *Handle) Allow(uid types.UID, plugin string) bool { return h.s.waiting.allow(uid, plugin) }

// Reject turns a waiting pod down and reports whether that was the first signal.
func (h *Handle) Reject(uid types.UID, plugin, message string) bool {
	return h.s.waiting.reject(uid, plugin, message)
}
