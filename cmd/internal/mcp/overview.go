package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/lint"
	"github.com/podberth/podberth/tools/place"
	"github.com/podberth/podberth/tools/report"
)

// overviewAnswer is the answer of overview.
type overviewAnswer struct {
	Nodes     int          `json:"nodes"`
	Pods      int          `json:"pods"`
	Waiting   int          `json:"waiting"`   // pods without a node
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

// decided is what program place says about all pods.
type decided struct {
	Summary struct{ Scheduled, Victims int }
	Pods    []struct{ Pod, Outcome, Node, Message string }
}

// linted is what program lint says.
type linted struct {
	Summary  lintSummary
	Findings []struct{ Rule, Severity, Object, Explanation, Fix string }
}

// overview answers overview with the commands place and lint, side by side.
func overview(q *question, in *input) (reply, error) {
	var only []string
	if in.Namespace != "" {
		if !q.has(in.Namespace) {
			return reply{}, fmt.Errorf("namespace: Not found: %q: no object of that namespace", in.Namespace)
		}
		only = []string{"-n=" + in.Namespace}
	}
	placed := begin[decided](q, "place", place.Run, only...)
	found := begin[linted](q, "lint", lint.Run, only...)
	a := overviewAnswer{Pending: []stay{}, Budgets: []zeroBudget{}, Findings: []finding{}, Nodes: len(q.snapshot.objects.Nodes)}
	for _, p := range q.snapshot.objects.Pods {
		if in.Namespace == "" || p.Namespace == in.Namespace {
			a.Pods++
			if dump.Pending(p) {
				a.Waiting++
			}
		}
	}
	a.budgets(q.snapshot.objects, in.Namespace)
	d, err := placed.end(q, "no time to decide where the waiting pods go: ask why_pod about one of them")
	if err != nil {
		return reply{}, err
	}
	a.place(d)
	l, err := found.end(q, "no time for lint")
	if err != nil {
		return reply{}, err
	}
	a.lint(l)
	lines := []string{fmt.Sprintf("%s, %s: %d wait, of which %d get a node and %d stay. %s that allow no eviction. Lint: %s, %s.",
		report.Count(a.Nodes, "node"), report.Count(a.Pods, "pod"), a.Waiting, a.Scheduled, a.Stay, report.Count(len(a.Budgets), "budget"), report.Count(a.Lint.Errors, "error"), report.Count(a.Lint.Warnings, "warning"))}
	if q.incomplete != "" {
		lines = append(lines, "Incomplete: "+q.incomplete)
	}
	for _, g := range a.Pending {
		lines = append(lines, fmt.Sprintf("Stays: %s: %s", these(g.Examples, g.Pods), g.Reason))
	}
	return reply{a, lines}, nil
}

// has reports whether there is a namespace, or something in it.
func (q *question) has(namespace string) bool {
	for kind, object := range q.snapshot.objects.All() {
		if object.GetNamespace() == namespace || kind.Kind == "Namespace" && object.GetName() == namespace {
			return true
		}
	}
	return false
}

// part is a command that runs beside others and has four fifths of the time of the question: the answer comes without it when it takes longer.
type part[T any] struct {
	*question
	answer T
	done   chan error
}

// begin starts a command about the snapshot.
func begin[T any](q *question, name string, run runner, args ...string) *part[T] {
	end, _ := q.ctx.Deadline()
	ctx, cancel := context.WithDeadline(q.ctx, end.Add(-q.o.Patience/5))
	p := &part[T]{question: &question{asker: q.asker, ctx: ctx, snapshot: q.snapshot}, done: make(chan error, 1)}
	go func() {
		defer cancel()
		p.done <- p.run(name, run, p.snapshot.in, &p.answer, args...)
	}()
	return p
}

// end returns the answer of the command. When its time is over, the answer is empty and q says what is missing.
func (p *part[T]) end(q *question, missing string) (answer T, err error) {
	select {
	case err = <-p.done:
	case <-p.ctx.Done():
		select {
		case err = <-p.done:
		default:
			err = p.ctx.Err()
		}
	}
	switch {
	case err == nil:
		q.warnings = append(q.warnings, p.warnings...)
		return p.answer, nil
	case errors.Is(err, context.DeadlineExceeded) && q.ctx.Err() == nil:
		q.incomplete = strings.TrimPrefix(q.incomplete+"; "+missing, "; ")
		return answer, nil
	}
	return answer, err
}

// place counts the waiting pods. Pods that stay for the same reason become one group; the largest group comes first.
func (a *overviewAnswer) place(d decided) {
	a.Scheduled, a.Victims = d.Summary.Scheduled, d.Summary.Victims
	at := map[[2]string]int{}
	for _, p := range d.Pods {
		if p.Node != "" {
			continue
		}
		a.Stay++
		key := [2]string{p.Outcome, nameless(p.Message, p.Pod[strings.Index(p.Pod, "/")+1:])}
		k, is := at[key]
		if !is {
			k = len(a.Pending)
			at[key] = k
			a.Pending = append(a.Pending, stay{Outcome: p.Outcome, Reason: p.Message})
		}
		g := &a.Pending[k]
		if g.Pods > 0 {
			g.Reason = key[1]
		}
		if g.Pods++; len(g.Examples) < mostExamples {
			g.Examples = append(g.Examples, p.Pod)
		}
	}
	slices.SortStableFunc(a.Pending, func(x, y stay) int { return cmp.Compare(y.Pods, x.Pods) })
}

// nameless returns a message with POD in the place of the pod's name where that is quoted or stands behind a slash, alone or as the begin of
// the name of what was made for the pod.
func nameless(message, name string) string {
	var out strings.Builder
	for done := 0; ; {
		next := strings.Index(message[done:], name)
		if next < 0 {
			out.WriteString(message[done:])
			return out.String()
		}
		at := done + next
		end := at + len(name)
		out.WriteString(message[done:at])
		if at > 0 && strings.ContainsRune(`"/`, rune(message[at-1])) && (end == len(message) || strings.ContainsRune(`"-:;, `, rune(message[end]))) {
			out.WriteString("POD")
		} else {
			out.WriteString(name)
		}
		done = end
	}
}

// lint groups the findings by rule, errors first, then the most.
func (a *overviewAnswer) lint(l linted) {
	a.Lint = l.Summary
	rules := map[string]int{}
	for _, f := range l.Findings {
		if f.Severity == "info" {
			continue
		}
		k, is := rules[f.Rule]
		if !is {
			k = len(a.Findings)
			rules[f.Rule] = k
			a.Findings = append(a.Findings, finding{Rule: f.Rule, Severity: f.Severity, Why: f.Explanation, Fix: f.Fix})
		}
		g := &a.Findings[k]
		if g.Objects++; len(g.Examples) < mostExamples {
			g.Examples = append(g.Examples, f.Object)
		}
	}
	slices.SortStableFunc(a.Findings, func(x, y finding) int {
		return cmp.Or(strings.Compare(x.Severity, y.Severity), cmp.Compare(y.Objects, x.Objects))
	})
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
