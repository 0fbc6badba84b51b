package mcp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/lint"
	"github.com/podberth/podberth/tools/place"
)

// overviewAnswer is the answer of overview.
type overviewAnswer struct {
	Nodes     int          `json:"nodes"`
	Pods      int          `json:"pods"`
	Scheduled int          `json:"scheduled"` // waiting pods that get a node when the scheduler tries them
	Stay      int          `json:"stay"`      // waiting pods that do not
	Victims   int          `json:"victims"`   // pods that give way to them
	Pending   []stay       `json:"pending"`   // those that stay, by equal reason, the most first
	Budgets   []zeroBudget `json:"budgets"`   // that allow no eviction now
	Lint      lintSummary  `json:"lint"`
	Findings  []finding    `json:"findings"` // errors and warnings by rule
}

type stay struct {
	Outcome  string   `json:"outcome"`
	Reason   string   `json:"reason"`
	Pods     int      `json:"pods"`
	Examples []string `json:"examples"`
}

type zeroBudget struct {
	Budget     string `json:"budget"`
	Arithmetic string `json:"arithmetic"`
}

type lintSummary struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
}

type finding struct {
	Rule     string   `json:"rule"`
	Severity string   `json:"severity"`
	Objects  int      `json:"objects"`
	Examples []string `json:"examples"`
	Why      string   `json:"why"` // of the first
	Fix      string   `json:"fix"` // of the first
}

// overview answers overview with the commands place and lint, side by side.
func overview(q *question, in *input) (reply, error) {
	var only []string
	if in.Namespace != "" {
		only = []string{"-n=" + in.Namespace}
	}
	var report struct {
		Summary  lintSummary
		Findings []struct{ Rule, Severity, Object, Explanation, Fix string }
	}
	linter := &question{asker: q.asker, ctx: q.ctx, snapshot: q.snapshot}
	var bad error
	var wait sync.WaitGroup
	wait.Go(func() { bad = linter.run("lint", lint.Run, q.snapshot.in, &report, only...) })
	var placed struct {
		Summary struct{ Scheduled, Victims int }
		Pods    []struct{ Pod, Outcome, Node, Message string }
	}
	err := q.run("place", place.Run, q.snapshot.in, &placed, only...)
	a := overviewAnswer{Pending: []stay{}, Budgets: []zeroBudget{}, Findings: []finding{}, Nodes: len(q.snapshot.objects.Nodes), Scheduled: placed.Summary.Scheduled, Victims: placed.Summary.Victims}
	a.budgets(q.snapshot.objects, in.Namespace)
	wait.Wait()
	if err := cmp.Or(err, bad); err != nil {
		return reply{}, err
	}
	q.warnings = append(q.warnings, linter.warnings...)
	for _, p := range q.snapshot.objects.Pods {
		if in.Namespace == "" || p.Namespace == in.Namespace {
			a.Pods++
		}
	}
	at := map[[2]string]int{}
	for _, p := range placed.Pods {
		if p.Node != "" {
			continue
		}
		a.Stay++
		key := [2]string{p.Outcome, strings.ReplaceAll(p.Message, p.Pod[strings.Index(p.Pod, "/")+1:], "POD")}
		k, is := at[key]
		if !is {
			k = len(a.Pending)
			at[key] = k
			a.Pending = append(a.Pending, stay{Outcome: p.Outcome, Reason: key[1], Examples: []string{}})
		}
		g := &a.Pending[k]
		if g.Pods++; len(g.Examples) < mostExamples {
			g.Examples = append(g.Examples, p.Pod)
		}
	}
	slices.SortStableFunc(a.Pending, func(x, y stay) int { return cmp.Compare(y.Pods, x.Pods) })
	a.Lint = report.Summary
	rules := map[string]int{}
	for _, f := range report.Findings {
		if f.Severity == "info" {
			continue
		}
		k, is := rules[f.Rule]
		if !is {
			k = len(a.Findings)
			rules[f.Rule] = k
			a.Findings = append(a.Findings, finding{Rule: f.Rule, Severity: f.Severity, Examples: []string{}, Why: f.Explanation, Fix: f.Fix})
		}
		g := &a.Findings[k]
		if g.Objects++; len(g.Examples) < mostExamples {
			g.Examples = append(g.Examples, f.Object)
		}
	}
	slices.SortStableFunc(a.Findings, func(x, y finding) int {
		return cmp.Or(strings.Compare(x.Severity, y.Severity), cmp.Compare(y.Objects, x.Objects))
	})
	lines := []string{fmt.Sprintf("%d nodes, %d pods; %d waiting pods get a node, %d stay; %d budgets allow no eviction; lint: %d errors, %d warnings.", a.Nodes, a.Pods, a.Scheduled, a.Stay, len(a.Budgets), a.Lint.Errors, a.Lint.Warnings)}
	for _, g := range a.Pending {
		lines = append(lines, fmt.Sprintf("%d stay (%s and others): %s", g.Pods, g.Examples[0], g.Reason))
	}
	return reply{a, lines}, nil
}

// budgets lists the budgets that allow no eviction, as the disruption controller counts them; those without pods are left out.
func (a *overviewAnswer) budgets(o *dump.Objects, namespace string) {
	list := slices.DeleteFunc(slices.Clone(o.PodDisruptionBudgets), func(b *policyv1.PodDisruptionBudget) bool { return namespace != "" && b.Namespace != namespace })
	synced := disruption.NewEvictions(list).Sync(o.Pods, disruption.NewScale(o.Workloads()), latest(o))
	for k, b := range list {
		s := synced[k].Status
		switch err := synced[k].Err; {
		case err != nil:
			a.Budgets = append(a.Budgets, zeroBudget{b.Namespace + "/" + b.Name, "its sync fails: " + err.Error()})
		case s.DisruptionsAllowed == 0 && s.ExpectedPods > 0:
			a.Budgets = append(a.Budgets, zeroBudget{b.Namespace + "/" + b.Name, fmt.Sprintf("%d healthy of %d expected, %d needed", s.CurrentHealthy, s.ExpectedPods, s.DesiredHealthy)})
		}
	}
}
