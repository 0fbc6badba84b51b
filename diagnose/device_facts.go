package diagnose

import (
	"cmp"
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
)

// explainer is devices.State: what a node offers to the claims of the pod.
type explainer interface {
	Explain(i int) (devices.Explanation, bool)
}

// ofDevicesOn returns the cause that a node does not serve the claims of the pod: what a request wants, how many devices there are, and what is
// wrong with each. It falls back to the facts of the plugin. Where one selector alone is to blame, the cause has its field, and what it wants
// of an attribute.
func (x *sought) ofDevicesOn(f failure, slot int) *Cause {
	out := &Cause{Type: causeDevices, Field: "spec.resourceClaims"}
	out.Text = x.deviceFacts(f, slot, out)
	return out
}

// deviceFacts is the text of ofDevicesOn. It fills in the other fields of the cause.
func (x *sought) deviceFacts(f failure, slot int, c *Cause) string {
	of, ok := f.of.(explainer)
	if !ok {
		return x.facts(f, slot)
	}
	e, ok := of.Explain(slot)
	if !ok || len(e.Conflict) > 0 || e.Error != "" {
		return x.facts(f, slot)
	}
	for _, r := range e.Requests {
		if !r.Short() || r.Class == "" {
			continue
		}
		text := fmt.Sprintf("%s wants %d of class %s", claimName(r.Claim), r.Wants, r.Class)
		node := x.c.Node(slot).Name
		if r.Devices == 0 {
			text += ", and " + node + " has no device"
			for _, p := range e.Pools {
				text += fmt.Sprintf("; its pool %s: %s", p.Pool, p.Reason)
			}
			return text
		}
		var wrong []string
		for _, t := range r.Refused {
			if t.Decisive {
				wrong = append(wrong, x.refused(t))
				x.wants(r, t, c)
			}
		}
		if wrong == nil { // there are fewer than that
			return text + fmt.Sprintf(", and %s has %d", node, r.Devices)
		}
		return text + fmt.Sprintf("; of %d on %s: %s", r.Devices, node, strings.Join(wrong, ", "))
	}
	return x.facts(f, slot)
}

// claimName names a claim without its namespace. What stands for extended resources is no claim that a person knows.
func claimName(name string) string {
	_, short, _ := strings.Cut(name, "/")
	if strings.HasPrefix(short, "<") {
		return "it"
	}
	return "claim " + short
}

// refused says which devices fail a test and why: "g0 held by claim c1 (pod w1)".
func (x *sought) refused(t devices.Refusal) string {
	names := joined(t.Names)
	if n := t.Devices - len(t.Names); n > 0 {
		names = fmt.Sprintf("%s and %d more", strings.Join(t.Names, ", "), n)
	}
	var holders []string
	for _, c := range t.Claims {
		holders = append(holders, x.holder(c))
	}
	by := ""
	if len(holders) > 0 {
		by = " (" + verb(len(holders), "claim ", "claims ") + few(holders) + ")"
	}
	switch taint, tainted := strings.CutPrefix(t.Test, "has no taint "); {
	case t.Test == "is not in use":
		if by == "" {
			return names + " in use"
		}
		return names + " held by " + strings.TrimSuffix(by[2:], ")")
	case tainted:
		taint = strings.TrimSuffix(strings.TrimSuffix(taint, "that the request does not tolerate"), " ")
		if taint == "" {
			return names + " tainted"
		}
		return names + " tainted " + taint
	case strings.HasPrefix(t.Test, "has enough of "):
		return names + " without enough of " + strings.TrimPrefix(t.Test, "has enough of ") + by
	case strings.HasPrefix(t.Test, "selector of "):
		of, expression, _ := strings.Cut(strings.TrimPrefix(t.Test, "selector of "), ": ")
		of = strings.Replace(of, "claim "+x.pod.Namespace+"/", "claim ", 1)
		return names + " not selected by " + of + ": " + cmp.Or(wantedInstead(t.Mismatches), expression)
	case t.Test == "can be used on this node":
		return names + " not usable there"
	}
	return fmt.Sprintf("%s fail: %s", names, t.Test)
}

// holder is a claim with the first pod that uses it: "c1 (pod w1)".
func (x *sought) holder(name string) string {
	namespace, short, _ := strings.Cut(name, "/")
	if namespace != x.pod.Namespace {
		short = name
	}
	if c, ok := cluster.List[*resourcev1.ResourceClaim](x.c).Get(namespace, strings.TrimPrefix(name, namespace+"/")); ok {
		for _, r := range c.Status.ReservedFor {
			if r.Resource == "pods" {
				return short + " of pod " + r.Name
			}
		}
	}
	return short
}

// wantedInstead says what devices have in place of what a selector wants; "" where that cannot be said.
func wantedInstead(list []devices.Mismatch) string {
	var out []string
	for _, m := range list {
		out = append(out, fmt.Sprintf("%s is %s, wanted %s", m.Name, fewOf(m.Found, len(m.Found)+m.More), m.Wanted))
	}
	return strings.Join(out, "; ")
}

// wants fills in the field of a selector, what it wants of attributes, and what the devices have instead. A second selector of the request leaves
// the first where it is.
func (x *sought) wants(r devices.RequestReport, t devices.Refusal, c *Cause) {
	if len(t.Mismatches) == 0 || c.Wanted != "" {
		return
	}
	x.differs = t.Mismatches
	s, ok := x.selectorOf(r, strings.TrimPrefix(t.Test, "selector of "))
	if !ok {
		return
	}
	var wanted, found []string
	for _, m := range t.Mismatches {
		wanted = append(wanted, m.Name+" "+m.Wanted)
		found = append(found, m.Name+" "+fewOf(m.Found, len(m.Found)+m.More))
	}
	c.Object, c.Field, c.Wanted, c.Found = s.object, s.field, strings.Join(wanted, "; "), strings.Join(found, "; ")
}

// selectorOf finds the selector of a request that a test names: "class gpu: device.driver == ...".
func (x *sought) selectorOf(r devices.RequestReport, test string) (out deviceSelector, ok bool) {
	of, expression, _ := strings.Cut(test, ": ")
	kind, name, _ := strings.Cut(of, " ")
	for at := range mostSelectors {
		s, known := x.selector(kind, name, r.Request, at)
		if !known {
			break
		}
		if s.expression == expression {
			return s, true
		}
	}
	return out, false
}

// mostSelectors is how many selectors a request or a class may have.
const mostSelectors = 32
