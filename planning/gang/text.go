package gang

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/planning/gang/proof"
)

// Lines are those of Why, a line that begins with "Do: " for each [Help], and one that begins with "Not tried: " for each entry of Untried.
func (d *Difference) Lines() []string {
	lines := d.Why()
	for _, h := range d.Help {
		lines = append(lines, "Do: "+h.Text)
	}
	for _, text := range d.Untried {
		lines = append(lines, "Not tried: "+text)
	}
	return lines
}

// Why says in two lines why a group waits and whether a place exists, in one if it has too few members or groups. nil if kube-scheduler places the group.
func (d *Difference) Why() (lines []string) {
	if d.Default {
		return nil
	}
	switch {
	case d.namesake != "":
		return []string{d.namesake}
	case d.childless != "":
		return []string{d.childless}
	}
	if d.Members < d.Needed {
		text := fmt.Sprintf("%d of %s exist, %d needed", d.Members, plural(d.Needed, "member"), d.Needed)
		switch d.dying {
		case 0:
		case 1:
			text += "; 1 more is being deleted"
		default:
			text += fmt.Sprintf("; %d more are being deleted", d.dying)
		}
		return []string{text}
	}
	first := fmt.Sprintf("%d of %s fit, %d needed", d.Fit, plural(d.Members, "member"), d.Needed)
	if d.enough {
		first = fmt.Sprintf("%d of %s run, which is enough; %d more fit", d.running, plural(d.Members, "member"), d.Fit-d.running)
	}
	if d.Cause != "" {
		first += ": " + strings.TrimSuffix(d.Cause, ".")
	}
	lines = append(lines, first)
	switch d.Outcome {
	case Exists:
		lines = append(lines, "a placement exists: kube-scheduler misses it because "+d.missed())
	case None:
		lines = append(lines, "no placement exists: "+d.absent)
	case Unknown:
		lines = append(lines, fmt.Sprintf("whether a placement exists is unknown within %s: at most %d members were placed at once", plural(d.Steps, "step"), len(d.Places)))
	}
	return lines
}

// missed is why kube-scheduler does not find a placement that exists.
func (d *Difference) missed() string {
	for _, m := range d.States {
		if m.State == WouldFit && d.Stuck != "" {
			return fmt.Sprintf("it puts %s on %s first, then %s fits nowhere, and it takes no member back", pod(m.Pod), m.Node, pod(d.Stuck))
		}
	}
	if d.Stuck != "" {
		return fmt.Sprintf("it tries %s before the members that it needs", pod(d.Stuck))
	}
	return "it decides one group after the other and takes none back"
}

func pod(name string) string { return name[strings.Index(name, "/")+1:] }

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// absence says why a group has no place: of three domains at most.
func (e *explainer) absence(a *proof.Absence) string {
	if len(a.Domains) == 0 {
		return fmt.Sprintf("no node has the label %s", a.Key)
	}
	var parts []string
	for k, d := range a.Domains {
		text := e.closed(a, &d)
		switch r := freeOf(a.Domains, k); {
		case a.Key != "" && r != "" && k > 0 && r == freeOf(a.Domains, k-1): // "r1 has 12 free of cpu, r2 8"
			text = fmt.Sprintf("%s %s", d.Name, amount(r, d.Room.Free))
		case a.Key != "":
			text = fmt.Sprintf("%s %s", d.Name, text)
		}
		parts = append(parts, text)
	}
	more := ""
	if len(parts) > 3 {
		more, parts = fmt.Sprintf(" and so for %d more", len(parts)-3), parts[:3]
	}
	text := strings.Join(parts, ", ") + more
	if a.Key != "" {
		text = fmt.Sprintf("%s %s, and a group of %d needs one %s", short(a.Key), text, e.neededBy(a.Group), short(a.Key))
	}
	return text
}

// freeOf returns the resource of which a domain has too little for all its members; "" if another count closes it.
func freeOf(list []proof.Domain, k int) string {
	if r := list[k].Room; r != nil && r.Kind == proof.ByResource && r.Of == nil {
		return r.Resource
	}
	return ""
}

func (e *explainer) closed(a *proof.Absence, d *proof.Domain) string {
	which := ""
	if a.Key == "" {
		which = "the cluster "
	}
	switch {
	case d.Exhausted:
		return which + "takes them in no way of all that were tried"
	case d.Room == nil:
		var children []string
		for k := range d.Children {
			children = append(children, fmt.Sprintf("%s has no place (%s)", d.Children[k].Group, e.absence(&d.Children[k])))
		}
		return which + "is too small: " + strings.Join(children, "; ")
	}
	r := d.Room
	if r.Of != nil {
		which += fmt.Sprintf("(members of at least %s %s) ", amount(r.Of.Resource, r.Of.AtLeast), r.Of.Resource)
	}
	switch r.Kind {
	case proof.ByResource:
		text := fmt.Sprintf("has %s free of %s", amount(r.Resource, r.Free), r.Resource)
		if a.Key == "" {
			text += fmt.Sprintf(", and %s ask for %s", plural(r.Need, "member"), amount(r.Resource, r.Least))
		}
		return which + text
	case proof.ByMembers:
		return which + fmt.Sprintf("has a node for %d of %s that must come", r.Most, plural(r.Need, "member"))
	case proof.Apart:
		return which + fmt.Sprintf("takes %d of %d: anti-affinity allows one for each %s", r.Most, r.Need, short(r.Key))
	case proof.Spread:
		return which + fmt.Sprintf("takes %d of %d: the spread constraint by %s allows no more", r.Most, r.Need, short(r.Key))
	}
	return which + fmt.Sprintf("takes %d of %d, node by node", r.Most, r.Need)
}

// short is the end of a label key.
func short(key string) string { return key[strings.LastIndex(key, "/")+1:] }

// amount shows an integer of the scheduler.
func amount(name string, n int64) string {
	switch v1.ResourceName(name) {
	case v1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return fmt.Sprint(n)
}

// shortList names up to four, without namespaces.
func shortList(names []string) string {
	var out []string
	for _, n := range names {
		if strings.Count(n, "/") == 1 {
			n = pod(n)
		}
		if len(out) == 0 || out[len(out)-1] != n {
			out = append(out, n)
		}
	}
	if len(out) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(out[:4], ", "), len(out)-4)
	}
	return strings.Join(out, ", ")
}
