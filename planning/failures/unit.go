package failures

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/planning/workload"
)

// unit is the pods of one workload: a Deployment with its ReplicaSets, or one other controller.
type unit struct {
	kind, namespace, name string
	place                 int              // order in which controllers make pods
	objects               workload.Objects // empty: the controller is not among the objects, and pods are copied
	known                 bool
	want                  int // replicas that the controller asks for; -1: what there was
	stateful              *appsv1.StatefulSet
	pods                  []*v1.Pod // assigned pods in the order of their names, then pending pods
	running               int       // assigned pods that are not terminating
}

// tied reports whether the pods leave with their node: nobody makes them on another node.
func (u *unit) tied() bool { return u.kind == "DaemonSet" || u.kind == "Node" }

type unitKey struct{ kind, namespace, name string }

// group finds the workload of every pod.
func (p *Planner) group() error {
	g := grouper{planner: p, byKey: map[unitKey]*unit{}}
	if err := g.objects(); err != nil {
		return err
	}
	var pods []*v1.Pod
	for i := range p.base.Len() {
		pods = slices.AppendSeq(pods, p.base.Pods(i))
	}
	slices.SortFunc(pods, byName)
	for _, pod := range append(pods, p.pending...) {
		u := g.of(pod)
		if u == nil {
			continue
		}
		p.unitOf[pod] = u
		u.pods = append(u.pods, pod)
		if p.base.Pod(pod.Namespace, pod.Name) == pod && pod.DeletionTimestamp == nil {
			u.running++
		}
	}
	p.units = g.units
	for i, u := range p.units {
		u.place = i
		if u.want < 0 {
			u.want = u.running
		}
		if _, err := u.missing(p.base, u.pods, 1); err != nil {
			return err
		}
	}
	return nil
}

func byName(a, b *v1.Pod) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// grouper makes the units of a planner.
type grouper struct {
	planner *Planner
	byKey   map[unitKey]*unit
	units   []*unit
}

// add makes the unit of a workload object; nil and an error for a name that another object of the kind has.
func (g *grouper) add(kind string, o metav1.Object, replicas *int32) (*unit, error) {
	key := unitKey{kind, o.GetNamespace(), o.GetName()}
	if g.byKey[key] != nil {
		return nil, fmt.Errorf("%s %s/%s: metadata.name: Duplicate value: %q", kind, key.namespace, key.name, key.name)
	}
	u := g.unit(key)
	u.known, u.want = true, 1
	if replicas != nil {
		u.want = int(*replicas)
	}
	return u, nil
}

func (g *grouper) unit(key unitKey) *unit {
	u := &unit{kind: key.kind, namespace: key.namespace, name: key.name, want: -1}
	g.byKey[key] = u
	g.units = append(g.units, u)
	return u
}

// objects makes a unit for each workload object.
func (g *grouper) objects() error {
	in, s := &g.planner.in, g.planner.base
	for i, d := range in.Deployments {
		if d == nil {
			return fmt.Errorf("failures: deployments[%d]: Required value: must not be nil", i)
		}
		u, err := g.add("Deployment", d, d.Spec.Replicas)
		if err != nil {
			return err
		}
		u.objects.Deployments = []*appsv1.Deployment{d}
	}
	for r := range cluster.List[*appsv1.ReplicaSet](s).All() {
		u := g.deploymentOf(r)
		if u == nil {
			u, _ = g.add("ReplicaSet", r, r.Spec.Replicas) // a snapshot has no two objects of a name
		} else {
			g.byKey[unitKey{"ReplicaSet", r.Namespace, r.Name}] = u
		}
		u.objects.ReplicaSets = append(u.objects.ReplicaSets, r)
	}
	for r := range cluster.List[*v1.ReplicationController](s).All() {
		u, _ := g.add("ReplicationController", r, r.Spec.Replicas)
		u.objects.ReplicationControllers = []*v1.ReplicationController{r}
	}
	for x := range cluster.List[*appsv1.StatefulSet](s).All() {
		u, _ := g.add("StatefulSet", x, x.Spec.Replicas)
		u.objects.StatefulSets, u.stateful = []*appsv1.StatefulSet{x}, x
	}
	for i, j := range in.Jobs {
		if j == nil {
			return fmt.Errorf("failures: jobs[%d]: Required value: must not be nil", i)
		}
		u, err := g.add("Job", j, nil)
		if err != nil {
			return err
		}
		u.objects.Jobs, u.want = []*batchv1.Job{j}, -1
	}
	return nil
}

// deploymentOf returns the unit of the Deployment of a ReplicaSet, nil when there is none among the objects.
func (g *grouper) deploymentOf(r *appsv1.ReplicaSet) *unit {
	ref := metav1.GetControllerOfNoCopy(r)
	if ref == nil || ref.Kind != "Deployment" {
		return nil
	}
	return g.byKey[unitKey{ref.Kind, r.Namespace, ref.Name}]
}

// of returns the unit of a pod, nil for a pod without a controller.
func (g *grouper) of(pod *v1.Pod) *unit {
	var key unitKey
	if podinfo.Mirror(pod) {
		key = unitKey{"Node", "", pod.Spec.NodeName}
	} else if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		key = unitKey{ref.Kind, pod.Namespace, ref.Name}
	} else {
		return nil
	}
	if u := g.byKey[key]; u != nil {
		return u
	}
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; key.kind == "ReplicaSet" && hash != "" {
		if name, ok := strings.CutSuffix(key.name, "-"+hash); ok {
			if u := g.byKey[unitKey{"Deployment", pod.Namespace, name}]; u != nil {
				return u
			}
		}
	}
	return g.unit(key) // of a controller that is not among the objects
}

// missing returns what the controller makes when these pods are there, at most enough of pods that differ in name only. Pods on a node without a Ready condition count as
// ready: objects that people write have no status.
func (u *unit) missing(s *cluster.Snapshot, pods []*v1.Pod, enough int) (*workload.Made, error) {
	if !u.known {
		return &workload.Made{}, nil
	}
	o := u.objects
	o.Pods = pods
	if u.stateful != nil {
		o.Pods = make([]*v1.Pod, len(pods))
		for i, p := range pods {
			o.Pods[i] = observed(s, p)
		}
		o.Claims = u.claims(s)
	}
	return workload.Make(o, workload.Options{Enough: func(*v1.Pod) int { return enough }})
}

// claims returns the claims of a StatefulSet's pods that exist.
func (u *unit) claims(s *cluster.Snapshot) (out []*v1.PersistentVolumeClaim) {
	all := cluster.List[*v1.PersistentVolumeClaim](s)
	start := 0
	if u.stateful.Spec.Ordinals != nil {
		start = int(u.stateful.Spec.Ordinals.Start)
	}
	for i := range u.stateful.Spec.VolumeClaimTemplates {
		for k := range u.want {
			name := fmt.Sprintf("%s-%s-%d", u.stateful.Spec.VolumeClaimTemplates[i].Name, u.name, start+k)
			if c, ok := all.Get(u.namespace, name); ok {
				out = append(out, c)
			}
		}
	}
	return out
}

// observed returns a pod on a node with the status that its kubelet reports.
func observed(s *cluster.Snapshot, pod *v1.Pod) *v1.Pod {
	if s.Pod(pod.Namespace, pod.Name) == nil {
		return pod
	}
	return podinfo.Observed(pod)
}

// healthy reports whether an assigned pod counts for a budget: it is not terminating, and no condition says that it is not
// ready.
func healthy(pod *v1.Pod) bool {
	return pod.DeletionTimestamp == nil && !slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReady && c.Status != v1.ConditionTrue
	})
}
