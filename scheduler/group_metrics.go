package scheduler

import (
	"time"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// This file measures attempts to schedule trees of groups, and the preemptions of a scheduler that knows groups (rule PG7.7).

// Names of the metrics that are measured with Options.Groups alone: of preemptions, and of groups.
const (
	PreemptionEvaluationDuration = "scheduler_preemption_evaluation_duration_seconds"
	PreemptionExecutionDuration  = "scheduler_preemption_execution_duration_seconds"
	PreemptionBudgetViolations   = "scheduler_preemption_pdb_violations_total"
	PreemptionGroupDisruptions   = "scheduler_preemption_workload_disruptions"
	GroupPreemptionAttempts      = "scheduler_workload_preemption_attempts_total"
	GroupPreemptionVictims       = "scheduler_workload_preemption_victims"
	GroupAttempts                = "scheduler_podgroup_schedule_attempts_total"
	GroupAttemptDuration         = "scheduler_podgroup_scheduling_attempt_duration_seconds"
	GroupAlgorithmDuration       = "scheduler_podgroup_scheduling_algorithm_duration_seconds"
	GeneratedPlacements          = "scheduler_generated_placements_total"
	PlacementEvaluations         = "scheduler_placement_evaluations_total"
	PlacementEvaluationDuration  = "scheduler_placement_evaluation_duration_seconds"
)

func groupMetrics() []Metric {
	slow, many := buckets(0.001, 2, 15), buckets(1, 2, 11)
	return []Metric{
		{PreemptionEvaluationDuration, "Duration in seconds of the search for victims.", Histogram, []string{"preemptor", "result"}, buckets(0.001, 2, 16), true},
		{PreemptionExecutionDuration, "Duration in seconds of deleting the victims of a preemption.", Histogram, []string{"preemptor", "result"}, buckets(0.001, 2, 16), true},
		{PreemptionBudgetViolations, "Number of victims that break a disruption budget.", Counter, []string{"preemptor"}, nil, true},
		{PreemptionGroupDisruptions, "Number of units of groups that leave for a group.", Histogram, []string{"preemptor"}, many, true},
		{GroupPreemptionAttempts, "Number of preemptions of groups, by the result.", Counter, []string{"result"}, nil, true},
		{GroupPreemptionVictims, "Number of victims of a group.", Histogram, nil, many, true},
		{GroupAttempts, "Number of attempts to schedule a tree of groups, by the result.", Counter, []string{"profile", "result"}, nil, true},
		{GroupAttemptDuration, "Duration in seconds of an attempt to schedule a tree of groups.", Histogram, []string{"profile", "result"}, slow, true},
		{GroupAlgorithmDuration, "Duration in seconds of the decision about a tree of groups.", Histogram, nil, slow, true},
		{GeneratedPlacements, "Number of placements that groups were given.", Counter, []string{"profile"}, nil, true},
		{PlacementEvaluations, "Number of placements of groups that were evaluated, by the result.", Counter, []string{"profile", "result"}, nil, true},
		{PlacementEvaluationDuration, "Duration in seconds of the evaluation of a placement of a group.", Histogram, []string{"profile", "result"}, slow, true},
	}
}

// Types of queued entries, and of those for which pods leave.
const (
	typePod      = "pod"
	typePodGroup = "podgroup"
)

// entities sets the gauges of the queued entries of a type.
func (s *Scheduler) entities(c queue.Counts, kind string) {
	s.gauge(QueuedEntities, float64(c.Active), "active", kind)
	s.gauge(QueuedEntities, float64(c.Backoff), "backoff", kind)
	s.gauge(QueuedEntities, float64(c.Gated), "gated", kind)
	if kind == typePod { // a tree never waits for events
		s.gauge(QueuedEntities, float64(c.Unschedulable), "unschedulable", kind)
	}
}

// begin measures a part of the decision.
func (g *groupAttempt) begin(step placement.GroupStep) (end func(Code)) {
	s, began := g.s, g.s.clock.Now()
	return func(code Code) {
		took := s.clock.Now().Sub(began).Seconds()
		switch step {
		case placement.MemberStep:
			s.observe(AlgorithmDuration, took)
		case placement.PlacementStep:
			result := "infeasible"
			if code == Success {
				result = "feasible"
			}
			s.count(PlacementEvaluations, g.f.name, result)
			s.observe(PlacementEvaluationDuration, took, g.f.name, result)
		case placement.PreemptionStep:
			s.observe(PreemptionEvaluationDuration, took, typePodGroup, code.String())
		}
	}
}

// decided measures a decision that began at that time. Members that disagree, and those that all are being deleted, are no decision.
func (g *groupAttempt) decided(d *placement.GroupDecision, began time.Time) {
	s := g.s
	if !s.measures() || d.Err != nil || d.Code == Skip {
		return
	}
	s.observe(GroupAlgorithmDuration, s.clock.Now().Sub(began).Seconds())
	s.add(GeneratedPlacements, float64(d.Placements), g.f.name)
	p := d.Preemption
	if p == nil {
		return
	}
	s.count(GroupPreemptionAttempts, p.Code.String())
	if p.Code != Success || p.Ongoing {
		return
	}
	s.observe(GroupPreemptionVictims, float64(len(d.Victims)))
	s.violated(typePodGroup, p.Violations)
	if p.Groups > 0 {
		s.observe(PreemptionGroupDisruptions, float64(p.Groups), typePodGroup)
	}
}

// violated counts the victims that break a budget.
func (s *Scheduler) violated(preemptor string, victims int) {
	if s.groups != nil && victims > 0 {
		s.add(PreemptionBudgetViolations, float64(victims), preemptor)
	}
}

// attempted measures the whole attempt.
func (g *groupAttempt) attempted(d *placement.GroupDecision) {
	if d.Err != nil || d.Code == Skip {
		return
	}
	result := "unschedulable"
	switch {
	case d.Groups[0].Reason == podgroup.ReasonSchedulerError: // then it is that of all
		result = "error"
	case d.Code == Success:
		result = "scheduled"
	case d.Waiting:
		result = "waiting_on_preemption"
	}
	s := g.s
	s.count(GroupAttempts, g.f.name, result)
	s.observe(GroupAttemptDuration, s.clock.Now().Sub(g.began).Seconds(), g.f.name, result)
}

// evaluated measures the search for the victims of a pod.
func (s *Scheduler) evaluated(began time.Time, code Code) {
	if s.groups != nil && s.measures() {
		s.observe(PreemptionEvaluationDuration, s.clock.Now().Sub(began).Seconds(), typePod, code.String())
	}
}

// executed measures the deletion of victims.
func (s *Scheduler) executed(preemptor, result string, began time.Time) {
	took := s.clock.Now().Sub(began).Seconds()
	if s.groups != nil {
		s.observe(PreemptionExecutionDuration, took, preemptor, result)
	}
	s.count(PreemptionTasks, result)
	s.observe(PreemptionTaskDuration, took, result)
}
