package pressure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podberth/podberth/tools/report"
)

// table prints the report for people: a line or a table for each part.
func (r *nodeReport) table(b *strings.Builder, layout report.Layout) {
	columns := func(header []string, rows [][]string) {
		table, _ := layout.Columns(header, rows)
		b.WriteString(table)
	}
	report.Textf(b, "Node %s at %s, file system layout %s\n\n", r.Node, clock(r.At), r.Layout)
	var rows [][]string
	for _, t := range r.Thresholds {
		rows = append(rows, []string{string(t.Signal), valueOf(t), orDash(t.GracePeriod), orDash(report.Short(t.Observed)), orDash(report.Short(t.Capacity)), orDash(report.Short(t.Target)), stands(t)})
	}
	columns([]string{"SIGNAL", "THRESHOLD", "GRACE", "AVAILABLE", "CAPACITY", "TARGET", "STATE"}, rows)

	var conditions []string
	for _, c := range r.Conditions {
		conditions = append(conditions, string(c))
	}
	report.Textf(b, "\nConditions: %s\n", orNone(strings.Join(conditions, ", ")))
	report.Textf(b, "Acting:     %s\n", orNone(string(r.Acting)))
	var reclaim []string
	for _, s := range r.Reclaim {
		reclaim = append(reclaim, string(s))
	}
	if len(reclaim) > 0 {
		report.Textf(b, "Reclaim:    %s; if that is enough nobody is evicted\n", strings.Join(reclaim, ", "))
	}
	if r.NextChange != nil {
		report.Textf(b, "Until:      nothing changes by itself before %s\n", clock(*r.NextChange))
	}
	for _, v := range r.LocalStorage {
		report.Textf(b, "Evict now:  %s (grace %ds, over its own limit): %s\n", v.Pod, v.GracePeriodSeconds, strings.TrimSpace(v.Message))
	}
	if v := r.Victim; v != nil {
		report.Textf(b, "Evict:      %s (grace %ds): %s\n", v.Pod, v.GracePeriodSeconds, strings.TrimSpace(v.Message))
	}
	var offered []string
	for _, k := range slices.Sorted(maps.Keys(r.Allocatable)) {
		offered = append(offered, k+" "+report.Short(r.Allocatable[k]))
	}
	report.Textf(b, "Allocatable: %s\n", cmp.Or(strings.Join(offered, ", "), "not known"))

	report.Textf(b, "\nRanking for %s, first evicted first:\n", r.RankedFor)
	rows = nil
	for _, p := range r.Ranking {
		rows = append(rows, []string{fmt.Sprint(p.Rank), p.Pod, yesNo(p.ExceedsRequest), fmt.Sprint(p.Priority), usage(p), report.Short(p.Request), cmp.Or(p.Reason, "-"), p.Place})
	}
	columns([]string{"", "POD", "OVER REQUEST", "PRIORITY", "USAGE", "REQUEST", "NEVER EVICTED", "PLACE"}, rows)

	if f := r.Forecast; f != nil {
		report.Textf(b, "\nUntil %s of %s are available, if nothing else changes:\n", report.Short(f.Target), f.Signal)
		rows = nil
		for _, s := range f.Steps {
			rows = append(rows, []string{s.Pod, fmt.Sprintf("%ds", s.GracePeriodSeconds), report.Short(s.Frees), report.Short(s.Available)})
		}
		columns([]string{"POD", "GRACE", "FREES", "AVAILABLE"}, rows)
		if !f.Cleared {
			report.Textf(b, "That is not enough.\n")
		}
	}
}

func clock(t time.Time) string { return t.Format(time.RFC3339) }

func valueOf(t threshold) string {
	if t.Quantity != "" {
		return t.Value + " = " + report.Short(t.Quantity)
	}
	return t.Value
}

// stands says how a threshold stands.
func stands(t threshold) string {
	switch {
	case t.Observed == "":
		return "not measured"
	case !t.Met:
		return "ok"
	case t.Stale:
		return "met, but nothing newer is measured"
	case t.GraceExpired && t.GracePeriod != "":
		return "met since " + clock(*t.Since) + ", grace is over"
	case t.GraceExpired:
		return "met"
	}
	return "met since " + clock(*t.Since) + ", within grace"
}

func usage(p rankedPod) string {
	if !p.Measured {
		return "unknown"
	}
	return report.Short(p.Usage)
}

func orDash(s string) string { return cmp.Or(s, "-") }
func orNone(s string) string { return cmp.Or(s, "none") }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
