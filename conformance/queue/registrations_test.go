package queue_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	realqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	intree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/queue"
)

// withoutHint has the registrations without a hint of the real plugins.
var withoutHint = map[string][]string{
	"NodeName":           {"Node"},
	"NodePorts":          {"Node"},
	"VolumeRestrictions": {"Node"},
	"NodeVolumeLimits":   {"storage.k8s.io/CSINode"}, // for the addition; the update has a hint
	"VolumeBinding":      {"Node", "PersistentVolume"},
	"VolumeZone":         {"Node"},
	"DynamicResources":   {"Node", "resource.k8s.io/DeviceClass", "resource.k8s.io/ResourceSlice"},
}

// defaultScheduler returns a real scheduler with the default profile. The scheduler ends with the test.
func defaultScheduler(t *testing.T) *real.Scheduler {
	t.Helper()
	s, err := real.Default(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRegistrations compares podberth's table with every plugin of the in-tree registry: whether the plugin registers events,
// for which resources and actions, and which events have a hint. The test fails for a plugin that podberth does not know, and
// for a plugin that can reject and registers nothing.
func TestRegistrations(t *testing.T) {
	s := defaultScheduler(t)
	table := map[string][]queue.Event{}
	for _, r := range append(queue.DefaultEvents(nil, trial.Linked), offByDefault...) {
		table[r.Plugin] = append(table[r.Plugin], r.Event)
	}
	known := 0
	for _, name := range slices.Sorted(maps.Keys(intree.NewInTreeRegistry())) {
		p, err := s.Plugin(name)
		if err != nil {
			t.Fatal(err)
		}
		e, ok := p.(fwk.EnqueueExtensions)
		if !ok {
			if rejects(p) || table[name] != nil {
				t.Errorf("%s registers nothing: can it reject? %v; podberth registers %v", name, rejects(p), table[name])
			}
			continue
		}
		known++
		list, err := e.EventsToRegister(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var theirs []queue.Event
		var none []string
		for _, r := range list {
			theirs = append(theirs, compare.Event(r.Event))
			if r.QueueingHintFn == nil {
				none = append(none, string(r.Event.Resource))
			}
		}
		if a, b := sorted(theirs), sorted(table[name]); !slices.Equal(a, b) {
			t.Errorf("%s registers %v, in podberth %v", name, a, b)
		}
		if a, b := sorted(none), sorted(withoutHint[name]); !slices.Equal(a, b) {
			t.Errorf("%s has no hint for %v, want %v", name, a, b)
		}
	}
	if known != len(table) {
		t.Errorf("%d plugins register events, in podberth %d", known, len(table))
	}
}

func sorted[T any](list []T) (out []string) {
	for _, x := range list {
		out = append(out, fmt.Sprintf("%+v", x))
	}
	slices.Sort(out)
	return out
}

// rejects reports whether a plugin runs at a point where a plugin may refuse a pod.
func rejects(p fwk.Plugin) bool {
	_, enqueue := p.(fwk.PreEnqueuePlugin)
	_, preFilter := p.(fwk.PreFilterPlugin)
	_, filter := p.(fwk.FilterPlugin)
	_, reserve := p.(fwk.ReservePlugin)
	_, permit := p.(fwk.PermitPlugin)
	return enqueue || preFilter || filter || reserve || permit
}

// mute is a filter that registers no events.
type mute struct{}

func (mute) Name() string { return "Mute" }

func (mute) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status { return nil }

// The resources and actions of the events that arrive.
var (
	resources = append(arrivingPods, fwk.Node, fwk.PersistentVolume, fwk.PersistentVolumeClaim, fwk.CSINode,
		fwk.CSIDriver, fwk.VolumeAttachment, fwk.CSIStorageCapacity, fwk.StorageClass, fwk.ResourceClaim, fwk.ResourceSlice, fwk.DeviceClass,
		fwk.PodGroup, fwk.WildCard, "foos.v1.example.com")
	actions = append(bits(fwk.All), fwk.Update, fwk.All, fwk.Add|fwk.UpdateNodeLabel, fwk.Delete|fwk.UpdatePodLabel)
)

func bits(mask fwk.ActionType) (out []fwk.ActionType) {
	for bit := fwk.ActionType(1); bit <= mask; bit <<= 1 {
		out = append(out, bit)
	}
	return out
}

// TestEveryEventForEveryPlugin lets each plugin reject a pod and sends each event, in a default scheduler that also has a plugin
// and an extender without registrations. Hints get objects that no hint understands. The resulting error counts as Queue, so
// the test sees every registration that is in force, also the registrations that the scheduler adds by itself.
func TestEveryEventForEveryPlugin(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	profile, err := real.DefaultProfile()
	if err != nil {
		t.Fatal(err)
	}
	plugins := profile.Plugins.DeepCopy()
	plugins.Filter.Enabled = append(plugins.Filter.Enabled, config.Plugin{Name: "Mute"})
	profile.Plugins = plugins
	registry := frameworkruntime.Registry{"Mute": func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return mute{}, nil }}
	s, err := real.New(ctx, profile, scheduler.WithFrameworkOutOfTreeRegistry(registry),
		scheduler.WithExtenders(config.Extender{URLPrefix: "http://localhost", FilterVerb: "filter"}))
	if err != nil {
		t.Fatal(err)
	}
	events := queue.DefaultEvents(nil, trial.Linked)
	rejecters := []string{"Mute", "Extender", "Unheard"}
	for _, name := range rejecters[:2] {
		events = append(events, queue.UnregisteredEvents(name)...)
	}
	for i, r := range events {
		if r.Plugin != "DefaultPreemption" {
			events[i].Hint = func(*v1.Pod, any, any) (bool, error) { return false, errors.New("not understood") }
		}
		if !slices.Contains(rejecters, r.Plugin) {
			rejecters = append(rejecters, r.Plugin)
		}
	}
	q, err := queue.New(queue.Options{Release: trial.Linked, Profiles: map[string]queue.Profile{"default-scheduler": {Events: events}}})
	if err != nil {
		t.Fatal(err)
	}
	theirs := s.Sched.SchedulingQueue.(*realqueue.PriorityQueue)
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID, pod.Spec.SchedulerName = "default", "a", "a", "default-scheduler"
	woken := map[string]int{}
	for _, rejector := range rejecters {
		for _, resource := range resources {
			for _, action := range actions {
				e := fwk.ClusterEvent{Resource: resource, ActionType: action}
				real, err := wakes(ctx, theirs, pod, rejector, e)
				if err != nil {
					t.Fatal(err)
				}
				got, err := wakesHere(q, pod, rejector, compare.Event(e))
				if err != nil {
					t.Fatal(err)
				}
				if real != got {
					t.Errorf("%s, %s with mask %d: does it wake? real %v, podberth %v", rejector, resource, action, real, got)
				}
				if real && compare.Event(e) != (queue.Event{Resource: "*", Action: queue.All}) {
					woken[rejector]++
				}
			}
		}
	}
	for _, rejector := range rejecters {
		if want := rejector != "Unheard" && rejector != "DefaultPreemption"; (woken[rejector] > 0) != want {
			t.Errorf("%s: %d events wake it", rejector, woken[rejector])
		}
	}
	if mute := woken["Mute"]; mute != woken["Extender"] || mute < 100 {
		t.Errorf("%d events wake the plugin without registrations, %d the extender's pods", mute, woken["Extender"])
	}
	t.Logf("%d rejecters, %d events each; waking ones: %v", len(rejecters), len(resources)*len(actions), woken)
}

// nonsense is an object that no hint understands.
type nonsense struct{}

// wakes reports whether an event moves a pod that the plugin rejected. The queue is empty before and after.
func wakes(ctx context.Context, q *realqueue.PriorityQueue, pod *v1.Pod, rejector string, e fwk.ClusterEvent) (bool, error) {
	q.Add(ctx, pod)
	info, err := popNext(q)
	if err != nil {
		return false, err
	}
	info.UnschedulablePlugins.Insert(rejector)
	if err := handBack(q, info); err != nil {
		return false, err
	}
	if len(q.UnschedulablePods()) != 1 {
		return false, fmt.Errorf("%s: the rejected pod does not wait", rejector)
	}
	q.MoveAllToActiveOrBackoffQueue(klog.Background(), e, nonsense{}, nonsense{}, nil)
	woken := len(q.UnschedulablePods()) == 0
	remove(q, pod)
	return woken, nil
}

// wakesHere is wakes for podberth's queue.
func wakesHere(q *queue.Queue, pod *v1.Pod, rejector string, e queue.Event) (bool, error) {
	if _, err := q.Add(pod, noon); err != nil {
		return false, err
	}
	entry, _ := q.Pop(noon)
	if _, err := q.Return(entry, queue.Failure{Rejecters: []string{rejector}}, noon); err != nil {
		return false, err
	}
	if q.Counts().Unschedulable != 1 {
		return false, fmt.Errorf("%s: podberth does not let the rejected pod wait", rejector)
	}
	q.Move(queue.Change{Event: e, Old: nonsense{}, New: nonsense{}}, noon)
	woken := q.Counts().Unschedulable == 0
	q.Delete(pod)
	return woken, nil
}
