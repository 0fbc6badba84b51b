package failures

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/internal/must"
)

// Remedy is a change of the cluster, and what it comes to.
type Remedy struct {
	Kind string `json:"kind"` // "node", "replicas" or "constraint"
	Text string `json:"text"` // the change
	// Holds reports that with the change no failure of one node leaves a pod pending or waiting; every node was played again.
	Holds bool `json:"holds"`
	// Worst is the worst failure that is left.
	Worst string `json:"worst,omitempty"`
	Stays int    `json:"stays,omitempty"` // how many pods that failure leaves pending or waiting
}

// remedies checks what would let the cluster survive the failures of one node.
func (h *search) remedies(failing []Result) {
	var list []remedy
	for _, make := range []func([]Result) []remedy{h.p.moreNodes, h.p.fewerReplicas, h.p.weakerConstraints} {
		of := make(failing)
		list = append(list, of[:min(len(of), max(0, h.s.Remedies))]...)
	}
	before := h.Played
	for k, r := range list {
		if h.Played-before >= DefaultSteps || !h.check(r, failing) {
			h.Limited, h.Untried = true, len(list)-k
			return
		}
	}
}

// remedy is a change of an input that nobody else holds.
type remedy struct {
	kind, text string
	change     func(in *Input)
}

// check plays the changed cluster: the failures that left pods pending, and when none does any more, all. It reports whether it was played
// to the end.
func (h *search) check(r remedy, failing []Result) bool {
	if h.stopped() {
		return false
	}
	in := h.p.in
	in.Snapshot = h.p.base.Fork()
	r.change(&in)
	p := must.Get(New(in))
	again := make([]Scenario, len(failing))
	for i := range failing {
		again[i] = failing[i].Scenario
	}
	out := Remedy{Kind: r.kind, Text: r.text}
	for _, scenarios := range [][]Scenario{again, p.Nodes()} {
		results := must.Get(p.Run(scenarios, Options{Parallel: h.s.Parallel, Stop: h.s.Stop}))
		h.Played += len(results)
		if len(results) < len(scenarios) {
			return false
		}
		if Worst(results); results[0].Stays() > 0 {
			out.Worst, out.Stays = results[0].Name, results[0].Stays()
			h.Remedies = append(h.Remedies, out)
			return true
		}
	}
	out.Holds = true
	h.Remedies = append(h.Remedies, out)
	return true
}

// moreNodes returns a node more of each kind: the kinds are nodes with equal allocatable resources, taints and labels that other
// nodes have too. The commonest kind comes first.
func (p *Planner) moreNodes([]Result) []remedy {
	shared := map[string]int{}
	for _, name := range p.nodes {
		for k, v := range p.base.Node(p.base.Slot(name)).Labels {
			shared[k+"="+v]++
		}
	}
	kinds := map[string][]*v1.Node{}
	for _, name := range p.nodes {
		n, ok := diagnose.Like(p.base.Node(p.base.Slot(name)), name)
		if !ok {
			continue // nobody adds a node of a provider
		}
		text := n.Status.Allocatable.Cpu().String()
		for _, r := range slices.Sorted(maps.Keys(n.Status.Allocatable)) {
			q := n.Status.Allocatable[r]
			text += fmt.Sprintf(",%s=%s", r, q.String())
		}
		for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
			if shared[k+"="+n.Labels[k]] > 1 {
				text += "," + k + "=" + n.Labels[k]
			}
		}
		for _, t := range n.Spec.Taints {
			text += "," + t.ToString()
		}
		kinds[text] = append(kinds[text], n)
	}
	lists := slices.SortedFunc(maps.Values(kinds), func(a, b []*v1.Node) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a[0].Name, b[0].Name))
	})
	var out []remedy
	for _, list := range lists {
		like := list[0]
		out = append(out, remedy{"node", fmt.Sprintf("one more node like %s (there are %d)", like.Name, len(list)), func(in *Input) {
			name := like.Name
			for p.base.Slot(name) >= 0 {
				name += "-more"
			}
			n, _ := diagnose.Like(like, name)
			must.Do(in.Snapshot.Set(n))
		}})
	}
	return out
}

// stuck returns the units of the pods that stay, those with most pods first, and the causes of each.
func (p *Planner) stuck(failing []Result) (units []*unit, causes map[*unit]map[Cause]bool) {
	count := map[*unit]int{}
	causes = map[*unit]map[Cause]bool{}
	for i := range failing {
		for _, o := range failing[i].Pods {
			u := p.unitOf[o.Pod]
			if o.Group < 0 {
				continue
			}
			if causes[u] == nil {
				causes[u] = map[Cause]bool{}
				units = append(units, u)
			}
			causes[u][failing[i].Groups[o.Group].Cause] = true
			count[u]++
		}
	}
	slices.SortStableFunc(units, func(a, b *unit) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.place, b.place)) })
	return units, causes
}

// fewerReplicas returns one replica fewer of each workload whose pods stay pending.
func (p *Planner) fewerReplicas(failing []Result) []remedy {
	units, _ := p.stuck(failing)
	var out []remedy
	for _, u := range units {
		if !u.known || u.want < 1 || u.kind == "Job" {
			continue
		}
		out = append(out, remedy{"replicas", fmt.Sprintf("one replica fewer of %s (%d of %d)", u, u.want-1, u.want), func(in *Input) {
			want := int32(u.want - 1)
			if pod := p.surplus(u); pod != nil {
				must.Do(in.Snapshot.Remove(pod))
			}
			u.edit(in, func(replicas **int32, _ *v1.PodTemplateSpec) { *replicas = &want })
		}})
	}
	return out
}

// surplus returns the pod that a controller with one replica fewer deletes: of a StatefulSet the last, otherwise a pod of the
// node with most pods of the workload.
func (p *Planner) surplus(u *unit) *v1.Pod {
	perNode := map[string]int{}
	var last *v1.Pod
	for _, pod := range u.pods {
		perNode[pod.Spec.NodeName]++
	}
	for _, pod := range u.pods {
		if p.base.Pod(pod.Namespace, pod.Name) != pod {
			continue
		}
		better := last == nil || perNode[pod.Spec.NodeName] >= perNode[last.Spec.NodeName]
		if u.stateful != nil {
			better = last == nil || cmp.Or(cmp.Compare(len(pod.Name), len(last.Name)), strings.Compare(pod.Name, last.Name)) > 0
		}
		if better {
			last = pod
		}
	}
	return last
}

// weakerConstraints returns the constraints that keep pods pending, each made a preference.
func (p *Planner) weakerConstraints(failing []Result) []remedy {
	units, causes := p.stuck(failing)
	var out []remedy
	for _, u := range units {
		if !u.known {
			continue
		}
		if causes[u][Spread] {
			out = append(out, remedy{"constraint", fmt.Sprintf("whenUnsatisfiable: ScheduleAnyway in the spread constraints of %s", u), func(in *Input) {
				u.edit(in, func(_ **int32, t *v1.PodTemplateSpec) {
					for i := range t.Spec.TopologySpreadConstraints {
						t.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable = v1.ScheduleAnyway
						t.Spec.TopologySpreadConstraints[i].MinDomains = nil
					}
				})
			}})
		}
		if causes[u][AntiAffinity] {
			out = append(out, remedy{"constraint", fmt.Sprintf("preferred in place of required anti-affinity of %s", u), func(in *Input) {
				for _, pod := range u.pods {
					if p.base.Pod(pod.Namespace, pod.Name) != pod {
						continue
					}
					c := pod.DeepCopy()
					prefer(&c.Spec)
					must.Do(in.Snapshot.Set(c))
				}
				u.edit(in, func(_ **int32, t *v1.PodTemplateSpec) { prefer(&t.Spec) })
			}})
		}
	}
	return out
}

// prefer makes required anti-affinity a preference of the largest weight.
func prefer(s *v1.PodSpec) {
	if s.Affinity == nil || s.Affinity.PodAntiAffinity == nil {
		return
	}
	a := s.Affinity.PodAntiAffinity
	for _, term := range a.RequiredDuringSchedulingIgnoredDuringExecution {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution, v1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: term})
	}
	a.RequiredDuringSchedulingIgnoredDuringExecution = nil
}

// edit changes the objects of a workload in an input: replicas and template of each.
func (u *unit) edit(in *Input, change func(replicas **int32, t *v1.PodTemplateSpec)) {
	var changed []metav1.Object
	for _, d := range u.objects.Deployments {
		c := d.DeepCopy()
		change(&c.Spec.Replicas, &c.Spec.Template)
		in.Deployments = slices.Clone(in.Deployments)
		for i := range in.Deployments {
			if in.Deployments[i] == d {
				in.Deployments[i] = c
			}
		}
	}
	for _, r := range u.objects.ReplicaSets {
		c := r.DeepCopy()
		replicas := &c.Spec.Replicas
		var unused *int32
		if len(u.objects.Deployments) > 0 && len(u.objects.ReplicaSets) > 1 && zero(r) {
			replicas = &unused // an old ReplicaSet of a Deployment
		}
		change(replicas, &c.Spec.Template)
		changed = append(changed, c)
	}
	for _, r := range u.objects.ReplicationControllers {
		c := r.DeepCopy()
		change(&c.Spec.Replicas, c.Spec.Template)
		changed = append(changed, c)
	}
	for _, s := range u.objects.StatefulSets {
		c := s.DeepCopy()
		change(&c.Spec.Replicas, &c.Spec.Template)
		changed = append(changed, c)
	}
	for _, j := range u.objects.Jobs {
		c := j.DeepCopy()
		var unused *int32
		change(&unused, &c.Spec.Template)
		in.Jobs = slices.Clone(in.Jobs)
		for i := range in.Jobs {
			if in.Jobs[i] == j {
				in.Jobs[i] = c
			}
		}
	}
	for _, o := range changed {
		must.Do(in.Snapshot.Set(o))
	}
}

func zero(r *appsv1.ReplicaSet) bool { return r.Spec.Replicas != nil && *r.Spec.Replicas == 0 }
