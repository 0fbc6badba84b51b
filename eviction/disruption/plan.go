package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/podinfo"
)

// PlanInput is the input of [MakePlan].
type PlanInput struct {
	// Nodes are the names of the nodes to drain together.
	Nodes []string
	// Pods are all pods of the cluster: pods on other nodes count for the budgets. Nil pods and nil budgets are ignored.
	Pods    []*v1.Pod
	Budgets []*policyv1.PodDisruptionBudget
	// Scale is used to compute the statuses again between waves. A nil Scale keeps expectedPods and desiredHealthy and only
	// counts the healthy pods: for callers who do not know the controllers. Scale is asked about replacements too, which have
	// no name.
	Scale   Scale
	Options DrainOptions
	// EveryBudget is Request.EveryBudget, for pods that several budgets cover.
	EveryBudget bool
	Now         time.Time
	// Unit returns the name of the set of pods that leave together, such as a group with disruption mode All (podgroup.UnitOf); "" for a
	// pod that leaves alone. The pods of a set leave in one wave or not at all, also those on other nodes. nil: each pod leaves alone.
	Unit func(pod *v1.Pod) string
	// Replace returns the nodes on which the replacements of evicted pods are ready before the next wave, one for each pod. MakePlan calls
	// Replace once for each wave, with the evicted pods that have a controller, had not finished and were not terminating, in the order of
	// the plan. With a nil Replace every such pod is replaced on an unnamed node (node "").
	Replace func(pods []*v1.Pod) []Replacement
}

// Replacement is where the replacement of an evicted pod is ready. Ready is false when no node takes the pod. Node is "" when the node is
// not known.
type Replacement struct {
	Node  string
	Ready bool
}

// Plan lists the waves in which pods can leave their nodes without breaking a budget.
type Plan struct {
	// Waves are in order. The evictions of one wave can be requested at the same time.
	Waves   [][]Planned
	Blocked []Blocked
	Skipped []Treated
	// Warnings and Errors are the lines of kubectl drain, with the node in front. A node with an error is not drained.
	Warnings, Errors []string
}

// Planned is one pod that leaves.
type Planned struct {
	Pod *v1.Pod
	// Budgets are the names "namespace/name" of the budgets that cover the pod.
	Budgets []string
	// Replaced reports whether a replacement is ready before the next wave. Replacement is the node of the replacement, ""
	// when the node is not known.
	Replaced    bool
	Replacement string
	Decision    Decision
}

// Blocked is a pod that does not leave.
type Blocked struct {
	Pod     *v1.Pod
	Budgets []string // the budgets that cover the pod, "namespace/name"
	Cause   string
	// WaitingHelps reports whether the pod can leave later without a change of a specification.
	WaitingHelps bool
	// Remedies are what must be done, one after the other; none for a pod that is Behind others: their remedies help it.
	Remedies []Remedy
	// Behind reports that kubectl drain does not begin on the node because of other pods.
	Behind bool
	// Unit is the name of the set of pods that the pod leaves with (PlanInput.Unit); "" for a pod that leaves alone.
	Unit string
	// Proof shows, in numbers, why a budget can never let the pod leave. It is "" when no budget is the cause and when a
	// budget can let the pod leave.
	Proof string
}

// MakePlan returns the waves in which the pods of the nodes can leave, and the pods that are blocked (rules D7.9 to D7.12).
// It decides every eviction as the Eviction API does. Before each wave the statuses are brought up to date as the
// disruption controller does. When the next wave begins, the evicted pods are gone and their replacements are ready. The
// order within a wave is:
//
//  1. pods that are not ready, which may need no unit of a budget
//  2. lower priority
//  3. namespace, name, UID
//
// A pod that is refused for now waits for the next wave. A pod is blocked when it can never leave, or when it still waits
// after a wave in which no pod left. O(waves x (pods + budgets x matching pods)).
func MakePlan(in PlanInput) Plan {
	var plan Plan
	p := &planner{in: in, present: slices.Clone(in.Pods), evictions: NewEvictions(in.Budgets), plan: &plan, now: in.Now}
	waiting := p.sortPods()
	if in.Options.DisableEviction {
		p.deleteAll(waiting)
		return plan
	}
	p.sync()
	p.behindFlags()
	for {
		p.sync()
		slices.SortFunc(waiting, leaveOrder)
		var wave []Planned
		var later []*v1.Pod
		refusals := map[*v1.Pod]refusedUnit{} // by the first pod of a unit
		charged := map[string]bool{}          // the budgets, "namespace/name"
		for _, unit := range p.units(waiting) {
			list, refused, d := p.evict(unit)
			switch {
			case refused == nil:
				wave = append(wave, list...)
				for _, e := range list {
					for _, c := range e.Decision.Charges {
						charged[budgetName(c.Budget)] = true
					}
				}
			case d.Outlook() == outlookNotNow:
				later = append(later, unit...)
				refusals[unit[0]] = refusedUnit{refused, d}
			case d.kind == exhausted && charged[budgetName(d.by)]:
				later = append(later, unit...) // the budget lets pods leave in this wave, so it may let more leave in the next
			default:
				p.block(unit, refused, d)
			}
		}
		if len(wave) == 0 {
			for _, unit := range p.units(later) {
				p.block(unit, refusals[unit[0]].pod, refusals[unit[0]].decision)
			}
			return plan
		}
		p.replace(wave)
		plan.Waves = append(plan.Waves, wave)
		waiting = later
	}
}

type planner struct {
	in        PlanInput
	present   []*v1.Pod
	evictions *Evictions
	plan      *Plan
	now       time.Time
}

// sortPods sorts the pods of the nodes into skipped, refused and leaving pods.
func (p *planner) sortPods() (leaving []*v1.Pod) {
	for _, node := range p.in.Nodes {
		pods := treatAll(node, p.in.Pods, p.in.Options, p.in.Now)
		s := selectionOf(pods)
		for _, w := range s.Warnings {
			p.plan.Warnings = append(p.plan.Warnings, node+": "+w)
		}
		for _, e := range s.Errors {
			p.plan.Errors = append(p.plan.Errors, node+": "+e)
		}
		for _, t := range pods {
			switch {
			case t.treatment == skip:
				p.plan.Skipped = append(p.plan.Skipped, t.Treated)
			case t.treatment == refuses:
				p.plan.Blocked = append(p.plan.Blocked, Blocked{Pod: t.Pod, Cause: t.Reason, Remedies: []Remedy{{Text: flagFor(t.Reason)}}})
			case len(s.Errors) > 0:
				p.plan.Blocked = append(p.plan.Blocked, Blocked{Pod: t.Pod, Behind: true, Cause: "the drain of node " + node + " does not begin: " + s.Errors[0]})
			default:
				leaving = append(leaving, t.Pod)
			}
		}
	}
	return p.withUnits(leaving)
}

// behindFlags says of the pods that kubectl drain refuses what budgets say of them, because no flag helps against those.
func (p *planner) behindFlags() {
	for i := range p.plan.Blocked {
		b := &p.plan.Blocked[i]
		if b.Behind || b.Cause != emptyDirRefused && b.Cause != refusesUnmanaged(p.in.Options.Release) {
			continue
		}
		if d := decide(b.Pod, p.evictions.covering(b.Pod), p.request(b.Pod), p.now); d.Outlook() == outlookNever {
			behind := p.blocked(b.Pod, d)
			behind.Cause, behind.Remedies = b.Cause+"; and "+behind.Cause, append(behind.Remedies, b.Remedies...)
			*b = behind
		}
	}
}

func flagFor(reason string) string {
	switch reason {
	case daemonSetRefused:
		return "--ignore-daemonsets leaves the pod where it is"
	case emptyDirRefused:
		return "save what the pod needs of its emptyDir; with --delete-emptydir-data the pod leaves, and the rest is lost"
	}
	return "end the pod when its work is done: no controller creates the pod again"
}

func (p *planner) request(pod *v1.Pod) Request {
	return Request{EveryBudget: p.in.EveryBudget, Eviction: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: p.in.Options.GracePeriodSeconds}}}
}

func (p *planner) deleteAll(pods []*v1.Pod) {
	if len(pods) == 0 {
		return
	}
	slices.SortFunc(pods, leaveOrder)
	wave := make([]Planned, len(pods))
	for k, pod := range pods {
		wave[k].Pod = pod
	}
	p.replace(wave)
	p.plan.Waves = append(p.plan.Waves, wave)
}

func leaveOrder(a, b *v1.Pod) int {
	if ra, rb := ready(a), ready(b); ra != rb {
		if rb {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(podinfo.Priority(a), podinfo.Priority(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}

// sync brings the statuses up to date.
func (p *planner) sync() {
	for i, matching := range p.evictions.matching(p.present) {
		b, err := p.evictions.pdbs[i], p.evictions.errs[i]
		if b == nil {
			continue
		}
		if p.in.Scale != nil || err != nil || !needsScale(b) {
			s := syncMatching(b, matching, err, p.in.Scale, p.now)
			p.evictions.set(int32(i), &s.Status)
			continue
		}
		if failed(b) {
			continue
		}
		var s Synced
		s.Status = *b.Status.DeepCopy()
		s.rebuild(b, matching, p.now)
		s.Status.CurrentHealthy = healthy(b.Status.DisruptedPods, matching, p.now)
		settle(&s.Status, b.Generation, p.now)
		s.Status.ObservedGeneration = b.Generation
		p.evictions.set(int32(i), &s.Status)
	}
}

// needsScale reports whether the status of a budget depends on controllers.
func needsScale(b *policyv1.PodDisruptionBudget) bool {
	return b.Spec.MaxUnavailable != nil || b.Spec.MinAvailable != nil && b.Spec.MinAvailable.Type == intstr.String
}

func failed(b *policyv1.PodDisruptionBudget) bool {
	return slices.ContainsFunc(b.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == policyv1.DisruptionAllowedCondition && c.Reason == policyv1.SyncFailedReason
	})
}

// replace removes the evicted pods and adds their replacements.
func (p *planner) replace(wave []Planned) {
	gone := map[*v1.Pod]bool{}
	for i := range wave {
		gone[wave[i].Pod] = true
	}
	p.present = slices.DeleteFunc(p.present, func(pod *v1.Pod) bool { return gone[pod] })
	var again []*Planned
	var pods []*v1.Pod
	for i := range wave {
		e := &wave[i]
		if metav1.GetControllerOf(e.Pod) != nil && !podinfo.Finished(e.Pod) && e.Pod.DeletionTimestamp == nil {
			e.Replaced = true
			again, pods = append(again, e), append(pods, e.Pod)
		}
	}
	if p.in.Replace != nil && len(pods) > 0 {
		for k, r := range p.in.Replace(pods) {
			again[k].Replacement, again[k].Replaced = r.Node, r.Ready
		}
	}
	for _, e := range again {
		if e.Replaced {
			p.present = append(p.present, replacement(e.Pod))
		}
	}
}

// replacement returns a new ready pod of the same controller. It has no name, also where a StatefulSet keeps the name: the
// old pod's entry in disruptedPods is not about it.
func replacement(pod *v1.Pod) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Labels: pod.Labels, OwnerReferences: pod.OwnerReferences},
		Status: v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}}
}

func (p *planner) blocked(pod *v1.Pod, d Decision) Blocked {
	guilty := d.covering
	if d.by != nil {
		guilty = []*policyv1.PodDisruptionBudget{d.by}
	}
	return Blocked{Pod: pod, Budgets: budgetNames(d.covering), Cause: cmp.Or(d.Cause, d.Message),
		WaitingHelps: d.Waiting, Remedies: d.Remedies()[:1], Proof: Proof(guilty)}
}

func budgetNames(pdbs []*policyv1.PodDisruptionBudget) (out []string) {
	for _, b := range pdbs {
		out = append(out, budgetName(b))
	}
	return out
}

func budgetName(b *policyv1.PodDisruptionBudget) string { return b.Namespace + "/" + b.Name }

// Proof shows in numbers why the budgets that cover a pod can never let a healthy pod leave, as long as no more pods match
// than they expect: several budgets cover the pod, or the only budget needs as many healthy pods as it expects. It returns
// "" when there is no such proof. Nil budgets are ignored.
func Proof(covering []*policyv1.PodDisruptionBudget) string {
	covering = slices.DeleteFunc(slices.Clone(covering), func(b *policyv1.PodDisruptionBudget) bool { return b == nil })
	if len(covering) > 1 {
		return fmt.Sprintf("%d budgets cover the pod: %s", len(covering), strings.Join(budgetNames(covering), ", "))
	}
	if len(covering) == 0 {
		return ""
	}
	b := covering[0]
	s := &b.Status
	if s.ExpectedPods <= 0 {
		return fmt.Sprintf("budget %s/%s expects %d pods and allows no disruption of that", b.Namespace, b.Name, s.ExpectedPods)
	}
	if s.DesiredHealthy < s.ExpectedPods {
		return ""
	}
	return fmt.Sprintf("budget %s/%s demands %d healthy pods of %d expected: %d - %d leaves none to disrupt", b.Namespace, b.Name, s.DesiredHealthy, s.ExpectedPods, s.ExpectedPods, s.DesiredHealthy)
}
