package lint

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
)

// admissionRules are about what the API server refuses, in its order.
var admissionRules = []Rule{
	{ID: "api-refuses", Severity: Error, Summary: "the API server refuses the object, or the pods that are made from it", work: func(c *checker, w *work) {
		c.refusals(c.invalid(w))
	}, whole: func(c *checker) {
		for _, name := range slices.Sorted(maps.Keys(c.in.Refused)) {
			c.object = name
			c.refusals(c.in.Refused[name])
		}
	}},
	{ID: "priority-class-missing", Severity: Error, Summary: "the priority class does not exist, so that the API server refuses the pods", work: func(c *checker, w *work) {
		name, names := w.given.Spec.PriorityClassName, c.classes()
		if _, ok := names[name]; name != "" && !ok && (len(c.nodes) > 0 || len(names) > systemClasses) {
			c.refuse(w, w.path+".priorityClassName", "mend the name, or create the class", "there is no PriorityClass %s%s", name, nearNames(name, slices.Sorted(maps.Keys(names))))
		}
	}},
	{ID: "runtime-class-missing", Severity: Error, Summary: "the runtime class does not exist, so that the API server refuses the pods", work: func(c *checker, w *work) {
		if w.given.Spec.RuntimeClassName == nil {
			return
		}
		name, names := *w.given.Spec.RuntimeClassName, []string{}
		for _, k := range c.in.RuntimeClasses {
			if k != nil {
				names = append(names, k.Name)
			}
		}
		if !slices.Contains(names, name) && (len(c.nodes) > 0 || len(names) > 0) {
			c.refuse(w, w.path+".runtimeClassName", "mend the name, or create the class", "there is no RuntimeClass %s%s", name, nearNames(name, names))
		}
	}},
	{ID: "refused-limit-range", Severity: Error, Summary: "a LimitRange of the namespace refuses the pods", work: func(c *checker, w *work) {
		p := admission.WithLimitRanges(overhead.Default(w.given), c.in.LimitRanges)
		if err := admission.CheckLimitRanges(p, c.in.LimitRanges); err != nil {
			c.refuse(w, w.path+".containers", "amounts within the bounds of the LimitRange", "%s", words(err))
		}
	}},
	{ID: "refused-quota-needs", Severity: Error, Summary: "a ResourceQuota refuses the pods, because a container does not name what the quota limits", work: func(c *checker, w *work) {
		if _, err := c.charged(w); err != nil && strings.Contains(err.Error(), "failed quota") {
			c.report(w.path+".containers", "write what the quota names, or a LimitRange with defaults", "%s", words(err))
		}
	}},
	{ID: "refused-quota", Severity: Error, Summary: "a ResourceQuota refuses some of the pods", work: func(c *checker, w *work) {
		n, err := c.charged(w)
		if err == nil || !strings.Contains(err.Error(), "exceeded quota") {
			return
		}
		fix := "a larger quota, or lower requests"
		if n > 0 && w.replicas > 1 {
			fix = "fewer replicas: " + amount(n, "more pod is", "more pods are") + " within the quota; or a larger quota"
		}
		c.report(w.path+".containers", fix, "%s", words(err))
		if w.runs() && n > 0 {
			c.out[len(c.out)-1].Severity = Warning // the next pods come when the first are done
		}
	}},
}

// refusals adds a finding for each field that the API server refuses.
func (c *checker) refusals(errs field.ErrorList) {
	errs = slices.DeleteFunc(slices.Clone(errs), func(e *field.Error) bool { return e == nil })
	for i, e := range errs {
		if slices.ContainsFunc(errs[:i], func(o *field.Error) bool { return o.Field == e.Field }) {
			continue
		}
		var texts []string
		for _, o := range errs {
			if o.Field == e.Field {
				texts = append(texts, o.ErrorBody())
			}
		}
		c.report(e.Field, mended(e), "the API server refuses it: %s", strings.Join(texts, "; "))
	}
}

// refuse adds a finding about pods that the API server refuses. It is a warning while no pod is wanted.
func (c *checker) refuse(w *work, path, fix, explanation string, args ...any) {
	c.report(path, fix, explanation, args...)
	if c.snap == nil {
		return
	}
	if t := c.asked(w); t.broken == nil && t.refuse == nil {
		c.out[len(c.out)-1].Severity = Warning
	}
}

// systemClasses is the number of priority classes that every cluster has.
const systemClasses = 2

// invalid returns what the API server finds wrong with the fields of a manifest. A stored object was checked before.
func (c *checker) invalid(w *work) field.ErrorList {
	object := w.manifest
	if w.kind == "Pod" {
		object = w.given
	}
	errs := admission.Validate(object, c.options())
	if w.manifest.GetResourceVersion() != "" {
		errs = slices.DeleteFunc(errs, func(e *field.Error) bool { return e.Detail == merged })
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		known := seen[e.Error()]
		seen[e.Error()] = true
		return known
	})
}

// merged is the API server's text about a key that is in matchLabelKeys and in the labelSelector. Stored pods have such keys: the server
// copies them into the selector.
const merged = "exists in both matchLabelKeys and labelSelector"

// mended says how to mend a field that the API server refuses.
func mended(e *field.Error) string {
	switch e.Type {
	case field.ErrorTypeRequired:
		return "write the field"
	case field.ErrorTypeDuplicate: // under hostNetwork a port that is dropped comes back
		return "a value that is there once"
	case field.ErrorTypeForbidden:
		return "drop the field, or mend what forbids it"
	}
	return "a value that the API allows"
}

// words returns the words of a refusal without the name of the pod, which controllers make.
func words(err error) string {
	_, why, ok := strings.Cut(err.Error(), " is forbidden: ")
	if !ok {
		return err.Error()
	}
	return why
}

// charged returns how many pods of a workload the quotas of its namespace take, and the error for the next one.
func (c *checker) charged(w *work) (n int, err error) {
	if c.quotas == nil {
		c.quotas = admission.NewQuotas(c.in.Quotas, nil, c.in.Now, release.Current)
	}
	if !c.quotas.Limits(w.pod.Namespace) || w.refusal != nil {
		return 0, nil
	}
	if c.snap != nil {
		t := c.asked(w)
		return t.want, t.refuse
	}
	q := c.quotas.Clone()
	for n < min(max(w.replicas, 0), mostReplicas) {
		if err := q.Charge(w.pod); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// classes returns the values of the priority classes that are known.
func (c *checker) classes() map[string]int32 {
	if c.known == nil {
		c.known = map[string]int32{}
		for _, k := range c.admits.PriorityClasses {
			if k != nil {
				c.known[k.Name] = k.Value
			}
		}
	}
	return c.known
}
