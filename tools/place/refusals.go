package place

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/tools/dump"
)

// refusedEntry is the entry of a pod that never comes into the cluster.
func refusedEntry(r dump.Refusal) entry {
	return entry{SchedulerName: dump.SchedulerName(r.Pod), Priority: preemption.Priority(r.Pod), Outcome: outcomeRefused, Message: r.Text}
}

// refusedFor returns what the API server finds wrong with an object that is added, or with an update of old, and the text of its
// refusal; nil and nil when it takes the object. classes are the PriorityClasses that it has: one of them may be the default.
func (o options) refusedFor(object, old metav1.Object, classes []*schedulingv1.PriorityClass) (what, whole error) {
	bad := dump.Invalid(object, o.admission)
	if old != nil {
		bad = admission.ValidateUpdate(object, old, o.admission)
	}
	if len(bad) > 0 {
		return bad.ToAggregate(), admission.Refusal(object, bad)
	}
	if c, is := object.(*schedulingv1.PriorityClass); is {
		err := admission.AdmitPriorityClass(c, classes)
		return err, err
	}
	if old == nil {
		if refused := dump.RefusedPriority(object, classes, o.admit || o.strict); refused != nil {
			what = errors.New(refused.Detail)
			if refused.Type == field.ErrorTypeInvalid {
				what = refused
			}
			return what, fmt.Errorf("%s: %w", named(object), what)
		}
	}
	return nil, nil
}

// withClass returns the classes with the object, if it is one, in place of a class of its name.
func withClass(classes []*schedulingv1.PriorityClass, object metav1.Object) []*schedulingv1.PriorityClass {
	c, is := object.(*schedulingv1.PriorityClass)
	if !is {
		return classes
	}
	return append(withoutClass(classes, c.Name), c)
}

func withoutClass(classes []*schedulingv1.PriorityClass, name string) []*schedulingv1.PriorityClass {
	return slices.DeleteFunc(slices.Clone(classes), func(c *schedulingv1.PriorityClass) bool { return c.Name == name })
}

// checkInput holds the objects of the input against the API server's checks. With -strict the error has a line for every object and
// every event of the timeline that has errors. With -admit objects that are refused go, with a warning, except pods that wait:
// they have an outcome of their own. Otherwise the objects stay, with a warning.
func (o options) checkInput(objects *dump.Objects, timeline []event) error {
	var errs []error
	refused := map[metav1.Object]bool{}
	var classes []*schedulingv1.PriorityClass // that the API server has taken
	see := func(object metav1.Object) {
		what, whole := o.refusedFor(object, nil, classes)
		if what == nil {
			classes = withClass(classes, object)
			return
		}
		pod, is := object.(*v1.Pod)
		switch {
		case o.strict:
			errs = append(errs, fmt.Errorf("%s: %w", named(object), what))
		case isGroup(object):
			objects.Warnings.Group("the API server would refuse %d objects of kind "+kindOf(object)+", which are left out: their pods wait", fmt.Sprintf("%s: %v; it is left out, and its pods wait", named(object), what))
		case o.admit && is && pod.Spec.NodeName == "": // has an outcome
		case o.admit && o.expand && isWorkload(object): // its pods have an outcome
		case o.admit && !is && !isWorkload(object):
			refused[object] = true
			objects.Warnings.Group("the API server refuses %d objects of kind "+kindOf(object)+", which are left out", fmt.Sprintf("%v; it is left out", whole))
		default:
			objects.Warnings.Group("the API server would refuse %d objects of kind "+kindOf(object)+", which the scheduler uses as they are",
				fmt.Sprintf("%s: %v%s; the API server would refuse it, the scheduler uses it as it is", named(object), what, gateOf(what)))
		}
	}
	for object := range objects.Others() {
		if _, is := object.(*schedulingv1.PriorityClass); is || !objects.Sound(object) && !isGroup(object) { // classes are held against each other
			see(object)
		}
	}
	if o.admit {
		objects.AdmitGroups()
	}
	for _, g := range objects.PodGroups { // all classes are known
		see(g)
	}
	for _, g := range objects.CompositePodGroups {
		see(g)
	}
	for _, n := range objects.Nodes {
		see(n)
	}
	for _, p := range objects.Pods {
		if !objects.Sound(p) {
			see(p)
		}
	}
	objects.PriorityClasses = withoutRefused(objects.PriorityClasses, refused)
	objects.RuntimeClasses = withoutRefused(objects.RuntimeClasses, refused)
	objects.PodDisruptionBudgets = withoutRefused(objects.PodDisruptionBudgets, refused)
	objects.Nodes = withoutRefused(objects.Nodes, refused)
	if o.strict {
		errs = append(errs, o.checkTimeline(objects, timeline)...)
	}
	return errors.Join(errs...)
}

func isGroup(object metav1.Object) bool {
	switch object.(type) {
	case *schedulingv1beta1.PodGroup, *schedulingv1alpha3.CompositePodGroup:
		return true
	}
	return false
}

// gateOf names, in brackets, the feature gate without which the API server refuses two operators of tolerations: its own text lists them among
// the supported ones. "" for other refusals.
func gateOf(what error) string {
	for _, op := range []v1.TolerationOperator{v1.TolerationOpGt, v1.TolerationOpLt} {
		if strings.Contains(what.Error(), fmt.Sprintf("operator: Unsupported value: %q", op)) {
			return fmt.Sprintf(" (%s needs the feature gate TaintTolerationComparisonOperators)", op)
		}
	}
	return ""
}

// unadmitted returns an error for each waiting pod whose fields are valid and that admission refuses all the same.
func (o options) unadmitted(objects *dump.Objects) error {
	var errs []error
	for _, p := range objects.Pods {
		if !waits(p) || !o.admits(p) || len(dump.Invalid(p, o.admission)) > 0 {
			continue
		}
		if _, _, err := admission.Admit(p, objects.Admission(), o.admission); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", named(p), err))
		}
	}
	return errors.Join(errs...)
}

func isWorkload(o metav1.Object) bool {
	template, _ := admission.Template(o)
	return template != nil
}

func withoutRefused[T metav1.Object](list []T, refused map[metav1.Object]bool) []T {
	return slices.DeleteFunc(list, func(x T) bool { return refused[x] })
}

// checkTimeline returns what the API server finds wrong with the objects of a timeline, before the run: each update is held
// against the version of the object before it.
func (o options) checkTimeline(objects *dump.Objects, timeline []event) []error {
	now, classes := map[string]metav1.Object{}, objects.PriorityClasses
	for o := range objects.Others() {
		now[named(o)] = o
	}
	for _, n := range objects.Nodes {
		now[named(n)] = n
	}
	for _, p := range objects.Pods {
		now[named(p)] = p
	}
	var errs []error
	for _, e := range timeline {
		name, object := named(e.object), e.object
		old := now[name]
		var what error
		switch {
		case e.verb == "delete":
			delete(now, name)
			if c, is := object.(*schedulingv1.PriorityClass); is {
				classes = withoutClass(classes, c.Name)
			}
			continue
		case e.verb == "add":
			what, _ = o.refusedFor(object, nil, classes)
		case old != nil:
			if p, is := object.(*v1.Pod); is {
				object = updated(p, old.(*v1.Pod))
			}
			what, _ = o.refusedFor(object, old, classes)
		}
		if what != nil {
			errs = append(errs, fmt.Errorf("%s: %s %s: %w", e.where, e.verb, name, what))
			continue
		}
		now[name], classes = e.object, withClass(classes, e.object)
	}
	return errs
}

// updated returns the pod that an update of old asks for. What the update leaves out of what the API server, its admission
// plugins and the scheduler fill in stays as it was.
func updated(p, old *v1.Pod) *v1.Pod {
	next := *p
	next.UID, next.CreationTimestamp, next.ResourceVersion = old.UID, old.CreationTimestamp, old.ResourceVersion
	s := &next.Spec
	if s.NodeName == "" {
		s.NodeName = old.Spec.NodeName
	}
	if s.Priority == nil {
		s.Priority, s.PreemptionPolicy = old.Spec.Priority, old.Spec.PreemptionPolicy
	}
	if s.PriorityClassName == "" {
		s.PriorityClassName = old.Spec.PriorityClassName
	}
	if s.SchedulerName == "" {
		s.SchedulerName = old.Spec.SchedulerName
	}
	if s.Overhead == nil && reflect.DeepEqual(s.RuntimeClassName, old.Spec.RuntimeClassName) {
		s.Overhead = old.Spec.Overhead
	}
	if isZero(next.Status) {
		next.Status = old.Status
	}
	return keepTolerations(&next, old)
}

// keepTolerations returns the pod with the tolerations that admission plugins gave to the old pod: of not-ready and
// unreachable nodes.
func keepTolerations(next, old *v1.Pod) *v1.Pod {
	for _, t := range old.Spec.Tolerations {
		if t.Key != v1.TaintNodeNotReady && t.Key != v1.TaintNodeUnreachable {
			continue
		}
		if !slices.ContainsFunc(next.Spec.Tolerations, func(x v1.Toleration) bool { return x.Key == t.Key }) {
			next.Spec.Tolerations = append(slices.Clip(next.Spec.Tolerations), t)
		}
	}
	return next
}
