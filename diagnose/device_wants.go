package diagnose

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/diagnose/near"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
)

// This file is about devices that no node has: a class with another name, a selector with a value that there is, and a node that has the value.

// classMends returns the changes of a claim that name the class that looks like one that does not exist.
func classMends(s *cluster.Snapshot, c *resourcev1.ResourceClaim) (out []*Change) {
	names := namesOf(cluster.List[*resourcev1.DeviceClass](s).All())
	for k, r := range requestsOf(c) {
		to, ok := near.Meant(r.class, names)
		if slices.Contains(names, r.class) || !ok {
			continue
		}
		x := onClaim(c, Mend, r.path+".deviceClassName", r.class, func(x *resourcev1.ResourceClaim, _ int64) { *classesOf(x)[k] = to })
		x.To = to
		out = append(out, x)
	}
	return out
}

// classesOf returns where a claim has the names of classes, in the order of requestsOf.
func classesOf(claim *resourcev1.ResourceClaim) (out []*string) {
	for k := range claim.Spec.Devices.Requests {
		r := &claim.Spec.Devices.Requests[k]
		if r.Exactly != nil {
			out = append(out, &r.Exactly.DeviceClassName)
		}
		for j := range r.FirstAvailable {
			out = append(out, &r.FirstAvailable[j].DeviceClassName)
		}
	}
	return out
}

// deviceClaimsMeant is namesMeant for claims of devices.
func (d *diagnosis) deviceClaimsMeant(add func(rule, path, from, to string, edit func(p *v1.Pod))) {
	if len(d.pod.Spec.ResourceClaims) == 0 {
		return
	}
	names := namesOf(cluster.List[*resourcev1.ResourceClaim](d.base).In(d.pod.Namespace))
	for i, r := range d.pod.Spec.ResourceClaims {
		if r.ResourceClaimName == nil {
			continue
		}
		from, path := *r.ResourceClaimName, fmt.Sprintf("spec.resourceClaims[%d]", i)
		if to, ok := near.Meant(from, names); ok && !slices.Contains(names, from) {
			add(path, path+".resourceClaimName", from, to, func(p *v1.Pod) {
				if k := entryOf(p, r.Name); k >= 0 {
					p.Spec.ResourceClaims[k].ResourceClaimName = &to
				}
			})
		}
	}
}

// entryOf returns the place of an entry of spec.resourceClaims, -1 when the pod does not have it.
func entryOf(p *v1.Pod, name string) int {
	return slices.IndexFunc(p.Spec.ResourceClaims, func(r v1.PodResourceClaim) bool { return r.Name == name })
}

// templateMeant names the template that looks like one that does not exist, of which a controller then makes the claim.
func (d *diagnosis) templateMeant() (c Change, ok bool) {
	names := namesOf(cluster.List[*resourcev1.ResourceClaimTemplate](d.base).In(d.pod.Namespace))
	for i, r := range d.pod.Spec.ResourceClaims {
		if r.ResourceClaimTemplateName == nil || slices.Contains(names, *r.ResourceClaimTemplateName) {
			continue
		}
		to, alike := near.Meant(*r.ResourceClaimTemplateName, names)
		if !alike {
			continue
		}
		path, objects := fmt.Sprintf("spec.resourceClaims[%d]", i), tracker.New(d.base, tracker.Of(d.base))
		edit := func(p *v1.Pod, _ int64) {
			p.Spec.ResourceClaims[i].ResourceClaimTemplateName = &to
			nameClaims(p, objects.Made(p))
		}
		c = Change{Kind: Mend, Object: "Pod " + podinfo.Name(d.pod), Path: path + ".resourceClaimTemplateName", From: *r.ResourceClaimTemplateName, To: to, rule: path, pod: d.pod, edit: edit, make: func(s *cluster.Snapshot, _ *Change) {
			for _, p := range d.ownQueue() {
				p = p.DeepCopy()
				p.Spec.ResourceClaims[i].ResourceClaimTemplateName = &to
				setClaims(s, objects.Made(p))
			}
		}}
		d.own(&c)
		return c, true
	}
	return c, false
}

// mostValues is the number of other values that a search tries for a selector.
const mostValues = 2

// equals is a selector that compares one attribute of a domain with a string, and nothing else.
var equals = regexp.MustCompile(`^\s*device\.attributes\["([^"\\]+)"\]\.(\w+)\s*==\s*"([^"\\]*)"\s*$`)

// selectorChanges returns the changes of a claim with which a selector takes a value that devices have in place of one that none has.
func selectorChanges(o offers, c *resourcev1.ResourceClaim) (out []*Change) {
	for k, r := range requestsOf(c) {
		for i, s := range r.selectors {
			if s.CEL == nil {
				continue
			}
			m := equals.FindStringSubmatch(s.CEL.Expression)
			if m == nil {
				continue
			}
			known := o["attributes"][m[1]][m[2]]
			if known[m[3]] || len(known) == 0 || o.meant(s.CEL.Expression) != s.CEL.Expression {
				continue
			}
			values := slices.Sorted(maps.Keys(known))
			for _, value := range values[:min(mostValues, len(values))] {
				to := strings.Replace(s.CEL.Expression, `"`+m[3]+`"`, `"`+value+`"`, 1)
				x := onClaim(c, DropConstraint, selectorPath(r.path, i), fmt.Sprintf("%s/%s %s", m[1], m[2], m[3]), func(x *resourcev1.ResourceClaim, _ int64) {
					requestsOf(x)[k].selectors[i].CEL.Expression = to
				})
				x.To = value
				out = append(out, x)
			}
		}
	}
	return out
}

// ofOtherDevices is the path of a change that adds a node with other devices than its model.
const ofOtherDevices = "devices"

// equipped is a node more like the first that offers devices, whose devices are as the selector of the cause wants them.
func (d *diagnosis) equipped() (c Change, ok bool) {
	if len(d.sought.differs) == 0 || len(d.cause.Nodes) == 0 {
		return c, false
	}
	at := slices.IndexFunc(d.cause.Nodes, func(name string) bool { return len(sliced(d.base, name)) > 0 && model(d.base.Node(d.base.Slot(name))) })
	if at < 0 {
		return c, false
	}
	like := d.base.Node(d.base.Slot(d.cause.Nodes[at]))
	var with []string
	for _, m := range d.sought.differs {
		if _, typo := near.Meant(m.Wanted, m.Found); typo {
			return c, false
		}
		with = append(with, m.Name+" "+m.Wanted)
	}
	return Change{Kind: AddNode, Object: "Node", Path: ofOtherDevices, From: like.Name, To: d.freeName(like.Name), key: "with devices of " + joined(with), make: func(s *cluster.Snapshot, c *Change) {
		c.addNodes(s, like)
		for k := range max(1, c.Count) {
			for _, slice := range sliced(s, c.added(k)) {
				more := slice.DeepCopy()
				for i := range more.Spec.Devices {
					for _, m := range d.sought.differs {
						equip(&more.Spec.Devices[i], m, more.Spec.Driver)
					}
				}
				must.Do(s.Set(more))
			}
		}
	}}, true
}

// sliced returns the slices of a node.
func sliced(s *cluster.Snapshot, node string) (out []*resourcev1.ResourceSlice) {
	for x := range cluster.List[*resourcev1.ResourceSlice](s).All() {
		if x.Spec.NodeName != nil && *x.Spec.NodeName == node {
			out = append(out, x)
		}
	}
	return out
}

// equip gives a device what a selector wants of an attribute or a capacity.
func equip(device *resourcev1.Device, m devices.Mismatch, driver string) {
	wanted, _, _ := strings.Cut(strings.TrimPrefix(m.Wanted, "at least "), " or ")
	key := resourcev1.QualifiedName(strings.TrimPrefix(m.Name, driver+"/"))
	if has, ok := device.Capacity[key]; ok {
		if q, err := resource.ParseQuantity(wanted); err == nil {
			has.Value = q
			device.Capacity[key] = has
		}
		return
	}
	if device.Attributes == nil {
		device.Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}
	}
	has := device.Attributes[key]
	whole, notWhole := strconv.ParseInt(wanted, 10, 64)
	truth, notTruth := strconv.ParseBool(wanted)
	switch {
	case has.VersionValue != nil:
		has = resourcev1.DeviceAttribute{VersionValue: &wanted}
	case notWhole == nil && has.StringValue == nil:
		has = resourcev1.DeviceAttribute{IntValue: &whole}
	case notTruth == nil && has.StringValue == nil:
		has = resourcev1.DeviceAttribute{BoolValue: &truth}
	default:
		has = resourcev1.DeviceAttribute{StringValue: &wanted}
	}
	device.Attributes[key] = has
}
