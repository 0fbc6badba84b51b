package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/believed"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/planning/workload"
)

// unit is one controller that pods name.
type unit struct {
	kind, namespace, name string
	uid                   types.UID
	invented              bool             // the object or the reference has no UID
	objects               workload.Objects // empty: the controller is not among the objects, and pods are copied
	known                 bool
	replicas              int32 // that the controller asks for; of an unknown controller the pods that run
	ordered               bool  // a StatefulSet with OrderedReady
	afterwards            bool  // a Job with podReplacementPolicy Failed
}

type unitKey struct{ kind, namespace, name string }

// String returns the name as results have it.
func (u *unit) String() string { return strings.TrimSpace(u.kind + " " + u.namespace + "/" + u.name) }

// identify gives a controller without a UID its name as the UID.
func (u *unit) identify() {
	if u.invented = u.uid == ""; u.invented {
		u.uid = types.UID(u.String())
	}
}

// late reports whether the controller makes a new pod only when the old pod is gone.
func (u *unit) late() bool { return u.stateful() || u != nil && u.afterwards }

// stateful reports whether the controller gives a new pod the name of the old pod.
func (u *unit) stateful() bool { return u != nil && u.kind == "StatefulSet" }

// group finds the controllers of the pods.
func (p *Planner) group() error {
	g := grouper{Planner: p}
	p.units = map[unitKey]*unit{}
	if err := g.objects(); err != nil {
		return err
	}
	var running []*v1.Pod
	for i := range p.base.Len() {
		for pod := range p.base.Pods(i) {
			g.count(pod)
			running = append(running, pod)
		}
	}
	for _, pod := range p.in.Pending {
		g.count(pod)
	}
	unknown := map[believed.Controller]int32{}
	for _, u := range g.unknown {
		if u.kind == "DaemonSet" || u.kind == "Job" || u.kind == "Node" { // without a scale
			g.scales = append(g.scales, disruption.Workload{APIVersion: u.version, Kind: u.kind, Namespace: u.namespace, Name: u.name, UID: u.uid})
			continue
		}
		unknown[believed.Controller{Namespace: u.namespace, Kind: u.kind, Name: u.name}] = u.replicas
	}
	p.scale = believed.Scale(disruption.NewScale(g.scales), unknown, slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](p.base).All()), running)
	byName := func(a, b unitKey) int {
		return cmp.Or(strings.Compare(a.kind, b.kind), strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name))
	}
	for _, k := range slices.SortedFunc(maps.Keys(p.units), byName) {
		if _, err := workload.Make(p.units[k].objects, workload.Options{Enough: one}); err != nil {
			return err
		}
	}
	return nil
}

// grouper makes the units of a planner.
type grouper struct {
	*Planner
	scales  []disruption.Workload
	unknown []*unknownUnit
}

// unknownUnit is a controller that is not among the objects.
type unknownUnit struct {
	*unit
	version string
}

// add makes the unit of a workload object. An error names an object whose name another object of the kind has.
func (g *grouper) add(version, kind string, o metav1.Object, replicas *int32) (*unit, error) {
	key := unitKey{kind, o.GetNamespace(), o.GetName()}
	if g.units[key] != nil {
		return nil, fmt.Errorf("%s %s/%s: metadata.name: Duplicate value: %q", kind, key.namespace, key.name, key.name)
	}
	u := &unit{kind: kind, namespace: key.namespace, name: key.name, uid: o.GetUID(), known: true, replicas: 1}
	u.identify()
	if replicas != nil {
		u.replicas = *replicas
	}
	g.units[key] = u
	w := disruption.Workload{APIVersion: version, Kind: kind, Namespace: key.namespace, Name: key.name, UID: u.uid, Replicas: &u.replicas}
	if kind == "Job" {
		w.Replicas = nil
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		if d := g.units[unitKey{ref.Kind, key.namespace, ref.Name}]; d != nil {
			owner := *ref
			owner.UID = d.uid
			w.Controller = &owner
		}
	}
	g.scales = append(g.scales, w)
	return u, nil
}

// objects makes a unit for each workload object.
func (g *grouper) objects() error {
	for i, d := range g.in.Deployments {
		if d == nil {
			return fmt.Errorf("rollout: deployments[%d]: Required value: must not be nil", i)
		}
		if _, err := g.add("apps/v1", "Deployment", d, d.Spec.Replicas); err != nil {
			return err
		}
	}
	for r := range cluster.List[*appsv1.ReplicaSet](g.base).All() {
		u, _ := g.add("apps/v1", "ReplicaSet", r, r.Spec.Replicas) // a snapshot has no two objects of a name
		u.objects.ReplicaSets = []*appsv1.ReplicaSet{r}
	}
	for r := range cluster.List[*v1.ReplicationController](g.base).All() {
		u, _ := g.add("v1", "ReplicationController", r, r.Spec.Replicas)
		u.objects.ReplicationControllers = []*v1.ReplicationController{r}
	}
	for x := range cluster.List[*appsv1.StatefulSet](g.base).All() {
		u, _ := g.add("apps/v1", "StatefulSet", x, x.Spec.Replicas)
		u.objects.StatefulSets = []*appsv1.StatefulSet{x}
		u.ordered = x.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	}
	for i, j := range g.in.Jobs {
		if j == nil {
			return fmt.Errorf("rollout: jobs[%d]: Required value: must not be nil", i)
		}
		u, err := g.add("batch/v1", "Job", j, nil)
		if err != nil {
			return err
		}
		u.objects.Jobs = []*batchv1.Job{j}
		u.afterwards = j.Spec.PodReplacementPolicy != nil && *j.Spec.PodReplacementPolicy == batchv1.Failed
	}
	for i, d := range g.in.DaemonSets {
		if d == nil {
			return fmt.Errorf("rollout: daemonSets[%d]: Required value: must not be nil", i)
		}
	}
	_, err := workload.Make(workload.Objects{DaemonSets: g.in.DaemonSets}, workload.Options{})
	return err
}

// count notes the controller of a pod. A controller that is not among the objects asks for the pods that it has.
func (g *grouper) count(pod *v1.Pod) {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return
	}
	key := unitKey{ref.Kind, pod.Namespace, ref.Name}
	u := g.units[key]
	if u == nil {
		u = &unit{kind: ref.Kind, namespace: pod.Namespace, name: ref.Name, uid: ref.UID}
		u.identify()
		g.units[key] = u
		g.unknown = append(g.unknown, &unknownUnit{u, ref.APIVersion})
	}
	if !u.known && pod.DeletionTimestamp == nil && !podinfo.Finished(pod) {
		u.replicas++
	}
}

// unitOf returns the controller of a pod, nil for a pod without a controller.
func (p *Planner) unitOf(pod *v1.Pod) *unit {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return nil
	}
	return p.units[unitKey{ref.Kind, pod.Namespace, ref.Name}]
}
