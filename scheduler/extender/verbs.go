package extender

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// unknownNode is the reason for a name that has no object in the input or in a request.
const unknownNode = "node(s) unknown to the extender"

// filter returns the nodes of the request that can take the pod, in their order, and the reasons against the others: those
// of the first filter that rejects. Nodes have the form that they have in the request.
func (w *world) filter(a *extenderv1.ExtenderArgs) (*extenderv1.ExtenderFilterResult, error) {
	plan, err := w.plan(a.Pod)
	if err != nil {
		return nil, err
	}
	names, err := w.asked(a)
	if err != nil {
		return nil, err
	}
	result := &extenderv1.ExtenderFilterResult{FailedNodes: extenderv1.FailedNodesMap{}, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{}}
	attempt := plan.Prepare(a.Pod)
	if err := attempt.Pre.Err; err != nil {
		return &extenderv1.ExtenderFilterResult{Error: err.Error()}, nil
	}
	verdicts := attempt.Verdicts(nil, w.options())
	fits := map[string]bool{}
	for _, name := range names {
		code, text, err := w.judge(attempt, verdicts, name)
		switch {
		case err != nil:
			return &extenderv1.ExtenderFilterResult{Error: err.Error()}, nil
		case code == filter.Success:
			fits[name] = true
		case code == filter.UnschedulableAndUnresolvable:
			result.FailedAndUnresolvableNodes[name] = text
		default:
			result.FailedNodes[name] = text
		}
	}
	if a.Nodes != nil {
		result.Nodes = &v1.NodeList{Items: slices.DeleteFunc(slices.Clone(a.Nodes.Items), func(n v1.Node) bool { return !fits[n.Name] })}
	} else {
		left := slices.DeleteFunc(names, func(name string) bool { return !fits[name] })
		result.NodeNames = &left
	}
	return result, nil
}

// judge returns the verdict of the filters on one node.
func (w *world) judge(attempt *placement.Attempt, verdicts []filter.Rejection, name string) (filter.Code, string, error) {
	slot := w.snapshot.Slot(name)
	switch {
	case slot < 0:
		return filter.UnschedulableAndUnresolvable, unknownNode, nil
	case attempt.Rejected():
		return attempt.Pre.Code, attempt.Pre.Message, nil
	}
	r := verdicts[slot]
	switch {
	case r == placement.NotAsked():
		return filter.UnschedulableAndUnresolvable, strings.Join(attempt.Pre.LeftOut(), ", "), nil
	case r.Verdict == 0:
		return filter.Success, "", nil
	}
	if err := attempt.Predicates.Err(r, slot); err != nil {
		return filter.Error, "", err
	}
	return attempt.Predicates.Code(r), strings.Join(attempt.Predicates.Reasons(r, slot), ", "), nil
}

// prioritize scores the nodes of the request, from 0 to highest: the weighted mean of the profile's normalized scores. The
// scores are normalized over these nodes, which kube-scheduler found feasible. Unknown nodes get 0.
func (w *world) prioritize(a *extenderv1.ExtenderArgs, highest int64) (extenderv1.HostPriorityList, error) {
	plan, err := w.plan(a.Pod)
	if err != nil {
		return nil, err
	}
	names, err := w.asked(a)
	if err != nil {
		return nil, err
	}
	list := make(extenderv1.HostPriorityList, len(names))
	var slots, at []int
	for k, name := range names {
		list[k].Host = name
		if slot := w.snapshot.Slot(name); slot >= 0 {
			slots, at = append(slots, slot), append(at, k)
		}
	}
	columns, _, err := plan.Prepare(a.Pod).Scores(slots)
	if err != nil {
		return nil, err
	}
	best := int64(0)
	for _, c := range columns {
		best += c.Weight * 100
	}
	if best == 0 {
		return list, nil
	}
	for k := range slots {
		sum := int64(0)
		for _, c := range columns {
			sum += c.Scores[k] * c.Weight
		}
		list[at[k]].Score = (max(sum, 0)*highest + best/2) / best
	}
	return list, nil
}

// preempt checks the victims that kube-scheduler chose, node by node:
//
//  1. If the filters accept the pod without the victims, the node keeps its victims.
//  2. Otherwise the pods that podberth would evict are added. If that does not help, the node is left out.
//  3. If the input lacks a victim, the scheduler knows a newer state of the node than the input: the node keeps its
//     victims.
//
// A victim that is named twice leaves once, and the answer names it once. A null victim is an error.
func (w *world) preempt(a *extenderv1.ExtenderPreemptionArgs) (*extenderv1.ExtenderPreemptionResult, error) {
	plan, err := w.plan(a.Pod)
	if err != nil {
		return nil, err
	}
	result := &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	attempt := plan.Prepare(a.Pod)
	if attempt.Rejected() && attempt.Pre.Code != filter.Unschedulable {
		return result, nil // no victim on the node can help
	}
	asked, err := metaVictims(a)
	if err != nil {
		return nil, err
	}
	for name, meta := range asked {
		slot := w.snapshot.Slot(name)
		if slot < 0 {
			continue
		}
		victims, known := w.known(slot, meta)
		if !known {
			result.NodeNameToMetaVictims[name] = meta
			continue
		}
		if w.fitsWithout(attempt, slot, victims) {
			result.NodeNameToMetaVictims[name] = meta
			continue
		}
		more := w.search(attempt, a.Pod, slot)
		if more == nil {
			continue
		}
		for _, v := range more.Victims {
			if !slices.Contains(victims, v.Pod) {
				victims = append(victims, v.Pod)
			}
		}
		if w.fitsWithout(attempt, slot, victims) {
			result.NodeNameToMetaVictims[name] = metaOf(victims, max(meta.NumPDBViolations, more.Violations))
		}
	}
	return result, nil
}

// metaVictims returns the victims of a request by UID, each once, from either form of the request. It leaves out a node
// without a list of victims.
func metaVictims(a *extenderv1.ExtenderPreemptionArgs) (map[string]*extenderv1.MetaVictims, error) {
	out := map[string]*extenderv1.MetaVictims{}
	for name, m := range a.NodeNameToMetaVictims {
		if m == nil {
			continue
		}
		v := &extenderv1.MetaVictims{NumPDBViolations: m.NumPDBViolations}
		for k, p := range m.Pods {
			if p == nil {
				return nil, badRequest{field.Required(field.NewPath("NodeNameToMetaVictims").Key(name).Child("Pods").Index(k), "")}
			}
			addVictim(v, p.UID)
		}
		out[name] = v
	}
	for name, v := range a.NodeNameToVictims {
		if v == nil {
			continue
		}
		if k := slices.Index(v.Pods, nil); k >= 0 {
			return nil, badRequest{field.Required(field.NewPath("NodeNameToVictims").Key(name).Child("Pods").Index(k), "")}
		}
		out[name] = metaOf(v.Pods, v.NumPDBViolations)
	}
	return out, nil
}

// addVictim adds a victim that v does not have yet.
func addVictim(v *extenderv1.MetaVictims, uid string) {
	if !slices.ContainsFunc(v.Pods, func(p *extenderv1.MetaPod) bool { return p.UID == uid }) {
		v.Pods = append(v.Pods, &extenderv1.MetaPod{UID: uid})
	}
}

func metaOf(pods []*v1.Pod, violations int64) *extenderv1.MetaVictims {
	m := &extenderv1.MetaVictims{NumPDBViolations: violations}
	for _, p := range pods {
		addVictim(m, string(p.UID))
	}
	return m
}

// known returns the victims on a slot, and reports whether all of them are there.
func (w *world) known(slot int, m *extenderv1.MetaVictims) (victims []*v1.Pod, all bool) {
	for _, v := range m.Pods {
		found := false
		for p := range w.snapshot.Pods(slot) {
			if string(p.UID) == v.UID {
				victims, found = append(victims, p), true
				break
			}
		}
		if !found {
			return nil, false
		}
	}
	return victims, true
}

// fitsWithout reports whether the filters accept the pod without the victims.
func (w *world) fitsWithout(attempt *placement.Attempt, slot int, victims []*v1.Pod) bool {
	what := attempt.WhatIf(w.options())
	for _, p := range victims {
		what.Remove(p, slot)
	}
	return what.Check(slot).Verdict == 0
}

// search returns podberth's own victims on one node, nil when there are none.
func (w *world) search(attempt *placement.Attempt, pod *v1.Pod, slot int) *preemption.Candidate {
	rejections := make([]preemption.Rejection, w.snapshot.Len())
	if attempt.Rejections(nil, w.options())[slot] != preemption.Resolvable {
		return nil
	}
	rejections[slot] = preemption.Resolvable
	preemptor := pod.DeepCopy()
	preemptor.Status.NominatedNodeName = "" // the caller has checked already that the pod may preempt
	r := preemption.Preempt(preemption.Request{
		Pod: preemptor, Cluster: w.snapshot, WhatIf: attempt.WhatIf(w.options()), Rejections: rejections, Budgets: w.budgets, Now: time.Now(),
	})
	if r.Outcome != preemption.Success {
		return nil
	}
	return &r.Candidate
}
