package place

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/report"
)

// Outcomes of pods. An attempt has each of them but outcomePreempted.
const (
	outcomeScheduled     = "Scheduled"
	outcomeUnschedulable = "Unschedulable"
	outcomeGated         = "Gated"
	outcomeError         = "Error"
	outcomeRefused       = "Refused"   // by the API server: the pod never comes into the cluster
	outcomePreempted     = "Preempted" // the pod had a node and gave way to another pod
)

// answer is the result of a run, in the form in which it is printed.
type answer struct {
	report.Head
	// How many pods there are of each last outcome; with -n the pods of one namespace.
	Summary summary    `json:"summary"`
	Pods    []podState `json:"pods"` // one entry for each pod that waited, in input order, with its last state
	// The history: one entry for each attempt whose outcome, node, victims or message differs from the pod's previous one.
	Attempts []entry      `json:"attempts"`
	Groups   []groupState `json:"groups,omitempty"` // the PodGroups that have pods; absent where groups do not count
	// The CompositePodGroups above these groups; absent where they do not count.
	Composites []compositeState `json:"compositeGroups,omitempty"`
}

// summary counts the pods by their last outcomes, and the pods that gave way to others.
type summary struct {
	Scheduled     int `json:"scheduled"`     // pods that have a node
	Unschedulable int `json:"unschedulable"` // pods that no node can take
	Gated         int `json:"gated"`         // pods with scheduling gates
	Refused       int `json:"refused"`       // pods that admission refused
	Errors        int `json:"errors"`        // pods whose attempt failed
	Victims       int `json:"victims"`       // pods that gave way to others
}

// podState is what has become of one pod.
type podState struct {
	Pod           string `json:"pod"`
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	SchedulerName string `json:"schedulerName"` // the profile that decided
	Priority      int32  `json:"priority"`      // spec.priority; 0 without
	// Scheduled, Unschedulable, Gated, Refused, Error, or Preempted: the pod had a node and gave way.
	Outcome       string   `json:"outcome"`
	Node          string   `json:"node"`          // the node of a scheduled pod, and the last node of a preempted pod
	Message       string   `json:"message"`       // why the pod has no node: the message of the condition PodScheduled
	NominatedNode string   `json:"nominatedNode"` // status.nominatedNodeName at the end
	Victims       []string `json:"victims"`       // the pods that gave way to this pod in all its attempts, as NAMESPACE/NAME
	PreemptedBy   string   `json:"preemptedBy"`   // the pod to which this pod gave way, as NAMESPACE/NAME
	Attempts      int      `json:"attempts"`      // how many attempts were made
	// With --expand: how many more pods of its controller have its outcome and were counted, not made; absent for 0.
	More int `json:"more,omitempty"`

	owner string // the controller, "" for none
	cause string // the sentence of its cause, "" where it was not asked for
}

// entry is one attempt.
type entry struct {
	Pod           string   `json:"pod"`
	Namespace     string   `json:"namespace"`
	Name          string   `json:"name"`
	SchedulerName string   `json:"schedulerName"` // the profile that decided
	Attempt       int      `json:"attempt"`       // the number of the attempt, from 1; 0 for a pod that was not tried
	At            string   `json:"at"`            // virtual time since the beginning, a duration
	Priority      int32    `json:"priority"`      // spec.priority; 0 without
	Outcome       string   `json:"outcome"`       // Scheduled, Unschedulable, Gated, Refused or Error
	Node          string   `json:"node"`          // where the pod went
	Message       string   `json:"message"`       // why it went nowhere
	NominatedNode string   `json:"nominatedNode"` // the node on which others give way
	Victims       []string `json:"victims"`       // the pods that give way, as NAMESPACE/NAME
	// What the pod's ResourceClaims get in this attempt; absent when they get nothing.
	Allocations []allocation `json:"allocations,omitempty"`
	// Only with --detail: every plugin's answer about every node, by name of the node.
	Nodes []placement.NodeReport `json:"nodes,omitempty"`

	evaluated, feasible int
	total               int64
}

// same reports whether an entry says nothing new after another.
func (e entry) same(o entry) bool {
	return e.Outcome == o.Outcome && e.Node == o.Node && e.Message == o.Message && slices.Equal(e.Victims, o.Victims)
}

// add keeps an entry that says something new about its pod. It fills in the name and the time.
func (x *simulation) add(pod *v1.Pod, e entry) {
	e.Pod, e.Namespace, e.Name = key(pod), pod.Namespace, pod.Name
	e.At = x.w.now.Sub(x.begin).Round(time.Millisecond).String()
	if e.Victims == nil {
		e.Victims = []string{}
	}
	old, ok := x.last[e.Pod]
	x.last[e.Pod] = e
	if !ok || !e.same(old) {
		x.entries = append(x.entries, e)
	}
}

// answer returns the result of the run, of one namespace with -n.
func (x *simulation) answer() answer {
	a := answer{Head: report.HeadOf("Simulation"), Pods: []podState{}, Attempts: []entry{}}
	a.Groups, a.Composites = x.groups()
	victims := map[string][]string{}
	for _, e := range x.entries {
		if !x.o.Tables.Shows(e.Namespace) {
			continue
		}
		a.Attempts = append(a.Attempts, e)
		victims[e.Pod] = append(victims[e.Pod], e.Victims...)
		a.Summary.Victims += len(e.Victims)
	}
	for _, name := range x.order() {
		s := x.state(x.last[name])
		if !x.o.Tables.Shows(s.Namespace) {
			continue
		}
		s.Victims = append(s.Victims, victims[name]...)
		s.More = x.w.counted[name]
		a.Pods = append(a.Pods, s)
		n := 1 + s.More
		switch s.Outcome {
		case outcomeScheduled:
			a.Summary.Scheduled += n
		case outcomeUnschedulable:
			a.Summary.Unschedulable += n
		case outcomeGated:
			a.Summary.Gated += n
		case outcomeRefused:
			a.Summary.Refused += n
		case outcomeError:
			a.Summary.Errors += n
		}
	}
	return a
}

// state returns what has become of a pod by its last entry. The victims are left out.
func (x *simulation) state(e entry) podState {
	s := podState{
		Pod: e.Pod, Namespace: e.Namespace, Name: e.Name, SchedulerName: e.SchedulerName, Priority: e.Priority,
		Outcome: e.Outcome, Node: e.Node, Message: e.Message, Victims: []string{}, Attempts: e.Attempt,
	}
	if p := x.w.pods[e.Pod]; p != nil {
		s.NominatedNode = p.Status.NominatedNodeName
		if c := metav1.GetControllerOf(p); c != nil {
			s.owner = c.Kind + "/" + c.Name
		}
	}
	if by := x.gaveWay[e.Pod]; by != "" && e.Outcome == outcomeScheduled {
		s.Outcome, s.PreemptedBy = outcomePreempted, by
	}
	return s
}

// order returns the names of the pods that have entries: those of the input in its order, then those of the timeline.
func (x *simulation) order() []string {
	var out []string
	seen := map[string]bool{}
	see := func(name string) {
		if _, ok := x.last[name]; ok && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, p := range x.w.objects.Pods {
		see(key(p))
	}
	for _, e := range x.entries {
		see(e.Pod)
	}
	return out
}

// String is the summary in one line.
func (s summary) String() string {
	out := fmt.Sprintf("%d scheduled, %d unschedulable, %d gated, %s", s.Scheduled, s.Unschedulable, s.Gated, report.Count(s.Victims, "victim"))
	if s.Refused > 0 {
		out += fmt.Sprintf(", %d refused", s.Refused)
	}
	if s.Errors > 0 {
		out += ", " + report.Count(s.Errors, "error")
	}
	return out
}
