package diagnose

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
)

// podChanges lists the changes of a pod.
func podChanges(pod *v1.Pod) []*Change {
	object := "Pod " + podinfo.Name(pod)
	var out []*Change
	add := func(kind Kind, rule, path, from string, edit func(p *v1.Pod, v int64)) *Change {
		c := &Change{Kind: kind, Object: object, Path: path, From: from, rule: rule, edit: edit, pod: pod}
		out = append(out, c)
		return c
	}
	for _, g := range pod.Spec.SchedulingGates {
		add(DropGate, ofGates, ofGates, g.Name, func(p *v1.Pod, _ int64) {
			p.Spec.SchedulingGates = slices.DeleteFunc(p.Spec.SchedulingGates, func(x v1.PodSchedulingGate) bool { return x == g })
		})
	}
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		path := "spec.nodeSelector[" + key + "]"
		add(DropSelector, path, path, key+"="+pod.Spec.NodeSelector[key], func(p *v1.Pod, _ int64) { delete(p.Spec.NodeSelector, key) }).key = key
	}
	nodeAffinityChanges(pod, add)
	podAffinityChanges(pod, add)
	spreadChanges(pod, add)
	requestChanges(pod, add)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		for k, port := range c.Ports {
			if port.HostPort > 0 {
				path := fmt.Sprintf("spec.containers[%d].ports[%d].hostPort", i, k)
				add(DropPort, path, path, strconv.Itoa(int(port.HostPort)), func(p *v1.Pod, _ int64) { p.Spec.Containers[i].Ports[k].HostPort = 0 })
			}
		}
	}
	for i, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil {
			continue
		}
		path := fmt.Sprintf("spec.volumes[%d]", i)
		add(dropVolume, path, path, volume.Name, func(p *v1.Pod, _ int64) { withoutVolume(p, volume.Name) })
	}
	for i, claim := range pod.Spec.ResourceClaims {
		path := fmt.Sprintf("spec.resourceClaims[%d]", i)
		add(dropClaim, path, path, claim.Name, func(p *v1.Pod, _ int64) { withoutClaim(p, claim.Name) })
	}
	return out
}

// ofGates is the path of gates.
const ofGates = "spec.schedulingGates"

// admit makes the forbidden change that drops the gate of a known controller one outside the API: the controller removes the gate.
func (d *diagnosis) admit(c *Change) {
	if c.Kind != DropGate || c.why != whyGate {
		return
	}
	d.drop(c)
	c.Kind, c.why = Recover, ""
	for prefix, ask := range gateAsks {
		if strings.HasPrefix(c.From, prefix) {
			c.To = fmt.Sprintf(ask, d.owner.String())
		}
	}
}

type adder func(kind Kind, rule, path, from string, edit func(p *v1.Pod, v int64)) *Change

const requiredNodeAffinity = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"

func nodeAffinityChanges(pod *v1.Pod, add adder) {
	a := podinfo.NodeAffinity(pod)
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	terms := a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	all := add(Prefer, requiredNodeAffinity, requiredNodeAffinity, fmt.Sprintf("%d terms", len(terms)), func(p *v1.Pod, _ int64) { preferNodes(p) })
	for i, t := range terms {
		for _, r := range t.MatchExpressions {
			if matches(machineLabels, r.Key) {
				all.key = r.Key
			}
		}
		if len(t.MatchExpressions)+len(t.MatchFields) < 2 {
			continue
		}
		for _, fields := range []bool{false, true} {
			list, name := t.MatchExpressions, "matchExpressions"
			if fields {
				list, name = t.MatchFields, "matchFields"
			}
			for k, r := range list {
				path := fmt.Sprintf("%s.nodeSelectorTerms[%d].%s[%d]", requiredNodeAffinity, i, name, k)
				add(DropRequirement, requiredNodeAffinity, path, requirementText(r), func(p *v1.Pod, _ int64) { dropRequirement(p, i, r) }).key = r.Key
			}
		}
	}
}

func requirementText(r v1.NodeSelectorRequirement) string {
	text := r.Key + " " + string(r.Operator)
	if len(r.Values) > 0 {
		text += fmt.Sprint(" ", r.Values)
	}
	return text
}

// preferNodes makes the required terms of node affinity preferences.
func preferNodes(p *v1.Pod) {
	a := podinfo.NodeAffinity(p)
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	for _, t := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(t.MatchFields) == 0 && len(t.MatchExpressions) > 0 {
			a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, v1.PreferredSchedulingTerm{Weight: 100, Preference: t})
		}
	}
	a.RequiredDuringSchedulingIgnoredDuringExecution = nil
}

// dropRequirement takes a requirement out of a term. A term without requirements would match no node, so with the last one the
// whole rule goes.
func dropRequirement(p *v1.Pod, term int, r v1.NodeSelectorRequirement) {
	a := podinfo.NodeAffinity(p)
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	t := &a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[term]
	same := func(x v1.NodeSelectorRequirement) bool { return reflect.DeepEqual(x, r) }
	t.MatchExpressions, t.MatchFields = slices.DeleteFunc(t.MatchExpressions, same), slices.DeleteFunc(t.MatchFields, same)
	if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
		a.RequiredDuringSchedulingIgnoredDuringExecution = nil
	}
}

// podAffinityTerms are the required and the preferred terms of affinity or anti-affinity between pods.
type podAffinityTerms struct {
	required  *[]v1.PodAffinityTerm
	preferred *[]v1.WeightedPodAffinityTerm
}

// podAffinityOf returns the terms of a pod by the field's name: affinity, then anti-affinity. The slice pointers are nil for what
// the pod does not have.
func podAffinityOf(pod *v1.Pod) (names [2]string, terms [2]podAffinityTerms) {
	with, apart := podinfo.PodAffinity(pod)
	if with != nil {
		terms[0] = podAffinityTerms{&with.RequiredDuringSchedulingIgnoredDuringExecution, &with.PreferredDuringSchedulingIgnoredDuringExecution}
	}
	if apart != nil {
		terms[1] = podAffinityTerms{&apart.RequiredDuringSchedulingIgnoredDuringExecution, &apart.PreferredDuringSchedulingIgnoredDuringExecution}
	}
	return [2]string{"podAffinity", "podAntiAffinity"}, terms
}

func podAffinityChanges(pod *v1.Pod, add adder) {
	names, terms := podAffinityOf(pod)
	for k, of := range terms {
		if of.required == nil {
			continue
		}
		for i, t := range *of.required {
			path := fmt.Sprintf("spec.affinity.%s.requiredDuringSchedulingIgnoredDuringExecution[%d]", names[k], i)
			add(Prefer, path, path, "topologyKey "+t.TopologyKey, func(p *v1.Pod, _ int64) {
				_, terms := podAffinityOf(p)
				preferTerm(terms[k], t)
			})
		}
	}
}

// preferTerm moves all terms equal to t from the required to the preferred terms.
func preferTerm(of podAffinityTerms, t v1.PodAffinityTerm) {
	n := len(*of.required)
	*of.required = slices.DeleteFunc(*of.required, func(x v1.PodAffinityTerm) bool { return reflect.DeepEqual(x, t) })
	if len(*of.required) < n {
		*of.preferred = append(*of.preferred, v1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: t})
	}
}

func spreadChanges(pod *v1.Pod, add adder) {
	for i, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != v1.DoNotSchedule {
			continue
		}
		path := fmt.Sprintf("spec.topologySpreadConstraints[%d]", i)
		soft := add(Prefer, path, path+".whenUnsatisfiable", "topologyKey "+c.TopologyKey, func(p *v1.Pod, _ int64) {
			p.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable = v1.ScheduleAnyway
			p.Spec.TopologySpreadConstraints[i].MinDomains = nil
		})
		if hasConstraint(pod, c.TopologyKey, v1.ScheduleAnyway) {
			soft.why = whyTwice
		}
		if c.NodeTaintsPolicy == nil || *c.NodeTaintsPolicy != v1.NodeInclusionPolicyHonor {
			add(HonorTaints, path, path+".nodeTaintsPolicy", "", func(p *v1.Pod, _ int64) {
				honor := v1.NodeInclusionPolicyHonor
				p.Spec.TopologySpreadConstraints[i].NodeTaintsPolicy = &honor
			})
		}
		skew := add(RaiseMaxSkew, path, path+".maxSkew", strconv.Itoa(int(c.MaxSkew)), func(p *v1.Pod, v int64) { p.Spec.TopologySpreadConstraints[i].MaxSkew = int32(v) })
		skew.value = &span{from: int64(c.MaxSkew), loosest: 1<<31 - 1, show: decimal}
		if c.MinDomains != nil && *c.MinDomains > 1 {
			least := add(LowerMinDomains, path, path+".minDomains", strconv.Itoa(int(*c.MinDomains)), func(p *v1.Pod, v int64) {
				if at := &p.Spec.TopologySpreadConstraints[i]; at.MinDomains != nil {
					n := int32(v)
					at.MinDomains = &n
				}
			})
			least.value = &span{from: int64(*c.MinDomains), loosest: 1, show: decimal}
		}
	}
}

// hasConstraint reports whether a pod has a spread constraint of a key and an action. The API server refuses two.
func hasConstraint(pod *v1.Pod, key string, action v1.UnsatisfiableConstraintAction) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c v1.TopologySpreadConstraint) bool {
		return c.TopologyKey == key && c.WhenUnsatisfiable == action
	})
}

func requestChanges(pod *v1.Pod, add adder) {
	overhead.Each(pod, overhead.Options{}, func(name v1.ResourceName, total int64) {
		over := resources.Value(name, pod.Spec.Overhead[name]) // of the RuntimeClass: no edit of the pod changes it
		if total-over <= 1 {
			return
		}
		path := "requests." + string(name)
		c := add(LowerRequest, path, path, amount(name, total-over), func(p *v1.Pod, v int64) { shrink(p, name, total, v) })
		c.value = &span{from: total, loosest: over + 1, show: func(v int64) string { return amount(name, v-over) }}
	})
}

// amount returns n of a resource, in the units of package resources, as a quantity.
func amount(name v1.ResourceName, n int64) string {
	q := quantity(name, n)
	return q.String()
}

func quantity(name v1.ResourceName, n int64) resource.Quantity {
	switch name {
	case v1.ResourceCPU:
		return *resource.NewMilliQuantity(n, resource.DecimalSI)
	case v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return *resource.NewQuantity(n, resource.BinarySI)
	}
	return *resource.NewQuantity(n, resource.DecimalSI)
}

// shrink lowers what a pod asks for from total to at most v: every container in the same proportion, overhead excluded. What
// rounding leaves over goes to the first container that asks for some.
func shrink(p *v1.Pod, name v1.ResourceName, total, v int64) {
	over := resources.Value(name, p.Spec.Overhead[name])
	part := float64(max(v-over, 0)) / float64(max(total-over, 1))
	lower := func(r *v1.ResourceRequirements, more int64) bool {
		q, ok := r.Requests[name]
		if !ok { // a limit alone asks for nothing
			return false
		}
		n := resources.Value(name, q)
		if more == 0 {
			n = int64(part * float64(n))
		}
		r.Requests[name] = quantity(name, n+more)
		if _, ok := r.Limits[name]; ok && name != v1.ResourceCPU && name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage {
			r.Limits[name] = quantity(name, n+more) // extended resources and huge pages have equal requests and limits
		}
		return true
	}
	if p.Spec.Resources != nil {
		lower(p.Spec.Resources, 0)
	}
	for i := range p.Spec.InitContainers {
		lower(&p.Spec.InitContainers[i].Resources, 0)
	}
	for i := range p.Spec.Containers {
		lower(&p.Spec.Containers[i].Resources, 0)
	}
	now := int64(0)
	overhead.Each(p, overhead.Options{}, func(n v1.ResourceName, value int64) {
		if n == name {
			now = value
		}
	})
	if rest := v - now; rest > 0 {
		if p.Spec.Resources != nil && lower(p.Spec.Resources, rest) {
			return
		}
		for i := range p.Spec.Containers {
			if lower(&p.Spec.Containers[i].Resources, rest) {
				return
			}
		}
	}
}

func withoutVolume(p *v1.Pod, name string) {
	p.Spec.Volumes = slices.DeleteFunc(p.Spec.Volumes, func(v v1.Volume) bool { return v.Name == name })
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			list[i].VolumeMounts = slices.DeleteFunc(list[i].VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == name })
			list[i].VolumeDevices = slices.DeleteFunc(list[i].VolumeDevices, func(m v1.VolumeDevice) bool { return m.Name == name })
		}
	}
}

func withoutClaim(p *v1.Pod, name string) {
	p.Spec.ResourceClaims = slices.DeleteFunc(p.Spec.ResourceClaims, func(c v1.PodResourceClaim) bool { return c.Name == name })
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			list[i].Resources.Claims = slices.DeleteFunc(list[i].Resources.Claims, func(c v1.ResourceClaim) bool { return c.Name == name })
		}
	}
}

// tolerateChange returns the change that lets a pod tolerate a taint.
func tolerateChange(pod *v1.Pod, t v1.Taint) *Change {
	toleration, to := v1.Toleration{Key: t.Key, Operator: v1.TolerationOpEqual, Value: t.Value, Effect: t.Effect}, t.ToString()
	mends := slices.ContainsFunc(pod.Spec.Tolerations, func(has v1.Toleration) bool { return has.Key == t.Key })
	if matches(deviceTaints, t.Key) && !mends { // a pool of devices has one value or another
		toleration.Operator, toleration.Value = v1.TolerationOpExists, ""
		to = fmt.Sprintf("%s:%s (operator Exists)", t.Key, t.Effect)
	}
	return &Change{
		Kind: Tolerate, Object: "Pod " + podinfo.Name(pod), Path: "spec.tolerations", To: to, rule: "spec.tolerations",
		edit: func(p *v1.Pod, _ int64) { p.Spec.Tolerations = append(p.Spec.Tolerations, toleration) },
		pod:  pod,
	}
}
