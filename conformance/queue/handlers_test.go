package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// waiter is a plugin that waits for one event, without a hint.
type waiter struct {
	name  string
	event fwk.ClusterEvent
}

func (w waiter) Name() string { return w.name }

func (w waiter) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{Event: w.event}}, nil
}

func (w waiter) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	return nil
}

// TestHandlers sends changes of assigned pods and nodes through the event handlers of kube-scheduler. The events that podberth
// derives from a change must wake the same pods.
func TestHandlers(t *testing.T) {
	registrations := []fwk.ClusterEvent{
		{Resource: fwk.Pod, ActionType: fwk.Add}, {Resource: fwk.Pod, ActionType: fwk.UpdatePodLabel}, {Resource: fwk.Pod, ActionType: fwk.Update},
		{Resource: fwk.Pod, ActionType: fwk.UpdatePodScaleDown}, {Resource: fwk.Pod, ActionType: fwk.Delete}, {Resource: fwk.Node, ActionType: fwk.Add},
		{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel}, {Resource: fwk.Node, ActionType: fwk.Delete}, {Resource: fwk.Node, ActionType: fwk.UpdateNodeAllocatable},
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	profile, err := real.DefaultProfile()
	require.NoError(t, err)
	registry := frameworkruntime.Registry{}
	ourProfile := queue.Profile{}
	var names []string
	for i, e := range registrations {
		w := waiter{"waits" + string(rune('a'+i)), e}
		names = append(names, w.name)
		registry[w.name] = func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return w, nil }
		profile.Plugins.Filter.Enabled = append(profile.Plugins.Filter.Enabled, config.Plugin{Name: w.name})
		ourProfile.Events = append(ourProfile.Events, queue.Registration{Plugin: w.name, Event: compare.Event(e)})
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", ResourceVersion: "1"}}
	client := fake.NewClientset(node)
	f := informers.NewSharedInformerFactory(client, 0)
	sched, err := scheduler.New(ctx, client, f, nil, func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		scheduler.WithProfiles(profile), scheduler.WithFrameworkOutOfTreeRegistry(registry))
	require.NoError(t, err)
	q, err := queue.New(queue.Options{Release: trial.Linked, Profiles: map[string]queue.Profile{"default-scheduler": ourProfile}})
	require.NoError(t, err)
	f.Start(ctx.Done())
	f.WaitForCacheSync(ctx.Done())
	require.NoError(t, sched.WaitForHandlersSync(ctx))

	// Each plugin has rejected one pod.
	var waiting []*v1.Pod
	reject := func() {
		for i, name := range names {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "n", UID: types.UID(name)}}
			p.Spec.SchedulerName = "default-scheduler"
			remove(sched.SchedulingQueue, p)
			q.Delete(p)
			if len(waiting) == i {
				waiting = append(waiting, p)
			}
		}
		for _, p := range waiting {
			sched.SchedulingQueue.Add(ctx, p)
			info, err := popNext(sched.SchedulingQueue)
			require.NoError(t, err)
			info.UnschedulablePlugins = sets.New(p.Name)
			require.NoError(t, handBack(sched.SchedulingQueue, info))
			_, err = q.Add(p, time.Now())
			require.NoError(t, err)
			e, _ := q.Pop(time.Now())
			_, err = q.Return(e, queue.Failure{Rejecters: []string{p.Name}}, time.Now())
			require.NoError(t, err)
		}
	}
	check := func(what string, events []queue.Event, old, new any) {
		t.Helper()
		for _, e := range events {
			q.Move(queue.Change{Event: e, Old: old, New: new}, time.Now())
		}
		var want []string
		for _, p := range waiting {
			if e, ok := q.Lookup(p); ok && e.Place() == queue.Unschedulable {
				want = append(want, p.Name)
			}
		}
		var got []string
		err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			got = nil
			for _, p := range sched.SchedulingQueue.UnschedulablePods() {
				got = append(got, p.Name)
			}
			return len(got) <= len(want), nil
		})
		require.NoError(t, err, "%s: the real queue still has %v, podberth %v", what, got, want)
		require.ElementsMatch(t, want, got, what)
	}
	running := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "n", UID: "r", ResourceVersion: "1", Labels: map[string]string{"l": "1"}}}
	running.Spec.NodeName = "n1"
	running.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: list("2")}}}
	pods := client.CoreV1().Pods("n")
	change := func(f func(p *v1.Pod)) (old, new *v1.Pod) {
		old = running
		running = running.DeepCopy()
		f(running)
		running.ResourceVersion += "1"
		_, err := pods.Update(ctx, running, metav1.UpdateOptions{})
		require.NoError(t, err)
		return old, running
	}

	reject()
	_, err = pods.Create(ctx, running, metav1.CreateOptions{})
	require.NoError(t, err)
	check("an assigned pod is added", []queue.Event{{Resource: "AssignedPod", Action: queue.Add}}, nil, running)
	for what, f := range map[string]func(p *v1.Pod){
		"labels":     func(p *v1.Pod) { p.Labels = map[string]string{"l": "2"} },
		"scale down": func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = list("1") },
		"annotation": func(p *v1.Pod) { p.Annotations = map[string]string{"a": "b"} },
	} {
		reject()
		old, new := change(f)
		check(what, queue.PodUpdateEvents(old, new, release.Current), old, new)
	}
	reject()
	require.NoError(t, pods.Delete(ctx, "r", metav1.DeleteOptions{}))
	check("an assigned pod is deleted", []queue.Event{{Resource: "AssignedPod", Action: queue.Delete}}, running, nil)
	reject()
	other := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2", ResourceVersion: "1"}}
	_, err = client.CoreV1().Nodes().Create(ctx, other, metav1.CreateOptions{})
	require.NoError(t, err)
	check("a node is added", []queue.Event{{Resource: "Node", Action: queue.Add}}, nil, other)
	reject()
	newer := other.DeepCopy()
	newer.Labels, newer.Status.Allocatable, newer.ResourceVersion = map[string]string{"l": "1"}, list("4"), "2"
	_, err = client.CoreV1().Nodes().Update(ctx, newer, metav1.UpdateOptions{})
	require.NoError(t, err)
	check("a node changes", queue.NodeUpdateEvents(other, newer), other, newer)
	reject()
	require.NoError(t, client.CoreV1().Nodes().Delete(ctx, "n2", metav1.DeleteOptions{}))
	check("a node is deleted", []queue.Event{{Resource: "Node", Action: queue.Delete}}, newer, nil)
}
