package place

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/internal/must"
)

// asked is a pod and a cluster, with the nominated pods for which the pod must leave room there, as in an attempt.
type asked struct {
	pod     *v1.Pod
	cluster *cluster.Snapshot
	profile placement.Profile
	plan    *placement.Plan
	options placement.Options // for plan
	waiting []*v1.Pod         // the other pods of the scheduler

	nominated map[int][]*v1.Pod // by slot, the pods that count
	with      *cluster.Snapshot // the cluster with these pods on their nodes
	// rejections are, by node, of the nodes with such pods that reject the pod. full are those of the nodes that would take the
	// pod without the nominated pods. scored is the profile with full as a filter, and tabled is its plan.
	rejections map[string][]placement.Rejection
	full       keptNodes
	scored     placement.Profile
	tabled     *placement.Plan
}

// asks prepares the question where a pod can go. The first profile takes the place of a profile that is not there. The error says
// that there is no plan of the profile.
func (x *simulation) asks(pod *v1.Pod, c *cluster.Snapshot) (q *asked, err error) {
	defer must.Catch(&err)
	profile := x.profile(pod)
	plan := must.Get(placement.New(c, profile))
	q = &asked{pod: pod, cluster: c, profile: profile, plan: plan, with: c, scored: profile, tabled: plan, nominated: map[int][]*v1.Pod{}, waiting: x.w.beside(pod)}
	for slot := range c.Len() {
		if n := c.Node(slot); n != nil {
			if pods := filter.Nominated(pod, x.w.s.Queue().NominatedFor(n.Name)); len(pods) > 0 {
				q.nominated[slot] = pods
			}
		}
	}
	if len(q.nominated) > 0 {
		q.options.Nominated = func(slot int) []*v1.Pod { return q.nominated[slot] }
		q.keepRoom()
	}
	return q, nil
}

// keepRoom finds the nodes that reject the pod when the nominated pods are there.
func (q *asked) keepRoom() {
	q.with = q.cluster.Fork()
	for slot, pods := range q.nominated {
		for _, p := range pods {
			must.Do(q.with.Assume(p, slot))
		}
	}
	profile := q.profile
	profile.Volumes, profile.Devices = nil, nil // those of the profile follow the other cluster
	with := must.Get(placement.New(q.with, profile))
	attempt := q.plan.Prepare(q.pod)
	if attempt.Rejected() {
		return
	}
	q.rejections = map[string][]placement.Rejection{}
	q.full = keptNodes{}
	verdicts := attempt.Verdicts(nil, q.options)
	for slot := range q.nominated {
		r := verdicts[slot]
		if r.Verdict == 0 || r == placement.NotAsked() {
			continue
		}
		ps := attempt.Predicates
		alone, list := q.plan.Rejections(q.pod, slot), with.Rejections(q.pod, slot)
		if first := ps[r.Predicate].Name(); len(list) == 0 || list[0].Plugin != first {
			list = slices.Concat([]placement.Rejection{{Plugin: first, Code: ps.Code(r).String(), Reasons: ps.Reasons(r, slot)}}, alone)
		}
		q.rejections[q.cluster.Node(slot).Name] = list
		if len(alone) == 0 {
			q.full[slot] = true
		}
	}
	kept := &placement.Plugin{Name: q.full.Name(), Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Predicate: q.full}
	}}
	q.scored.Filters = slices.Concat(q.profile.Filters, []*placement.Plugin{kept})
	q.tabled = must.Get(placement.New(q.cluster, q.scored))
}

// table returns what every plugin says about every node, and the scores of the nodes that can take the pod.
func (q *asked) table() ([]placement.NodeReport, error) {
	table, err := q.tabled.Table(q.pod)
	for k, n := range table {
		if list := q.rejections[n.Node]; len(list) > 0 {
			table[k].Rejections = list
		}
	}
	return table, err
}

// stays is the cost of changes that would let the pod in. Nominated pods cannot leave nodes, because they are not there yet.
func (q *asked) stays(c diagnose.Change) int64 {
	for _, l := range c.Leaving {
		for _, pods := range q.nominated {
			if slices.ContainsFunc(pods, func(p *v1.Pod) bool { return key(p) == l.Pod }) {
				return -1
			}
		}
	}
	return diagnose.DefaultCost(c)
}

// keptNodes is the filter that rejects the slots of nodes whose room is kept for nominated pods.
type keptNodes map[int]bool

func (keptNodes) Name() string { return "NominatedPods" }

func (k keptNodes) Check(slot int) resources.Verdict {
	if k[slot] {
		return 1
	}
	return 0
}

func (keptNodes) Reasons(resources.Verdict) []string {
	return []string{"node(s) kept for nominated pods"}
}

// kept says for which pods room is kept on nodes that would take the pod otherwise.
func (q *asked) kept() (out []string) {
	for _, slot := range slices.Sorted(maps.Keys(q.full)) {
		for _, p := range q.nominated[slot] {
			out = append(out, fmt.Sprintf("%s on %s", key(p), q.cluster.Node(slot).Name))
		}
	}
	return out
}

// cause returns why the pod waits.
func (q *asked) cause() *diagnose.Cause {
	plan := q.plan
	if q.with != q.cluster {
		profile := q.profile
		profile.Volumes, profile.Devices = nil, nil
		plan = must.Get(placement.New(q.with, profile))
	}
	return diagnose.CauseOf(plan, q.with, q.pod, q.waiting...)
}
