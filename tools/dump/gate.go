package dump

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/scheduler/groups"
)

// Gate decides about the new pods of a dump as the API server does.
type Gate struct {
	// Quotas are the quotas of the dump, charged with its stored pods and with the pods that the gate has let through. nil: the gate
	// charges nothing.
	Quotas *admission.Quotas

	objects *Objects
	options admission.Options
	whole   bool
	owners  map[string]string // the texts of refused workloads, by the controllers of pods
	text    map[string]string // the first refusal of a controller's pods, by its controller and its words
	sharing sharing
}

// Refusal is a pod that the API server does not take, with the server's text.
type Refusal struct {
	Pod  *v1.Pod
	Text string
}

// Checks say what a [Gate] looks at.
type Checks struct {
	Options admission.Options
	// Whole refuses for every reason that the API server has: invalid fields and quotas too, and the pods of workloads that it would refuse.
	// Without it the admission plugins alone refuse.
	Whole bool
	// New reports whether a pod of the dump comes to the gate. The other pods are stored, and are charged to quotas without a status.
	New func(*v1.Pod) bool
	// Now is the time for pods that are being deleted.
	Now time.Time
}

// Gate returns the gate before the first pod.
func (o *Objects) Gate(c Checks) *Gate {
	g := &Gate{objects: o, options: c.Options, whole: c.Whole, text: map[string]string{}, sharing: sharing{}}
	g.options.SkipChanges = true
	if !c.Whole {
		return g
	}
	stored := slices.DeleteFunc(slices.Clone(o.Pods), c.New)
	g.Quotas = admission.NewQuotas(o.ResourceQuotas, stored, c.Now, release.Current)
	g.owners = o.refusedOwners(g.options)
	return g
}

// Admit returns the pod as the API server stores it, or the text with which the server refuses the pod or its owner: one text for all
// pods of a controller that are refused for one reason. It reads the dump as it is at the call.
func (g *Gate) Admit(p *v1.Pod) (*v1.Pod, string) {
	ref := metav1.GetControllerOf(p)
	if ref != nil && g.owners[ref.Kind+" "+p.Namespace+"/"+ref.Name] != "" {
		return nil, g.owners[ref.Kind+" "+p.Namespace+"/"+ref.Name]
	}
	out, _, err := admission.Admit(p, g.objects.Admission(), g.options)
	if err == nil && g.whole {
		if err = admission.Refusal(p, Invalid(p, g.options)); err == nil {
			err = g.Quotas.Charge(out)
		}
	}
	if err == nil {
		g.sharing.add("Pod", out) // a controller may have made 100,000 of them
		return out, ""
	}
	if ref == nil {
		return nil, err.Error()
	}
	words := ref.Kind + " " + p.Namespace + "/" + ref.Name + " " + strings.ReplaceAll(err.Error(), fmt.Sprintf("%q", p.Name), "")
	if g.text[words] == "" {
		g.text[words] = err.Error()
	}
	return nil, g.text[words]
}

// stored reports whether an API server has stored the object before: it comes from a dump and is not as its author wrote it.
func stored(o metav1.Object) bool {
	created := o.GetCreationTimestamp()
	return o.GetResourceVersion() != "" || !created.IsZero()
}

// merged is what the API server says of a key of matchLabelKeys that stands in the labelSelector too. It does so in every
// stored pod, for the server itself puts it there.
const merged = "exists in both matchLabelKeys and labelSelector"

// Invalid returns what the API server finds wrong with the fields of an object. A stored workload has no errors: its template was
// checked when it was stored. Of the options only Tolerations matters.
func Invalid(o metav1.Object, options admission.Options) field.ErrorList {
	if template, _ := admission.Template(o); template != nil && (stored(o) || metav1.GetControllerOf(o) != nil) {
		return nil
	}
	var errs field.ErrorList
	switch g := o.(type) {
	case *schedulingv1beta1.PodGroup:
		errs = groups.Validate(g)
	case *schedulingv1alpha3.CompositePodGroup:
		errs = groups.ValidateComposite(g)
	default:
		errs = admission.Validate(o, options)
	}
	if stored(o) {
		errs = slices.DeleteFunc(errs, func(e *field.Error) bool { return e.Detail == merged })
	}
	return errs
}

// refusedOwners returns the texts with which the API server refuses the workloads of the dump, by the controllers of the pods that
// were made for them: "ReplicaSet default/web-5c4".
func (o *Objects) refusedOwners(options admission.Options) map[string]string {
	out := map[string]string{}
	named := func(object metav1.Object) string { return nameInMessage(reflect.TypeOf(object).Elem().Name(), object) }
	for object := range o.Others() {
		template, _ := admission.Template(object)
		if template == nil {
			continue
		}
		if bad := Invalid(object, options); len(bad) > 0 {
			out[named(object)] = admission.Refusal(object, bad).Error()
		}
	}
	inherit := func(object metav1.Object) {
		if ref := metav1.GetControllerOf(object); ref != nil && out[ref.Kind+" "+object.GetNamespace()+"/"+ref.Name] != "" {
			out[named(object)] = out[ref.Kind+" "+object.GetNamespace()+"/"+ref.Name]
		}
	}
	for _, r := range o.ReplicaSets {
		inherit(r)
	}
	for _, j := range o.Jobs {
		inherit(j)
	}
	return out
}
