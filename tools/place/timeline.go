package place

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/tools/dump"
)

// event is one line of a timeline: at a time after the beginning an object is added, updated or deleted.
type event struct {
	at     time.Duration
	verb   string
	object metav1.Object
	where  string
}

// readTimeline reads a list of events: at (a duration such as 1m30s, or seconds) and add, update or delete with an object.
// Events of one time keep their order.
func readTimeline(path string, limits dump.Options) ([]event, error) {
	data, err := dump.ReadJSON(path, nil, limits)
	if err != nil {
		return nil, err
	}
	var raw []map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("%s: must be a list of events with at and one of add, update, delete", path)
	}
	var out []event
	for k, fields := range raw {
		e, err := readEvent(fields, fmt.Sprintf("%s: event %d", path, k+1))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b event) int { return int(a.at - b.at) })
	return out, nil
}

func readEvent(fields map[string]json.RawMessage, where string) (e event, err error) {
	e.where = where
	if e.at, err = readTime(fields["at"]); err != nil {
		return e, fmt.Errorf("%s: %w", where, err)
	}
	for _, name := range sortedKeys(fields) {
		switch {
		case name == "at":
		case name != "add" && name != "update" && name != "delete":
			return e, fmt.Errorf("%s: %s: Unsupported value: must be at, add, update or delete", where, name)
		case e.verb != "":
			return e, fmt.Errorf("%s: %s: Forbidden: an event has one of add, update, delete", where, name)
		default:
			e.verb = name
			if e.object, err = dump.Object(fields[name], where+": "+name); err != nil {
				return e, err
			}
		}
	}
	if e.verb == "" {
		return e, fmt.Errorf("%s: Required value: one of add, update, delete", where)
	}
	return e, nil
}

func readTime(data json.RawMessage) (time.Duration, error) {
	if data == nil || string(data) == "null" {
		return 0, field.Required(field.NewPath("at"), "when, as in 1m30s")
	}
	var seconds float64
	if json.Unmarshal(data, &seconds) == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second)), nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		if d, err := time.ParseDuration(text); err == nil && d >= 0 {
			return d, nil
		}
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return 0, err
	}
	return 0, field.Invalid(field.NewPath("at"), value, "must be a duration since the beginning, such as 1m30s, or seconds, and not negative")
}

// apply applies an event.
func (x *simulation) apply(e event) error {
	x.logf("%s %s", e.verb, named(e.object))
	x.w.changes++
	switch o := e.object.(type) {
	case *v1.Pod:
		x.applyPod(e, o)
		return nil
	case *v1.Node:
		return x.applyNode(e, o)
	}
	return x.applyOther(e)
}

func named(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return kindOf(o) + " " + o.GetName()
	}
	return kindOf(o) + " " + key(o)
}

func kindOf(o metav1.Object) string { return reflect.TypeOf(o).Elem().Name() }

func (e event) taken() error {
	return fmt.Errorf("%s: metadata.name: Duplicate value: %q: there is such an object at that time", e.where, e.object.GetName())
}

func (e event) missing() error {
	return fmt.Errorf("%s: Not found: %s: there is no such object at that time", e.where, named(e.object))
}

func (x *simulation) applyPod(e event, p *v1.Pod) {
	w, old := x.w, x.w.pods[key(e.object)]
	switch e.verb {
	case "add":
		if old != nil {
			x.refuseEvent(e, fmt.Sprintf("pods %q already exists", p.Name))
		} else {
			x.addPod(e, p)
		}
		return
	case "delete":
		if old == nil {
			x.notes.Group("%d events of the timeline are about pods that are not there", fmt.Sprint(e.missing()))
			return
		}
		w.remove(old)
		return
	}
	if old == nil {
		x.notes.Group("%d events of the timeline are about pods that are not there", fmt.Sprint(e.missing()))
		return
	}
	next := updated(p, old)
	bad := admission.ValidateUpdate(next, old, x.o.admission)
	if admitted, _, err := admission.Admit(next, w.objects.Admission(), admission.Options{SkipChanges: true}); len(bad) > 0 && err == nil && len(admission.ValidateUpdate(admitted, old, x.o.admission)) == 0 {
		next, bad = admitted, nil // the update is as its author wrote it, the old pod as the server stores it
	}
	if len(bad) > 0 {
		x.refuseEvent(e, admission.Refusal(next, bad).Error())
		return
	}
	if cluster.Finished(next) {
		w.drop(next)
		w.s.UpdatePod(old, next)
		return
	}
	w.store(next)
}

// refuse notes that the API server does not take a pod of the timeline.
func (x *simulation) refuse(r dump.Refusal) {
	x.logf("%s: %s", key(r.Pod), refusedEntry(r).line())
	x.add(r.Pod, refusedEntry(r))
}

// refuseEvent notes that the API server refuses an event about a pod that stays as it is.
func (x *simulation) refuseEvent(e event, text string) {
	x.refused = true
	x.notes.Group("%d events of the timeline are refused", fmt.Sprintf("%s: %s: refused: %s", e.where, e.verb, text))
	x.logf("%s refused: %s", named(e.object), text)
}

// warnOf warns of an object that the API server would refuse.
func (x *simulation) warnOf(e event, what error) {
	x.notes.Group("the API server would refuse the objects of %d events, which the scheduler uses as they are",
		fmt.Sprintf("%s: %s %s: %v; the API server would refuse it, the scheduler uses it as it is", e.where, e.verb, named(e.object), what))
}

// refuses reports whether the API server refuses an event about an object that is no pod. old is nil for an object that is
// added. Without -admit only groups of pods and changes of fields that never change are refused; of the rest there is a warning.
func (x *simulation) refuses(e event, old metav1.Object) bool {
	if e.verb == "delete" {
		return false
	}
	if e.verb == "add" {
		old = nil
	}
	what, whole := x.o.refusedFor(e.object, old, x.w.objects.PriorityClasses)
	fixed := old != nil && len(admission.ValidateUpdate(e.object, old, x.o.admission)) > len(dump.Invalid(e.object, x.o.admission))
	switch {
	case what != nil && (x.o.admit || fixed || isGroup(e.object)):
		x.refuseEvent(e, whole.Error())
		return true
	case what != nil:
		x.warnOf(e, what)
	}
	return false
}

func (x *simulation) addPod(e event, p *v1.Pod) {
	w := x.w
	if p.UID == "" {
		p.UID = types.UID(fmt.Sprintf("%s@%v", key(p), e.at))
	}
	if bad := dump.Invalid(p, x.o.admission); len(bad) > 0 && !x.o.admit {
		x.warnOf(e, bad.ToAggregate())
	}
	if p.Spec.NodeName == "" && (x.o.admit || p.Spec.Priority == nil) {
		admitted, text := w.gate.Admit(p)
		if text != "" {
			x.refuse(dump.Refusal{Pod: p, Text: text})
			return
		}
		p = admitted
	}
	if known := w.objects.Namespaces; !slices.ContainsFunc(known, func(n *v1.Namespace) bool { return n.Name == p.Namespace }) {
		n := namespace(p.Namespace)
		w.objects.Namespaces = append(known, n)
		w.s.Set(nil, n)
	}
	w.keep(p)
	w.s.AddPod(p)
	if p.Spec.NodeName == "" && len(p.Spec.SchedulingGates) > 0 && w.s.Profile(dump.SchedulerName(p)) != nil {
		x.add(p, gatedEntry(p))
	}
}

func (x *simulation) applyNode(e event, n *v1.Node) error {
	w, old := x.w, x.w.nodes[n.Name]
	switch e.verb {
	case "add":
		if old != nil {
			return e.taken()
		}
		if x.refuses(e, nil) {
			return nil
		}
		w.nodes[n.Name] = n
		w.s.AddNode(n)
		return nil
	}
	if old == nil {
		return e.missing()
	}
	if e.verb == "delete" {
		delete(w.nodes, n.Name)
		w.s.DeleteNode(old)
		return nil
	}
	if x.refuses(e, old) {
		return nil
	}
	next := *n
	if isZero(next.Status) {
		next.Status = old.Status
	}
	w.nodes[n.Name] = &next
	w.s.UpdateNode(old, &next)
	return nil
}

func (x *simulation) applyOther(e event) error {
	w, name := x.w, named(e.object)
	old := w.others[name]
	switch {
	case e.verb == "add" && old != nil:
		return e.taken()
	case e.verb != "add" && old == nil:
		return e.missing()
	case x.refuses(e, old):
		return nil
	case e.verb == "delete":
		delete(w.others, name)
		w.s.Remove(w.asCounted(old))
	default:
		w.others[name] = e.object
		w.s.Set(w.asCounted(old), w.asCounted(e.object))
	}
	switch o := e.object.(type) {
	case *policyv1.PodDisruptionBudget:
		w.dropBudget(o)
		if e.verb != "delete" {
			w.addBudget(o)
		}
	case *schedulingv1.PriorityClass:
		w.objects.PriorityClasses = withoutClass(w.objects.PriorityClasses, o.Name)
		if e.verb != "delete" {
			w.objects.PriorityClasses = append(w.objects.PriorityClasses, o)
		}
	}
	return nil
}

// asCounted returns an object as a cluster counts it: groups are values of package podgroup.
func (w *world) asCounted(o metav1.Object) metav1.Object {
	switch g := o.(type) {
	case *schedulingv1beta1.PodGroup:
		return w.objects.Group(g)
	case *schedulingv1alpha3.CompositePodGroup:
		return w.objects.Composite(g)
	}
	return o
}

func isZero(v any) bool { return reflect.ValueOf(v).IsZero() }
