package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/workload"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/dump"
)

// owner is a workload of the input, changed or not.
type owner struct {
	kind   string
	object metav1.Object
	pods   []*v1.Pod // its pods that have not ended
	sets   []*appsv1.ReplicaSet
}

// owner finds a workload by KIND/NAMESPACE/NAME and puts a copy of it in its place.
func (w *world) owner(text string) (*owner, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return nil, bad("Invalid value", "%q: must be KIND/NAMESPACE/NAME, such as deployment/shop/web", text)
	}
	x := &owner{}
	is := func(o metav1.Object) bool { return o.GetNamespace() == parts[1] && o.GetName() == parts[2] }
	switch strings.ToLower(parts[0]) {
	case "deployment":
		x.kind, x.object = "Deployment", copied(w.o.Deployments, is, (*appsv1.Deployment).DeepCopy, &w.o.Deployments)
	case "statefulset":
		x.kind, x.object = "StatefulSet", copied(w.o.StatefulSets, is, (*appsv1.StatefulSet).DeepCopy, &w.o.StatefulSets)
	case "replicaset":
		x.kind, x.object = "ReplicaSet", copied(w.o.ReplicaSets, is, (*appsv1.ReplicaSet).DeepCopy, &w.o.ReplicaSets)
	case "replicationcontroller":
		x.kind, x.object = "ReplicationController", copied(w.o.ReplicationControllers, is, (*v1.ReplicationController).DeepCopy, &w.o.ReplicationControllers)
	case "job":
		x.kind, x.object = "Job", copied(w.o.Jobs, is, (*batchv1.Job).DeepCopy, &w.o.Jobs)
	default:
		return nil, bad("Unsupported value", "%q: supported values: deployment, statefulset, replicaset, replicationcontroller, job", parts[0])
	}
	if x.object == nil {
		return nil, bad("Not found", "%q: no %s of that namespace and name", parts[1]+"/"+parts[2], x.kind)
	}
	of := map[string]bool{x.kind + "/" + parts[2]: true}
	if x.kind == "Deployment" {
		for _, s := range w.o.ReplicaSets {
			if c := metav1.GetControllerOf(s); s.Namespace == parts[1] && c != nil && c.Kind == "Deployment" && c.Name == parts[2] {
				of["ReplicaSet/"+s.Name] = true
				x.sets = append(x.sets, s)
			}
		}
	}
	for _, p := range w.o.Pods {
		if c := metav1.GetControllerOf(p); p.Namespace == parts[1] && c != nil && of[c.Kind+"/"+c.Name] && !cluster.Finished(p) && p.DeletionTimestamp == nil {
			x.pods = append(x.pods, p)
		}
	}
	return x, nil
}

// copied puts a copy of the object that is meant in its place in a list, and returns the copy; nil when there is none.
func copied[P metav1.Object](list []P, is func(metav1.Object) bool, of func(P) P, into *[]P) metav1.Object {
	for k, x := range list {
		if is(x) {
			*into = slices.Clone(list)
			(*into)[k] = of(x)
			return (*into)[k]
		}
	}
	return nil
}

func (w *world) scale(text string) error {
	const form = "KIND/NAMESPACE/NAME=N"
	on, to, err := of(text, form)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(to)
	if err != nil || n < 0 || n > mostReplicas {
		return bad("Invalid value", "%q: must be %s with a number from 0 to %d", text, form, mostReplicas)
	}
	x, err := w.owner(on)
	if err != nil {
		return err
	}
	replicas := int32(n)
	only := workload.Objects{ReplicaSets: x.sets}
	switch o := x.object.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas, only.Deployments = &replicas, []*appsv1.Deployment{o}
	case *appsv1.StatefulSet:
		o.Spec.Replicas, only.StatefulSets = &replicas, []*appsv1.StatefulSet{o}
	case *appsv1.ReplicaSet:
		o.Spec.Replicas, only.ReplicaSets = &replicas, []*appsv1.ReplicaSet{o}
	case *v1.ReplicationController:
		o.Spec.Replicas, only.ReplicationControllers = &replicas, []*v1.ReplicationController{o}
	default:
		return bad("Unsupported value", "%q: a %s has no replicas", on, x.kind)
	}
	if len(x.pods) > n {
		goes := map[*v1.Pod]bool{}
		for _, p := range x.first(len(x.pods) - n) {
			goes[p] = true
			w.gone = append(w.gone, gone{Pod: name(p), Node: p.Spec.NodeName, Why: "its workload has fewer replicas"})
			w.release(p)
		}
		w.o.Pods = slices.DeleteFunc(w.o.Pods, func(p *v1.Pod) bool { return goes[p] })
		return nil
	}
	made, err := w.o.ExpandOf(only)
	if err != nil {
		return err
	}
	return w.admit(made)
}

// first returns the pods that go when a workload shrinks. Of a StatefulSet they are those of the highest ordinals, and otherwise:
//
//  1. pods without a node,
//  2. pods that are not ready,
//  3. pods on nodes with more pods of the workload,
//  4. younger pods.
//
// (Documentation, "ReplicaSet", scaling down; the annotation for the cost of a deletion is not read.)
func (x *owner) first(n int) []*v1.Pod {
	on := map[string]int{}
	for _, p := range x.pods {
		on[p.Spec.NodeName]++
	}
	rank := func(p *v1.Pod) int {
		switch {
		case p.Spec.NodeName == "":
			return 0
		case !slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue }):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(x.pods, func(a, b *v1.Pod) int {
		if x.kind == "StatefulSet" {
			return cmp.Compare(ordinal(b), ordinal(a))
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(on[b.Spec.NodeName], on[a.Spec.NodeName]), b.CreationTimestamp.Compare(a.CreationTimestamp.Time))
	})
	return x.pods[:n]
}

func ordinal(p *v1.Pod) int {
	n, err := strconv.Atoi(p.Name[strings.LastIndex(p.Name, "-")+1:])
	if err != nil {
		return -1 // no pod of a StatefulSet controller
	}
	return n
}

// admit puts new pods through admission. One that the API server refuses is an error: the controller could not make it.
func (w *world) admit(made []*v1.Pod) error {
	for _, p := range made {
		w.made[name(p)] = true
	}
	refused := w.o.AdmitMade(made).Refused
	if len(refused) == 0 {
		return nil
	}
	for _, r := range refused {
		w.refused = append(w.refused, refusedPod(name(r.Pod), r.Text))
	}
	return nil
}

func (w *world) request(text string) error {
	const form = "KIND/NAMESPACE/NAME=RESOURCE=AMOUNT"
	on, to, err := of(text, form)
	if err != nil {
		return err
	}
	resource, amount, found := strings.Cut(to, "=")
	quantity, err := resources.ParseQuantity(amount)
	if !found || err != nil || quantity.Sign() < 0 {
		return bad("Invalid value", "%q: must be %s, such as deployment/shop/web=cpu=250m", text, form)
	}
	x, err := w.owner(on)
	if err != nil {
		return err
	}
	ask := func(s *v1.PodSpec) error {
		if len(s.Containers) != 1 {
			return bad("Invalid value", "%q: its pods have %d containers, and a change of a request is about the only one", on, len(s.Containers))
		}
		c := &s.Containers[0]
		if c.Resources.Requests == nil {
			c.Resources.Requests = v1.ResourceList{}
		}
		c.Resources.Requests[v1.ResourceName(resource)] = quantity
		return nil
	}
	if t, _ := admission.Template(x.object); t != nil {
		if err := ask(&t.Spec); err != nil {
			return err
		}
	}
	mine := map[string]bool{}
	for _, p := range x.pods {
		mine[name(p)] = true
	}
	if err := w.leave(func(p *v1.Pod) bool { return mine[name(p)] && !cluster.Finished(p) }); err != nil {
		return err
	}
	for k, p := range w.o.Pods {
		if !mine[name(p)] || cluster.Finished(p) {
			continue
		}
		if err := ask(&p.Spec); err != nil {
			return err
		}
		if list := dump.Invalid(p, w.options); len(list) > 0 {
			return fmt.Errorf("pod %s: the API server refuses it: %w", name(p), list.ToAggregate())
		}
		w.o.Pods[k] = p
	}
	return nil
}
