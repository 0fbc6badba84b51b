package podgroup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	pgapi "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/internal/testkit/situation"
	own "github.com/podberth/podberth/podgroup"
)

// realPlayer is kube-scheduler over a client in memory. Its time is that of the bubble in which it was made.
type realPlayer struct {
	ctx    context.Context
	end    context.CancelFunc
	client *fake.Clientset
	queue  queue.SchedulingQueue
	diary  *diary
}

func newTheirs(ctx context.Context, gates *own.Gates, async bool, nodes ...*v1.Node) (player, error) {
	if err := switchGates(gates, async); err != nil {
		return nil, err
	}
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil // one of them sleeps by a clock of its own
	p := &realPlayer{client: fake.NewSimpleClientset(), diary: &diary{pause: moment}}
	p.ctx, p.end = context.WithCancel(ctx)
	p.client.PrependReactor("*", "*", versions(p.client))
	p.client.PrependReactor("create", "pods", bind(p.client))
	for _, n := range nodes {
		if err := p.client.Tracker().Add(n.DeepCopy()); err != nil {
			return nil, err
		}
	}
	factory := scheduler.NewInformerFactory(p.client, 0, nil)
	sched, err := scheduler.New(p.ctx, p.client, factory, nil, func(string) events.EventRecorderLogger { return p.diary }, scheduler.WithParallelism(1),
		scheduler.WithPodInitialBackoffSeconds(1), scheduler.WithPodMaxBackoffSeconds(1))
	if err != nil {
		return nil, err
	}
	p.queue, sched.NextEntity = sched.SchedulingQueue, p.oneAfterAnother(sched)
	factory.Start(p.ctx.Done())
	factory.WaitForCacheSync(p.ctx.Done())
	if err := sched.WaitForHandlersSync(p.ctx); err != nil {
		return nil, err
	}
	go sched.Run(p.ctx)
	time.Sleep(aside)
	return p, nil
}

// oneAfterAnother lets an attempt begin when all that the last one and the last change have started has come to rest. Without it an attempt may
// begin while the queue still takes the pods that have waited for their group, or before the informers tell of a deletion.
func (p *realPlayer) oneAfterAnother(sched *scheduler.Scheduler) func(klog.Logger) (framework.QueuedEntityInfo, error) {
	next, q := sched.NextEntity, sched.SchedulingQueue
	due := func() bool {
		alone := func(pod *v1.Pod) bool { return pod.Spec.SchedulingGroup == nil } // no group is tried before its backoff has ended
		return p.ctx.Err() != nil || len(q.PodsInActiveQ()) > 0 || slices.ContainsFunc(q.PodsInBackoffQ(), alone)
	}
	return func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		for synctest.Wait(); !due(); synctest.Wait() {
			for !due() {
				time.Sleep(look)
			}
		}
		return next(logger)
	}
}

// look is the time between two looks at the queue.
const look = 2 * time.Millisecond

func (p *realPlayer) do(s step) error {
	var err error
	switch pods, groups := p.client.CoreV1().Pods(situation.Namespace), p.client.SchedulingV1beta1().PodGroups(situation.Namespace); {
	case s.group != nil:
		if _, err = groups.Create(p.ctx, apiGroup(s.group), metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
			var now *pgapi.PodGroup
			if now, err = groups.Get(p.ctx, s.group.Name, metav1.GetOptions{}); err == nil {
				now = now.DeepCopy()
				now.Spec = apiGroup(s.group).Spec
				_, err = groups.Update(p.ctx, now, metav1.UpdateOptions{})
			}
		}
	case s.composite != nil:
		_, err = p.client.SchedulingV1alpha3().CompositePodGroups(situation.Namespace).Create(p.ctx, apiComposite(s.composite), metav1.CreateOptions{})
	case s.budget != nil:
		_, err = p.client.PolicyV1().PodDisruptionBudgets(situation.Namespace).Create(p.ctx, s.budget.DeepCopy(), metav1.CreateOptions{})
	case s.pod != nil:
		_, err = pods.Create(p.ctx, s.pod.DeepCopy(), metav1.CreateOptions{})
	case s.leaves != "":
		err = pods.Delete(p.ctx, s.leaves, metav1.DeleteOptions{})
	default:
		err = groups.Delete(p.ctx, s.removed, metav1.DeleteOptions{})
	}
	if apierrors.IsNotFound(err) {
		err = nil // a victim is gone already
	}
	time.Sleep(apart) // the order in which the informers of pods and of groups tell
	return err
}

// moment passes with each event of a scheduler, so that no two attempts end at the same time.
const moment = time.Microsecond

// aside keeps the steps from the moments at which the queues look at the clock, and from those at which the end of a rest of two to seven
// members moves to another second: no such moment is within [look] after a step.
const aside = 11 * time.Millisecond

// apart is the time between two changes of a batch.
const apart = 20 * time.Millisecond

func (p *realPlayer) rest() {
	select {
	case <-time.After(settled):
	case <-p.ctx.Done():
	}
}

func (p *realPlayer) shown() (out []string) {
	pods, err := p.client.CoreV1().Pods(situation.Namespace).List(p.ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	for k := range pods.Items {
		out = append(out, lineOf(&pods.Items[k]))
	}
	groups, err := p.client.SchedulingV1beta1().PodGroups(situation.Namespace).List(p.ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	for _, g := range groups.Items {
		for _, c := range g.Status.Conditions {
			out = append(out, groupLine("group "+g.Name, c.Reason, c.Message))
		}
	}
	for place, list := range map[string][]*v1.Pod{
		"active": p.queue.PodsInActiveQ(), "backoff": p.queue.PodsInBackoffQ(), "unschedulable": p.queue.UnschedulablePods(),
		"pending": p.queue.PendingPodGroupPods(), "incomplete": p.queue.IncompletePodGroupPodsPods(), "in flight": p.queue.InFlightPods(),
	} {
		for _, pod := range list {
			e, _ := p.queue.GetPod(pod.Name, pod.Namespace, pod.Spec.SchedulingGroup)
			out = append(out, fmt.Sprintf("%s %s after %d attempts", pod.Name, place, attempts(e)))
		}
	}
	return out
}

func attempts(e *framework.QueuedPodInfo) int {
	if e == nil {
		return -1
	}
	return e.Attempts
}

func (p *realPlayer) told() []string {
	p.diary.mu.Lock()
	defer p.diary.mu.Unlock()
	out := p.diary.notes
	p.diary.notes = nil
	return out
}

// close ends the scheduler and waits for the end of all that it has started, which the bubble needs.
func (p *realPlayer) close() {
	p.end()
	time.Sleep(time.Second)
}

// versions gives every object that is written a version of its own, without which kube-scheduler overlooks an update.
func versions(client *fake.Clientset) ktesting.ReactionFunc {
	var last atomic.Int64
	next := func() string { return strconv.FormatInt(last.Add(1), 10) }
	return func(a ktesting.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case interface{ GetObject() runtime.Object }: // created or updated
			if o, ok := a.GetObject().(metav1.Object); ok {
				o.SetResourceVersion(next())
			}
		case ktesting.PatchActionImpl:
			var change map[string]any
			if err := json.Unmarshal(a.Patch, &change); err != nil {
				return true, nil, err
			}
			metadata, _ := change["metadata"].(map[string]any)
			if metadata == nil {
				metadata = map[string]any{}
			}
			metadata["resourceVersion"] = next()
			change["metadata"] = metadata
			var err error
			if a.Patch, err = json.Marshal(change); err != nil {
				return true, nil, err
			}
			return ktesting.ObjectReaction(client.Tracker())(a)
		}
		return false, nil, nil
	}
}
