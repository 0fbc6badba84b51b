package diagnose

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
)

// older returns the running pods of an older revision of the pod's Deployment: a rollout is under way.
func (d *diagnosis) older() (out []*v1.Pod) {
	if d.owner.kind != "Deployment" {
		return nil
	}
	now := metav1.GetControllerOfNoCopy(d.pod)
	for _, p := range d.crew.running {
		if metav1.GetControllerOfNoCopy(p).Name != now.Name {
			out = append(out, p)
		}
	}
	return out
}

// policies returns the changes with which a rule of the pod counts the pods of its own revision alone: matchLabelKeys with the label of the
// revision. They matter while pods of an older revision run.
func (d *diagnosis) policies() (out []*Change) {
	out = d.narrows()
	const key = appsv1.DefaultDeploymentUniqueLabelKey
	hash, ok := d.pod.Labels[key]
	if !ok || len(d.older()) == 0 {
		return out
	}
	add := func(rule string, edit func(p *v1.Pod)) {
		out = append(out, &Change{Kind: Policy, Object: "Pod " + podinfo.Name(d.pod), Path: rule + ".matchLabelKeys", To: key, rule: rule, pod: d.pod, edit: func(p *v1.Pod, _ int64) { edit(p) }})
	}
	for i, c := range d.pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule && c.LabelSelector != nil && !slices.Contains(c.MatchLabelKeys, key) {
			add(fmt.Sprintf("spec.topologySpreadConstraints[%d]", i), func(p *v1.Pod) {
				at := &p.Spec.TopologySpreadConstraints[i]
				at.MatchLabelKeys = append(slices.Clone(at.MatchLabelKeys), key)
			})
		}
	}
	_, terms := podAffinityOf(d.pod)
	if terms[1].required == nil {
		return out
	}
	for i, t := range *terms[1].required {
		if t.LabelSelector == nil || slices.Contains(t.MatchLabelKeys, key) || !selects(t.LabelSelector, d.pod.Labels) {
			continue
		}
		add(fmt.Sprintf("spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[%d]", i), func(p *v1.Pod) {
			_, terms := podAffinityOf(p)
			if terms[1].required == nil || i >= len(*terms[1].required) {
				return // another change has made the term a preference
			}
			at := &(*terms[1].required)[i] // the API server writes the keys into the selector
			at.MatchLabelKeys = append(slices.Clone(at.MatchLabelKeys), key)
			at.LabelSelector = at.LabelSelector.DeepCopy()
			at.LabelSelector.MatchExpressions = append(at.LabelSelector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{hash}})
		})
	}
	return out
}

// narrows returns the changes with which a spread constraint that counts pods of other owners counts those of its own alone: a label that the
// pods of the owner have, and no other pod that it counts.
func (d *diagnosis) narrows() (out []*Change) {
	if d.cause == nil || d.cause.Type != causeSpread && d.cause.Type != causeEmptyDomain || d.controller == nil {
		return nil
	}
	for i, c := range d.pod.Spec.TopologySpreadConstraints {
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil || c.WhenUnsatisfiable != v1.DoNotSchedule || !selector.Matches(labels.Set(d.pod.Labels)) {
			continue
		}
		own := maps.Clone(d.pod.Labels)
		for _, key := range append(slices.Collect(maps.Keys(c.LabelSelector.MatchLabels)), append(ownLabels, appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey)...) {
			delete(own, key)
		}
		others := 0
		see := func(p *v1.Pod) {
			if p == d.pod || p.Namespace != d.pod.Namespace || !selector.Matches(labels.Set(p.Labels)) {
				return
			}
			ours := d.sibling(p)
			if !ours {
				others++
			}
			maps.DeleteFunc(own, func(key, value string) bool { return (p.Labels[key] == value) != ours })
		}
		for _, slot := range d.slots {
			for p := range d.base.Pods(slot) {
				see(p)
			}
		}
		for _, p := range d.crew.queue {
			see(p)
		}
		if others == 0 || len(own) == 0 {
			continue
		}
		key := slices.Min(slices.Collect(maps.Keys(own)))
		value, rule := own[key], fmt.Sprintf("spec.topologySpreadConstraints[%d]", i)
		out = append(out, &Change{Kind: Policy, Object: "Pod " + podinfo.Name(d.pod), Path: rule + ".labelSelector.matchLabels", To: key + ": " + value, rule: rule, pod: d.pod, edit: func(p *v1.Pod, _ int64) {
			at := &p.Spec.TopologySpreadConstraints[i]
			at.LabelSelector = at.LabelSelector.DeepCopy()
			if at.LabelSelector.MatchLabels == nil {
				at.LabelSelector.MatchLabels = map[string]string{}
			}
			at.LabelSelector.MatchLabels[key] = value
		}})
	}
	return out
}

// strategies returns the changes of the strategy of a Deployment whose rollout waits for its own older pods: with Recreate all of them end
// first, with maxSurge 0 one. maxSurge 0 is advice only when the pod gets a node whichever of them ends.
func (d *diagnosis) strategies() (out []Change) {
	old := d.older()
	if len(old) == 0 {
		return nil
	}
	switch d.cause.Type {
	case causeOnePod:
		return []Change{d.strategy("spec.strategy.type", "Recreate", old)}
	case causeAntiAffinity, causePort, causeSpread, causeFull:
		for _, p := range old[:min(len(old), mostRestarted)] {
			if d.prove([]Change{d.strategy("", "", []*v1.Pod{p})}).node == "" {
				return nil
			}
		}
		return []Change{d.strategy("spec.strategy.rollingUpdate.maxSurge", "0", old[:1])}
	}
	return nil
}

// strategy returns the change after which some pods end before the pod starts.
func (d *diagnosis) strategy(path, to string, ends []*v1.Pod) Change {
	return Change{Kind: Strategy, Object: d.owner.String(), Path: path, To: to, make: func(s *cluster.Snapshot, _ *Change) {
		for _, p := range ends {
			takeAway(s, p)
		}
	}}
}

// ofRollout is the outcome of Strategy: the pods of the older revision end first. The pods before the pod in the queue, its siblings among
// them, take what room they can.
func (d *diagnosis) ofRollout(c Change) (o outcome) {
	t := d.trial()
	defer t.end()
	o.of = 1
	pod := apply(t.s, d.pod, []Change{c})
	if at := slices.Index(d.crew.queue, d.pod); at > 0 && len(d.crew.queue) <= mostQueued {
		for _, p := range d.crew.queue[:at] {
			t.place(p)
		}
	}
	if node, ok := t.place(pod); ok {
		o.node, o.run = node, 1
	}
	o.also = []string{fmt.Sprintf("%s fewer while it rolls out", count(1, "pod"))}
	if c.To == "Recreate" {
		o.also = []string{"no pod runs in between"}
	}
	return o
}
