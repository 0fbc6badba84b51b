package rollout

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/podinfo"
)

// Kind is the kind of a deadlock.
type Kind string

const (
	NoRoom        Kind = "no-room"         // the replacement finds no node for another reason than those below
	AntiAffinity  Kind = "anti-affinity"   // required anti-affinity, with as many pods as nodes
	Spread        Kind = "spread"          // a spread constraint with DoNotSchedule
	Volumes       Kind = "volumes"         // the volumes of the pod reach only nodes that are being replaced
	Never         Kind = "never"           // a budget needs every pod that it expects
	Several       Kind = "several-budgets" // several budgets cover the pod
	Together      Kind = "group"           // a group leaves whole or not at all, and its budgets never let as many pods leave at once
	Unhealthy     Kind = "unhealthy"       // a budget lacks healthy pods, and nothing makes them healthy
	Cycle         Kind = "cycle"           // budgets lack healthy pods because pods of each other hold their places
	Uncountable   Kind = "uncountable"     // the disruption controller cannot compute the status of the budget
	Pinned        Kind = "pinned"          // kubectl drain refuses, or the pod must not be evicted
	WaitsForOther Kind = "order"           // the controller, a scheduling gate or the API server holds the replacement back
	Late          Kind = "timeout"         // the drain takes longer than Options.Timeout
)

// Deadlock is pods that cannot leave for one reason, so that their nodes cannot be drained.
type Deadlock struct {
	// "never", "several-budgets", "group", "unhealthy", "cycle", "uncountable", "anti-affinity", "spread", "volumes", "no-room", "pinned", "order"
	// or "timeout".
	Kind  Kind     `json:"kind"`
	Nodes []string `json:"nodes"` // the nodes
	// Pods are the pods, "namespace/name", by the names that they had before the rollout.
	Pods []string `json:"pods"`
	// Budgets are the budgets of the pods, "namespace/name".
	Budgets []string `json:"budgets,omitempty"`
	// Proof says in numbers why the pods cannot leave.
	Proof string `json:"proof"`
	// Message is what the Eviction API or kube-scheduler says about the first of the pods.
	Message  string   `json:"message,omitempty"`
	Remedies []Remedy `json:"remedies"` // changes for which the plan was made again
}

// merge joins deadlocks of several nodes that have the same kind and proof.
func merge(list []Deadlock) []Deadlock {
	out := []Deadlock{}
next:
	for _, d := range list {
		for i := range out {
			if o := &out[i]; o.Kind == d.Kind && o.Proof == d.Proof {
				o.Nodes = slices.Concat(o.Nodes, d.Nodes)
				for _, name := range d.Pods { // a pod of a group stands at each node of the group
					if !slices.Contains(o.Pods, name) {
						o.Pods = append(o.Pods, name)
					}
				}
				continue next
			}
		}
		out = append(out, d)
	}
	return out
}

// deadlocks says why a batch is stuck. The cluster is as it is then.
func (x *run) deadlocks(s *stuck) []Deadlock {
	g := groups{nodes: s.nodes}
	switch {
	case s.pinned != nil:
		for _, p := range s.pinned {
			g.add(Deadlock{Kind: Pinned, Proof: p.reason, Message: p.reason}, p.it)
		}
	case s.late != nil:
		proof := fmt.Sprintf("the drain may take %v, and is over with this number of pods left: %d", x.o.Timeout, len(s.late))
		for _, it := range s.late {
			g.add(Deadlock{Kind: Late, Proof: proof}, it)
		}
	default:
		for _, it := range s.waiting {
			g.add(x.deadlock(it, s.refused[it], s.nodes), it)
		}
	}
	return g.list
}

// groups collects pods that cannot leave for the same reason.
type groups struct {
	nodes []string
	list  []Deadlock
}

func (g *groups) add(d Deadlock, it *item) {
	name := podinfo.Name(it.origin)
	for i := range g.list {
		if o := &g.list[i]; o.Kind == d.Kind && o.Proof == d.Proof {
			o.Pods = append(o.Pods, name)
			return
		}
	}
	d.Nodes, d.Pods, d.Remedies = g.nodes, []string{name}, []Remedy{}
	g.list = append(g.list, d)
}

// deadlock returns the kind and the proof for one pod.
func (x *run) deadlock(it *item, r refusal, nodes []string) Deadlock {
	switch {
	case r.unit != nil && r.decision != nil:
		return x.groupDeadlock(r)
	case r.decision != nil:
		return x.budgetDeadlock(it, r.decision)
	case r.failure != nil:
		mark, j := x.snapshot.Mark(), len(x.journal)
		defer func() {
			x.undo(j)
			x.snapshot.Rollback(mark)
		}()
		if r.unit == nil {
			x.remove(it)
			return x.roomDeadlock(r, nodes)
		}
		for _, mate := range r.unit {
			x.remove(mate)
		}
		d := x.roomDeadlock(r, nodes)
		d.Proof += fmt.Sprintf("; %s leaves whole or not at all", x.together(it))
		return d
	case r.gate != "":
		return Deadlock{Kind: WaitsForOther, Proof: "the replacement has scheduling gates: " + r.gate}
	}
	return Deadlock{Kind: WaitsForOther, Proof: r.waits}
}

// budgetDeadlock is for a pod that budgets keep.
func (x *run) budgetDeadlock(it *item, d *disruption.Decision) Deadlock {
	covering := x.budgets.covering(it)
	out := Deadlock{Message: d.Message}
	if d.Cause != "" {
		out.Message += " " + d.Cause
	}
	for _, b := range covering {
		out.Budgets = append(out.Budgets, budgetName(b))
	}
	if len(covering) > 1 {
		out.Kind, out.Proof = Several, disruption.Proof(covering)
		return out
	}
	b := covering[0]
	s := &b.Status
	if why := syncFailure(b); why != "" {
		out.Kind, out.Proof = Uncountable, fmt.Sprintf("budget %s allows nothing: %s", budgetName(b), why)
		return out
	}
	if s.DesiredHealthy >= s.ExpectedPods {
		out.Kind, out.Proof = Never, disruption.Proof(covering)+rounding(b)
		if who := disruption.BudgetAgent(it.obj); who != "" {
			out.Proof += "; " + who
		}
		return out
	}
	if proof, names := x.cycle(it.budgets[0]); proof != "" {
		out.Kind, out.Proof, out.Budgets = Cycle, proof, names
		return out
	}
	out.Kind = Unhealthy
	out.Proof = fmt.Sprintf("budget %s demands %d healthy pods of %d and has %d", budgetName(b), s.DesiredHealthy, s.ExpectedPods, s.CurrentHealthy)
	sick, waiting := x.unready(it.budgets[0])
	if len(sick) > 0 {
		out.Proof += fmt.Sprintf("; not ready: %s; unhealthyPodEvictionPolicy %s", strings.Join(sick, ", "), policyOf(b))
	}
	if len(waiting) > 0 {
		out.Proof += "; without a node: " + strings.Join(waiting, ", ")
	}
	return out
}

// groupDeadlock is for a pod of a group that leaves whole: what keeps the pod that the Eviction API refuses.
func (x *run) groupDeadlock(r refusal) Deadlock {
	out := x.budgetDeadlock(r.by, r.decision)
	if out.Kind != Unhealthy {
		return out
	}
	b, n := x.budgets.list[r.by.budgets[0]], int32(0)
	for _, it := range r.unit {
		if slices.Contains(it.budgets, r.by.budgets[0]) {
			n++
		}
	}
	if most := b.Status.ExpectedPods - b.Status.DesiredHealthy; n > most {
		out.Kind = Together
		out.Proof = fmt.Sprintf("budget %s lets at most %d of %d pods leave at once, and %s has %d of them", budgetName(b), most, b.Status.ExpectedPods, x.together(r.by), n)
	}
	return out
}

// unready returns the pods of a budget that are on a node and not ready, and the pods that have no node, by name.
func (x *run) unready(budget int32) (sick, waiting []string) {
	for _, it := range x.budgets.pods[budget] {
		switch {
		case ready(it.seen):
		case it.node == "":
			waiting = append(waiting, podinfo.Name(it.obj))
		default:
			sick = append(sick, podinfo.Name(it.obj))
		}
	}
	slices.Sort(sick)
	slices.Sort(waiting)
	return sick, waiting
}

func budgetName(b *policyv1.PodDisruptionBudget) string { return b.Namespace + "/" + b.Name }

// syncFailure returns why the disruption controller cannot compute the status, "" when it can.
func syncFailure(b *policyv1.PodDisruptionBudget) string {
	for _, c := range b.Status.Conditions {
		if c.Type == policyv1.DisruptionAllowedCondition && c.Reason == policyv1.SyncFailedReason {
			return c.Message
		}
	}
	return ""
}

// rounding says how a percentage becomes a number of pods, "" for a budget without one.
func rounding(b *policyv1.PodDisruptionBudget) string {
	if v := b.Spec.MinAvailable; v != nil && v.StrVal != "" {
		return fmt.Sprintf(" (minAvailable %s of %d, rounded up)", v.StrVal, b.Status.ExpectedPods)
	}
	if v := b.Spec.MaxUnavailable; v != nil && v.StrVal != "" {
		return fmt.Sprintf(" (maxUnavailable %s of %d, rounded up)", v.StrVal, b.Status.ExpectedPods)
	}
	return ""
}

func policyOf(b *policyv1.PodDisruptionBudget) policyv1.UnhealthyPodEvictionPolicyType {
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil {
		return *p
	}
	return policyv1.IfHealthyBudget
}

// causes are the kinds of plugins.
var causes = map[string]Kind{
	"InterPodAffinity": AntiAffinity, "PodTopologySpread": Spread,
	"VolumeBinding": Volumes, "VolumeZone": Volumes, "VolumeRestrictions": Volumes, "NodeVolumeLimits": Volumes,
}

// roomDeadlock is for a replacement that no node takes: the plugin that rejects most nodes that no other plugin rejects, among the
// nodes that take pods, and the nodes that this plugin allows among the others.
func (x *run) roomDeadlock(r refusal, nodes []string) Deadlock {
	out := Deadlock{Kind: NoRoom, Message: r.failure.Text(), Proof: r.failure.Text()}
	a := x.placer.Prepare(r.pod)
	if a.Rejected() {
		if len(r.failure.Rejecters) > 0 {
			out.Kind = kindOf(r.failure.Rejecters[0])
		}
		return out
	}
	alone, all := make([]int, len(a.Predicates)), make([]int, len(a.Predicates))
	open := 0
	for _, i := range a.Candidates() {
		if x.snapshot.Node(i).Spec.Unschedulable {
			continue
		}
		open++
		var rejecters, last int
		for k, p := range a.Predicates {
			if p.Check(i) != 0 {
				all[k]++
				rejecters, last = rejecters+1, k
			}
		}
		if rejecters == 1 {
			alone[last]++
		}
	}
	best := slices.IndexFunc(all, func(n int) bool { return n > 0 })
	if best < 0 {
		out.Proof = fmt.Sprintf("no node takes pods: %s", out.Message)
		return out
	}
	for k := range all {
		if alone[k] > alone[best] || alone[k] == alone[best] && all[k] > all[best] {
			best = k
		}
	}
	plugin := a.Predicates[best]
	out.Kind = kindOf(plugin.Name())
	var held []string
	for _, i := range a.Candidates() {
		if n := x.snapshot.Node(i); slices.Contains(nodes, n.Name) && plugin.Check(i) == 0 {
			held = append(held, n.Name)
		}
	}
	out.Proof = fmt.Sprintf("%s rejects %d of the %d nodes that take pods, %d of them alone", plugin.Name(), all[best], open, alone[best])
	if text := x.numbers(plugin.Name(), r.pod); text != "" {
		out.Proof += "; " + text
	}
	if len(held) > 0 && out.Kind != NoRoom {
		out.Proof += "; it allows " + strings.Join(held, ", ") + " alone, which is being replaced"
	}
	return out
}

func kindOf(plugin string) Kind {
	if k, ok := causes[plugin]; ok {
		return k
	}
	return NoRoom
}

// numbers returns the figures that explain why a plugin rejects a pod, "" when there are none.
func (x *run) numbers(plugin string, pod *v1.Pod) string {
	switch kindOf(plugin) {
	case AntiAffinity:
		u := x.unitOf(pod)
		return fmt.Sprintf("%s asks for %d pods", u, u.replicas)
	case NoRoom:
		for i := range x.snapshot.Len() {
			n := x.snapshot.Node(i)
			if n == nil || n.Spec.Unschedulable {
				continue
			}
			for _, r := range x.placer.Rejections(pod, i) {
				if r.Plugin == plugin && len(r.Numbers) > 0 {
					return n.Name + ": " + strings.Join(r.Numbers, ", ")
				}
			}
		}
	}
	return ""
}
