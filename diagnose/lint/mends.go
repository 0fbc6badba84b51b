package lint

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podberth/podberth/admission"
)

// mostEffort bounds the trials of labels in one Check: pods times nodes.
const mostEffort = 1_000_000

// mends reports whether an edit of the template of a workload ends a finding of the rule that is being checked, and adds none. It reports
// false when to know would be too much work.
func (c *checker) mends(w *work, edit func(s *v1.PodSpec) bool) bool {
	after := c.after(w, func(t *v1.PodTemplateSpec) bool { return edit(&t.Spec) })
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

// breaks reports whether an edit of the template of a workload adds an error about the place of pods. It reports false when to know would be
// too much work.
func (c *checker) breaks(w *work, edit func(t *v1.PodTemplateSpec)) bool {
	if len(c.nodes) == 0 {
		return false
	}
	for what, n := range c.after(w, func(t *v1.PodTemplateSpec) bool { edit(t); return true }) {
		if what.severity == Error && n > c.before[what] {
			return true
		}
	}
	return false
}

// after counts the findings after an edit of the template of a workload: all manifests are checked again. It is nil when the edit cannot be
// made, and when that would be too much work.
func (c *checker) after(w *work, edit func(t *v1.PodTemplateSpec) bool) map[fired]int {
	if c.before == nil && !c.trying {
		c.before = c.again(c.in)
	}
	if c.before == nil {
		return nil
	}
	manifest := w.manifest.(runtime.Object).DeepCopyObject().(metav1.Object)
	t, _ := admission.Template(manifest)
	pod, _ := manifest.(*v1.Pod)
	if pod != nil {
		t = &v1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	}
	if !edit(t) {
		return nil
	}
	if pod != nil {
		pod.ObjectMeta, pod.Spec = t.ObjectMeta, t.Spec
	}
	return c.again(c.in.with(w.manifest, manifest))
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
