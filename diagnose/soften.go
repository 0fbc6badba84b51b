package diagnose

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
)

// softened returns the changes that make required anti-affinity of a StatefulSet to its own pods a preference. The old pods still have the
// old terms, which keep new pods off, and a rolling update waits for the first new pod. So the pods of one domain, and the pods that wait, are
// deleted once: the controller makes them again with the new template. A Deployment makes pods of the old template again: no help there.
func (d *diagnosis) softened() (out []Change) {
	if d.cause.Type != causeAntiAffinity || d.owner.kind != "StatefulSet" || len(d.crew.running) == 0 || d.keepsRevision() {
		return nil
	}
	_, terms := podAffinityOf(d.pod)
	for _, c := range d.changes {
		at := -1
		if _, err := fmt.Sscanf(c.rule, antiAffinityTerm, &at); err != nil || c.Kind != Prefer || c.why != "" || terms[1].required == nil || at >= len(*terms[1].required) {
			continue
		}
		t := &(*terms[1].required)[at]
		if t.LabelSelector == nil || !selects(t.LabelSelector, d.pod.Labels) {
			continue
		}
		own := *c
		own.remove = d.fewestOf(t.TopologyKey)
		own.key, own.To = t.TopologyKey, d.deletedOnce(own.remove)
		own.make = func(s *cluster.Snapshot, c *Change) {
			for _, p := range c.remove {
				takeAway(s, p)
			}
		}
		out = append(out, own)
	}
	return out
}

// antiAffinityTerm is the path of a term of required anti-affinity.
const antiAffinityTerm = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[%d]"

// keepsRevision reports whether the controller of a StatefulSet makes some pods again with the old template.
func (d *diagnosis) keepsRevision() bool {
	set, ok := cluster.List[*appsv1.StatefulSet](d.base).Get(d.pod.Namespace, d.controller.Name)
	if !ok {
		return false
	}
	u := set.Spec.UpdateStrategy
	return u.RollingUpdate != nil && u.RollingUpdate.Partition != nil && *u.RollingUpdate.Partition > 0
}

// fewestOf returns the running pods of the owner in the domain that has the fewest of them, of several such domains in that with the last pod.
func (d *diagnosis) fewestOf(key string) (fewest []*v1.Pod) {
	var order []string
	by := map[string][]*v1.Pod{}
	for _, p := range d.crew.running {
		value := d.base.Node(d.slotsOf()[p]).Labels[key]
		if by[value] == nil {
			order = append(order, value)
		}
		by[value] = append(by[value], p)
	}
	for _, value := range order {
		if fewest == nil || len(by[value]) < len(fewest) {
			fewest = by[value]
		}
	}
	return fewest
}

// deletedOnce names the pods that are to be deleted once: some that run, and those of the owner that wait.
func (d *diagnosis) deletedOnce(running []*v1.Pod) string {
	var names []string
	for _, p := range running {
		names = append(names, p.Name)
	}
	for _, p := range d.crew.queue {
		if d.crew.mine[p] {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return fewOf(names, len(names)+d.crew.more)
}
