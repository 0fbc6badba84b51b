package place

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/explain"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/report"
)

// explanation is the answer to -explain, in the form in which it is printed.
type explanation struct {
	report.Head
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// What the pod is in the input: Pending, Gated, Refused, OtherScheduler, Running, Terminating or Ended.
	State string `json:"state"`
	// The answer to the question where the pod can go: Scheduled, Unschedulable, Refused or Error; "" when it was not asked.
	Outcome  string `json:"outcome"`
	Node     string `json:"node"`     // where the pod goes, or runs
	Message  string `json:"message"`  // why it goes nowhere
	Ahead    int    `json:"ahead"`    // how many pods of the input the queue tries before
	Of       int    `json:"of"`       // how many nodes there are
	Feasible int    `json:"feasible"` // how many of them can take the pod
	explain.Answer
	// The one thing that keeps a pod without a node waiting, or its gates; missing for other pods.
	Cause *diagnose.Cause `json:"cause,omitempty"`
	// "steps" or "stop" when the search for what would help was cut, so that there may be more; absent otherwise.
	Cut     string `json:"cut,omitempty"`
	Untried int    `json:"untried,omitempty"` // sets of changes that were left out then; absent for 0
	// Kept are the pods for which the pod must leave room, as "namespace/name on node": pods of at least its priority that are
	// nominated to a node.
	Kept       []string          `json:"kept,omitempty"`
	Preemption *preemptionAnswer `json:"preemption,omitempty"` // only without a node: what preemption achieves
	// The group with which the pod is decided; outcome, node and message are those of the pod in its group.
	Group *groupState `json:"group,omitempty"`
	// Of a pod that waits with its group: what kube-scheduler does with the group beside what is possible (docs/gang.md).
	Gang        *gang.Difference `json:"gang,omitempty"`
	Allocations []allocation     `json:"allocations,omitempty"` // only with a node and claims: the devices that the claims get
	// Only with several nodes that can take the pod, or with --where: the node of the decision against the best other node, or
	// against the best node of --where.
	Choice   *diagnose.Comparison `json:"choice,omitempty"`
	Outlook  *diagnose.Outlook    `json:"outlook,omitempty"`  // only without a node: what wakes the pod, and when
	Remedies []diagnose.Remedy    `json:"remedies,omitempty"` // those of "help" with what they change; missing without any
	// Changes that are no remedy because they do harm; without any, the field is missing.
	Dropped []diagnose.Dropped `json:"dropped,omitempty"`
	// The best twenty nodes, or all nodes with --all: first the nodes that can take the pod, the highest total first, then the
	// rejected nodes, the nearest first.
	Nodes []placement.NodeReport `json:"nodes"`

	held   bool      // the pod waits with its group
	waits  []string  // why the pod waits
	said   string    // the first sentence, or the first after waits
	tried  string    // what helps as little, if nothing helps
	left   []string  // what was not tried then
	wish   string    // the answer to -where
	node   *v1.Node  // where the pod goes or runs, if it is in the input
	pod    *v1.Pod   // nil when the question was not asked
	now    time.Time // virtual
	why    *score.Explanation
	scores error // why there are no scores
	hidden int   // nodes that are left out
	table  []placement.NodeReport
	skews  []page.Skew
}

// mostDropped is how many changes that do harm are named when nothing helps.
const mostDropped = 3

// mostNodes is how many nodes an explanation has without -all.
const mostNodes = 20

// explainPod answers -explain: it plays the queue up to the pod and explains the attempt, or says what the pod is and what
// would hold for a pod like it.
func explainPod(ctx context.Context, out *bytes.Buffer, x *simulation) verdict {
	e := x.question(ctx)
	switch {
	case report.IsData(x.o.Output):
		writeData(out, e, x.o.Output)
	case x.o.Output == page.Form:
		e.writePage(out, x)
	default:
		out.WriteString(e.text(x.o.brief && !x.o.all))
	}
	return verdict{unplaced: e.Node == "", failed: e.Outcome == outcomeRefused || e.Outcome == outcomeError}
}

// question finds the pod and explains it by its state.
func (x *simulation) question(ctx context.Context) *explanation {
	name := x.o.explain
	e := &explanation{Head: report.HeadOf("Explanation"), Answer: explain.Of(nil, nil), Nodes: []placement.NodeReport{}}
	e.names(name)
	for _, r := range x.w.refused {
		if key(r.Pod) == name {
			e.State, e.Outcome, e.Message = "Refused", outcomeRefused, r.Text
			x.w.s.View(func(c *cluster.Snapshot) { x.whyRefused(e, r, c) })
			return e
		}
	}
	pod := x.w.find(name)
	switch {
	case cluster.Finished(pod):
		e.State, e.Node = "Ended", pod.Spec.NodeName
		e.said = fmt.Sprintf("Pod %s has ended (%s): it holds nothing on any node, and no scheduler tries it.", name, pod.Status.Phase)
	case pod.Spec.NodeName != "":
		x.whyThere(ctx, e, pod)
	default:
		x.whereTo(ctx, e, pod)
	}
	return e
}

// whyRefused explains a pod that the API server refuses: no scheduler ever sees it.
func (x *simulation) whyRefused(e *explanation, r dump.Refusal, c *cluster.Snapshot) {
	e.said = fmt.Sprintf("Pod %s is refused by the API server: %s", key(r.Pod), r.Text)
	profile := x.profile(r.Pod)
	if !profile.Schedules(r.Pod) {
		return
	}
	in := x.diagnosed(c, profile)
	in.RuntimeClasses, in.Accept = x.w.objects.RuntimeClasses, x.accepts()
	cause, remedies, err := diagnose.Refused(in, r.Pod, r.Text, x.refusedLike(r)...)
	must.Do(err)
	e.Cause, e.waits = cause, []string{fmt.Sprintf("Pod %s is refused: %s.", key(r.Pod), cause.Text)}
	if x.w.lacks != "" {
		e.waits = []string{x.w.lacks + ": " + cause.Text + "."}
	}
	e.said = "The API server says: " + r.Text
	e.Remedies = remedies
	for _, r := range remedies {
		e.Help = append(e.Help, r.Text)
	}
}

// accepts returns whether the API server takes new pods that come after those that it has taken.
func (x *simulation) accepts() func(pods []*v1.Pod, raised map[string]v1.ResourceList) error {
	w := x.w
	quotas := w.gate.Quotas
	if !x.o.admit { // the gate has charged nothing
		refused := map[*v1.Pod]bool{}
		for _, r := range w.refused {
			refused[r.Pod] = true
		}
		quotas = w.objects.Gate(dump.Checks{Options: x.o.admission, Whole: true, New: func(p *v1.Pod) bool { return refused[p] }, Now: w.now}).Quotas
	}
	return func(pods []*v1.Pod, raised map[string]v1.ResourceList) error {
		left := quotas.Clone()
		for name, hard := range raised {
			left.Raise(pods[0].Namespace, name, hard)
		}
		for _, p := range pods {
			if _, _, err := admission.Accept(p, w.objects.Admission(), left, x.o.admission); err != nil {
				return err
			}
		}
		return nil
	}
}

// refusedLike returns the other pods of a pod's owner that the API server refuses for the same reason.
func (x *simulation) refusedLike(r dump.Refusal) (out []*v1.Pod) {
	owner := metav1.GetControllerOf(r.Pod)
	for _, o := range x.w.refused {
		if of := metav1.GetControllerOf(o.Pod); owner != nil && of != nil && o.Pod != r.Pod && o.Pod.Namespace == r.Pod.Namespace && of.Kind == owner.Kind && of.Name == owner.Name && o.Text == r.Text {
			out = append(out, o.Pod)
		}
	}
	return out
}

// sentence returns a text as the beginning of a sentence. The name of a node stays as it is.
func (x *simulation) sentence(text string) (out string) {
	out = strings.ToUpper(text[:1]) + text[1:]
	word := strings.TrimRight(strings.Fields(text)[0], ",")
	x.w.s.View(func(c *cluster.Snapshot) {
		if c.Slot(word) >= 0 {
			out = text
		}
	})
	return out
}

// names says about which pod the explanation is.
func (e *explanation) names(pod string) {
	e.Pod = pod
	e.Namespace, e.Name, _ = strings.Cut(pod, "/")
}

// whereTo explains a pod without a node, after the pods of higher rank. A pod that no scheduler of this run tries comes after
// all others.
func (x *simulation) whereTo(ctx context.Context, e *explanation, pod *v1.Pod) {
	answered, failed := false, error(nil)
	if !x.member(pod) { // a member is decided with its group, so all is played before
		x.explain = func(pod *v1.Pod, c *cluster.Snapshot) {
			answered = true
			failed = x.ask(ctx, e, pod, c)
		}
	}
	must.Do(x.run(ctx))
	if x.o.explain != e.Pod { // the pods of its owner before have nodes
		pod = x.w.find(x.o.explain)
		e.names(x.o.explain)
	}
	e.State, e.Ahead = "Pending", x.ahead(pod)
	first := fmt.Sprintf("Pod %s ", pod.Namespace+"/"+pod.Name)
	switch {
	case pod.DeletionTimestamp != nil:
		e.State = "Terminating"
		first += "is being deleted: no scheduler tries it. A pod like it "
	case len(pod.Spec.SchedulingGates) > 0:
		var gates []string
		for _, g := range pod.Spec.SchedulingGates {
			gates = append(gates, g.Name)
		}
		e.State = "Gated"
		first += fmt.Sprintf("is gated by %s: %s. Without the gates it ", strings.Join(gates, ", "), gatedMessage)
	case x.w.s.Profile(dump.SchedulerName(pod)) == nil:
		e.State = "OtherScheduler"
		first += fmt.Sprintf("waits for scheduler %q, which is not part of this run. Scheduler %q says that it ", dump.SchedulerName(pod), x.first)
	}
	var missing string // what keeps the pod out of the queue, as place says it
	x.w.s.View(func(c *cluster.Snapshot) { missing = devices.Gate(pod, tracker.Of(c)) })
	if missing != "" && e.State == "Pending" {
		e.State = "Gated"
	}
	switch {
	case answered:
	case x.attempted != nil:
		failed = x.ask(ctx, e, x.attempted.pod, x.attempted.c)
	default:
		x.w.s.View(func(c *cluster.Snapshot) { failed = x.ask(ctx, e, pod, c) })
	}
	must.Do(failed)
	if e.State == "OtherScheduler" {
		x.w.s.View(func(c *cluster.Snapshot) { first = x.elsewhere(e, pod, c, first) })
	}
	if x.member(pod) {
		defer x.withGroup(ctx, e, pod)
	}
	if e.Outcome == outcomeScheduled {
		e.said = fmt.Sprintf("%sgoes to %s: %d of %d nodes can take it. %s", first, e.Node, e.Feasible, e.Of, tried(e.Ahead))
	} else {
		if (e.State == "Pending" || missing != "" && len(pod.Spec.SchedulingGates) == 0) && e.Cause != nil {
			e.waits = []string{first + "waits: " + e.Cause.Text + "."}
			if e.Cause.Others != "" {
				e.waits = append(e.waits, x.sentence(e.Cause.Others)+".")
			}
			first = "It "
		}
		if e.Outcome == outcomeError && e.State == "Pending" && e.Cause == nil {
			e.waits = []string{first + "waits: every attempt fails: " + e.Message}
			first = "It "
		}
		e.said = fmt.Sprintf("%shas no node: %d of %d nodes can take it. %s", first, e.Feasible, e.Of, tried(e.Ahead))
		if missing != "" && e.State == "Gated" && len(pod.Spec.SchedulingGates) == 0 {
			e.said = fmt.Sprintf("%sis gated: %s. No scheduler tries it before that is mended.", first, missing)
		}
	}
}

// elsewhere says why a pod of another scheduler waits. It returns the begin of what the scheduler of this run says.
func (x *simulation) elsewhere(e *explanation, pod *v1.Pod, c *cluster.Snapshot, first string) string {
	cause, r, err := diagnose.Bypassed(x.diagnosed(c, x.profile(pod)), pod)
	must.Do(err)
	if cause == nil {
		return first
	}
	e.Cause, e.Help = cause, nil
	e.waits = []string{fmt.Sprintf("Pod %s waits: %s.", key(pod), cause.Text)}
	if r != nil {
		e.Help = []string{r.Text}
	}
	return fmt.Sprintf("Scheduler %q says that it ", x.first)
}

func tried(ahead int) string {
	switch ahead {
	case 0:
		return "No pod is tried before it."
	case 1:
		return "1 pod is tried before it."
	}
	return fmt.Sprintf("%d pods are tried before it.", ahead)
}

// whyThere explains a running pod: it asks where the pod could go now if it did not run yet.
func (x *simulation) whyThere(ctx context.Context, e *explanation, pod *v1.Pod) {
	here := pod.Spec.NodeName
	e.State, e.said = "Running", fmt.Sprintf("Pod %s runs on %s", key(pod), here)
	if pod.DeletionTimestamp != nil {
		e.State = "Terminating"
		e.said += fmt.Sprintf(" and is being deleted: it is gone at %s", pod.DeletionTimestamp.UTC().Format(time.RFC3339))
	}
	for _, p := range x.w.pending {
		x.w.s.AddPod(p) // the queue then knows which pods are nominated, and room is kept for these
	}
	var c *cluster.Snapshot
	x.w.s.View(func(s *cluster.Snapshot) { c = s.Fork() })
	cause, r, err := diagnose.Bypassed(x.diagnosed(c, x.profile(pod)), pod)
	must.Do(err)
	if cause != nil {
		e.node, e.now, e.Of = x.w.nodes[here], x.w.now, len(x.w.nodes)
		e.bypassed(pod, cause, r)
		return
	}
	if text := resizing(pod, x.w.nodes[here]); text != "" && pod.DeletionTimestamp == nil {
		e.said += text
	}
	refusal := refusedThere(c, pod, x.w.objects.Tolerations)
	if c.Slot(here) >= 0 {
		must.Do(c.Remove(pod))
	}
	free := *granted(pod)
	free.Spec.NodeName, free.Status.NominatedNodeName, free.DeletionTimestamp = "", "", nil
	must.Do(x.ask(ctx, e, &free, c))
	best := e.Node
	e.Node, e.node = here, x.w.nodes[here]
	e.said += fmt.Sprintf(". If it came now, %d of %d nodes could take it", e.Feasible, e.Of)
	switch {
	case x.w.nodes[here] == nil:
		e.said += fmt.Sprintf("; %s is not in the input.", here)
	case e.Feasible == 0:
		e.said += "."
	case best == here:
		e.said += fmt.Sprintf(", and it would go to %s again.", here)
	default:
		e.said += fmt.Sprintf(", and it would go to %s.", best)
	}
	if refusal != "" {
		e.State = "Pending"
		e.waits = []string{fmt.Sprintf("Pod %s waits: %s.", key(pod), refusal)}
		e.Cause = &diagnose.Cause{Type: "NodeName", Object: "Pod " + key(pod), Field: "spec.nodeName", Wanted: here, Nodes: []string{here}, Text: refusal}
		e.said = strings.TrimPrefix(e.said, fmt.Sprintf("Pod %s runs on %s. ", key(pod), here))
	}
}

// ahead counts the pods of the input that the queue tries before.
func (x *simulation) ahead(pod *v1.Pod) (n int) {
	for _, p := range x.w.pending {
		if key(p) == key(pod) {
			break
		}
		n += 1 + x.w.counted[key(p)]
	}
	return n
}

// ask finds out where a pod can go in a cluster, and why not elsewhere. It returns errors, because the scheduler that calls it would
// report a panic as a warning.
func (x *simulation) ask(ctx context.Context, e *explanation, pod *v1.Pod, c *cluster.Snapshot) (err error) {
	defer must.Catch(&err)
	q := must.Get(x.asks(pod, c))
	d := q.plan.Decide(pod, q.options)
	e.Kept = q.kept()
	e.Outcome, e.Node, e.Of, e.Feasible, e.pod, e.now = outcomeScheduled, d.Node, d.Nodes, d.Feasible, pod, x.w.now
	if d.Placed() {
		e.node = c.Node(d.Slot)
	} else {
		e.Outcome, e.Message = outcomeUnschedulable, d.Failure.Text()
		if d.Failure.Err != nil {
			e.Outcome = outcomeError
		} else {
			e.Preemption = x.askPreemption(ctx, q, d.Failure)
		}
	}
	table, err := q.table()
	if err != nil {
		e.scores = err // the rejections are there all the same
	}
	shortage := explain.Shortage(pod, q.with)
	e.Answer = explain.Of(table, shortage)
	e.table = explain.Order(table, shortage)
	e.Nodes = e.table
	if d.Placed() && pod.Status.NominatedNodeName == d.Node { // the decision has looked at no other node
		e.Feasible = 0
		for _, n := range e.table {
			if n.Feasible() {
				e.Feasible++
			}
		}
	}
	if x.o.Output == page.Form {
		e.skews = must.Get(page.Skews(pod, c))
	}
	x.diagnose(ctx, e, q, d)
	if !x.o.all && len(e.Nodes) > mostNodes {
		e.hidden = len(e.Nodes) - mostNodes
		e.Nodes = e.Nodes[:mostNodes:mostNodes]
	}
	if err == nil && d.Placed() && d.Feasible > 1 {
		why := must.Get(q.tabled.Choice(pod, d.Slot))
		e.why = &why
	}
	return nil
}

// diagnose fills in what would change the answer: changes and events for a pod without a node, and the comparison with another
// node for a pod with a node.
func (x *simulation) diagnose(ctx context.Context, e *explanation, q *asked, d placement.Decision) {
	want := must.Get(x.wantedNodes(q.cluster))
	switch {
	case d.Placed():
		if len(q.pod.Spec.SchedulingGates) > 0 {
			e.Cause = q.cause()
			x.relaxations(ctx, e, q, x.diagnosed(q.with, q.profile), want)
		}
		e.Allocations = allocationsOf(q.pod, d.Node, d.Devices)
		if e.scores == nil {
			x.choose(ctx, e, q, d, want)
		}
	case d.Failure.Err == nil:
		e.Cause = q.cause()
		in := x.diagnosed(q.with, q.profile)
		x.relaxations(ctx, e, q, in, want)
		e.Outlook = must.Get(diagnose.Wake(in, q.pod, diagnose.WakeOptions{Stop: x.o.Stop(ctx)}))
	default: // an error: the pod is tried again after its backoff, whatever happens in the cluster
		e.Cause = q.cause()
		x.relaxations(ctx, e, q, x.diagnosed(q.with, q.profile), want)
		e.tried, e.left = "", nil // what was tried has nothing to do with the error
	}
}

// relaxations fills in the cheapest of the smallest sets of changes that place the pod where it is wanted, or what was tried, and
// what the law of advice forbids.
func (x *simulation) relaxations(ctx context.Context, e *explanation, q *asked, in diagnose.Input, want wanted) {
	o := diagnose.Options{Size: 3, Steps: x.o.Steps, Stop: x.o.Stop(ctx), Where: want, Cost: q.stays}
	d, err := diagnose.Relax(in, q.pod, o)
	if err != nil {
		x.warn("no changes that would help were searched: %v", err)
		return
	}
	e.Help = append([]string{}, d.Advice()...)
	e.Remedies, e.Dropped = d.Remedies, d.Dropped
	if len(d.Remedies) == 0 && len(d.Changes) > 0 {
		e.tried = triedInVain(d, o.Size)
		for _, x := range d.Dropped[:min(len(d.Dropped), mostDropped)] {
			e.left = append(e.left, fmt.Sprintf("Left out: %s: %s", x.Change, x.Rule))
		}
	}
	if d.Cut == "steps" || d.Cut == "stop" {
		e.Cut, e.Untried = d.Cut, d.Untried
	}
}

// triedInVain says in words what a search has tried in vain.
func triedInVain(d *diagnose.Diagnosis, size int) string {
	return fmt.Sprintf("No change that was tried helps: %s, up to %d together.", strings.Join(d.Tried(), ", "), size)
}
