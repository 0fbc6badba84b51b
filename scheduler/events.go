package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// The methods of this file report changes of the cluster to the scheduler. Any goroutine may call them. The caller must
// not change the objects afterwards.

// Events of pods that have a node.
var (
	podAssigned = queue.Event{Resource: "AssignedPod", Action: queue.Add}
	podGone     = queue.Event{Resource: "AssignedPod", Action: queue.Delete}
	podWaits    = queue.Event{Resource: "UnscheduledPod", Action: queue.Add}
)

// AddPod reports a pod that is new to the scheduler.
func (s *Scheduler) AddPod(pod *v1.Pod) {
	s.handle("PodAdd", func() error {
		switch {
		case cluster.Finished(pod):
			return nil
		case pod.Spec.NodeName != "":
			return s.assigned(nil, pod)
		case s.profiles[schedulerName(pod)] != nil:
			return s.addPending(pod)
		}
		return nil
	})
}

// addPending reports a pod that waits.
func (s *Scheduler) addPending(pod *v1.Pod) error {
	s.groups.see(pod, true)
	err := s.queue.Add(pod)
	if s.groups != nil {
		s.queue.Move(queue.Change{Event: podWaits, New: pod})
	}
	return err
}

// assigned reports a pod that has a node. A pod that was bound to another node than it was assumed on, by a webhook or another
// scheduler, leaves room there: pods that wait for it are told, which kube-scheduler does not do.
func (s *Scheduler) assigned(old, pod *v1.Pod) error {
	s.groups.see(pod, true)
	left, err := s.cache.set(pod)
	if err != nil {
		return err
	}
	if left != nil {
		s.queue.Move(queue.Change{Event: podGone, Old: left})
	}
	if old == nil {
		s.queue.Move(queue.Change{Event: podAssigned, New: pod})
		return nil
	}
	for _, e := range queue.PodUpdateEvents(old, pod, s.o.Release) {
		s.queue.Move(queue.Change{Event: e, Old: old, New: pod})
	}
	return nil
}

// UpdatePod reports a new version of a pod.
func (s *Scheduler) UpdatePod(old, pod *v1.Pod) {
	switch {
	case cluster.Finished(pod):
		s.DeletePod(old)
		return
	case old.UID != pod.UID:
		s.DeletePod(old)
		s.AddPod(pod)
		return
	}
	s.handle("PodUpdate", func() error {
		switch {
		case pod.Spec.NodeName == "":
			return s.updatePending(old, pod)
		case old.Spec.NodeName == "":
			s.queue.Delete(old)
			return s.assigned(nil, pod)
		}
		return s.assigned(old, pod)
	})
}

func (s *Scheduler) updatePending(old, pod *v1.Pod) error {
	if s.profiles[schedulerName(pod)] == nil {
		return nil
	}
	if assumed := s.cache.assumed(pod.UID); assumed != nil {
		if pod.DeletionTimestamp != nil && old.DeletionTimestamp == nil {
			s.withdraw(assumed)
		}
		return nil
	}
	err := s.queue.Update(old, pod)
	if n := old.Status.NominatedNodeName; n != "" && n != pod.Status.NominatedNodeName {
		s.roomLeft(old)
	}
	return err
}

// withdraw releases an assumed pod that is being deleted. A pod that waits on Permit is rejected. Any other pod leaves
// the cache at once, although its binding goes on and will fail; in v1.34 the pod leaves with the failure.
func (s *Scheduler) withdraw(assumed *v1.Pod) {
	if !s.waiting.reject(assumed.UID, "", "removed") {
		if !s.o.freesDeleted() {
			return
		}
		s.report(s.cache.forget(assumed))
	}
	s.queue.Move(queue.Change{Event: podGone, Old: assumed})
}

// roomLeft reports to the queue that the room of a nominated pod is free. The event concerns pods of at most the
// priority of the nominated pod, except but.
func (s *Scheduler) roomLeft(pod *v1.Pod, but ...types.UID) {
	priority := func(p *v1.Pod) int32 {
		if p.Spec.Priority == nil {
			return 0
		}
		return *p.Spec.Priority
	}
	kept := priority(pod)
	s.queue.Move(queue.Change{Event: podGone, Old: pod, PreCheck: func(other *v1.Pod) bool {
		return priority(other) <= kept && !slices.Contains(but, other.UID)
	}})
}

// denominated does what roomLeft does for the end of a nomination that was perhaps never written, so that no update tells of its end.
// An empty node is none. The pod itself waits on.
func (s *Scheduler) denominated(pod *v1.Pod, node string) {
	if node != "" {
		s.roomLeft(StatusPatch{NominatedNode: &node}.Apply(pod), pod.UID)
	}
}

// DeletePod reports a deleted pod.
func (s *Scheduler) DeletePod(pod *v1.Pod) {
	s.handle("PodDelete", func() error {
		if pod.Spec.NodeName != "" {
			s.groups.see(pod, false)
			s.cache.remove(pod)
			s.queue.Move(queue.Change{Event: podGone, Old: pod})
			return nil
		}
		node := cmp.Or(pod.Status.NominatedNodeName, s.queue.nominated(pod))
		s.queue.Delete(pod) // its group counts the pod while the gates of the others are asked (PG2.11)
		s.groups.see(pod, false)
		if assumed := s.cache.assumed(pod.UID); assumed != nil {
			s.withdraw(assumed)
		} else {
			s.denominated(pod, node)
		}
		return nil
	})
}

// AddNode reports a new node.
func (s *Scheduler) AddNode(node *v1.Node) {
	s.handle("NodeAdd", func() error {
		s.cache.change(node, false)
		s.queue.Move(queue.Change{Event: queue.Event{Resource: "Node", Action: queue.Add}, New: node})
		return nil
	})
}

// UpdateNode reports a new version of a node.
func (s *Scheduler) UpdateNode(old, node *v1.Node) {
	s.handle("NodeUpdate", func() error {
		s.cache.change(node, false)
		for _, e := range queue.NodeUpdateEvents(old, node) {
			s.queue.Move(queue.Change{Event: e, Old: old, New: node})
		}
		return nil
	})
}

// DeleteNode reports a deleted node. The node's pods are counted nowhere until they are deleted too.
func (s *Scheduler) DeleteNode(node *v1.Node) {
	s.handle("NodeDelete", func() error {
		s.cache.change(node, true)
		s.queue.Move(queue.Change{Event: queue.Event{Resource: "Node", Action: queue.Delete}, Old: node})
		return nil
	})
}

// Set reports a new object (old is nil) or a changed object of the other kinds of [cluster.Objects]. Nodes and pods have
// their own methods.
func (s *Scheduler) Set(old, obj metav1.Object) {
	s.handle("Set", func() error {
		s.cache.change(obj, false)
		s.namespaces.set(obj, false)
		if err := s.namespaces.setObject(obj, false); err != nil {
			return err
		}
		action, before := queue.Add, any(nil)
		if old != nil {
			action, before = queue.Update, old
		}
		s.wake(obj, action, before, obj)
		return nil
	})
}

// Remove reports a deleted object of the kinds of Set.
func (s *Scheduler) Remove(obj metav1.Object) {
	s.handle("Remove", func() error {
		s.cache.change(obj, true)
		s.namespaces.set(obj, true)
		if err := s.namespaces.setObject(obj, true); err != nil {
			return err
		}
		s.wake(obj, queue.Delete, obj, nil)
		return nil
	})
}

// wake tells the queue that an object came, changed or went.
func (s *Scheduler) wake(obj metav1.Object, action queue.Action, old, now any) {
	if _, ok := obj.(*resourcev1beta2.DeviceTaintRule); ok {
		was, _ := old.(*resourcev1beta2.DeviceTaintRule)
		is, _ := now.(*resourcev1beta2.DeviceTaintRule)
		s.taintRuleChanged(was, is)
	} else if r, ok := resource(obj); ok {
		s.queue.Move(queue.Change{Event: queue.Event{Resource: r, Action: action}, Old: old, New: now})
	}
}

// resource returns the name of the object's kind in events, and false for a kind that no pod waits for.
func resource(obj metav1.Object) (string, bool) {
	switch obj.(type) {
	case *v1.PersistentVolume:
		return "PersistentVolume", true
	case *v1.PersistentVolumeClaim:
		return "PersistentVolumeClaim", true
	case *storagev1.CSINode:
		return "storage.k8s.io/CSINode", true
	case *storagev1.CSIDriver:
		return "storage.k8s.io/CSIDriver", true
	case *storagev1.CSIStorageCapacity:
		return "storage.k8s.io/CSIStorageCapacity", true
	case *storagev1.StorageClass:
		return "storage.k8s.io/StorageClass", true
	case *resourcev1.ResourceClaim:
		return "resource.k8s.io/ResourceClaim", true
	case *resourcev1.ResourceSlice:
		return "resource.k8s.io/ResourceSlice", true
	case *resourcev1.DeviceClass:
		return "resource.k8s.io/DeviceClass", true
	case *storagev1.VolumeAttachment:
		return "storage.k8s.io/VolumeAttachment", true
	case *podgroup.Group:
		return "scheduling.k8s.io/PodGroup", true
	case *podgroup.Composite:
		return "scheduling.k8s.io/CompositePodGroup", true
	}
	return "", false
}

// handle runs the handler of an event.
func (s *Scheduler) handle(event string, run func() error) {
	began := s.metricsNow()
	if err := run(); err != nil {
		s.report(fmt.Errorf("%s: %w", event, err))
	}
	s.handled(event, began)
	if s.cache.full() && s.cycle.TryLock() {
		defer s.cycle.Unlock()
		s.report(s.refresh())
	}
}

// errPreempted is the cause of the context of a PreBind that preemption has cancelled.
var errPreempted = errors.New("preempted by " + nameDefaultPreemption)

// preBinding is a running PreBind, or one that failed and whose room is not back yet.
type preBinding struct {
	end       context.CancelCauseFunc
	preempted bool
}

// enterBinding and leaveBinding run before and after PreBind. Between them preemption can end the context of PreBind. A pod that is not
// bound stays until its room is back, so that a preemptor that is tried again does not delete it.
func (s *Scheduler) enterBinding(ctx context.Context, pod *v1.Pod) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.binding[pod.UID] = &preBinding{end: cancel}
	return ctx
}

func (s *Scheduler) leaveBinding(pod *v1.Pod, success bool) (preempted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.binding[pod.UID]
	b.end(nil)
	if success && !b.preempted {
		delete(s.binding, pod.UID)
	}
	return b.preempted
}

// roomBack ends the time in which a pod that failed after Permit counts as stopped in memory: it holds no room any more.
func (s *Scheduler) roomBack(pod *v1.Pod) {
	s.waiting.left(pod.UID)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.binding, pod.UID)
}

// cancel ends the attempt of a pod that waits on Permit or is in PreBind, and reports whether the pod was in either
// state, or fails there and gives its room back.
func (s *Scheduler) cancel(pod *v1.Pod) bool {
	if s.stopWaiting(pod) {
		return true
	}
	if !s.o.stopsPreBind() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.binding[pod.UID]
	if b == nil {
		return false
	}
	b.preempted = true
	b.end(errPreempted)
	return true
}
