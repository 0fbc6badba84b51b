package diagnose

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
)

// failed returns the cause of a pod whose attempt ends with an error: of a filter on a node, which ends the attempt whatever other nodes say, or
// of a score, which counts when several nodes take the pod. It returns nil without an error.
func (x *sought) failed(fits bool) *Cause {
	if !fits && !x.errs {
		return nil
	}
	found := x.a.Search(placement.Options{})
	err := found.Err
	if err == nil && len(found.Feasible) > 1 {
		_, _, err = x.a.Scores(found.Feasible)
	}
	if err == nil {
		return nil
	}
	return x.failure(err)
}

// failure returns the cause of an error that ends the attempt.
func (x *sought) failure(err error) *Cause {
	if c := x.selectorError(err.Error()); c != nil {
		return c
	}
	return &Cause{Type: causeError, Text: "every attempt fails: " + err.Error()}
}

// ends reports whether a verdict of a predicate ends the attempt with an error.
func (x *sought) ends(s verdictOf) bool {
	switch x.a.Predicates.Code(filter.Rejection{Predicate: uint16(s.predicate), Verdict: s.verdict}) {
	case filter.Success, filter.Unschedulable, filter.UnschedulableAndUnresolvable, filter.Pending:
		return false
	}
	return true
}

// failedSelector is the error of a selector of devices: of a class or a claim, its number, the device if one was asked, and the stage.
var failedSelector = regexp.MustCompile(`(class|claim) (\S+): selector #(\d+)(?: on device (\S+))?: CEL (compile|runtime) error: (?s:(.*))$`)

// selectorError returns the cause of an expression that cannot be compiled, or that fails on a device; nil for another error.
func (x *sought) selectorError(text string) *Cause {
	m := failedSelector.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	at, err := strconv.Atoi(m[3])
	if err != nil {
		return nil
	}
	s, ok := x.selector(m[1], m[2], "", at)
	if !ok {
		return nil
	}
	said := briefly(m[6])
	out := &Cause{Type: causeError, Object: s.object, Field: s.field, Wanted: s.expression, Found: said}
	if m[5] == "compile" {
		out.Text = fmt.Sprintf("every attempt fails: the selector of %s cannot be read: %s: %s", s.name, s.expression, said)
		return out
	}
	on := m[4]
	if at := strings.LastIndex(on, "/"); at >= 0 {
		on = on[at+1:]
	}
	out.Text = fmt.Sprintf("every attempt fails: the selector of %s fails on device %s: %s: %s", s.name, on, s.expression, said)
	return out
}

// compileProblem is the place and the text of a mistake in an expression.
var compileProblem = regexp.MustCompile(`ERROR: <input>:\d+:\d+: ([^\n\\]+)`)

// noOperator is the text about an operator that does not take such values.
var noOperator = regexp.MustCompile(`^found no matching overload for '_(\S+)_' applied to `)

// briefly is the first problem that an evaluator of expressions names, without its advice.
func briefly(text string) string {
	if m := compileProblem.FindStringSubmatch(text); m != nil {
		if o := noOperator.FindStringSubmatch(m[1]); o != nil {
			return "there is no " + o[1] + " for such values"
		}
		return strings.TrimSpace(m[1])
	}
	text, _, _ = strings.Cut(text, ". consider using ")
	text, _, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(text)
}

// deviceSelector is an expression of a device class, or of the request of a claim.
type deviceSelector struct {
	object, field, expression string // of the object that a person edits
	name                      string // in a sentence
}

// selector finds a selector of a class, or of a request of one of the pod's claims. Without a request, and where requests have different
// expressions under one number, nobody knows which is meant: ok is false.
func (x *sought) selector(kind, name, request string, at int) (out deviceSelector, ok bool) {
	if kind == "class" {
		class, known := cluster.List[*resourcev1.DeviceClass](x.c).Get("", name)
		if !known || at >= len(class.Spec.Selectors) || class.Spec.Selectors[at].CEL == nil {
			return out, false
		}
		return deviceSelector{"DeviceClass " + name, fmt.Sprintf("spec.selectors[%d].cel.expression", at), class.Spec.Selectors[at].CEL.Expression, "class " + name}, true
	}
	namespace, short, _ := strings.Cut(name, "/")
	claim, known := cluster.List[*resourcev1.ResourceClaim](x.c).Get(namespace, short)
	if !known {
		return out, false
	}
	for _, s := range requestsOf(claim) {
		if request != "" && s.name != request || at >= len(s.selectors) || s.selectors[at].CEL == nil {
			continue
		}
		if ok && s.selectors[at].CEL.Expression != out.expression {
			return deviceSelector{}, false
		}
		if !ok {
			out = deviceSelector{"ResourceClaim " + name, selectorPath(s.path, at), s.selectors[at].CEL.Expression, "claim " + short}
			ok = true
		}
	}
	if template := templateOf(x.pod, claim); ok && template != "" {
		out.object, out.field = "ResourceClaimTemplate "+namespace+"/"+template, "spec."+out.field
		out.name = "template " + template
	}
	return out, ok
}

// askedDevices is what a request, or an alternative of one, asks for.
type askedDevices struct {
	name, path, class string // as an explanation names it; from spec on
	selectors         []resourcev1.DeviceSelector
}

// requestsOf returns the requests of a claim with their alternatives.
func requestsOf(claim *resourcev1.ResourceClaim) (out []askedDevices) {
	for k, r := range claim.Spec.Devices.Requests {
		path := fmt.Sprintf("spec.devices.requests[%d]", k)
		if e := r.Exactly; e != nil {
			out = append(out, askedDevices{r.Name, path + ".exactly", e.DeviceClassName, e.Selectors})
		}
		for j, e := range r.FirstAvailable {
			out = append(out, askedDevices{r.Name + "/" + e.Name, fmt.Sprintf("%s.firstAvailable[%d]", path, j), e.DeviceClassName, e.Selectors})
		}
	}
	return out
}

// selectorPath is the field of an expression of a request.
func selectorPath(request string, at int) string {
	return fmt.Sprintf("%s.selectors[%d].cel.expression", request, at)
}
