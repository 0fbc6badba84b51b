package place

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// world is the simulated cluster: the API server's pods and nodes, the kubelets, which run a pod as soon as it is bound and
// let it go when its time is over, and virtual time. It is the scheduler's client.
type world struct {
	now       time.Time
	grace     bool // victims run out their grace periods
	pods      map[string]*v1.Pod
	nodes     map[string]*v1.Node
	others    map[string]metav1.Object
	pending   []*v1.Pod       // of the input, in the order of the queue
	dying     []*v1.Pod       // members of groups without a node that are being deleted: the queue counts them, no cycle places them
	strangers []*v1.Pod       // members of groups that wait for another scheduler: they count for their group once they have nodes
	refused   []dump.Refusal  // of the input, in its order
	counted   map[string]int  // pods like a pod, by its name, that are not made: what becomes of it becomes of them
	siblings  []*v1.Pod       // that wait, of the owner that the question is about
	lacks     string          // how many pods that owner has and lacks, when the API server has refused them
	asides    report.Warnings // for after the answer
	leaving   []leaving       // by time
	tasks     []func()
	changes   int // of what could make a pod schedulable

	snapshot *cluster.Snapshot // until the scheduler takes it
	s        *scheduler.Scheduler

	budgets []*budget
	// selecting finds the budgets that select a new pod; nil after a change of the budgets.
	selecting *disruption.Budgets
	scale     disruption.Scale
	objects   *dump.Objects
	groups    *podgroup.Gates // with which groups count; nil: they do not
	gate      *dump.Gate      // for the pods that go through admission
	synced    *disruption.Budgets
	states    map[string]metav1.Condition // of groups, as the scheduler has written them
}

// leaving is a terminating pod and when it will be gone.
type leaving struct {
	key string
	uid types.UID
	at  time.Time
}

const defaultGrace = 30 * time.Second

func key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// Now returns the virtual time.
func (w *world) Now() time.Time { return w.now }

// After returns a channel that never yields, because nothing waits in virtual time.
func (w *world) After(time.Duration) <-chan time.Time { return nil }

// later keeps a task for the end of the scheduling cycle.
func (w *world) later(task func()) { w.tasks = append(w.tasks, task) }

// work runs the tasks, and the tasks that they add.
func (w *world) work() {
	for len(w.tasks) > 0 {
		task := w.tasks[0]
		w.tasks = w.tasks[1:]
		task()
	}
}

// Pod returns the pod as the API server has it.
func (w *world) Pod(namespace, name string) *v1.Pod { return w.pods[namespace+"/"+name] }

// store replaces a pod and reports the change to the scheduler.
func (w *world) store(pod *v1.Pod) {
	old := w.pods[key(pod)]
	w.keep(pod)
	w.s.UpdatePod(old, pod)
}

// Bind assigns the pod. The kubelet of the node runs it at once.
func (w *world) Bind(_ context.Context, pod *v1.Pod, node string) error {
	now := w.pods[key(pod)]
	if now == nil || now.UID != pod.UID {
		return scheduler.ErrGone
	}
	none, at := "", metav1.NewTime(w.now)
	bound := scheduler.StatusPatch{NominatedNode: &none, Condition: &v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue}}.Apply(now)
	bound.Spec.NodeName = node
	bound.Status.Phase, bound.Status.StartTime = v1.PodRunning, &at
	bound.Status.Conditions = append(bound.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue})
	w.changes++
	w.store(bound)
	return nil
}

// PatchStatus changes the parts of the status that the patch names.
func (w *world) PatchStatus(_ context.Context, pod *v1.Pod, patch scheduler.StatusPatch) error {
	now := w.pods[key(pod)]
	if now == nil || now.UID != pod.UID {
		return scheduler.ErrGone
	}
	w.store(patch.Apply(now))
	return nil
}

// PatchGroup writes a condition of a group.
func (w *world) PatchGroup(_ context.Context, g *podgroup.Group, c metav1.Condition) error {
	next := *g
	next.Conditions = append(slices.DeleteFunc(slices.Clone(g.Conditions), func(old metav1.Condition) bool { return old.Type == c.Type }), c)
	w.states[key(g)] = c
	w.s.Set(g, &next)
	return nil
}

// Delete deletes a pod: at once, or with -grace when its grace period is over.
func (w *world) Delete(_ context.Context, pod *v1.Pod) error {
	now := w.pods[key(pod)]
	switch {
	case now == nil || now.UID != pod.UID:
		return scheduler.ErrGone
	case now.DeletionTimestamp != nil:
		return nil
	}
	period := defaultGrace
	if g := now.Spec.TerminationGracePeriodSeconds; g != nil {
		period = resources.Seconds(*g)
	}
	if !w.grace || now.Spec.NodeName == "" || period <= 0 {
		w.remove(now)
		return nil
	}
	going := *now
	at := metav1.NewTime(w.now.Add(period))
	going.DeletionTimestamp = &at
	w.leave(&going)
	w.changes++
	w.store(&going)
	return nil
}

// leave notes when a terminating pod is gone.
func (w *world) leave(pod *v1.Pod) {
	at := pod.DeletionTimestamp.Time
	if at.Before(w.now) {
		at = w.now
	}
	w.leaving = append(w.leaving, leaving{key(pod), pod.UID, at})
	slices.SortStableFunc(w.leaving, func(a, b leaving) int { return a.at.Compare(b.at) })
}

// remove removes a pod from the cluster.
func (w *world) remove(pod *v1.Pod) {
	w.changes++
	w.drop(pod)
	w.s.DeletePod(pod)
}

// beside returns the pods of the input that wait for the scheduler of a pod, in the order of the queue.
func (w *world) beside(pod *v1.Pod) (out []*v1.Pod) {
	for _, p := range w.pending {
		if dump.SchedulerName(p) == dump.SchedulerName(pod) {
			out = append(out, p)
		}
	}
	return out
}

// depart removes the pods whose time is over.
func (w *world) depart() {
	for len(w.leaving) > 0 && !w.leaving[0].at.After(w.now) {
		l := w.leaving[0]
		w.leaving = w.leaving[1:]
		if p := w.pods[l.key]; p != nil && p.UID == l.uid {
			w.remove(p)
		}
	}
}

// find returns a pod of the input: as it is in the cluster, or as it was read when the cluster does not have it.
func (w *world) find(name string) *v1.Pod {
	if p := w.pods[name]; p != nil {
		return p
	}
	for _, p := range w.objects.Pods {
		if key(p) == name {
			return p
		}
	}
	return nil
}
