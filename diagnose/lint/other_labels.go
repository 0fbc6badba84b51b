package lint

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/diagnose/near"
)

const (
	mostLabels = 6         // that are tried for one finding
	mostEffort = 1_000_000 // pods times nodes of the trials of labels in one Check
)

// label is a label that a finding may name.
type label struct{ key, value string }

// otherKey is the fix of a topology key that no node has: a key that was tried, the near ones first. Without one it is the other fix. at
// returns the key in the specification of a pod, nil when it is not there.
func (c *checker) otherKey(w *work, wrong, other string, at func(s *v1.PodSpec) *string) string {
	keys := near.Names(wrong, slices.Collect(maps.Keys(c.labels())))
	for _, key := range append([]string{v1.LabelTopologyZone, v1.LabelHostname}, slices.Sorted(maps.Keys(c.labels()))...) {
		if c.labels()[key] != nil && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys[:min(mostLabels, len(keys))] {
		if c.mends(w, func(s *v1.PodSpec) bool {
			to := at(s)
			if to != nil {
				*to = key
			}
			return to != nil
		}) {
			return fmt.Sprintf("use %s as topologyKey", key)
		}
	}
	return other
}

// otherLabel is the fix of a node selector and node affinity that no node matches: a label that was tried in the place of the first one that
// no node has.
func (c *checker) otherLabel(w *work) string {
	const other = "add a node that matches"
	l := c.lacking(w.pod)
	if l == nil {
		return other
	}
	keys, old := []string{l.key}, l.key
	if c.labels()[l.key] == nil {
		keys = near.Names(l.key, slices.Collect(maps.Keys(c.labels())))
		for _, key := range slices.Sorted(maps.Keys(c.labels())) {
			if key != v1.LabelHostname && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	} else {
		old += "=" + shown(l.value)
	}
	var list []label
	for _, key := range keys {
		values := slices.Compact(slices.Sorted(slices.Values(c.labels()[key])))
		first := near.Names(l.value, values)
		if slices.Contains(values, l.value) {
			first = []string{l.value}
		}
		for _, value := range append(first, values...) {
			if to := (label{key, value}); !slices.Contains(list, to) {
				list = append(list, to)
			}
		}
	}
	for _, to := range list[:min(mostLabels, len(list))] {
		if c.mends(w, func(s *v1.PodSpec) bool { return l.replace(s, to) }) {
			return fmt.Sprintf("use %s=%s in the place of %s", to.key, shown(to.value), old)
		}
	}
	return other
}

// lacking is the first label that a pod asks for and no node has.
type lacking struct {
	label
	term, at int // of the requirement; -1: of the node selector
}

// replace writes another label for the one that no node has, and reports whether it could.
func (l *lacking) replace(s *v1.PodSpec, to label) bool {
	if l.term < 0 {
		_, has := s.NodeSelector[l.key]
		if _, taken := s.NodeSelector[to.key]; !has || taken && to.key != l.key {
			return false
		}
		delete(s.NodeSelector, l.key)
		s.NodeSelector[to.key] = to.value
		return true
	}
	terms := requiredTerms(&v1.Pod{Spec: *s})
	if l.term >= len(terms) || l.at >= len(terms[l.term].MatchExpressions) || terms[l.term].MatchExpressions[l.at].Key != l.key {
		return false
	}
	terms[l.term].MatchExpressions[l.at] = v1.NodeSelectorRequirement{Key: to.key, Operator: v1.NodeSelectorOpIn, Values: []string{to.value}}
	return true
}

// labels returns the values of the labels of nodes, by key.
func (c *checker) labels() map[string][]string {
	if c.have == nil {
		c.have = map[string][]string{}
		for _, n := range c.nodes {
			for k, v := range n.Labels {
				c.have[k] = append(c.have[k], v)
			}
		}
	}
	return c.have
}

// mends reports whether an edit of the template of a workload ends a finding of the rule that is being checked, and adds none. All manifests
// are checked again with it. It reports false when that would be too much work.
func (c *checker) mends(w *work, edit func(s *v1.PodSpec) bool) bool {
	if c.before == nil && !c.trying {
		c.before = c.again(c.in)
	}
	if c.before == nil {
		return false
	}
	manifest := w.manifest.(runtime.Object).DeepCopyObject().(metav1.Object)
	var spec *v1.PodSpec
	if t, _ := admission.Template(manifest); t != nil {
		spec = &t.Spec
	} else {
		spec = &manifest.(*v1.Pod).Spec
	}
	if !edit(spec) {
		return false
	}
	after := c.again(c.in.with(w.manifest, manifest))
	if after == nil {
		return false
	}
	for what, n := range after {
		if n > c.before[what] {
			return false
		}
	}
	this := fired{c.rule.ID, c.object, ""}
	return after[this] < c.before[this]
}

// fired is a rule that fires for an object, with a severity or with any ("").
type fired struct {
	rule, object string
	severity     Severity
}

// again checks manifests on the same cluster and counts the findings, nil when that would be too much work.
func (c *checker) again(in Input) map[fired]int {
	if c.trying {
		return nil
	}
	pods := 0
	for _, o := range c.works {
		if o.replicas < 0 { // one for each node
			pods += len(c.nodes)
			continue
		}
		pods += max(1, min(o.replicas, mostReplicas))
	}
	if c.effort += pods * len(c.nodes); c.effort > mostEffort {
		return nil
	}
	all, err := c.recheck(&checker{in: in, snap: c.snap, nodes: c.nodes, quotas: c.quotas, alone: c.alone, trying: true})
	if err != nil {
		return nil
	}
	out := map[fired]int{}
	for _, f := range all {
		out[fired{f.Rule, f.Object, ""}]++
		out[fired{f.Rule, f.Object, f.Severity}]++
	}
	return out
}

// with returns the input with a manifest in the place of another.
func (in Input) with(old, now metav1.Object) Input {
	in.Pods = swapped(in.Pods, old, now)
	in.Deployments = swapped(in.Deployments, old, now)
	in.ReplicaSets = swapped(in.ReplicaSets, old, now)
	in.StatefulSets = swapped(in.StatefulSets, old, now)
	in.DaemonSets = swapped(in.DaemonSets, old, now)
	in.Jobs = swapped(in.Jobs, old, now)
	in.CronJobs = swapped(in.CronJobs, old, now)
	in.ReplicationControllers = swapped(in.ReplicationControllers, old, now)
	return in
}

func swapped[T any](list []*T, old, now metav1.Object) []*T {
	from, is := any(old).(*T)
	if !is {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		if list[i] == from {
			list[i] = any(now).(*T)
		}
	}
	return list
}
