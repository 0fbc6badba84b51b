package taints

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/taint"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// summary is the forecast in numbers.
type summary struct {
	Nodes   int              `json:"nodes"`           // nodes from which pods are evicted
	Evicted int              `json:"evicted"`         // pods that are evicted
	First   *metav1.Duration `json:"first,omitempty"` // when the first of them is, absent without one
	Last    *metav1.Duration `json:"last,omitempty"`  // when the last of them is, absent without one
	Waiting int              `json:"waiting"`         // pods that are evicted after "until"
	Staying int              `json:"staying"`         // other pods of nodes that fell silent or got a NoExecute taint
	// Pods of StatefulSets that stay Terminating on silent nodes; no new pod is made until they are gone.
	Sets []string `json:"sets"`
}

// sum counts what the entries come to. pods are those of the cluster.
func (a *answer) sum(pods []*v1.Pod, t *program.Tables) {
	s := &a.Summary
	s.Sets = []string{}
	owner, on := map[string]string{}, map[string][]string{}
	for _, p := range pods {
		if !t.Shows(p.Namespace) {
			continue
		}
		name := dump.Name(p)
		if c := metav1.GetControllerOf(p); c != nil {
			owner[name] = c.Kind
		}
		on[p.Spec.NodeName] = append(on[p.Spec.NodeName], name)
	}
	touched, left, from := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range a.Entries {
		switch {
		case e.What == taint.EntryTainted && strings.HasSuffix(e.Cause, string(v1.TaintEffectNoExecute)), e.What == taint.EntryNotReady:
			touched[e.Node] = true
		case e.What == taint.EntryEvicted && !left[e.Pod]:
			left[e.Pod], from[e.Node] = true, true
			s.Evicted++
			at := e.At
			if s.First == nil {
				s.First = &at
			}
			s.Last = &at
			if owner[e.Pod] == "StatefulSet" && strings.Contains(e.Cause, "stays Terminating") {
				s.Sets = append(s.Sets, e.Pod)
			}
		}
	}
	s.Nodes, s.Waiting = len(from), len(a.Pending)
	for _, p := range a.Pending {
		left[p.Pod] = true
	}
	for n := range touched {
		for _, p := range on[n] {
			if !left[p] {
				s.Staying++
			}
		}
	}
}

func (s *summary) text(until time.Duration) string {
	if s.Evicted == 0 {
		return fmt.Sprintf("no pod is evicted within %v; %s later, %d stay", until, waits(s.Waiting), s.Staying)
	}
	are, span := "are", fmt.Sprintf("from %v to %v", s.First.Duration, s.Last.Duration)
	if s.Evicted == 1 {
		are = "is"
	}
	if *s.First == *s.Last {
		span = fmt.Sprintf("at %v", s.First.Duration)
	}
	return fmt.Sprintf("%s %s evicted from %s, %s; %s later, %d stay", report.Count(s.Evicted, "pod"), are, report.Count(s.Nodes, "node"), span, waits(s.Waiting), s.Staying)
}

func waits(n int) string {
	if n == 1 {
		return "1 leaves"
	}
	return fmt.Sprintf("%d leave", n)
}

// sets says what becomes of pods of StatefulSets on nodes that are gone.
func (s *summary) sets(nodes []string) string {
	if len(s.Sets) == 0 {
		return ""
	}
	stay, new := "stays", "no new "+s.Sets[0]+" is"
	if len(s.Sets) > 1 {
		stay, new = "stay", "no new pods of these names are"
	}
	return fmt.Sprintf("%s %s Terminating, and %s made, until the kubelet answers. When %s powered off, taint it node.kubernetes.io/out-of-service:NoExecute: then the pod is deleted at once.",
		strings.ReplaceAll(report.Few(s.Sets), ",", ", "), stay, new, nodesAre(nodes))
}

func nodesAre(nodes []string) string {
	if len(nodes) == 1 {
		return nodes[0] + " is"
	}
	return "a node is"
}

// changes groups a long timeline: what happens at a time to how many nodes and pods.
func (a *answer) changes() (rows [][]string) {
	type key struct {
		at          time.Duration
		what, cause string
	}
	nodes, pods := map[key]map[string]bool{}, map[key]int{}
	var order []key
	for _, e := range a.Entries {
		cause := e.Cause
		if e.Pod != "" && e.What != taint.EntryEvicted {
			cause = ""
		}
		if e.What == taint.EntryEvicted {
			cause, _, _ = strings.Cut(cause, ": ")
		}
		k := key{e.At.Duration, e.What, cause}
		if nodes[k] == nil {
			nodes[k] = map[string]bool{}
			order = append(order, k)
		}
		if e.Node != "" {
			nodes[k][e.Node] = true
		}
		if e.Pod != "" {
			pods[k]++
		}
	}
	for _, k := range order {
		rows = append(rows, []string{k.at.String(), k.what, fmt.Sprint(len(nodes[k])), fmt.Sprint(pods[k]), k.cause})
	}
	return rows
}

// silent returns the nodes from which pods of StatefulSets do not get away, sorted.
func (a *answer) silent() (out []string) {
	for _, e := range a.Entries {
		if e.What == taint.EntryEvicted && slices.Contains(a.Summary.Sets, e.Pod) && !slices.Contains(out, e.Node) {
			out = append(out, e.Node)
		}
	}
	slices.Sort(out)
	return out
}
