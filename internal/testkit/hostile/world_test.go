package hostile

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/overhead/kubelet"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/planning/rollout"
	"github.com/podberth/podberth/planning/workload"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/taints"
	"github.com/podberth/podberth/taints/edit"
)

// kinds are the kinds of objects of a world.
var kinds = []reflect.Type{
	reflect.TypeFor[v1.Node](), reflect.TypeFor[v1.Pod](), reflect.TypeFor[v1.Namespace](), reflect.TypeFor[v1.Service](), reflect.TypeFor[v1.ReplicationController](),
	reflect.TypeFor[v1.PersistentVolume](), reflect.TypeFor[v1.PersistentVolumeClaim](), reflect.TypeFor[v1.LimitRange](), reflect.TypeFor[v1.ResourceQuota](),
	reflect.TypeFor[v1.PodTemplate](), reflect.TypeFor[v1.Event](),
	reflect.TypeFor[appsv1.ReplicaSet](), reflect.TypeFor[appsv1.StatefulSet](), reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[appsv1.DaemonSet](),
	reflect.TypeFor[batchv1.Job](), reflect.TypeFor[batchv1.CronJob](), reflect.TypeFor[eventsv1.Event](),
	reflect.TypeFor[policyv1.PodDisruptionBudget](), reflect.TypeFor[schedulingv1.PriorityClass](), reflect.TypeFor[nodev1.RuntimeClass](),
	reflect.TypeFor[storagev1.StorageClass](), reflect.TypeFor[storagev1.CSINode](), reflect.TypeFor[storagev1.CSIDriver](), reflect.TypeFor[storagev1.CSIStorageCapacity](),
	reflect.TypeFor[storagev1.VolumeAttachment](),
	reflect.TypeFor[resourcev1.DeviceClass](), reflect.TypeFor[resourcev1beta2.DeviceTaintRule](), reflect.TypeFor[resourcev1.ResourceSlice](), reflect.TypeFor[resourcev1.ResourceClaim](), reflect.TypeFor[resourcev1.ResourceClaimTemplate](),
}

// newWorld makes the objects of a seed.
func newWorld(seed uint64, reversed bool) *world {
	w := &world{
		r: rand.New(rand.NewPCG(seed, 7)), reversed: reversed,
		objects: map[reflect.Type][]reflect.Value{}, before: map[reflect.Type][]reflect.Value{}, made: map[reflect.Type][]reflect.Value{}, calls: map[string]int{},
	}
	for _, kind := range kinds {
		many := pick(w, 1, 1, 2, 3)
		if kind == kinds[0] || kind == kinds[1] {
			many += 1 + w.r.IntN(4)
		}
		var list []reflect.Value
		for k := range many {
			o := reflect.New(kind)
			o.Elem().Set(w.structure(kind, 1))
			w.named(o.Interface().(metav1.Object), k)
			list = append(list, o)
		}
		w.objects[reflect.PointerTo(kind)] = list
	}
	for t, list := range w.objects {
		for _, o := range list {
			w.before[t] = append(w.before[t], reflect.ValueOf(o.Interface().(runtime.Object).DeepCopyObject()))
		}
	}
	for _, t := range begun {
		p := reflect.New(t)
		p.Elem().Set(w.value(t, 1, ""))
		w.keep(p.Elem())
		w.keep(p)
	}
	return w
}

// begun are types of which every world has a value from its begin: few functions return or take one.
var begun = []reflect.Type{
	reflect.TypeFor[admission.TolerationRestriction](), reflect.TypeFor[overhead.Phase](), reflect.TypeFor[overhead.Part](),
	reflect.TypeFor[taint.Action](), reflect.TypeFor[taint.Config](), reflect.TypeFor[taint.Timeline](), reflect.TypeFor[kubelet.Admission](), reflect.TypeFor[filter.Message](), reflect.TypeFor[filter.Code](),
	reflect.TypeFor[filter.Search](), reflect.TypeFor[placement.PluginArgs](), reflect.TypeFor[placement.NodeReport](), reflect.TypeFor[failures.Headroom](),
	reflect.TypeFor[failures.Workload](), reflect.TypeFor[failures.Result](), reflect.TypeFor[workload.Waiting](), reflect.TypeFor[preemption.CandidateArgs](),
	reflect.TypeFor[preemption.Result](), reflect.TypeFor[queue.Action](), reflect.TypeFor[queue.Event](), reflect.TypeFor[spread.Skew](),
	reflect.TypeFor[spread.Report](), reflect.TypeFor[taints.Explanation](), reflect.TypeFor[taints.Options](), reflect.TypeFor[consolidation.Move](), reflect.TypeFor[rollout.Plan](),
	reflect.TypeFor[diagnose.Change](), reflect.TypeFor[diagnose.Relaxation](), reflect.TypeFor[pressure.Threshold](), reflect.TypeFor[devices.ID](),
	reflect.TypeFor[devices.RequestReport](), reflect.TypeFor[devices.Explanation](), reflect.TypeFor[disruption.Decision](),
	reflect.TypeFor[optimal.Criterion](), reflect.TypeFor[edit.Command](), reflect.TypeFor[edit.HealthChange](), reflect.TypeFor[affinity.NodeOptions](), reflect.TypeFor[affinity.PodOptions](),
	reflect.TypeFor[filter.Histogram](), reflect.TypeFor[filter.PreFilters](), reflect.TypeFor[queue.Place](), reflect.TypeFor[placement.Decision](), reflect.TypeFor[preemption.Planner](),
	reflect.TypeFor[consolidation.Plan](), reflect.TypeFor[score.Explanation](), reflect.TypeFor[queue.Explanation](), reflect.TypeFor[queue.Move](),
}

// named gives an object a name that is its own, and lets nodes and pods take part mostly.
func (w *world) named(o metav1.Object, k int) {
	name := fmt.Sprintf("a%d", k)
	switch o := o.(type) {
	case *v1.Node:
		name = fmt.Sprintf("n%d", k)
		if w.oneIn(2) {
			o.Spec.Unschedulable, o.Spec.Taints = false, nil
			o.Status.Allocatable = v1.ResourceList{"cpu": cores, "memory": gigabytes, "pods": manyPods}
		}
	case *v1.Pod:
		o.Spec.NodeName = pick(w, "", "", "n0", "n1", "n2", "gone")
		if w.oneIn(2) {
			o.DeletionTimestamp, o.Spec.SchedulingGates, o.Status.Phase = nil, nil, pick(w, v1.PodPending, v1.PodRunning)
		}
		if w.oneIn(2) {
			o.Spec.Affinity, o.Spec.TopologySpreadConstraints, o.Spec.Overhead = nil, nil, nil
		}
		if w.oneIn(3) {
			o.Spec.ResourceClaims, o.Spec.Volumes = nil, nil
		}
	}
	if w.oneIn(20) {
		name = pick(w, odd...) + name
	}
	o.SetName(name)
}

// snapshot makes a cluster of the objects. Objects that the cluster refuses are left out. What is not a node or a pod comes in the
// opposite order in the world that is reversed: the order must not matter.
func (w *world) snapshot() *cluster.Snapshot {
	s, err := cluster.New(cluster.Objects{})
	if err != nil {
		panic(err)
	}
	var list []metav1.Object
	for _, kind := range kinds[2:] {
		for _, o := range w.objects[reflect.PointerTo(kind)] {
			list = append(list, o.Interface().(metav1.Object))
		}
	}
	if w.reversed {
		slices.Reverse(list)
	}
	for _, kind := range kinds[:2] {
		for _, o := range w.objects[reflect.PointerTo(kind)] {
			list = append(list, o.Interface().(metav1.Object))
		}
	}
	for _, o := range list {
		if err := s.Set(o); err != nil {
			continue // a kind that a cluster does not hold, or an object that it refuses
		}
	}
	return s
}

// changed returns the name of an object that is not as it was made; "" for none.
func (w *world) changed() string {
	for t, list := range w.before {
		for k, o := range list {
			if !reflect.DeepEqual(o.Interface(), w.objects[t][k].Interface()) {
				return fmt.Sprintf("%v %s", t, o.Interface().(metav1.Object).GetName())
			}
		}
	}
	return ""
}
