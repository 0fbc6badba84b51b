package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/internal/nodepool"
)

// Remedy is one line of advice: changes that help all pods of the owner, or as many as they can.
type Remedy struct {
	// Text says what to do, and what then happens.
	Text string `json:"text"`
	// Changes are the changes. Apply makes them.
	Changes []Change `json:"changes"`
	// Node is where the pod goes then, "" when the pod goes away.
	Node string `json:"node,omitempty"`
	// Run is how many pods of the owner have a node then.
	Run int `json:"run"`
	Of  int `json:"of"` // how many pods the owner has then
	// Also are consequences, such as pods that restart.
	Also []string `json:"also,omitempty"`
}

const (
	// mostAdvice is the number of remedies of a Diagnosis.
	mostAdvice = 3
	// mostProven is the number of remedies that a diagnosis decides again for all pods of the owner.
	mostProven = 8
	// mostAdded is the number of nodes that a remedy adds at most.
	mostAdded = 64
)

// Advice returns the remedies in words; none for a nil Diagnosis.
func (d *Diagnosis) Advice() (out []string) {
	if d == nil {
		return nil
	}
	for _, r := range d.Remedies {
		out = append(out, r.Text)
	}
	return out
}

// adds reports whether a relaxation adds a node and does nothing else.
func adds(r Relaxation) bool { return len(r.Changes) == 1 && r.Changes[0].Kind == AddNode }

// remedies returns at most three remedies, the best for the cause first. Each was made on a fork, with all pods that wait decided again, in
// their order, and all running pods of the owner that an edit of its template makes again. Remedies that help all pods of the owner
// come before those that help some. A remedy with at least two changes more than the
// smallest one is left out.
func (d *diagnosis) remedies(list []Relaxation) (out []Remedy) {
	list = slices.DeleteFunc(slices.Clone(list), func(r Relaxation) bool { // no good advice about the cause
		return !mayLeave(d.cause) && slices.ContainsFunc(r.Changes, func(c Change) bool { return removes(&c) })
	})
	list = slices.DeleteFunc(list, func(r Relaxation) bool {
		why := d.unfit(r)
		if why != "" {
			d.dropOne(Dropped{Change: r.Text(), Rule: why})
		}
		return why != ""
	})
	list = withoutMore(list)
	least := 0
	for i, r := range list {
		if i == 0 || len(r.Changes) < least {
			least = len(r.Changes)
		}
	}
	list = slices.Concat(slices.DeleteFunc(list, func(r Relaxation) bool { return len(r.Changes) > least+1 }), d.ofOwner())
	if d.cause != nil && d.cause.Type == causePreempting {
		list = d.ofOwner() // nothing else is to be done
	}
	whole, proven := 0, 0
	for _, r := range together(ranked(list, d.cause)) {
		if whole == mostAdvice || proven == mostProven {
			break
		}
		if d.o.Stop() {
			d.cut = "stop"
			break
		}
		proven++
		x, ok := d.remedy(r)
		if !ok {
			d.dropOne(Dropped{Change: r.Text(), Rule: whyAhead})
			continue
		}
		if x.Node != "" && x.Of > 1 && x.Run <= len(d.crew.running) {
			d.dropOne(Dropped{Change: x.Text, Rule: whyNoMore})
			continue
		}
		if x.whole() && x.harm == 0 {
			whole++
		}
		out = append(out, x.Remedy)
		d.harm = append(d.harm, x.harm)
	}
	return d.best(out)
}

// best puts remedies that make no important pod wait first, of these the ones that help all pods of the owner, and returns the first
// three. The first is never one that makes an important pod wait.
func (d *diagnosis) best(list []Remedy) (out []Remedy) {
	at := make([]int, len(list))
	for k := range at {
		at[k] = k
	}
	some := func(k int) int {
		if list[k].Run < list[k].Of {
			return 1
		}
		return 0
	}
	late := func(k int) int { return d.harm[k] }
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Or(cmp.Compare(late(a), late(b)), cmp.Compare(some(a), some(b))) })
	for _, k := range at {
		if len(out) == 0 && late(k) > 0 {
			d.dropOne(Dropped{Change: list[k].Text, Rule: whyNotFirst})
			continue
		}
		if len(out) < mostAdvice {
			out = append(out, list[k])
		}
	}
	return out
}

// withoutMore drops the sets that add a node and change something else too, when another set only adds a node. Otherwise, of the sets that
// differ only in the node that they copy, it keeps the first.
func withoutMore(list []Relaxation) []Relaxation {
	alone, seen := slices.ContainsFunc(list, adds), map[string]bool{}
	return slices.DeleteFunc(list, func(r Relaxation) bool {
		if len(r.Changes) == 1 || !slices.ContainsFunc(r.Changes, func(c Change) bool { return c.Kind == AddNode }) {
			return false
		}
		key := ""
		for _, c := range r.Changes {
			key += string(c.Kind) + c.Path
			if c.Kind != AddNode {
				key += c.Object
			}
		}
		twice := seen[key]
		seen[key] = true
		return alone || twice
	})
}

func (d *diagnosis) dropOne(x Dropped) {
	if !slices.Contains(d.dropped, x) {
		d.dropped = append(d.dropped, x)
	}
}

// candidate is a relaxation with others of its kind that differ in the node alone.
type candidate struct {
	Relaxation
	or []Relaxation
}

// together makes relaxations of one change that differ in the node, or in the model of an added node, one. The order is that of the first.
func together(list []Relaxation) (out []candidate) {
	at := map[string]int{}
	for _, r := range list {
		key := ""
		if len(r.Changes) == 1 {
			switch c := r.Changes[0]; c.Kind {
			case AddNode:
				key = string(AddNode) + c.Path
				if c.Path != ofSize { // what differs is that of one model
					key += c.key
				}
			case Uncordon, Untaint, Label:
				key = string(c.Kind) + c.Path + c.From + c.To
			}
		}
		if k, known := at[key]; known && key != "" {
			out[k].or = append(out[k].or, r)
			continue
		}
		at[key] = len(out)
		out = append(out, candidate{Relaxation: r})
	}
	return out
}

// proven is a remedy with 1 in harm when it makes a pod wait that is at least as important as the pod.
type proven struct {
	Remedy
	harm int
}

func (p proven) whole() bool { return p.Run == p.Of }

// remedy decides a candidate again. ok is false when the pod gets no node with all that wait before it.
func (d *diagnosis) remedy(r candidate) (p proven, ok bool) {
	first := r.Changes[0]
	var text string
	var o outcome
	switch {
	case adds(r.Relaxation):
		list := append([]Relaxation{r.Relaxation}, r.or...)
		best := -1
		for k, x := range list { // the first model with which all pods of the owner run, else the first that helps
			changes, with := d.addsNodes(x.Changes, 0)
			if with.node != "" && (best < 0 || with.all()) {
				best, first, o = k, changes[0], with
			}
			if o.all() {
				break
			}
		}
		if best < 0 {
			return p, false
		}
		models := []string{first.From}
		if d.lean {
			list = list[:best+1]
		}
		for _, x := range list[best+1:] { // as many of these must do
			c := x.Changes[0]
			if first.ofPool && d.poolOf(first.From) != d.poolOf(c.From) {
				continue // the pool that the text names is not its own
			}
			c.Count = first.Count
			if with := d.prove([]Change{c}); with.node != "" && with.run == o.run && !slices.Contains(models, c.From) {
				models = append(models, c.From)
			}
		}
		text = first.adding(models)
		if first.ofPool {
			text += d.poolOf(first.From)
		}
		p.Changes = []Change{first}
	default:
		p.Changes = r.Changes
		if at := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Kind == AddNode }); at >= 0 {
			p.Changes, o = d.addsNodes(r.Changes, at)
		} else {
			o = d.prove(r.Changes)
		}
		if o.node == "" && !o.away || o.away && o.run < o.of {
			return p, false
		}
		p.Changes, o = d.widen(p.Changes, o)
		text = Relaxation{Changes: p.Changes}.Text()
		for _, x := range r.or {
			if !strings.Contains(text, x.Changes[0].Object[len("Node "):]) {
				text = strings.Replace(text, ": ", " or "+strings.TrimPrefix(x.Changes[0].Object, "Node ")+": ", 1)
			}
		}
	}
	p.Node, p.Run, p.Of, p.Also, p.harm = o.node, o.run, o.of, o.also, o.harm
	if first.Kind == Recover && first.Path == ofNode && o.of == 1 {
		p.Text = text + ": then this pod gets a node too" // that depends on the node of the other
	} else {
		p.Text = text + o.then(adds(r.Relaxation))
	}
	if len(o.also) > 0 {
		p.Text += "; also: " + strings.Join(o.also, ", ")
	}
	return p, true
}

// then says what happens: where the pod goes, or how many pods of the owner run.
func (o outcome) then(added bool) string {
	switch {
	case o.away:
		return ": " + o.gone
	case o.uncounted || o.of == 1:
		if added {
			return ": then it runs there"
		}
		return ": then it goes to " + o.node
	case o.run == 1:
		return fmt.Sprintf(": then 1 of %d runs", o.of)
	}
	return fmt.Sprintf(": then %d of %d run", o.run, o.of)
}

// addsNodes returns changes with the least number of nodes in the change AddNode, which is at a place of the list, with which all pods of the
// owner run. When no number does, it is the least with which the pod has a node.
func (d *diagnosis) addsNodes(changes []Change, at int) ([]Change, outcome) {
	with := func(n int) ([]Change, outcome) {
		list := slices.Clone(changes)
		list[at].Count = n
		return list, d.prove(list)
	}
	first, one := with(1)
	if one.all() || one.uncounted {
		return first, one
	}
	low, high := 1, max(2, min(d.crew.waiting(), mostAdded)) // a node each is often right
	for ; high <= mostAdded; low, high = high, 2*high {
		best, o := with(high)
		if one.node == "" && o.node != "" {
			first, one = best, o
		}
		if !o.all() {
			continue
		}
		for high-low > 1 {
			middle := (low + high) / 2
			if list, then := with(middle); then.all() {
				high, best, o = middle, list, then
			} else {
				low = middle
			}
		}
		return best, o
	}
	return first, one
}

// widen takes the value of an edit of the template further than the pod needs, as far as all pods of the owner need, to a hundredth of the
// value: a lower request, a larger maxSkew. It returns the changes as they are when no value helps all, and when a pod would get less
// than half of what it asks for.
func (d *diagnosis) widen(changes []Change, o outcome) ([]Change, outcome) {
	at := slices.IndexFunc(changes, func(c Change) bool { return c.value != nil && c.edit != nil })
	if at < 0 || o.all() || o.uncounted || d.o.Where != nil {
		return changes, o
	}
	with := func(v int64) ([]Change, outcome) {
		list := slices.Clone(changes)
		value := *list[at].value
		value.v = v
		list[at].value, list[at].To = &value, value.show(v)
		return list, d.prove(list)
	}
	x := changes[at].value
	good, bad := x.loosest, x.v
	if changes[at].Kind == LowerRequest {
		good = (x.from + 1) / 2
	}
	if changes[at].Kind == RaiseMaxSkew {
		good = x.v + int64(d.crew.waiting())
	}
	best, then := with(good)
	if good == bad || !then.all() {
		return changes, o
	}
	for distance(good, bad) > max(1, x.from/100) {
		middle := good + (bad-good)/2
		if list, o := with(middle); o.all() {
			good, best, then = middle, list, o
		} else {
			bad = middle
		}
	}
	return best, then
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// adding says which nodes are added: "add 2 nodes like a or b".
func (c Change) adding(models []string) string {
	text := "add a node like " + strings.Join(models, " or ")
	if c.Count > 1 {
		text = fmt.Sprintf("add %d nodes like %s", c.Count, strings.Join(models, " or "))
	}
	if c.key != "" {
		text += ", but " + c.key
	}
	if key := c.newDomain(); key != "" {
		text += fmt.Sprintf(" in a %s of its own", domainWord(key))
		if c.Count > 1 {
			text = strings.TrimSuffix(text, "its own") + "their own"
		}
	}
	return text
}

// poolOf names the pool of a node in brackets: by a label that names pools, or by one that all nodes of the pod's pool have and no other
// node; "" for a node without such a label. A pool of Karpenter, and a node group where the cluster autoscaler runs, grow when their limits
// allow it.
func (d *diagnosis) poolOf(node string) string {
	n := d.base.Node(d.base.Slot(node))
	switch name, key := nodepool.Of(n); {
	case name == "":
		return ""
	case key == nodepool.Karpenter:
		return fmt.Sprintf(" (raise the limits of NodePool %s)", name)
	case d.common.autoscales(d.base, d.slots):
		return fmt.Sprintf(" (raise the maximum of pool %s)", name)
	default:
		return fmt.Sprintf(" (pool %s)", name)
	}
}

// Tried returns the kinds of the changes of which the sets were made, sorted: what was tried when no relaxation is known.
func (d *Diagnosis) Tried() (kinds []string) {
	for _, c := range d.Changes {
		kinds = append(kinds, string(c.Kind))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}
