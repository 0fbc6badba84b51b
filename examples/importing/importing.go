// Package importing has the lines with which other projects would ask podberth: one function for each question of docs/importing.md, in
// the words of the project that asks it.
//
//	nodes, excluded, err := importing.KueueNodes(estimator, template, tolerations, candidates)
//	replicas, err := importing.KarmadaReplicas(estimator, requirements)
//	slot, refused, err := importing.AutoscalerNode(estimator, placer, pod, order, accept)
//	types, err := importing.KarpenterDevices(published, held, class, compiler, node, slices, claims...)
//	victims, err := importing.YuniKornVictims(plan, pod, slot, victims, from)
//	lines := importing.RadarDrain(name, pods, budgets, now)
//
// The functions are meant to be copied. They change nothing but the snapshot of a [placement.Placer] that takes a pod.
package importing

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/estimate"
)

// KueueNodes returns the candidates that can take a pod of a template, in their order, and how many cannot, by reason.
func KueueNodes(e *estimate.Estimator, t v1.PodTemplateSpec, flavor []v1.Toleration, candidates []string) ([]string, map[string]int, error) {
	pod := &v1.Pod{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: *t.Spec.DeepCopy()}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, flavor...) // the template lacks what the flavor adds
	answer, err := e.Feasible(pod, candidates)
	excluded := map[string]int{}
	for _, r := range answer.Refused {
		excluded[r.Plugin+": "+r.Reason] += r.Nodes
	}
	return answer.Nodes, excluded, err
}

// KarmadaRequirements is what Karmada's protocol says of a replica.
type KarmadaRequirements struct {
	Namespace    string
	NodeAffinity *v1.NodeSelector
	NodeSelector map[string]string
	Tolerations  []v1.Toleration
	Requests     v1.ResourceList
}

// KarmadaReplicas returns how many replicas the cluster takes, at most what an int32 can say.
func KarmadaReplicas(e *estimate.Estimator, r KarmadaRequirements) (int32, error) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "replica"}, Spec: v1.PodSpec{
		NodeSelector: r.NodeSelector, Tolerations: r.Tolerations,
		Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: r.Requests}}},
	}}
	if r.NodeAffinity != nil {
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: r.NodeAffinity}}
	}
	room, err := e.Replicas(pod, math.MaxInt32)
	return int32(len(room.Nodes)), err
}

// AutoscalerNode puts a pod on the first node of an order that accept and the filters allow. Without one slot is -1, and refused says why.
func AutoscalerNode(e *estimate.Estimator, p *placement.Placer, pod *v1.Pod, order iter.Seq[int], accept func(int) bool) (slot int, refused []estimate.Refused, err error) {
	slot, refused, err = e.FirstFit(pod, order, accept)
	if err != nil || slot < 0 {
		return slot, refused, err
	}
	return slot, nil, p.Assume(pod, p.Prepare(pod).Decision(slot))
}

// AutoscalerCheck returns why one node refuses a pod, nothing if the node takes it. It asks about cordoned nodes too.
func AutoscalerCheck(p *placement.Plan, pod *v1.Pod, slot int) (reasons []string, err error) {
	question := p.Prepare(pod).WhatIf(placement.Options{})
	answer := question.Check(slot)
	if answer.Verdict == 0 {
		return nil, nil
	}
	reasons, _ = question.Reasons(slot, answer)
	return reasons, question.Err(slot, answer)
}

// KarpenterDevices returns the instance types whose node would have devices for the claims, beside what held claims have. types has the slices that
// the node would publish.
func KarpenterDevices(published []*resourcev1.ResourceSlice, held []*resourcev1.ResourceClaim, class func(string) *resourcev1.DeviceClass, c devices.SelectorCompiler,
	node *v1.Node, types map[string][]*resourcev1.ResourceSlice, claims ...*resourcev1.ResourceClaim) (fit []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(types)) {
		inventory := devices.NewInventory(slices.Concat(published, types[name]))
		allocator := devices.NewAllocator(devices.NewLedger(inventory, held...), class, c, devices.Options{})
		_, ok, err := allocator.Compile(claims...).Allocate(node)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if ok {
			fit = append(fit, name)
		}
	}
	return fit, nil
}

// YuniKornVictims returns the least index, not before from, such that the pod fits on the node when the victims up to it have left; -1
// without one.
func YuniKornVictims(p *placement.Plan, pod *v1.Pod, slot int, victims []*v1.Pod, from int) (int, error) {
	question := p.Prepare(pod).WhatIf(placement.Options{})
	for i, victim := range victims {
		question.Remove(victim, slot) // spread and affinity see the victim go, too
		if i < from {
			continue
		}
		answer := question.Check(slot)
		if answer.Verdict == 0 {
			return i, nil
		}
		if err := question.Err(slot, answer); err != nil {
			return -1, err
		}
	}
	return -1, nil
}

// RadarDrain returns what a drain of a node does, in lines: the waves of evictions, then what blocks or stays, and why.
func RadarDrain(node string, pods []*v1.Pod, budgets []*policyv1.PodDisruptionBudget, now time.Time) (lines []string) {
	plan := disruption.MakePlan(disruption.PlanInput{Nodes: []string{node}, Pods: pods, Budgets: budgets, Now: now,
		Options: disruption.DrainOptions{IgnoreDaemonSets: true}})
	for i, wave := range plan.Waves {
		for _, p := range wave {
			lines = append(lines, fmt.Sprintf("wave %d: %s", i+1, p.Pod.Name))
		}
	}
	for _, b := range plan.Blocked {
		lines = append(lines, "blocked: "+b.Pod.Name+" by "+strings.Join(b.Budgets, ", ")+": "+b.Cause)
	}
	for _, s := range plan.Skipped {
		lines = append(lines, "stays: "+s.Pod.Name+" "+s.Reason)
	}
	return append(lines, plan.Errors...)
}
