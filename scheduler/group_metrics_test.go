package scheduler

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit/situation"
)

// The metrics of groups: a gang in zones that fits, one that preempts a group against a budget, one that waits for its group, and one whose
// members disagree, which is no attempt (PG7.7). conformance/podgroup compares their values with v1.37.2's.
func TestGroupMetrics(t *testing.T) {
	play := func(text string) func(name string, labels ...string) float64 {
		s, err := situation.Parse(text)
		require.NoError(t, err)
		registry := prometheus.NewRegistry()
		metrics, err := NewPrometheusMetrics(registry)
		require.NoError(t, err)
		r := playGroups(t, s, Options{Groups: &s.Gates, Metrics: metrics})
		r.play(0)
		r.s.Gauges()
		return func(name string, labels ...string) float64 { return value(t, registry, name, labels...) }
	}
	const profile = "profile=default-scheduler"

	of := play("gates=T; node n1:1 zone=a; node n2:2 zone=b; group g gang2 key=zone; pod a,b:1 in=g")
	require.Equal(t, 1.0, of(GroupAttempts, profile, "result=scheduled"))
	require.Equal(t, 1.0, of(GroupAttemptDuration, profile, "result=scheduled"))
	require.Equal(t, 1.0, of(GroupAlgorithmDuration))
	require.Equal(t, 2.0, of(GeneratedPlacements, profile))
	require.Equal(t, 1.0, of(PlacementEvaluations, profile, "result=feasible"))
	require.Equal(t, 1.0, of(PlacementEvaluations, profile, "result=infeasible"))
	require.Equal(t, 1.0, of(PlacementEvaluationDuration, profile, "result=feasible"))
	require.Equal(t, 4.0, of(AlgorithmDuration), "one for each member that was tried")

	of = play("node n1:2; budget p label=app=x allowed=1; group low gang2 ^1 all; pod v,w:1 in=low on=n1 ^1 label=app=x; group g gang2 ^10; pod a,b:1 in=g ^10")
	require.Equal(t, 1.0, of(GroupAttempts, profile, "result=waiting_on_preemption"))
	require.Equal(t, 1.0, of(GroupPreemptionAttempts, "result=Success"))
	require.Equal(t, 1.0, of(GroupPreemptionVictims))
	require.Equal(t, 1.0, of(PreemptionGroupDisruptions, "preemptor=podgroup"))
	require.Equal(t, 1.0, of(PreemptionBudgetViolations, "preemptor=podgroup"))
	require.Equal(t, 1.0, of(PreemptionEvaluationDuration, "preemptor=podgroup", "result=Success"))
	require.Equal(t, 1.0, of(PreemptionExecutionDuration, "preemptor=podgroup", "result=success"))
	require.Equal(t, 1.0, of(PreemptionTasks, "result=success"))

	of = play("node n1:2; pod v:2 on=n1 ^1; pod a:1 ^10")
	require.Equal(t, 1.0, of(PreemptionEvaluationDuration, "preemptor=pod", "result=Success"))
	require.Equal(t, 1.0, of(PreemptionExecutionDuration, "preemptor=pod", "result=success"))

	of = play("node n1:2; pod a,b:1 in=g; group h gang3; pod c,d:1 in=h; pod e:5")
	require.Equal(t, 2.0, of(PendingPods, "queue=incomplete"))
	require.Equal(t, 2.0, of(PendingPods, "queue=gated"))
	require.Equal(t, 1.0, of(QueuedEntities, "queue=gated", "type=podgroup"))
	require.Equal(t, 0.0, of(QueuedEntities, "queue=gated", "type=pod"))
	require.Equal(t, 1.0, of(QueuedEntities, "queue=unschedulable", "type=pod"))

	of = play("node n1:2; group g gang2 ^5; pod a,b:1 in=g ^7")
	require.Equal(t, 2.0, of(QueueIncomingPods, "event=ScheduleAttemptFailure", "queue=backoff"), "both members")
}
