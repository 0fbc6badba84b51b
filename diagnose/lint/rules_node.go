package lint

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/taints"
)

const requiredNodes = ".affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"

var nodeRules = []Rule{
	{ID: "selector-conflict", Severity: Error, Summary: "node selector and required node affinity cannot all be met by one node", work: func(c *checker, w *work) {
		terms := requiredTerms(w.pod)
		texts := []string{}
		for _, t := range terms {
			if emptyTerm(t) {
				continue
			}
			text := conflict(w.pod.Spec.NodeSelector, t)
			if text == "" {
				return
			}
			texts = append(texts, text)
		}
		if len(texts) > 0 {
			fix := "drop the rule"
			if slices.ContainsFunc(terms, func(t v1.NodeSelectorTerm) bool { return oneTooMany(w.pod.Spec.NodeSelector, t) }) {
				fix = "drop one of the requirements"
			}
			c.prove(w, w.path+requiredNodes, fix, "no node can meet them: %s", texts[0])
		}
	}},
	{ID: "term-conflict", Severity: Warning, Summary: "one of several node selector terms can never match", work: func(c *checker, w *work) {
		terms := requiredTerms(w.pod)
		var bad []int
		empty := 0
		for i, t := range terms {
			switch {
			case emptyTerm(t):
				empty++
			case conflict(w.pod.Spec.NodeSelector, t) != "":
				bad = append(bad, i)
			}
		}
		if len(bad)+empty < len(terms) {
			for _, i := range bad {
				fix := "drop the term"
				if oneTooMany(w.pod.Spec.NodeSelector, terms[i]) {
					fix += ", or the requirement that contradicts"
				}
				c.report(fmt.Sprintf("%s%s.nodeSelectorTerms[%d]", w.path, requiredNodes, i), fix, "the term never matches: %s", conflict(w.pod.Spec.NodeSelector, terms[i]))
			}
		}
	}},
	{ID: "empty-node-term", Severity: Error, Summary: "required node affinity whose terms are all empty matches no node", work: func(c *checker, w *work) {
		terms := requiredTerms(w.pod)
		if len(terms) > 0 && !slices.ContainsFunc(terms, func(t v1.NodeSelectorTerm) bool { return !emptyTerm(t) }) {
			c.prove(w, w.path+requiredNodes, "drop the rule, or write its requirements", "an empty term matches no node")
		}
	}},
	{ID: "no-node-matches", Severity: Error, Cluster: true, Summary: "no node matches the node selector and required node affinity", work: func(c *checker, w *work) {
		if len(c.usable(w)) == 0 {
			path := w.path + ".nodeSelector"
			if len(w.pod.Spec.NodeSelector) == 0 {
				path = w.path + requiredNodes
			}
			c.prove(w, path, c.otherLabel(w, c.lackingOf(w.pod), "add a node that matches"), "none of %s matches%s", amount(len(c.nodes), "node", "nodes"), c.nearLabels(w.pod))
		}
	}},
	{ID: "term-matches-nothing", Severity: Warning, Cluster: true, Summary: "one of several node selector terms matches no node of the cluster", work: func(c *checker, w *work) {
		if len(c.usable(w)) == 0 {
			return
		}
		for i, t := range requiredTerms(w.pod) {
			s, err := affinity.CompileSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{t}})
			if err == nil && !slices.ContainsFunc(c.nodes, s.Matches) {
				c.report(fmt.Sprintf("%s%s.nodeSelectorTerms[%d]", w.path, requiredNodes, i), c.otherLabel(w, c.lackingIn(&w.pod.Spec, requiredAt(i)), "drop the term"), "none of %s matches the term", amount(len(c.nodes), "node", "nodes"))
			}
		}
	}},
	{ID: "all-nodes-closed", Severity: Error, Cluster: true, Summary: "every node that matches is cordoned or has a taint that the pod does not tolerate", work: func(c *checker, w *work) {
		usable := c.usable(w)
		if len(usable) > 0 && len(c.reachable(w)) == 0 {
			n := usable[0]
			why := "is cordoned"
			if t := taints.Untolerated(n, w.pod.Spec.Tolerations, c.in.Plugins.Taints); t != nil {
				why = "has the taint " + t.ToString()
			}
			c.prove(w, w.path+".tolerations", c.opening(w, usable), "%s and none takes the pod: %s %s", amount(len(usable), "node matches", "nodes match"), n.Name, why)
		}
	}},
	{ID: "toleration-unused", Severity: Info, Cluster: true, Summary: "a toleration matches no taint of the cluster", work: func(c *checker, w *work) {
		for i, t := range w.pod.Spec.Tolerations {
			if t.Key == "" || stateful(t) {
				continue
			}
			var keys []string
			used := false
			for _, n := range c.nodes {
				for _, taint := range n.Spec.Taints {
					keys = append(keys, taint.Key)
					used = used || taints.Matches(&t, &taint, c.in.Plugins.Taints)
				}
			}
			if !used {
				c.report(fmt.Sprintf("%s.tolerations[%d]", w.path, i), "drop the toleration, or mend its key, value or effect", "no node has a taint that it tolerates%s", nearNames(t.Key, keys))
			}
		}
	}},
	{ID: "toleration-of-everything", Severity: Warning, Summary: "a toleration without a key tolerates every taint", work: func(c *checker, w *work) {
		for i, t := range w.pod.Spec.Tolerations {
			if w.kind != "DaemonSet" && t.Key == "" && t.Operator == v1.TolerationOpExists && (t.Effect == "" || t.Effect == v1.TaintEffectNoExecute) {
				c.report(fmt.Sprintf("%s.tolerations[%d]", w.path, i), "name the keys that the pod should tolerate", "the pod stays on nodes that fail: it tolerates not-ready and unreachable too")
			}
		}
	}},
	{ID: "node-name-set", Severity: Warning, Summary: "spec.nodeName bypasses the scheduler", work: func(c *checker, w *work) {
		if w.pod.Spec.NodeName != "" {
			c.report(w.path+".nodeName", "use node affinity on metadata.name or a label", "nobody checks resources, taints or affinity for the pod")
		}
	}},
	{ID: "node-pinned", Severity: Warning, Summary: "all replicas are pinned to one node by hostname", work: func(c *checker, w *work) {
		if v, ok := w.pod.Spec.NodeSelector[v1.LabelHostname]; ok && w.replicas > 1 {
			c.report(w.path+".nodeSelector", "drop the key", "%d replicas depend on node %s", w.replicas, v)
		}
	}},
	{ID: "preferred-node-none", Severity: Warning, Cluster: true, Summary: "a preferred node affinity term that no node matches has no effect", work: func(c *checker, w *work) { preferredNodes(c, w, 0) }},
	{ID: "preferred-node-all", Severity: Info, Cluster: true, Summary: "a preferred node affinity term that every node matches has no effect", work: func(c *checker, w *work) { preferredNodes(c, w, len(c.nodes)) }},
}

func preferredNodes(c *checker, w *work, want int) {
	for i, s := range preferred(w.pod) {
		n := 0
		for _, node := range c.nodes {
			if s.Matches(node) {
				n++
			}
		}
		if n == want {
			c.report(w.path+fmt.Sprintf(preferredPath, i), c.otherLabel(w, c.lackingIn(&w.pod.Spec, preferredAt(i)), "drop the term"), "%d of %s", n, amount(len(c.nodes), "node matches", "nodes match"))
		}
	}
}

// preferredPath is the place of a preferred node affinity term in the spec of a pod.
const preferredPath = ".affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d]"

// preferred yields what each preferred node affinity term of a pod selects, without terms that cannot be converted.
func preferred(pod *v1.Pod) iter.Seq2[int, *affinity.Selector] {
	return func(yield func(int, *affinity.Selector) bool) {
		a := podinfo.NodeAffinity(pod)
		if a == nil {
			return
		}
		for i, t := range a.PreferredDuringSchedulingIgnoredDuringExecution {
			s, err := affinity.CompileSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{t.Preference}})
			if err == nil && !yield(i, s) {
				return
			}
		}
	}
}

// emptyTerm reports whether a term has no requirement: it matches no node.
func emptyTerm(t v1.NodeSelectorTerm) bool { return len(t.MatchExpressions)+len(t.MatchFields) == 0 }

// stateful reports whether a toleration is of a taint that comes and goes with the state of a node: that none has it now says nothing.
func stateful(t v1.Toleration) bool {
	effect := t.Effect
	if effect == "" {
		effect = v1.TaintEffectNoSchedule
	}
	n := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: t.Key, Value: t.Value, Effect: effect}}}}
	return strings.HasPrefix(t.Key, "node.kubernetes.io/") || diagnose.OpeningOf(&v1.Pod{}, n, diagnose.Around{}).Instead != ""
}

// shown returns the value of a label as it is written: the empty value in quotes.
func shown(value string) string {
	if value == "" {
		return `""`
	}
	return value
}

func requiredTerms(p *v1.Pod) []v1.NodeSelectorTerm {
	a := podinfo.NodeAffinity(p)
	if a == nil || a.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}
