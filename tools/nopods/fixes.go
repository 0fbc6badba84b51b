package nopods

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/overhead/quota"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
)

// fix is a change with which the API server takes more of the pods: it was asked again.
type fix struct {
	Text   string   `json:"text"`   // the change in words
	Object string   `json:"object"` // whose edit it is
	Edits  []string `json:"edits"`  // the fields with the values that they have and the values that work
	Lets   int      `json:"lets"`   // how many of the missing pods come then
}

// candidate is a change to try: of each new pod, or of the objects.
type candidate struct {
	fix
	pod     func(p *v1.Pod)
	objects func(o *dump.Objects)
}

// fixes tries changes and returns those that let more pods in: the ones that let most in first, edits of the workload before others.
func (x *found) fixes(o *dump.Objects, made []*v1.Pod, now verdict) []fix {
	out := []fix{}
	for _, c := range slices.Concat(x.inRange(o, now.first), x.inQuota(o, now.first, len(made)), x.classes(o, now.first)) {
		changed := *o
		if c.objects != nil {
			c.objects(&changed)
		}
		pods := make([]*v1.Pod, len(made))
		for k, p := range made {
			pods[k] = p.DeepCopy()
			if c.pod != nil {
				c.pod(pods[k])
			}
		}
		changed.Pods = slices.Concat(slices.DeleteFunc(slices.Clone(o.Pods), func(p *v1.Pod) bool { return slices.Contains(made, p) }), pods)
		if v := x.admit(&changed, pods); v.in > now.in {
			c.Lets = v.in
			c.Text = fmt.Sprintf("%s: %s: then %d of %d missing pods come", c.Object, strings.Join(c.Edits, "; "), v.in, len(made))
			out = append(out, c.fix)
		}
	}
	slices.SortStableFunc(out, func(a, b fix) int { return cmp.Compare(b.Lets, a.Lets) })
	return out
}

// path is the path of the containers in the workload.
func (x *found) path() string {
	_, path := admission.Template(x.object)
	return path + ".spec.containers"
}

// set changes an amount of a container.
type set struct {
	container int
	list      string // requests or limits
	name      v1.ResourceName
	to        resource.Quantity
}

func (s set) in(p *v1.Pod) {
	r := &p.Spec.Containers[s.container].Resources
	list := &r.Requests
	if s.list == "limits" {
		list = &r.Limits
	}
	changed := list.DeepCopy()
	if changed == nil {
		changed = v1.ResourceList{}
	}
	changed[s.name] = s.to
	*list = changed
}

// edit says what a set changes, as a field of the workload.
func (x *found) edit(s set, p *v1.Pod) string {
	r := p.Spec.Containers[s.container].Resources
	was, named := r.Requests[s.name]
	if s.list == "limits" {
		was, named = r.Limits[s.name]
	}
	field := fmt.Sprintf("%s[%d].resources.%s[%s]", x.path(), s.container, s.list, s.name)
	if !named {
		return fmt.Sprintf("%s: set %s", field, s.to.String())
	}
	return fmt.Sprintf("%s from %s to %s", field, was.String(), s.to.String())
}

// edits is the candidate with some sets.
func (x *found) edits(sets []set, p *v1.Pod, note string) []candidate {
	if len(sets) == 0 {
		return nil
	}
	c := candidate{fix: fix{Object: x.String()}}
	for _, s := range sets {
		c.Edits = append(c.Edits, x.edit(s, p))
	}
	c.Edits[len(c.Edits)-1] += note
	c.pod = func(p *v1.Pod) {
		for _, s := range sets {
			s.in(p)
		}
	}
	return []candidate{c}
}

// inRange brings the amounts of each container between min and max of the LimitRanges.
func (x *found) inRange(o *dump.Objects, p *v1.Pod) (out []candidate) {
	filled := admission.WithLimitRanges(p, o.LimitRanges)
	var sets []set
	var notes []string
	for _, r := range o.LimitRanges {
		for _, item := range r.Spec.Limits {
			if r.Namespace != p.Namespace || item.Type != v1.LimitTypeContainer {
				continue
			}
			before := len(sets)
			for k, c := range filled.Spec.Containers {
				for name, most := range item.Max {
					sets = append(sets, lowered(k, "limits", name, c.Resources.Limits, most)...)
					sets = append(sets, lowered(k, "requests", name, c.Resources.Requests, most)...)
				}
				for name, least := range item.Min {
					sets = append(sets, raised(k, "requests", name, c.Resources.Requests, least)...)
					sets = append(sets, raised(k, "limits", name, c.Resources.Limits, least)...)
				}
			}
			if len(sets) > before {
				notes = append(notes, fmt.Sprintf("LimitRange %s allows%s", r.Name, span(item, sets[before:])))
			}
		}
	}
	slices.SortStableFunc(sets, func(a, b set) int {
		return cmp.Or(cmp.Compare(a.container, b.container), cmp.Compare(a.list, b.list), cmp.Compare(a.name, b.name))
	})
	return x.edits(sets, p, " ("+strings.Join(notes, "; ")+")")
}

func lowered(k int, list string, name v1.ResourceName, has v1.ResourceList, most resource.Quantity) []set {
	if q, named := has[name]; named && q.Cmp(most) > 0 {
		return []set{{k, list, name, most}}
	}
	return nil
}

func raised(k int, list string, name v1.ResourceName, has v1.ResourceList, least resource.Quantity) []set {
	if q, named := has[name]; named && q.Cmp(least) < 0 {
		return []set{{k, list, name, least}}
	}
	return nil
}

// span says what an item allows of the resources of some sets.
func span(item v1.LimitRangeItem, sets []set) (out string) {
	var names []v1.ResourceName
	for _, s := range sets {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if least, is := item.Min[name]; is {
			out += fmt.Sprintf(" %s from %s", name, least.String())
		} else {
			out += " " + string(name)
		}
		if most, is := item.Max[name]; is {
			out += " to " + most.String()
		}
	}
	return out
}

// charged says which list and resource of a container a resource of a quota counts.
var charged = map[v1.ResourceName]struct {
	list string
	name v1.ResourceName
}{
	"cpu": {"requests", "cpu"}, "requests.cpu": {"requests", "cpu"}, "memory": {"requests", "memory"}, "requests.memory": {"requests", "memory"},
	"limits.cpu": {"limits", "cpu"}, "limits.memory": {"limits", "memory"},
}

// inQuota lets the pods ask for less, or for something where a quota wants an amount named, and raises the quotas.
func (x *found) inQuota(o *dump.Objects, p *v1.Pod, missing int) (out []candidate) {
	filled := admission.WithLimitRanges(p, o.LimitRanges)
	usage := quota.Usage(filled, time.Time{}, release.Current)
	var sets []set
	var left, raises []string
	raise := map[string]v1.ResourceList{}
	for _, q := range o.ResourceQuotas {
		if q.Namespace != p.Namespace {
			continue
		}
		for _, name := range sortedNames(q.Spec.Hard) {
			hard, used, charge := q.Spec.Hard[name], q.Status.Used[name], usage[name]
			free := hard.DeepCopy()
			free.Sub(used)
			need := charge.DeepCopy()
			need.Mul(int64(missing))
			in, known := charged[name]
			unnamed := known && slices.ContainsFunc(filled.Spec.Containers, func(c v1.Container) bool { return lacks(c, in.list, in.name) })
			if need.Cmp(free) > 0 {
				most := used.DeepCopy()
				most.Add(need)
				if raise[q.Name] == nil {
					raise[q.Name] = v1.ResourceList{}
				}
				raise[q.Name][name] = most
				raises = append(raises, fmt.Sprintf("%s: spec.hard[%s] from %s to %s", q.Name, name, hard.String(), most.String()))
			}
			if !known || need.Cmp(free) <= 0 && !unnamed {
				continue
			}
			each := free.MilliValue() / int64(missing) / int64(len(p.Spec.Containers))
			if in.name == v1.ResourceMemory {
				each -= each % 1000
			}
			if each <= 0 {
				continue
			}
			for k, c := range filled.Spec.Containers {
				if need.Cmp(free) > 0 || lacks(c, in.list, in.name) {
					to := *resource.NewMilliQuantity(each, hard.Format)
					sets = append(sets, set{k, in.list, in.name, to})
				}
			}
			left = append(left, fmt.Sprintf("quota %s has %s of %s left", q.Name, free.String(), name))
		}
	}
	out = x.edits(sets, p, " ("+strings.Join(left, "; ")+")")
	if len(raise) > 0 {
		out = append(out, candidate{fix: fix{Object: "ResourceQuotas of " + p.Namespace, Edits: raises}, objects: func(o *dump.Objects) {
			o.ResourceQuotas = slices.Clone(o.ResourceQuotas)
			for k, q := range o.ResourceQuotas {
				if more := raise[q.Name]; q.Namespace == p.Namespace && more != nil {
					c := q.DeepCopy()
					for name, most := range more {
						c.Spec.Hard[name] = most
						if _, has := c.Status.Hard[name]; has {
							c.Status.Hard[name] = most
						}
					}
					o.ResourceQuotas[k] = c
				}
			}
		}})
	}
	return out
}

func lacks(c v1.Container, list string, name v1.ResourceName) bool {
	of := c.Resources.Requests
	if list == "limits" {
		of = c.Resources.Limits
	}
	_, named := of[name]
	return !named
}

func sortedNames(list v1.ResourceList) (names []v1.ResourceName) {
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// classes makes the PriorityClass or RuntimeClass that the pods name and that is missing.
func (x *found) classes(o *dump.Objects, p *v1.Pod) (out []candidate) {
	if name := p.Spec.PriorityClassName; name != "" && !slices.ContainsFunc(o.AllPriorityClasses(), func(c *schedulingv1.PriorityClass) bool { return c.Name == name }) {
		made := &schedulingv1.PriorityClass{}
		made.Name = name
		out = append(out, candidate{fix: fix{Object: "PriorityClass " + name, Edits: []string{"create PriorityClass " + name + ", or name a class that there is"}},
			objects: func(o *dump.Objects) { o.PriorityClasses = append(slices.Clip(o.PriorityClasses), made) }})
	}
	if name := p.Spec.RuntimeClassName; name != nil && !slices.ContainsFunc(o.RuntimeClasses, func(c *nodev1.RuntimeClass) bool { return c.Name == *name }) {
		made := &nodev1.RuntimeClass{Handler: "runc"}
		made.Name = *name
		out = append(out, candidate{fix: fix{Object: "RuntimeClass " + *name, Edits: []string{"create RuntimeClass " + *name + ", or name a class that there is"}},
			objects: func(o *dump.Objects) { o.RuntimeClasses = append(slices.Clip(o.RuntimeClasses), made) }})
	}
	return out
}
