// Package queue_test compares podberth's queue with kube-scheduler's PriorityQueue. Both get the same random operations at the
// same times. After each operation every pod must be in the same place with the same history.
package queue_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	realqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/queue"
)

func init() {
	metrics.Register()
	klog.SetLogger(logr.Discard())
}

// world is the two queues side by side, one clock, and the objects as the API server has them.
type world struct {
	*trial.Source
	ctx    context.Context
	log    klog.Logger
	clock  *testingclock.FakeClock
	q      *queue.Queue
	real   *realqueue.PriorityQueue
	store  cache.Indexer
	slots  [6]*v1.Pod // the latest version of each name that exists
	uids   int
	rv     int
	flying []*flight
	shut   map[string]bool // gate and pod name
	opens  []registration  // of gate A
	closed bool
	// random is set when the real queue has asked gates in a random order. From then on the two queues may differ.
	random bool
	// profiles are the profiles of pods; the last profile is unknown. rejecters are plugins that reject. arrive makes an event.
	profiles, rejecters []string
	arrive              func() error
	shape               func(*v1.Pod)       // of new pods
	mixed               bool                // the real queue has nominated in a random order
	ties                bool                // equal times are possible; the name then breaks the tie
	metered             meter               // computed from podberth's moves
	before              meter               // of the real queue at the beginning
	labels              map[string]string   // labels of the real queue for events with several bits, which do not occur
	refusals            int                 // of podberth's gates since the last event
	leaked              bool                // the real scheduler_unschedulable_pods is too large: a pod was deleted while active or resting
	miscounts           bool                // the real queue has taken a pod for two
	rejected            map[string][]string // by pod: the plugins that had rejected it before the step
	wrong               meter               // by how much gauges of the real queue are wrong, see drift
}

// flight is a popped pod.
type flight struct {
	entry *queue.Entry
	info  *framework.QueuedPodInfo
	gone  bool // deleted since
	done  bool
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

var (
	plugins = []string{"P", "Q", "R", "S", "A", "B"} // A and B are gates, too
	// resources of registrations and of what arrives
	registered = slices.Concat([]fwk.EventResource{fwk.Node, fwk.Pod, fwk.CSINode, fwk.WildCard, "AssignedPod"}, waitingKinds, []fwk.EventResource{fwk.PersistentVolume})
	arriving   = []fwk.EventResource{fwk.Node, "AssignedPod", waitingArrive, fwk.CSINode, fwk.WildCard, fwk.Pod, fwk.PersistentVolume}
	masks      = []fwk.ActionType{fwk.Add, fwk.UpdateNodeLabel, fwk.UpdateNodeTaint, fwk.Add | fwk.UpdateNodeTaint, fwk.Delete, fwk.Update, fwk.All,
		fwk.UpdatePodLabel, fwk.UpdatePodScaleDown | fwk.Delete, fwk.UpdatePodSchedulingGatesEliminated, fwk.UpdatePodToleration | fwk.UpdatePodLabel,
		fwk.Add | fwk.UpdateNodeLabel, fwk.UpdateNodeLabel | fwk.UpdateNodeTaint, fwk.Add | fwk.Delete | fwk.UpdatePodLabel, fwk.UpdateNodeAllocatable, 0} // 0 only arrives
)

func newWorld(s *trial.Source) *world {
	w := emptyWorld(s)
	o := queue.Options{Profiles: map[string]queue.Profile{}, ExactRegistrations: true}
	hints := realqueue.QueueingHintMapPerProfile{}
	gates := map[string]map[string]fwk.PreEnqueuePlugin{}
	// A gate waits for the same events in all profiles, because the real queue mixes the registrations of gates of one name.
	// Gates whose registrations do not depend on arguments have this property.
	ofGates := map[string][]registration{"A": w.draw(), "B": w.draw()}
	if len(ofGates["A"]) == 0 {
		ofGates["A"] = w.draw()
	}
	w.opens = ofGates["A"]
	for _, name := range w.profiles[:2] {
		hints[name] = realqueue.QueueingHintMap{}
		gates[name] = map[string]fwk.PreEnqueuePlugin{}
		p := queue.Profile{}
		for _, plugin := range plugins {
			list, isGate := ofGates[plugin]
			if !isGate {
				list = w.draw()
			}
			for _, r := range list {
				h := hint(plugin, r.hint)
				hints[name][r.event] = append(hints[name][r.event], &realqueue.QueueingHintFunction{PluginName: plugin, QueueingHintFn: realHint(h)})
				p.Events = append(p.Events, queue.Registration{Plugin: plugin, Event: compare.Event(r.event), Hint: h})
				s.Note("%s: %s waits for %s/%d, hint %v", name, plugin, r.event.Resource, r.event.ActionType, h != nil)
			}
		}
		for _, g := range []string{"A", "B"} {
			gates[name][g] = gate{g, w}
			p.Gates = append(p.Gates, gate{g, w}.ours())
		}
		o.Profiles[name] = p
	}
	w.build(o, hints, gates)
	return w
}

// registration is an event that a plugin waits for.
type registration struct {
	event fwk.ClusterEvent
	hint  int
}

func (w *world) draw() (list []registration) {
	for range w.N(4) {
		e := fwk.ClusterEvent{Resource: trial.Pick(w.Source, registered...), ActionType: trial.Pick(w.Source, masks[:len(masks)-1]...)}
		list = append(list, registration{e, w.N(4)})
	}
	return list
}

func emptyWorld(s *trial.Source) *world {
	w := &world{Source: s, ctx: context.Background(), log: klog.Background(), clock: testingclock.NewFakeClock(noon.Add(300 * time.Millisecond)),
		shut: map[string]bool{}, metered: meter{}, wrong: meter{}, labels: map[string]string{}, profiles: []string{"p1", "p2", "nobody's"}, rejecters: []string{"P", "Q", "R", "S"}}
	w.store = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	w.arrive = w.event
	w.ties = s.Once(3)
	return w
}

// build makes the two queues with one of several settings.
func (w *world) build(o queue.Options, hints realqueue.QueueingHintMapPerProfile, gates map[string]map[string]fwk.PreEnqueuePlugin) {
	o.Release, o.Known = trial.Linked, w.known
	less := (&queuesort.PrioritySort{}).Less
	if w.ties {
		o.Less = func(a, b *queue.Entry) bool {
			if queue.PriorityLess(a, b) || queue.PriorityLess(b, a) {
				return queue.PriorityLess(a, b)
			}
			return string(a.Pod.UID) < string(b.Pod.UID)
		}
		sorter := less
		less = func(a, b queued) bool {
			if sorter(a, b) || sorter(b, a) {
				return sorter(a, b)
			}
			return uidOf(a) < uidOf(b)
		}
	}
	initial, max, leftover := time.Second, 10*time.Second, 5*time.Minute
	switch w.N(5) {
	case 1:
		initial, max = 2*time.Second, 3*time.Second
	case 2:
		max = 0
	case 3:
		initial, max, leftover = 700*time.Millisecond, 600*time.Second, time.Minute
	}
	w.Note("backoff %v to %v, leftover %v", initial, max, leftover)
	o.InitialBackoff, o.MaxBackoff, o.Leftover = initial, &max, leftover
	var err error
	if w.q, err = queue.New(o); err != nil {
		panic(err)
	}
	w.real = realqueue.NewPriorityQueue(less, factory, realqueue.WithClock(w.clock), realqueue.WithPreEnqueuePluginMap(gates),
		realqueue.WithQueueingHintMapPerProfile(hints), realqueue.WithPodLister(listersv1.NewPodLister(w.store)), realqueue.WithMetricsRecorder(recorder),
		realqueue.WithPodInitialBackoffDuration(initial), realqueue.WithPodMaxBackoffDuration(max), realqueue.WithPodMaxInUnschedulablePodsDuration(leftover))
}

// known returns the pod that the pod store has.
func (w *world) known(pod *v1.Pod) (string, bool) {
	obj, ok, _ := w.store.GetByKey(pod.Namespace + "/" + pod.Name)
	if !ok {
		return "", false
	}
	return obj.(*v1.Pod).Spec.NodeName, true
}

func realHint(h queue.Hint) fwk.QueueingHintFn {
	return func(_ klog.Logger, pod *v1.Pod, old, new any) (fwk.QueueingHint, error) {
		if h == nil {
			return fwk.Queue, nil
		}
		ok, err := h(pod, old, new)
		if ok {
			return fwk.Queue, err
		}
		return fwk.QueueSkip, err
	}
}

// recorder serves all queues, because each recorder has a goroutine.
var recorder = metrics.NewMetricsAsyncRecorder(1000, time.Second, nil)

// factory is never started: the real queue is given a lister.
var factory = informers.NewSharedInformerFactory(fake.NewClientset(), 0)

// hint returns nil, or a pure function of the plugin, the pod and the objects. The function returns Queue or Skip, with or
// without an error.
func hint(plugin string, kind int) queue.Hint {
	if kind == 0 {
		return nil
	}
	return func(pod *v1.Pod, old, new any) (bool, error) {
		h := fnv.New32a()
		fmt.Fprint(h, plugin, kind, pod.Name, pod.Labels)
		for _, o := range []any{old, new} {
			switch o := o.(type) {
			case *v1.Node:
				fmt.Fprint(h, "node", o.Name)
			case *v1.Pod:
				fmt.Fprint(h, "pod", o.Name, o.UID == pod.UID, o.ResourceVersion)
			default:
				fmt.Fprint(h, o)
			}
		}
		switch h.Sum32() >> 8 % 6 {
		case 0, 1:
			return true, nil
		case 2:
			return false, errors.New("cannot tell")
		case 3:
			if kind == 1 {
				return true, errors.New("cannot tell")
			}
		}
		return false, nil
	}
}

// gate is a PreEnqueue plugin that holds the pods that the world names.
type gate struct {
	name string
	w    *world
}

func (g gate) Name() string { return g.name }

func (g gate) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	switch {
	case !g.w.shut[g.name+pod.Name]:
		return nil
	case pod.Name == "c":
		return fwk.AsStatus(errors.New("broken"))
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "shut")
}

// ours returns the same gate for podberth.
func (g gate) ours() queue.Gate {
	return g.w.counted(queue.Gate{Name: g.name, Check: func(pod *v1.Pod) queue.GateVerdict {
		switch {
		case !g.w.shut[g.name+pod.Name]:
			return queue.GateVerdict{}
		case pod.Name == "c":
			return queue.GateVerdict{Err: errors.New("broken")}
		}
		return queue.GateVerdict{Refuse: true, Message: "shut"}
	}})
}

// pod returns a new pod with the name of a slot.
func (w *world) pod(slot int) *v1.Pod {
	w.uids++
	p := &v1.Pod{}
	p.Namespace, p.Name = []string{"m", "n"}[slot%2], string(rune('a'+slot))
	p.UID = types.UID(fmt.Sprintf("%s%d", p.Name, w.uids))
	p.Spec.SchedulerName = w.profiles[0]
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("2")}}}}
	p.ResourceVersion = w.version()
	return p
}

func (w *world) version() string { w.rv++; return fmt.Sprint(w.rv) }

// change returns a newer version of a pod.
func (w *world) change(old *v1.Pod) *v1.Pod {
	p := old.DeepCopy()
	p.ResourceVersion = w.version()
	for range 1 + w.N(2) {
		switch w.N(9) {
		case 0:
			p.Labels = trial.Pick(w.Source, nil, map[string]string{"l": "1"}, map[string]string{"l": "2"}, map[string]string{})
		case 1:
			prio := int32(w.N(4)) - 1
			p.Spec.Priority = &prio
		case 2:
			p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(trial.Pick(w.Source, "1", "2", "3", "1500m"))
		case 3:
			p.Spec.SchedulingGates = trial.Pick(w.Source, nil, []v1.PodSchedulingGate{{Name: "x"}}, []v1.PodSchedulingGate{{Name: "x"}, {Name: "y"}})
		case 4:
			p.Spec.Tolerations = trial.Pick(w.Source, nil, []v1.Toleration{{Key: "a"}}, []v1.Toleration{{Key: "b"}}, []v1.Toleration{{Key: "a"}, {Key: "b"}})
		case 5:
			p.Status.NominatedNodeName = trial.Pick(w.Source, "", "n1", "n2")
		case 6:
			p.Annotations = map[string]string{"a": p.ResourceVersion}
		case 7:
			name := trial.Pick(w.Source, "x", "y")
			p.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "r", ResourceClaimName: &name}}
		}
	}
	return p
}

// subset picks some of the names.
func (w *world) subset(names ...string) []string {
	bits := w.N(256)
	if len(names) > 8 { // few of many
		a, b := w.N(1<<16), w.N(1<<16)
		bits = a & b
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return bits>>slices.Index(names, n)&1 == 0 })
}

func list(cpu string) v1.ResourceList { return v1.ResourceList{"cpu": resource.MustParse(cpu)} }
