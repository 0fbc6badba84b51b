package disruption_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	scalefake "k8s.io/client-go/scale/fake"
	core "k8s.io/client-go/testing"
	controller "k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/utils/clock"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/disruption"
)

// TestStatus lets the disruption controller, in a bubble of fake time, keep a budget's status through changes of its pods,
// evictions and time, and compares every field after each change. Controllers of pods may be missing, of a kind that nobody
// knows, or without a scale.
func TestStatus(t *testing.T) {
	trial.Run(t, 5000, 160, func(s *trial.Source) (err error) {
		synctest.Test(t, func(*testing.T) { err = budget(s) })
		return err
	}, "SufficientPods", "InsufficientPods", "disrupted pods", "SyncFailed", "found no controllers", "no matches for kind",
		"does not implement the scale", "several possible", "recheck", "maxUnavailable", "minAvailable", "percentage")
}

var (
	podsResource = v1.SchemeGroupVersion.WithResource("pods")
	pdbsResource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	foos         = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Foo"}
)

type owner struct {
	kind, version, name string
	replicas            *int32
	parent              *metav1.OwnerReference
}

type cluster struct {
	*trial.Source
	client  *fake.Clientset
	pods    map[string]*v1.Pod
	pdb     *policyv1.PodDisruptionBudget
	work    disruption.Scale
	beliefs []belief // never empty
}

func budget(s *trial.Source) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer func() { cancel(); synctest.Wait() }()
	//nolint:staticcheck // no managed fields are needed
	w := &cluster{Source: s, client: fake.NewSimpleClientset(), pods: map[string]*v1.Pod{}}
	// The API server writes nothing when nothing changes. The tracker would report a change.
	w.client.PrependReactor("update", "poddisruptionbudgets", func(a core.Action) (bool, runtime.Object, error) {
		next := a.(core.UpdateAction).GetObject()
		old, err := w.client.Tracker().Get(pdbsResource, "n", "b")
		return err == nil && equality.Semantic.DeepEqual(old, next), next, nil
	})
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, k := range []schema.GroupVersionKind{foos, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("StatefulSet"), appsv1.SchemeGroupVersion.WithKind("DaemonSet"), batchv1.SchemeGroupVersion.WithKind("Job"), v1.SchemeGroupVersion.WithKind("ReplicationController")} {
		mapper.Add(k, meta.RESTScopeNamespace)
	}
	scales := &scalefake.FakeScaleClient{}
	factory := informers.NewSharedInformerFactory(w.client, 0)
	c := controller.NewDisruptionControllerInternal(ctx, factory.Core().V1().Pods(), factory.Policy().V1().PodDisruptionBudgets(), factory.Core().V1().ReplicationControllers(),
		factory.Apps().V1().ReplicaSets(), factory.Apps().V1().Deployments(), factory.Apps().V1().StatefulSets(), w.client, mapper, scales, w.client.Discovery(), clock.RealClock{}, 2*time.Minute)
	if err := w.workloads(scales); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	go c.Run(ctx, 1)
	time.Sleep(2 * time.Second)
	for i := range s.N(7) {
		if err := w.setPod(fmt.Sprint("p", i)); err != nil {
			return err
		}
	}
	synctest.Wait()
	w.newBudget()
	w.beliefs = w.sync(belief{status: w.pdb.Status}, time.Now())
	if err := w.client.Tracker().Create(pdbsResource, w.pdb.DeepCopy(), "n"); err != nil {
		return err
	}
	for {
		synctest.Wait()
		if err := w.compare(); err != nil {
			return err
		}
		if !s.More() {
			return nil
		}
		if err := w.step(); err != nil {
			return err
		}
	}
}

// workloads are the controllers of pods.
func (w *cluster) workloads(scales *scalefake.FakeScaleClient) error {
	var list []disruption.Workload
	var failed error
	foo := map[string]*int32{}
	add := func(o owner) {
		m := metav1.ObjectMeta{Namespace: "n", Name: o.name, UID: types.UID("uid-" + o.kind + o.name)}
		if o.parent != nil {
			m.OwnerReferences = []metav1.OwnerReference{*o.parent}
		}
		var object runtime.Object
		switch o.kind {
		case "ReplicaSet":
			object = &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Replicas: o.replicas}}
		case "Deployment":
			object = &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Replicas: o.replicas}}
		case "StatefulSet":
			object = &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Replicas: o.replicas}}
		case "ReplicationController":
			object = &v1.ReplicationController{ObjectMeta: m, Spec: v1.ReplicationControllerSpec{Replicas: o.replicas}}
		case "Foo":
			foo[o.name] = o.replicas
		}
		if object != nil {
			if err := w.client.Tracker().Add(object); err != nil {
				failed = err
			}
		}
		w.Note("%s %s wants %s", o.kind, o.name, str(o.replicas))
		list = append(list, disruption.Workload{APIVersion: o.version, Kind: o.kind, Namespace: "n", Name: o.name, UID: m.UID, Replicas: o.replicas, Controller: o.parent})
	}
	yes := true
	replicas := func() *int32 { n := int32(w.N(6)); return &n }
	d := &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "uid-Deploymentd", Controller: &yes}
	add(owner{"Deployment", "apps/v1", "d", replicas(), nil})
	add(owner{"ReplicaSet", "apps/v1", "r1", replicas(), d})
	add(owner{"ReplicaSet", "apps/v1", "r2", replicas(), d})
	add(owner{"ReplicaSet", "apps/v1", "r3", replicas(), nil})
	gone := *d
	gone.Name, gone.UID = "gone", "uid-Deploymentgone"
	add(owner{"ReplicaSet", "apps/v1", "orphan", replicas(), &gone})
	add(owner{"DaemonSet", "apps/v1", "d", nil, nil})
	add(owner{"Job", "batch/v1", "j", nil, nil})
	add(owner{"StatefulSet", "apps/v1", "s", replicas(), nil})
	add(owner{"ReplicationController", "v1", "c", replicas(), nil})
	add(owner{"Foo", "example.com/v1", "f", replicas(), nil})
	scales.AddReactor("get", "foos", func(a core.Action) (bool, runtime.Object, error) {
		name := a.(core.GetAction).GetName()
		n, ok := foo[name]
		if !ok {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "foos"}, name)
		}
		return true, &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID("uid-Foo" + name)}, Spec: autoscalingv1.ScaleSpec{Replicas: *n}}, nil
	})
	for group, resource := range map[string]string{"apps": "daemonsets", "batch": "jobs"} { // the API server has no scale of these
		scales.AddReactor("get", resource, func(a core.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: resource}, a.(core.GetAction).GetName())
		})
	}
	w.client.Resources = []*metav1.APIResourceList{{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "foos", Kind: "Foo", Group: "example.com", Version: "v1"}, {Name: "foos/scale", Kind: "Scale", Group: "autoscaling", Version: "v1"}}},
		{GroupVersion: "batch/v1", APIResources: []metav1.APIResource{{Name: "jobs", Kind: "Job", Group: "batch", Version: "v1"}}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "daemonsets", Kind: "DaemonSet", Group: "apps", Version: "v1"}}}}
	list = append(list, disruption.Workload{APIVersion: "example.com/v1", Kind: "Foo", Namespace: "n", Name: "another", UID: "another", Replicas: replicas()}) // the kind is there
	w.work = disruption.NewScale(list)
	return failed
}

func (w *cluster) setPod(name string) error {
	old := w.pods[name]
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name)}}
	if old != nil {
		p = old.DeepCopy()
	} else {
		p.Labels = trial.Pick(w.Source, map[string]string{"l": "1"}, map[string]string{"l": "1"}, map[string]string{"l": "1"}, map[string]string{"l": "2"}, nil)
		yes := true
		ref := func(version, kind, name string) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, UID: types.UID("uid-" + kind + name), Controller: &yes}}
		}
		switch w.N(24) {
		case 0, 1, 2, 3:
			ref("apps/v1", "ReplicaSet", "r1")
		case 4, 5:
			ref("apps/v1", "ReplicaSet", "r2")
		case 6, 7, 8:
			ref("apps/v1", "ReplicaSet", "r3")
		case 9, 10:
			ref("apps/v1", "StatefulSet", "s")
		case 11, 12:
			ref("v1", "ReplicationController", "c")
		case 13, 14:
			ref("example.com/v1", "Foo", "f")
		case 15:
			ref("extensions/v1beta1", "ReplicaSet", "r3")
		case 16, 17, 18: // look-ups that fail
			w.lost(ref, p)
		}
	}
	p.Status.Phase = trial.Pick(w.Source, v1.PodRunning, v1.PodRunning, v1.PodPending, v1.PodSucceeded, v1.PodFailed)
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: trial.Pick(w.Source, v1.ConditionTrue, v1.ConditionTrue, v1.ConditionTrue, v1.ConditionFalse)}}
	p.DeletionTimestamp = nil
	if w.Once(8) {
		now := metav1.Now()
		p.DeletionTimestamp = &now
	}
	w.pods[name] = p
	w.Note("pod %s %s labels %v owners %v ready %s deleted %v", name, p.Status.Phase, p.Labels, names(p.OwnerReferences), p.Status.Conditions[0].Status, p.DeletionTimestamp != nil)
	if old == nil {
		return w.client.Tracker().Create(podsResource, p.DeepCopy(), "n")
	}
	return w.client.Tracker().Update(podsResource, p.DeepCopy(), "n")
}

// lost gives the pod a controller that cannot be found.
func (w *cluster) lost(ref func(version, kind, name string), p *v1.Pod) {
	switch w.N(10) {
	case 0, 1:
		ref("apps/v1", "ReplicaSet", "gone")
	case 2: // another object had the name
		ref("apps/v1", trial.Pick(w.Source, "ReplicaSet", "StatefulSet"), trial.Pick(w.Source, "r1", "r3", "s"))
		p.OwnerReferences[0].UID = "another"
	case 3:
		ref("apps/v1", "ReplicaSet", "orphan") // its Deployment is gone
	case 4:
		ref("example.com/v1", "Bar", "b") // nobody knows the kind
	case 5:
		ref("example.com/v1", "Foo", trial.Pick(w.Source, "gone", "f"))
		p.OwnerReferences[0].UID = "another"
	case 6:
		ref("apps/v1", "DaemonSet", trial.Pick(w.Source, "d", "gone")) // has no scale
	case 7:
		ref("v1", "ReplicationController", "gone")
	case 9:
		ref("batch/v1", "Job", trial.Pick(w.Source, "j", "gone")) // has none either
	case 8:
		ref("apps/v1", "ReplicaSet", "gone")
		p.OwnerReferences[0].UID = "uid-ReplicaSetr1" // found or not, depending on who is asked first
	}
}

func names(refs []metav1.OwnerReference) (out []string) {
	for _, r := range refs {
		out = append(out, r.Kind+" "+r.Name)
	}
	return out
}

func (w *cluster) newBudget() {
	w.pdb = &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "b", UID: "b", Generation: 3}}
	v := trial.Pick(w.Source, intstr.FromInt32(1), intstr.FromInt32(0), intstr.FromInt32(2), intstr.FromInt32(4), intstr.FromString("50%"), intstr.FromString("30%"), intstr.FromString("100%"), intstr.FromString("0%"))
	if v.Type == intstr.String {
		w.Count("percentage")
	}
	switch w.N(5) {
	case 0, 1:
		w.pdb.Spec.MaxUnavailable = &v
		w.Count("maxUnavailable")
	case 2, 3:
		w.pdb.Spec.MinAvailable = &v
		w.Count("minAvailable")
	}
	w.pdb.Spec.Selector = trial.Pick(w.Source, &metav1.LabelSelector{MatchLabels: map[string]string{"l": "1"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"l": "1"}},
		&metav1.LabelSelector{}, nil, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "l", Operator: metav1.LabelSelectorOpExists}}})
	w.pdb.Status.DisruptionsAllowed = int32(w.N(3))
	w.evict()
	w.Note("budget max %v min %v selector %v", w.pdb.Spec.MaxUnavailable, w.pdb.Spec.MinAvailable, w.pdb.Spec.Selector)
}

// evict books some pods as the Eviction API does.
func (w *cluster) evict() {
	for range w.N(3) {
		if w.pdb.Status.DisruptedPods == nil {
			w.pdb.Status.DisruptedPods = map[string]metav1.Time{}
		}
		name, ago := fmt.Sprint("p", w.N(7)), trial.Pick(w.Source, time.Second, time.Minute, 119*time.Second, 2*time.Minute, 3*time.Minute)+300*time.Millisecond // never at the moment of a change
		w.pdb.Status.DisruptedPods[name] = metav1.NewTime(time.Now().Add(-ago))
		w.Note("%s was evicted %v ago", name, ago)
		w.Count("disrupted pods")
	}
}

func (w *cluster) list() (out []*v1.Pod) {
	for i := range 7 {
		if p := w.pods[fmt.Sprint("p", i)]; p != nil {
			out = append(out, p)
		}
	}
	return out
}

func (w *cluster) step() error {
	look := func() { w.each(func(b belief) []belief { return w.sync(b, time.Now()) }) }
	switch w.N(6) {
	case 0, 1:
		defer look()
		return w.setPod(fmt.Sprint("p", w.N(7)))
	case 2:
		name := fmt.Sprint("p", w.N(7))
		if w.pods[name] == nil {
			return nil
		}
		w.Note("pod %s is gone", name)
		delete(w.pods, name)
		defer look()
		return w.client.Tracker().Delete(podsResource, "n", name)
	case 3:
		old := w.pdb.DeepCopy()
		w.evict()
		w.pdb.Generation += int64(w.N(2))
		if equality.Semantic.DeepEqual(old, w.pdb) {
			return nil
		}
		for i := range w.beliefs {
			w.beliefs[i].status = w.pdb.Status
		}
		defer look()
		return w.client.Tracker().Update(pdbsResource, w.pdb.DeepCopy(), "n")
	default:
		d := trial.Pick(w.Source, time.Second, time.Minute, 2*time.Minute, 10*time.Second)
		w.Note("%v pass", d)
		time.Sleep(d)
		w.each(func(b belief) []belief { return w.advance(b, time.Now()) })
	}
	return nil
}

// compare keeps the true beliefs. At least one must be left.
func (w *cluster) compare() error {
	object, err := w.client.Tracker().Get(pdbsResource, "n", "b")
	if err != nil {
		return err
	}
	real := object.(*policyv1.PodDisruptionBudget).Status
	for _, c := range real.Conditions {
		w.Count(c.Reason)
		for _, kind := range []string{"found no controllers", "no matches for kind", "does not implement the scale"} {
			if strings.Contains(c.Message, kind) {
				w.Count(kind)
			}
		}
	}
	w.Count("compared")
	if len(w.beliefs) > 1 {
		w.Count("several possible")
	}
	mine := ""
	w.beliefs = slices.DeleteFunc(w.beliefs, func(b belief) bool {
		mine += "\npodberth " + text(b.status)
		return text(b.status) != text(real)
	})
	if len(w.beliefs) == 0 {
		return fmt.Errorf("status\nreal     %s%s", text(real), mine)
	}
	w.pdb.Status = w.beliefs[0].status
	return nil
}

func str[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

func text(s policyv1.PodDisruptionBudgetStatus) string {
	if len(s.DisruptedPods) == 0 {
		s.DisruptedPods = nil
	}
	out, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
