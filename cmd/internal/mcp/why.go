package mcp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/tools/nopods"
	"github.com/podberth/podberth/tools/place"
)

// explained is what program place says about one pod.
type explained struct {
	Pod        string            `json:"pod"`
	State      string            `json:"state"`
	Outcome    string            `json:"outcome"`
	Node       string            `json:"node"`
	Message    string            `json:"message"`
	Of         int               `json:"of"`
	Feasible   int               `json:"feasible"`
	Ahead      int               `json:"ahead"`
	Cause      *diagnose.Cause   `json:"cause"`
	Obstacles  []reason          `json:"obstacles"`
	Remedies   []diagnose.Remedy `json:"remedies"`
	Dropped    []diagnose.Dropped
	Cut        string
	Untried    int
	Kept       []string
	Preemption *struct {
		Node    string   `json:"node"`
		Victims []string `json:"victims"`
		Message string   `json:"message"`
	}
	Choice  *diagnose.Comparison
	Outlook *diagnose.Outlook
	Nodes   []struct {
		Node       string
		Rejections []struct{ Reasons, Numbers []string }
	}
	Group *podGroup
	Gang  *gang.Difference
}

type reason struct {
	Plugin  string `json:"plugin"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail"`
	Example string `json:"example"`
	Nodes   int    `json:"nodes"`
}

// whyAnswer is the answer of why_pod.
type whyAnswer struct {
	Pod        string             `json:"pod"`
	State      string             `json:"state"`
	Outcome    string             `json:"outcome"`
	Node       string             `json:"node"`
	Message    string             `json:"message"` // kube-scheduler's
	NodesAll   int                `json:"nodesAll"`
	NodesFit   int                `json:"nodesFit"`
	Ahead      int                `json:"ahead"` // waiting pods that are tried before
	Cause      *diagnose.Cause    `json:"cause,omitempty"`
	Reasons    []reason           `json:"reasons"`
	Fixes      []fix              `json:"fixes"`
	NoSafeFix  bool               `json:"noSafeFix,omitempty"` // nothing that was tried helps without a risk to others
	Not        []diagnose.Dropped `json:"not"`                 // changes that would help and do harm
	Kept       []string           `json:"kept,omitempty"`      // pods for which room is kept
	Preemption any                `json:"preemption,omitempty"`
	Wakes      []string           `json:"wakes"`
	Choice     *choice            `json:"choice,omitempty"`
	NotOn      *notOn             `json:"notOn,omitempty"` // of the node that was asked about
	Group      *podGroup          `json:"group,omitempty"` // the pod is decided with it
}

// notOn says why a node cannot take the pod, each reason with its numbers.
type notOn struct {
	Node string   `json:"node"`
	Why  []string `json:"why"`
}

// choice says why the pod goes to its node and not to the best other one, or to the one that was asked about.
type choice struct {
	Chosen      string               `json:"chosen"`
	Other       string               `json:"other"`
	ChosenTotal int64                `json:"chosenTotal"`
	OtherTotal  int64                `json:"otherTotal"`
	Parts       []diagnose.ScorePart `json:"parts"`
}

// fix is a proposal: every one of them was made on a copy of the cluster and decided again, except those of risk "ask".
type fix struct {
	Text         string            `json:"text"`
	Changes      []diagnose.Change `json:"changes"`
	Create       string            `json:"create,omitempty"` // what is missing and must be made
	Consequences []string          `json:"consequences"`
	Risk         string            `json:"risk"`
}

// Risks of fixes, from the one that comes first. The words before the colon do not change.
const (
	riskNone     = "none: only the order is another"
	riskOver     = "over: only if what the mark is for is over"
	riskRestart  = "restart: the pods of this workload are made again"
	riskFewer    = "fewer: the group begins with fewer of its pods; no pod is made again"
	riskCost     = "cost: machines are bought"
	riskOthers   = "others: other pods move, leave or are fewer"
	riskAsk      = "ask: whoever reserved the nodes must agree; not decided again"
	riskUnsafe   = "unsafe: it may break nodes or the cluster; a person must decide"
	mostWakes    = 10
	searchBudget = "-time=4s"
)

var risks = []string{riskNone, riskOver, riskRestart, riskFewer, riskCost, riskOthers, riskAsk, riskUnsafe}

// unsafeTaints are taints of the cluster itself and of states of nodes, by their beginning. Advice names none of them; the list holds if it did.
var unsafeTaints = []string{"node-role.kubernetes.io/", "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "CriticalAddonsOnly", "ToBeDeletedByClusterAutoscaler", "karpenter.sh/"}

// riskOf returns the worst risk of some changes.
func riskOf(changes []diagnose.Change) string {
	worst := 0
	see := func(risk string) { worst = max(worst, slices.Index(risks, risk)) }
	for _, c := range changes {
		switch c.Kind {
		case diagnose.Untaint, diagnose.Uncordon:
			see(riskOver)
		case diagnose.AddNode:
			see(riskCost)
		case diagnose.MovePods, diagnose.RemovePods, diagnose.RaiseBudget, diagnose.Scale, diagnose.Priority, diagnose.ReleaseClaim, diagnose.ClearClaimRef, diagnose.Label, diagnose.Strategy:
			see(riskOthers)
		default:
			see(riskRestart)
		}
		if c.Kind == diagnose.Prefer && c.To != "" { // pods that run are deleted by hand
			see(riskOthers)
		}
		if (c.Kind == diagnose.Tolerate || c.Kind == diagnose.Untaint) && slices.ContainsFunc(unsafeTaints, func(key string) bool { return strings.HasPrefix(c.From, key) || strings.HasPrefix(c.To, key) }) {
			see(riskUnsafe)
		}
		if c.Kind == diagnose.Label && (strings.Contains(c.Path, "kubernetes.io/") || strings.Contains(c.Path, "k8s.io/")) {
			see(riskUnsafe)
		}
	}
	return risks[worst]
}

// fixesOf orders remedies by risk. An unsafe one is never first, so never alone. Without a remedy, or with none but
// nodes to buy, come changes that only the owner of the nodes may allow.
func fixesOf(remedies []diagnose.Remedy, dropped []diagnose.Dropped, cause *diagnose.Cause) []fix {
	out := []fix{}
	for _, r := range remedies {
		f := fix{Text: r.Text, Changes: orEmpty(r.Changes), Consequences: orEmpty(r.Also), Risk: riskOf(r.Changes)}
		for _, c := range r.Changes {
			if missing := missingObject(c, cause); missing != "" {
				f.Create = missing
				f.Text = "create " + missing + ": " + strings.TrimPrefix(f.Text, c.Object+": ")
			}
		}
		out = append(out, f)
	}
	if !slices.ContainsFunc(out, func(f fix) bool { return f.Risk != riskCost }) {
		for _, d := range dropped {
			if d.Ask {
				out = append(out, fix{Text: d.Change, Changes: []diagnose.Change{}, Consequences: []string{d.Rule}, Risk: riskAsk})
			}
		}
	}
	byRisk(out)
	if len(out) > 0 && out[0].Risk == riskUnsafe {
		return []fix{}
	}
	return out
}

// byRisk orders fixes by risk, those of equal risk as they are.
func byRisk(list []fix) {
	slices.SortStableFunc(list, func(a, b fix) int { return cmp.Compare(slices.Index(risks, a.Risk), slices.Index(risks, b.Risk)) })
}

// missingObject returns the object that a change makes because the pod names it and there is none.
func missingObject(c diagnose.Change, cause *diagnose.Cause) string {
	kind, name, _ := strings.Cut(c.Object, " ")
	if cause == nil || cause.Found != "" || c.From != "" || kind != "PersistentVolumeClaim" {
		return ""
	}
	if _, claim, _ := strings.Cut(name, "/"); cause.Wanted != claim {
		return ""
	}
	return c.Object
}

// whyPod answers why_pod with the command why.
func whyPod(q *question, in *input) (reply, error) {
	args := []string{"-explain=" + q.qualified(in.Pod), searchBudget}
	if parts := strings.Split(in.Pod, "/"); len(parts) == 3 { // kind/namespace/name
		args = []string{"-explain=" + parts[0] + "/" + parts[2], "-n=" + parts[1], searchBudget}
	}
	if in.Node != "" {
		args = append(args, "-where="+in.Node)
	}
	var e explained
	if err := q.run("place", place.Run, q.snapshot.in, &e, args...); err != nil {
		return reply{}, err
	}
	a := whyAnswer{
		Pod: e.Pod, State: e.State, Outcome: e.Outcome, Node: e.Node, Message: e.Message, NodesAll: e.Of, NodesFit: e.Feasible, Ahead: e.Ahead, Cause: e.Cause,
		Reasons: orEmpty(e.Obstacles), Fixes: fixesOf(e.Remedies, e.Dropped, e.Cause), Not: orEmpty(e.Dropped), Kept: e.Kept, Wakes: wakes(e.Outlook),
	}
	a.NoSafeFix = e.Cause != nil && (len(a.Fixes) == 0 || a.Fixes[0].Risk == riskAsk)
	a.decided(e.Group, e.Gang)
	if e.Preemption != nil && e.Preemption.Node != "" {
		a.Preemption = e.Preemption
	}
	if e.Choice != nil {
		a.Choice = &choice{e.Choice.Chosen, e.Choice.Other, e.Choice.ChosenTotal, e.Choice.OtherTotal, orEmpty(e.Choice.Parts)}
	}
	a.notOn(&e, in.Node)
	if e.Cut != "" {
		q.incomplete = fmt.Sprintf("the search for fixes ended early (%s), with %d sets of changes untried", e.Cut, e.Untried)
	}
	return reply{a, a.lines()}, nil
}

// notOn fills in why the node that was asked about cannot take the pod.
func (a *whyAnswer) notOn(e *explained, node string) {
	for _, n := range e.Nodes {
		if n.Node != node || len(n.Rejections) == 0 {
			continue
		}
		a.NotOn = &notOn{node, []string{}}
		for _, r := range n.Rejections {
			if len(r.Numbers) > 0 {
				r.Reasons = r.Numbers
			}
			a.NotOn.Why = append(a.NotOn.Why, r.Reasons...)
		}
	}
}

// lines are the first lines for people.
func (a *whyAnswer) lines() (out []string) {
	switch {
	case a.Group != nil && a.Node == "":
		out = append(out, a.Group.waits(a.Pod)...)
	case a.Cause != nil:
		out = append(out, fmt.Sprintf("Pod %s waits: %s.", a.Pod, a.Cause.Text))
	case a.Node != "" && a.State == "Running":
		out = append(out, fmt.Sprintf("Pod %s runs on %s; %d of %d nodes could take it now.", a.Pod, a.Node, a.NodesFit, a.NodesAll))
	case a.Node != "":
		out = append(out, fmt.Sprintf("Pod %s goes to %s: %d of %d nodes can take it.", a.Pod, a.Node, a.NodesFit, a.NodesAll))
	default:
		out = append(out, strings.TrimSuffix(fmt.Sprintf("Pod %s: %s: %s", a.Pod, a.State, a.Message), ": "))
	}
	if a.NotOn != nil {
		out = append(out, fmt.Sprintf("Not on %s: %s", a.NotOn.Node, strings.Join(a.NotOn.Why, "; ")))
	}
	for _, f := range a.Fixes {
		word, _, _ := strings.Cut(f.Risk, ":")
		out = append(out, fmt.Sprintf("Fix (%s): %s", word, f.Text))
	}
	if a.NoSafeFix {
		out = append(out, "No fix without a risk was found.")
	}
	if a.Cause != nil && a.Cause.Not != "" {
		out = append(out, "Not: "+a.Cause.Not)
	}
	return out
}

// wakes names the events that let the scheduler try the pod again, each once.
func wakes(o *diagnose.Outlook) []string {
	out := []string{}
	if o == nil {
		return out
	}
	for _, e := range o.Events {
		if !slices.Contains(out, e.Event) && len(out) < mostWakes {
			out = append(out, e.Event)
		}
	}
	if o.At != nil {
		out = append(out, fmt.Sprintf("at the latest %s, on %s", o.At.UTC().Format("2006-01-02T15:04:05Z"), o.Node))
	}
	return out
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// noPodsAnswer is the answer of why_no_pods.
type noPodsAnswer struct {
	Workload string     `json:"workload"`
	State    string     `json:"state"`
	Pods     int        `json:"pods"`
	Missing  int        `json:"missing"`
	Refused  int        `json:"refused"`
	Message  string     `json:"message"`
	Said     string     `json:"said"`
	Fixes    []adminFix `json:"fixes"`
}

type adminFix struct {
	Text         string   `json:"text"`
	Object       string   `json:"object"`
	Edits        []string `json:"edits"`
	Lets         int      `json:"lets"`
	Consequences []string `json:"consequences"`
	Risk         string   `json:"risk"`
}

// whyNoPods answers why_no_pods with the command no-pods.
func whyNoPods(q *question, in *input) (reply, error) {
	var a noPodsAnswer
	if err := q.run("no-pods", nopods.Run, q.snapshot.in, &a, "-workload="+in.Workload); err != nil {
		return reply{}, err
	}
	lines := []string{a.Said}
	for k := range a.Fixes {
		f := &a.Fixes[k]
		f.Risk, f.Consequences = riskRestart, []string{"the controller makes the pods again from the changed template"}
		if strings.HasPrefix(f.Object, "ResourceQuotas ") {
			f.Risk, f.Consequences = riskOthers, []string{"the namespace may use more of the cluster than its quota allowed"}
		}
		lines = append(lines, "Fix: "+f.Text)
	}
	return reply{a, lines}, nil
}
