package extender

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// Each verb refuses a request without a pod by itself, whatever has looked at the request before.
func TestVerbsNeedAPod(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	_, err := w.filter(&extenderv1.ExtenderArgs{NodeNames: &all})
	require.ErrorAs(t, err, new(badRequest))
	_, err = w.prioritize(&extenderv1.ExtenderArgs{NodeNames: &all}, 10)
	require.ErrorAs(t, err, new(badRequest))
	_, err = w.preempt(&extenderv1.ExtenderPreemptionArgs{})
	require.ErrorAs(t, err, new(badRequest))
}

// Only pods that wait keep room on their nominated node. A pod that runs may still have its old nomination.
func TestNominationOfRunningPod(t *testing.T) {
	const text = `
{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: node-2}, status: {allocatable: {cpu: "4", pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: moved, namespace: shop, uid: moved}, spec: {nodeName: node-2, priority: 100, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}, status: {nominatedNodeName: node-1}}
`
	s, err := New(input(t, text), nil, Options{})
	require.NoError(t, err)
	got, err := s.world().filter(&extenderv1.ExtenderArgs{Pod: podAsking("2"), NodeNames: &[]string{"node-1", "node-2"}})
	require.NoError(t, err)
	require.Equal(t, []string{"node-1"}, *got.NodeNames)
}

// failing fails on each node but the first.
type failing struct{}

func (failing) Name() string { return "Failing" }

func (failing) Check(i int) resources.Verdict { return resources.Verdict(min(i, 1)) }

func (failing) Code(resources.Verdict) filter.Code { return filter.Error }

func (failing) Reasons(resources.Verdict) []string { return []string{"no answer"} }

// A filter that fails on a node that was asked about is an error of the answer. Other nodes do not matter.
func TestFilterFails(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	plan, err := placement.New(w.snapshot, placement.Profile{SchedulerName: "s", Filters: []*placement.Plugin{{
		Name: "Failing", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
			return placement.PreFiltered{Predicate: failing{}}
		},
	}}})
	require.NoError(t, err)
	w.plans = map[string]*placement.Plan{"": plan}
	got, err := w.filter(&extenderv1.ExtenderArgs{Pod: podAsking("1"), NodeNames: &[]string{"node-1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"node-1"}, *got.NodeNames)
	got, err = w.filter(&extenderv1.ExtenderArgs{Pod: podAsking("1"), NodeNames: &[]string{"node-1", "node-2"}})
	require.NoError(t, err)
	require.Equal(t, &extenderv1.ExtenderFilterResult{Error: `running "Failing" filter plugin: no answer`}, got)
}

// Victims are passed on when the pod is rejected for a reason that they may end, and not when no victim can help. Here the input does
// not know the victim.
func TestPreemptOfRejectedPod(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	victims := map[string]*extenderv1.MetaVictims{"node-1": {Pods: []*extenderv1.MetaPod{{UID: "young"}}}}
	for code, want := range map[filter.Code]map[string]*extenderv1.MetaVictims{
		filter.Unschedulable: victims, filter.UnschedulableAndUnresolvable: {},
	} {
		plan, err := placement.New(w.snapshot, placement.Profile{SchedulerName: "s", Filters: []*placement.Plugin{{
			Name: "Refusing", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
				return placement.PreFiltered{Code: code, Reasons: []string{"no"}}
			},
		}}})
		require.NoError(t, err)
		w.plans = map[string]*placement.Plan{"": plan}
		got, err := w.preempt(&extenderv1.ExtenderPreemptionArgs{Pod: podAsking("1"), NodeNameToMetaVictims: victims})
		require.NoError(t, err)
		require.Equal(t, &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: want}, got, code)
	}
}

// A limit of one node is a limit.
func TestOneNode(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	w.shared.limit = 1
	require.NoError(t, w.learn(&extenderv1.ExtenderArgs{Pod: podAsking("1"), NodeNames: &[]string{"node-1"}}))
	require.ErrorAs(t, w.learn(&extenderv1.ExtenderArgs{Pod: podAsking("1"), NodeNames: &[]string{"node-1", "node-2"}}), new(badRequest))
}

// The error of a profile names the profile.
func TestProfileWithoutPlan(t *testing.T) {
	s, _ := start(t, nil)
	_, err := plansOf(s.world().snapshot, map[string]placement.Profile{"s": {SchedulerName: "s", Filters: []*placement.Plugin{nil}}})
	require.ErrorContains(t, err, "profile s: ")
}

// Without a configuration the default profile decides about the pods of every scheduler name.
func TestAnySchedulerName(t *testing.T) {
	s, _ := start(t, nil)
	pod := podAsking("1")
	pod.Spec.SchedulerName = "other"
	got, err := s.world().filter(&extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"node-1", "node-2"}})
	require.NoError(t, err)
	require.Equal(t, []string{"node-1"}, *got.NodeNames)
}

// A score that fails is an error of the answer.
func TestScoreFails(t *testing.T) {
	s, _ := start(t, nil)
	w := s.world()
	plan, err := placement.New(w.snapshot, placement.Profile{SchedulerName: "s", Scores: []placement.Weighted{{Weight: 1, Plugin: &placement.Plugin{
		Name: "Failing", Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) { return nil, errors.New("no score") },
	}}}})
	require.NoError(t, err)
	w.plans = map[string]*placement.Plan{"": plan}
	_, err = w.prioritize(&extenderv1.ExtenderArgs{Pod: podAsking("1"), NodeNames: &[]string{"node-1"}}, 10)
	require.ErrorContains(t, err, "no score")
}
