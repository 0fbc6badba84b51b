package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
)

// explainer is devices.State: what a node offers to the claims of the pod.
type explainer interface {
	Explain(i int) (devices.Explanation, bool)
}

// deviceFacts says why a node does not serve the claims of the pod: what a request wants, how many devices there are, and what is wrong with
// each. It falls back to the facts of the plugin.
func (x *sought) deviceFacts(f failure, slot int) string {
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
				wrong = append(wrong, x.refused(t, node))
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
func (x *sought) refused(t devices.Refusal, node string) string {
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
		return names + " not selected by " + strings.TrimPrefix(t.Test, "selector of ") + x.attributesOf(t.Test, node)
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

// attribute is the reading of an attribute in an expression: of a domain, or of the driver.
var attribute = regexp.MustCompile(`device\.attributes\[['"]([^'"]+)['"]\]\.(\w+)|device\.attributes\[['"][^'"]+['"]\]\[['"](\w+)['"]\]`)

// attributesOf says which values the attributes of an expression have on the devices of a node; "" for an expression that reads none.
func (x *sought) attributesOf(expression, node string) string {
	var out []string
	for _, m := range attribute.FindAllStringSubmatch(expression, -1) {
		domain, name := m[1], m[2]+m[3]
		values := map[string]bool{}
		for s := range cluster.List[*resourcev1.ResourceSlice](x.c).All() {
			if s.Spec.NodeName == nil || *s.Spec.NodeName != node {
				continue
			}
			for _, d := range s.Spec.Devices {
				for _, key := range []resourcev1.QualifiedName{resourcev1.QualifiedName(name), resourcev1.QualifiedName(domain + "/" + name)} {
					if a, ok := d.Attributes[key]; ok && (strings.Contains(string(key), "/") || domain == "" || domain == s.Spec.Driver) {
						values[valueOf(a)] = true
					}
				}
			}
		}
		var list []string
		for v := range values {
			list = append(list, v)
		}
		slices.Sort(list)
		text := name + " is " + few(list)
		if list == nil {
			text = "no device there has " + name
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if out == nil {
		return ""
	}
	return " (" + strings.Join(out, ", ") + ")"
}

// valueOf writes the value of an attribute.
func valueOf(a resourcev1.DeviceAttribute) string {
	switch {
	case a.StringValue != nil:
		return *a.StringValue
	case a.IntValue != nil:
		return decimal(*a.IntValue)
	case a.BoolValue != nil:
		return fmt.Sprint(*a.BoolValue)
	case a.VersionValue != nil:
		return *a.VersionValue
	}
	return "of several values"
}
