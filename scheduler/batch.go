package scheduler

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/placement"
)

// This file is opportunistic batching. When equal pods come one after the other and each pod fills a node, the next pod
// is tried on the next best node of the first pod's ranking, instead of on all nodes. Pods are equal if their
// signatures are equal; every plugin writes a part of the signature. With the default arguments of PodTopologySpread no
// pod has a signature, because the default constraints count pods everywhere.

// batchAge is how long a ranking is good for.
const batchAge = 500 * time.Millisecond

// batch is what a profile keeps of its last success.
type batch struct {
	cycle  uint64
	chosen string // node
	// The ranking: nodes that can take pods of the signature, the best first, without those that were chosen already.
	signature string
	ranking   []string
	made      time.Time
}

// next takes the best node that is left, or returns why the ranking is of no use. Without a ranking next returns
// neither. nominated says that the pod gets no hint because of its nomination. full reports whether a node has no room for
// the pod, and whether the node exists.
func (b *batch) next(signature string, nominated bool, cycle uint64, now time.Time, full func(node string) (full, found bool)) (node, reason string) {
	if len(b.ranking) == 0 {
		return "", ""
	}
	switch {
	case b.cycle+1 != cycle:
		return "", "pod_skipped"
	case nominated:
		return "", "pod_nominated"
	case signature != b.signature:
		return "", "pod_incompatible"
	case now.Sub(b.made) >= batchAge:
		return "", "expired"
	}
	switch full, found := full(b.chosen); {
	case !found:
		return "", "node_missing"
	case !full:
		return "", "node_not_full"
	}
	node, b.ranking = b.ranking[0], b.ranking[1:]
	return node, ""
}

// nodeHint returns the node to try first and alone, "" for none.
func (f *Framework) nodeHint(a *attempt, full func(node string) (full, found bool)) string {
	s := f.s
	if !s.o.batches() {
		return ""
	}
	nominated := a.pod.Status.NominatedNodeName != "" && !s.o.hintsNominated()
	node, reason := f.batch.next(a.signature, nominated, s.attempts.Load(), s.clock.Now(), full)
	if reason != "" {
		s.count(BatchCacheFlushed, f.name, reason)
	}
	if node == "" {
		s.count(BatchAttempts, f.name, "no_hint")
	}
	a.hinted = node
	return node
}

// keep records the node found. A ranking whose hint was followed stays; any other ranking is replaced.
func (f *Framework) keep(a *attempt, node string) {
	s, b := f.s, &f.batch
	b.cycle, b.chosen = s.attempts.Load(), node
	if a.hinted == node {
		s.count(BatchAttempts, f.name, "hint_used")
		return
	}
	if a.hinted != "" {
		s.count(BatchAttempts, f.name, "hint_not_used")
	}
	b.signature, b.ranking, b.made = a.signature, a.ranking, s.clock.Now()
	if a.result.Feasible == 1 {
		s.count(BatchCacheFlushed, f.name, "empty_list")
	} else if a.signature == "" {
		s.count(BatchCacheFlushed, f.name, "pod_not_batchable")
	}
}

// ranked returns all nodes except the chosen node, the highest total first. Nodes of equal total keep the order in
// which they were found.
func ranked(names []string, totals []int64, chosen int) []string {
	order := make([]int, 0, len(names))
	for k := range names {
		if k != chosen {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(totals[j], totals[i]) })
	out := make([]string, len(order))
	for k, i := range order {
		out[k] = names[i]
	}
	return out
}

// planHint does what nodeHint does, for a profile with a plan.
func (s *Scheduler) planHint(a *attempt) string {
	p := a.f.plan.Prepare(a.pod)
	if p.Rejected() {
		return ""
	}
	return a.f.nodeHint(a, func(node string) (full, found bool) {
		i, found := a.f.plan.Slot(node)
		return found && p.Predicates.First(i).Verdict != 0, found
	})
}

// withHint returns a copy of the pod that is nominated to the hinted node. A pod that is nominated already is returned
// as it is.
func withHint(pod *v1.Pod, hint string) *v1.Pod {
	if hint == "" || pod.Status.NominatedNodeName != "" {
		return pod
	}
	c := *pod
	c.Status.NominatedNodeName = hint
	return &c
}

// planRanking ranks the nodes that a plan's decision had to choose among.
func (s *Scheduler) planRanking(a *attempt, pod *v1.Pod, o placement.Options, chosen int) {
	p := a.f.plan.Prepare(pod)
	slots := p.Search(o).Feasible
	_, totals, err := p.Scores(slots)
	if err != nil {
		s.report(err)
		return
	}
	names := make([]string, len(slots))
	for k, i := range slots {
		names[k] = s.snapshot.Node(i).Name
	}
	a.ranking = ranked(names, totals, slices.Index(slots, chosen))
}
