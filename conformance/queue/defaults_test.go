package queue_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	realqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// defaults has a default kube-scheduler, and podberth's table of registrations with the hints of that scheduler.
type defaults struct {
	*real.Scheduler
	cancel func()
	events []queue.Registration
}

// newDefaults returns an error unless the two tables of registrations agree.
func newDefaults(options ...scheduler.Option) (*defaults, error) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &defaults{cancel: cancel}
	var err error
	if d.Scheduler, err = real.Default(ctx, options...); err != nil {
		return nil, err
	}
	seen := map[string]int{}
	for _, r := range queue.DefaultEvents(nil, trial.Linked) {
		hints, err := d.Hints(r.Plugin)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(hints, func(h fwk.ClusterEventWithHint) bool { return compare.Event(h.Event) == r.Event })
		if i < 0 {
			return nil, fmt.Errorf("%s: podberth registers %v, the real plugin does not", r.Plugin, r.Event)
		}
		seen[r.Plugin]++
		if seen[r.Plugin] > len(hints) {
			return nil, fmt.Errorf("%s: podberth registers more than %d events", r.Plugin, len(hints))
		}
		if f := hints[i].QueueingHintFn; r.Hint == nil && f != nil {
			r.Hint = func(pod *v1.Pod, old, new any) (bool, error) {
				h, err := f(klog.Background(), pod, old, new)
				return h == fwk.Queue, err
			}
		}
		d.events = append(d.events, r)
	}
	for plugin, n := range seen {
		if hints, _ := d.Hints(plugin); len(hints) != n {
			return nil, fmt.Errorf("%s: podberth registers %d events, the real plugin %d", plugin, n, len(hints))
		}
	}
	return d, nil
}

// TestDefaults plays traces on the queue of a default scheduler: with its registrations, hints and gates, and with events of
// nodes, pods and storage.
func TestDefaults(t *testing.T) {
	lastMeter = nil
	trial.Run(t, 400, 900, func(s *trial.Source) error {
		w := emptyWorld(s)
		d, err := newDefaults(scheduler.WithClock(w.clock))
		if err != nil {
			return err
		}
		defer d.cancel()
		w.profiles = []string{"default-scheduler", "default-scheduler", "nobody's"}
		w.rejecters = nil
		for _, r := range d.events {
			if !slices.Contains(w.rejecters, r.Plugin) && r.Plugin != "SchedulingGates" {
				w.rejecters = append(w.rejecters, r.Plugin)
			}
		}
		w.ties = false
		w.store = d.Factory.Core().V1().Pods().Informer().GetIndexer()
		w.shape = w.features
		w.arrive = w.happen
		o := queue.Options{Release: trial.Linked, Profiles: map[string]queue.Profile{"default-scheduler": {Gates: []queue.Gate{w.counted(queue.SchedulingGates())}, Events: d.events}}, Known: w.known}
		if w.q, err = queue.New(o); err != nil {
			return err
		}
		w.real = d.Sched.SchedulingQueue.(*realqueue.PriorityQueue)
		return w.play()
	}, slices.DeleteFunc(slices.Clone(moves), func(m string) bool { return m == "gated -> gated" })...) // a default scheduler has one gate
}

// features gives a pod a field for which plugins wait.
func (w *world) features(p *v1.Pod) {
	p.Labels = trial.Pick(w.Source, nil, map[string]string{"l": "1"}, map[string]string{"l": "2"})
	term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"l": trial.Pick(w.Source, "1", "2")}}}
	switch w.N(9) {
	case 1:
		p.Spec.NodeSelector = map[string]string{"zone": "a"}
	case 2:
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	case 3:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	case 4:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: term.LabelSelector}}
	case 5:
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	case 6:
		p.Spec.Tolerations = []v1.Toleration{{Key: "t", Operator: v1.TolerationOpExists}}
	case 7:
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c1"}}}}
	case 8:
		p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}}
	}
}

func (w *world) node() *v1.Node {
	n := &v1.Node{}
	n.Name = trial.Pick(w.Source, "n1", "n2")
	n.Labels = map[string]string{"zone": trial.Pick(w.Source, "a", "b"), "kubernetes.io/hostname": n.Name}
	if w.Once(4) {
		n.Labels = nil
	}
	if w.Once(3) {
		n.Spec.Taints = []v1.Taint{{Key: trial.Pick(w.Source, "t", "u"), Effect: v1.TaintEffectNoSchedule}}
	}
	n.Spec.Unschedulable = w.Once(4)
	n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse(trial.Pick(w.Source, "4", "1", "8", "4000m")), "pods": resource.MustParse("10"), "memory": resource.MustParse("8Gi")}
	if w.Once(3) {
		n.Annotations = map[string]string{"a": "b"}
	}
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: trial.Pick(w.Source, v1.ConditionTrue, v1.ConditionFalse), Reason: trial.Pick(w.Source, "", "r")}}
	return n
}

func (w *world) assigned() *v1.Pod {
	p := w.pod(0)
	w.uids--
	p.Name, p.Namespace, p.UID = "running", trial.Pick(w.Source, "m", "n"), "running"
	w.features(p)
	p.Spec.NodeName = "n1"
	p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(trial.Pick(w.Source, "2", "1", "3"))
	return p
}

// happen makes an event of the cluster and reports the event to both queues, as the event handlers do.
func (w *world) happen() error {
	on := func(kind fwk.EventResource, action fwk.ActionType) []fwk.ClusterEvent {
		return []fwk.ClusterEvent{{Resource: kind, ActionType: action}}
	}
	action := trial.Pick(w.Source, fwk.Update, fwk.Add, fwk.Delete)
	meta := metav1.ObjectMeta{Name: trial.Pick(w.Source, "c1", "c2", "n1"), Namespace: trial.Pick(w.Source, "m", "n")}
	var old, new any
	var events []fwk.ClusterEvent
	switch w.N(12) {
	case 0, 1, 2, 3:
		a, b := w.node(), w.node()
		b.Name = a.Name
		old, new = a, b
		events = on(fwk.Node, action)
		if action == fwk.Update {
			events = framework.NodeSchedulingPropertiesChange(b, a)
			if err := sameEvents(events, queue.NodeUpdateEvents(a, b)); err != nil {
				return err
			}
		}
	case 4, 5, 6, 7:
		a, b := w.assigned(), w.assigned()
		b.Namespace = a.Namespace
		old, new = a, b
		events = on("AssignedPod", action)
		if action == fwk.Update {
			events = real.PodChanges(a, b)
			if err := sameEvents(events, queue.PodUpdateEvents(a, b, release.Current)); err != nil {
				return err
			}
		}
	case 8:
		old, new, events = &v1.PersistentVolumeClaim{ObjectMeta: meta}, &v1.PersistentVolumeClaim{ObjectMeta: meta}, on(fwk.PersistentVolumeClaim, action)
	case 9:
		old, new, events = &v1.PersistentVolume{ObjectMeta: meta}, &v1.PersistentVolume{ObjectMeta: meta}, on(fwk.PersistentVolume, action)
	case 10:
		old, new, events = &storagev1.CSINode{ObjectMeta: meta}, &storagev1.CSINode{ObjectMeta: meta}, on(fwk.CSINode, action)
	case 11:
		old, new, events = &storagev1.StorageClass{ObjectMeta: meta}, &storagev1.StorageClass{ObjectMeta: meta}, on(fwk.StorageClass, action)
	}
	switch action {
	case fwk.Add:
		old = nil
	case fwk.Delete:
		new = nil
	}
	for _, e := range events {
		w.note("event %s", e.Label())
		w.labels[compare.Event(e).String()] = e.Label()
		w.Count("event " + e.Label())
		w.refusals = 0
		w.say(w.q.Move(queue.Change{Event: compare.Event(e), Old: old, New: new}, w.now()))
		w.meterRefusals(e.Label())
		w.real.MoveAllToActiveOrBackoffQueue(w.log, e, old, new, nil)
	}
	return nil
}

// sameEvents leaves out the growth of requests, which podberth does not tell from an Update, unless nothing else changed.
func sameEvents(real []fwk.ClusterEvent, got []queue.Event) error {
	if len(real) > 1 {
		real = slices.DeleteFunc(slices.Clone(real), grows)
	}
	var want []queue.Event
	for _, e := range real {
		want = append(want, compare.Event(e))
	}
	if len(want)+len(got) > 0 && !reflect.DeepEqual(want, got) {
		return fmt.Errorf("events of an update: real %v, podberth %v", want, got)
	}
	for i, e := range real {
		if e.Label() != got[i].String() && !grows(e) {
			return fmt.Errorf("label: real %q, podberth %q", e.Label(), got[i])
		}
	}
	return nil
}
