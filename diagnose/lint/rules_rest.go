package lint

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
)

// restRules look at what the other rules have found.
var restRules = []Rule{
	{ID: "job-turns", Severity: Info, Cluster: true, Summary: "a Job runs in turns, because the cluster has no room for all its pods at a time", work: func(c *checker, w *work) {
		if !w.runs() || c.allPlaced(w) {
			return
		}
		if t := c.tried(w); t.failed != nil && t.count() > 0 {
			turns := (t.want + t.count() - 1) / t.count()
			c.report(w.path[:len(w.path)-len(".template.spec")]+".parallelism", "as it is, or less parallelism", "%d of %d pods run at a time, in %s", t.count(), t.want, amount(turns, "turn", "turns"))
		}
	}},
	{ID: "daemonset-priority", Severity: Warning, Cluster: true, Summary: "a DaemonSet without a priority class has no room on a node that pods of lower priority fill", work: func(c *checker, w *work) {
		if w.kind != "DaemonSet" || w.given.Spec.PriorityClassName != "" || w.waits() != "" || c.allPlaced(w) {
			return
		}
		if t := c.tried(w); t.failed != nil && c.placedAbove(t) {
			c.report(w.path+".priorityClassName", fmt.Sprintf("a PriorityClass with a value above %d: then pods give way", podinfo.Priority(t.failed)), "a node has no room for its pod, and pods there would give way to a higher priority")
		}
	}},
	{ID: "together", Severity: Warning, Cluster: true, Summary: "the workload alone has room on the cluster, and beside the other manifests it has not", work: func(c *checker, w *work) {
		if n, short := c.together()[w]; short && c.fits(w) && c.tried(w).failed == nil {
			c.report("spec", "more nodes, lower requests, or a PriorityClass that says who comes first", "alone %s, beside the other manifests %d", amount(c.tried(w).want, "pod gets a node", "pods get nodes"), n)
		}
	}},
	{ID: "unplaceable", Severity: Error, Cluster: true, Summary: "a pod of the workload gets no node, or the API server refuses it, for a reason that no other rule names", work: func(c *checker, w *work) {
		if w.waits() != "" && w.refusal == nil || c.fits(w) || slices.ContainsFunc(c.out[w.first:], func(f Finding) bool { return f.Severity == Error && !later[f.Rule] }) {
			return
		}
		switch t := c.tried(w); {
		case t.broken != nil:
			path, text := brokenField(w, t.broken)
			c.report(path, "what the API server accepts", "%s", text)
		case t.refuse != nil:
			c.report(w.path, "what the API server accepts", "the API server refuses the pods: %s", words(t.refuse))
		case t.crowded():
			c.report("spec", "fewer replicas, lower requests or more nodes", "%d of %s a node: %s", t.room, amount(t.want, "pod gets", "pods get"), t.cause)
		default:
			t = c.try(w, true)
			c.report(w.path, "why "+t.failed.Namespace+"/"+t.failed.Name+" --expand says what would have to change", "%d of %s a node: %s", len(t.nodes), amount(t.want, "pod gets", "pods get"), t.cause)
		}
	}},
}

// brokenField returns the field that an error about a manifest names, spec when it names none, and the rest of the error.
func brokenField(w *work, err error) (path, text string) {
	text = strings.TrimPrefix(err.Error(), w.object+": ")
	if path, rest, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(path, "spec.") && !strings.Contains(path, " ") {
		return path, rest
	}
	return "spec", text
}

// placedAbove reports whether the pods of a trial all get nodes when their priority is above that of every pod of a user.
func (c *checker) placedAbove(t *trial) bool {
	above, alike := &trial{}, make([]*v1.Pod, len(t.pods))
	for i, p := range t.pods {
		p := p.DeepCopy()
		p.Spec.Priority = new(podinfo.HighestOfUsers)
		alike[i] = p
	}
	c.whole(above, alike, t.made, false)
	return above.failed == nil
}

// later are the rules of severity error about events that will come: they say nothing about the place of the pods.
var later = map[string]bool{"immutable-field": true, "rollout-rwop": true, "rollout-rwo": true, "rollout-spread": true, "rollout-host-port-ds": true, "node-name-claim": true, "budget-cannot-sync": true}
