package main

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
)

// plan is the answer, in the form in which it is printed.
type plan struct {
	Waves   []wave    `json:"waves"`
	Blocked []blocked `json:"blocked"`
	Skipped []skipped `json:"skipped"`
	Errors  []string  `json:"errors,omitempty"` // with which kubectl drain would refuse to begin on a node
}

type wave struct {
	Evictions []eviction `json:"evictions"`
}

type eviction struct {
	Pod     string   `json:"pod"`
	Node    string   `json:"node"`
	Budgets []string `json:"budgets"`
	// Bypass is why no budget was asked although there may be one, Replacement the node of the new pod: empty when none
	// comes or it finds no node, for which Note has the reason.
	Bypass      string `json:"bypass,omitempty"`
	Replacement string `json:"replacement,omitempty"`
	Note        string `json:"note,omitempty"`
}

type blocked struct {
	Pod          string   `json:"pod"`
	Node         string   `json:"node"`
	Budget       string   `json:"budget"` // several: joined by ", "
	Cause        string   `json:"cause"`
	WaitingHelps bool     `json:"waitingHelps"`
	Remedy       string   `json:"remedy"`
	Proof        string   `json:"proof,omitempty"` // that no pod of the budget can ever leave
	Budgets      []string `json:"budgets"`
}

type skipped struct {
	Pod    string `json:"pod"`
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// plan drains the nodes on paper.
func (in *input) plan(o options) (*plan, error) {
	r, err := newReplacer(in, o.nodes)
	if err != nil {
		return nil, err
	}
	o.drain.DaemonSetExists = in.daemonSets()
	made := disruption.MakePlan(disruption.PlanInput{
		Nodes: o.nodes, Pods: in.objects.Pods, Budgets: in.budgets, Scale: in.scale, Options: o.drain, Now: o.at, Replace: r.replace,
	})
	if r.err != nil {
		return nil, r.err
	}
	for _, text := range append(made.Warnings, r.warnings...) {
		in.warnings.Add(text)
	}
	p := &plan{Waves: []wave{}, Blocked: []blocked{}, Skipped: []skipped{}, Errors: made.Errors}
	for _, w := range made.Waves {
		out := wave{Evictions: []eviction{}}
		for _, e := range w {
			out.Evictions = append(out.Evictions, eviction{
				Pod: name(e.Pod), Node: e.Pod.Spec.NodeName, Budgets: orEmpty(e.Budgets), Bypass: e.Decision.Bypass,
				Replacement: e.Replacement, Note: r.note(e),
			})
		}
		p.Waves = append(p.Waves, out)
	}
	for _, b := range made.Blocked {
		p.Blocked = append(p.Blocked, blocked{
			Pod: name(b.Pod), Node: b.Pod.Spec.NodeName, Budget: strings.Join(b.Budgets, ", "), Budgets: orEmpty(b.Budgets),
			Cause: b.Cause, WaitingHelps: b.WaitingHelps, Remedy: b.Remedy, Proof: b.Proof,
		})
	}
	for _, s := range made.Skipped {
		p.Skipped = append(p.Skipped, skipped{name(s.Pod), s.Pod.Spec.NodeName, skipReason(s)})
	}
	return p, nil
}

// skipReason is kubectl's, or what it skips without a word.
func skipReason(t disruption.Treated) string {
	switch _, mirror := t.Pod.Annotations[v1.MirrorPodAnnotationKey]; {
	case t.Reason != "":
		return t.Reason
	case mirror:
		return "mirror pod of a static pod: the kubelet runs it as long as its manifest is there"
	}
	return "terminating for longer than -skip-wait-for-delete-timeout"
}

// note says why an evicted pod has no replacement, "" when it has one.
func (r *replacer) note(e disruption.Planned) string {
	switch phase := e.Pod.Status.Phase; {
	case e.Replaced && e.Replacement == "":
		return "placed by scheduler " + e.Pod.Spec.SchedulerName
	case e.Replaced:
		return ""
	case phase == v1.PodSucceeded || phase == v1.PodFailed:
		return "it has finished"
	case e.Pod.DeletionTimestamp != nil:
		return "it is being deleted already"
	case metav1.GetControllerOf(e.Pod) == nil:
		return "no controller creates it again"
	}
	return r.failures[e.Pod]
}

// answered is what the Eviction API says about one pod.
type answered struct {
	Pod               string   `json:"pod"`
	Allowed           bool     `json:"allowed"`
	Code              int32    `json:"code"`
	Reason            string   `json:"reason,omitempty"`
	Message           string   `json:"message,omitempty"`
	Cause             string   `json:"cause,omitempty"`
	RetryAfterSeconds int32    `json:"retryAfterSeconds,omitempty"`
	Outlook           string   `json:"outlook"` // now, not now, never
	Budgets           []string `json:"budgets"`
	Bypass            string   `json:"bypass,omitempty"` // why no budget was asked
	Proof             string   `json:"proof,omitempty"`
	Remedies          []string `json:"remedies,omitempty"`
	GraceSeconds      *int64   `json:"gracePeriodSeconds,omitempty"`
	Steps             []string `json:"steps,omitempty"`
	Drain             string   `json:"drain,omitempty"`  // what kubectl drain does after this answer
	Prints            string   `json:"prints,omitempty"` // the line that kubectl drain prints then
}

// evict asks about one pod, with the Eviction object of the input for it if there is one.
func (in *input) evict(o options) *answered {
	pod := in.pod(o.evict)
	var r disruption.Request
	for _, e := range in.objects.Evictions {
		if e.Namespace+"/"+e.Name == o.evict {
			r.Eviction = e
		}
	}
	d := disruption.Decide(pod, in.budgets, r, o.at)
	a := &answered{
		Pod: o.evict, Allowed: d.Allowed(), Code: d.Code, Reason: string(d.Reason), Message: d.Message, Cause: d.Cause,
		RetryAfterSeconds: d.RetryAfterSeconds, Outlook: d.Outlook(), Bypass: d.Bypass, Remedies: d.Remedies(), Budgets: []string{},
	}
	if pod == nil {
		_, asked, _ := strings.Cut(o.evict, "/")
		a.Message = fmt.Sprintf("pods %q not found", asked)
		return a
	}
	var covering []*policyv1.PodDisruptionBudget
	for _, b := range in.budgets {
		if b.Namespace == pod.Namespace && slices.Contains(d.Budgets, b.Name) {
			covering = append(covering, b)
			a.Budgets = append(a.Budgets, b.Namespace+"/"+b.Name)
		}
	}
	status := d.StatusObject()
	a.Drain, a.Prints = disruption.React(&status, pod)
	if !a.Allowed {
		a.Proof = disruption.Proof(covering)
		return a
	}
	a.GraceSeconds = &d.GraceSeconds
	for _, s := range d.Steps(pod) {
		when := fmt.Sprintf("after %v", s.After)
		if s.Until != s.After {
			when = fmt.Sprintf("%v to %v", s.After, s.Until)
		}
		a.Steps = append(a.Steps, fmt.Sprintf("%s: %s %s", when, s.Actor, s.Does))
	}
	return a
}

func name(p *v1.Pod) string { return p.Namespace + "/" + p.Name }

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
