package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/examples/report"
)

// prospects are what budgets can hope for when somebody waits and changes nothing.
type prospects struct {
	in       *input
	r        *replacer
	evicted  map[*v1.Pod]disruption.Planned
	hopeless map[*policyv1.PodDisruptionBudget]string
}

func newProspects(in *input, r *replacer, waves [][]disruption.Planned) *prospects {
	p := &prospects{in: in, r: r, evicted: map[*v1.Pod]disruption.Planned{}, hopeless: map[*policyv1.PodDisruptionBudget]string{}}
	for _, w := range waves {
		for _, e := range w {
			p.evicted[e.Pod] = e
		}
	}
	return p
}

// remedy returns what must be done before a budget can let a pod leave, "" when waiting can be enough: when more of its pods
// can be healthy than it needs.
func (p *prospects) remedy(b *policyv1.PodDisruptionBudget) (string, error) {
	if text, known := p.hopeless[b]; known {
		return text, nil
	}
	can, roomless, err := p.healthy(b)
	if err != nil {
		return "", err
	}
	text := ""
	switch {
	case int64(can) > int64(b.Status.DesiredHealthy):
	case roomless > 0:
		text = fmt.Sprintf("make room or add a node: no node takes %s of the budget", report.Count(roomless, "more pod"))
	default:
		text = fmt.Sprintf("add pods: the budget needs %d healthy pods, and %d can be healthy", b.Status.DesiredHealthy, can)
	}
	p.hopeless[b] = text
	return text, nil
}

// healthy returns how many pods of a budget can be healthy after a while, and how many find no node. Every pod on a node can
// become ready. Replacements and pending pods need a node. Controllers make the pods that they lack, and take the place of
// pods that have ended or terminate.
func (p *prospects) healthy(b *policyv1.PodDisruptionBudget) (can, roomless int, err error) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return 0, 0, fmt.Errorf("PodDisruptionBudget %s: spec.selector: %w", budgetName(b), err)
	}
	seen := 0
	for _, pod := range p.in.objects.Pods {
		if pod.Namespace != b.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		owner := metav1.GetControllerOf(pod)
		e, leaves := p.evicted[pod]
		switch {
		case cluster.Finished(pod) || pod.DeletionTimestamp != nil:
			if owner == nil || owner.Kind == "Job" {
				continue
			}
			can++
		case leaves && e.Replaced, !leaves && pod.Spec.NodeName != "":
			can++
		case leaves && owner == nil:
			continue
		case leaves:
			roomless++
		default:
			fits, err := p.r.fits(pod)
			switch {
			case err != nil:
				return 0, 0, err
			case fits:
				can++
			default:
				roomless++
			}
		}
		seen++
	}
	if b.Spec.MinAvailable == nil || b.Spec.MinAvailable.Type == intstr.String { // a number expects the pods that are there
		can += max(0, int(b.Status.ExpectedPods)-seen)
	}
	return can, roomless, nil
}
