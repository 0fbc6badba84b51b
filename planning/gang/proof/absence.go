package proof

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
)

// Bound limits the check of Exhausted, which tries every way again.
type Bound struct {
	// Steps bounds the pods that are put on nodes; 0: 200,000.
	Steps int
	// Stop is asked before each step; nil: never.
	Stop func() bool
}

const defaultSteps = 200_000

// CheckAbsence checks the proof that a group has no place. A nil error means that the proof holds. The error says which part of the
// certificate does not prove
// it, or does not have the numbers of the cluster. Other errors are those of [Question.Subject].
func CheckAbsence(q Question, a Absence, b Bound) (err error) {
	defer must.Catch(&err)
	c := &checker{Subject: must.Get(q.Subject()), q: &q, s: q.Snapshot, bound: b, verdicts: map[string][]bool{}, counted: map[string]bool{}}
	c.bound.Steps = cmp.Or(b.Steps, defaultSteps)
	c.opens = make([][]bool, len(c.Members))
	for _, pod := range c.Members {
		c.needs = append(c.needs, asks(pod))
	}
	c.plan = must.Get(placement.New(q.Snapshot.Fork(), c.Profile))
	return c.absent("absence", c.Tree.Root(), c.slots(), &a)
}

// checker checks one absence.
type checker struct {
	*Subject
	q        *Question
	s        *cluster.Snapshot
	plan     *placement.Plan
	bound    Bound
	verdicts map[string][]bool // by kind of pod: whether a slot may take it
	opens    [][]bool          // the same by member; nil: not asked yet
	needs    []map[v1.ResourceName]int64
	counted  map[string]bool // whether the filters count a resource
}

// slots returns the slots of all nodes.
func (c *checker) slots() (out []int) {
	for i := range c.s.Len() {
		if c.s.Node(i) != nil {
			out = append(out, i)
		}
	}
	return out
}

func wrong(path, format string, args ...any) error {
	return fmt.Errorf("gang: %s: Invalid value: %s", path, fmt.Sprintf(format, args...))
}

// absent checks that a group has no place on some nodes.
func (c *checker) absent(path string, n *podgroup.Node, within []int, a *Absence) error {
	key := n.Key()
	if !c.Gates.Topology {
		key = ""
	}
	switch {
	case a.Group != n.String():
		return wrong(path+".group", "%q: want %s", a.Group, n)
	case a.Key != key:
		return wrong(path+".key", "%q: the group has %q", a.Key, key)
	}
	domains, err := c.parts(n, key, within)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(domains))
	if len(names) != len(a.Domains) {
		return wrong(path+".domains", "%d domains: the group could go to %d", len(a.Domains), len(names))
	}
	for k, name := range names {
		at := fmt.Sprintf("%s.domains[%d]", path, k)
		if d := &a.Domains[k]; d.Name != name {
			return wrong(at+".name", "%q: want %q", d.Name, name)
		} else if err := c.closed(at, n, domains[name], d); err != nil {
			return err
		}
	}
	return nil
}

// parts returns the slots of each domain where a group could go.
func (c *checker) parts(n *podgroup.Node, key string, within []int) (map[string][]int, error) {
	if key == "" {
		return map[string][]int{"": within}, nil
	}
	out := map[string][]int{}
	for _, i := range within {
		if v, ok := c.s.Node(i).Labels[key]; ok {
			out[v] = append(out[v], i)
		}
	}
	fixed := map[string][]int{}
	for _, leaf := range n.Leaves() {
		for pod, slot := range c.s.Members(leaf.Namespace, leaf.Name) {
			if slot < 0 {
				return nil, fmt.Errorf("gang: %s: the node of pod %s is unknown", n, podinfo.Name(pod))
			}
			v, ok := c.s.Node(slot).Labels[key]
			if !ok {
				return nil, fmt.Errorf("gang: %s: the node of pod %s has no label %s", n, podinfo.Name(pod), key)
			}
			if fixed[v] = out[v]; len(fixed) > 1 {
				return nil, fmt.Errorf("gang: %s: its pods are in two domains of %s", n, key)
			}
		}
	}
	if len(fixed) == 0 {
		return out, nil
	}
	maps.DeleteFunc(fixed, func(_ string, slots []int) bool { return len(slots) == 0 })
	return fixed, nil
}

// closed checks that one domain does not take a group.
func (c *checker) closed(path string, n *podgroup.Node, slots []int, d *Domain) error {
	if d.Nodes != len(slots) {
		return wrong(path+".nodes", "%d: the domain has %d", d.Nodes, len(slots))
	}
	given := 0
	for _, is := range []bool{d.Room != nil, len(d.Children) > 0, d.Exhausted} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return wrong(path, "%d proofs: want one of room, children, exhausted", given)
	case d.Room != nil:
		return c.room(path+".room", n, slots, d.Room)
	case d.Exhausted:
		if n.Up != nil {
			return wrong(path+".exhausted", "stands at the root alone: members of siblings can help")
		}
		return c.exhaust(path+".exhausted", n, slots)
	}
	return c.children(path+".children", n, slots, d.Children)
}

// children checks that so many children of a composite group have no place that the others are too few.
func (c *checker) children(path string, n *podgroup.Node, slots []int, list []Absence) error {
	seen := map[string]bool{}
	for k := range list {
		at := fmt.Sprintf("%s[%d]", path, k)
		child := slices.IndexFunc(n.Children, func(x *podgroup.Node) bool { return x.String() == list[k].Group })
		switch {
		case child < 0:
			return wrong(at+".group", "%q: no child of %s", list[k].Group, n)
		case seen[list[k].Group]:
			return wrong(at+".group", "%q: it stands twice", list[k].Group)
		}
		seen[list[k].Group] = true
		if err := c.absent(at, n.Children[child], slots, &list[k]); err != nil {
			return err
		}
	}
	if left := len(n.Children) - len(list); left >= n.Needs() {
		return wrong(path, "%d children: the other %d are enough", len(list), left)
	}
	return nil
}

// admits returns by slot whether the filters could take a member there, as far as their rejections last.
func (c *checker) admits(k int) []bool {
	if c.opens[k] == nil {
		c.opens[k] = c.ask(c.Members[k])
	}
	return c.opens[k]
}

func (c *checker) ask(pod *v1.Pod) []bool {
	alone := Alone(pod)
	text := c.Profile.PodKey(alone)
	if known, ok := c.verdicts[text]; ok && text != "" {
		return known
	}
	out := make([]bool, c.s.Len())
	a := c.plan.Prepare(alone)
	open := a.Candidates()
	if a.Rejected() {
		open = nil
		if slices.ContainsFunc(a.Pre.Rejecters(), func(plugin string) bool { return !Lasting(plugin, pod) }) {
			open = c.slots() // a plugin that may allow it later; what other plugins named is unknown
		}
	}
	for _, i := range open {
		out[i] = !slices.ContainsFunc(a.Predicates, func(p filter.Predicate) bool { return Lasting(p.Name(), pod) && p.Check(i) != 0 })
	}
	c.verdicts[text] = out
	return out
}
