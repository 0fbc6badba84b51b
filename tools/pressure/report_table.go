package pressure

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/eviction/pressure"
	"github.com/podberth/podberth/tools/report"
)

// table prints the report for people: a line or a table for each part.
func (r *nodeReport) table(b *strings.Builder, layout report.Layout) {
	columns := func(header []string, rows [][]string) {
		table, _ := layout.Columns(header, rows)
		b.WriteString(table)
	}
	report.Textf(b, "Node %s at %s, file system layout %s\n", r.Node, clock(r.At), r.Layout)
	for _, n := range r.Notes {
		b.WriteString(layout.Text("", n+"."))
	}
	b.WriteString("\n")
	var rows [][]string
	for _, t := range r.Thresholds {
		rows = append(rows, []string{string(t.Signal), valueOf(t), orDash(t.GracePeriod), orDash(size(t.Signal, t.Observed)), orDash(size(t.Signal, t.Capacity)), orDash(exact(t.Signal, t.Target)), stands(t)})
	}
	if len(rows) > 0 {
		columns([]string{"SIGNAL", "THRESHOLD", "GRACE", "AVAILABLE", "CAPACITY", "TARGET", "STATE"}, rows)
	}

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
		text := report.Short(r.Allocatable[k])
		if k == string(v1.ResourceMemory) || k == string(v1.ResourceEphemeralStorage) || strings.HasPrefix(k, v1.ResourceHugePagesPrefix) {
			text = inBytes(r.Allocatable[k])
		}
		offered = append(offered, k+" "+text)
	}
	report.Textf(b, "Allocatable: %s\n", cmp.Or(strings.Join(offered, ", "), "not known"))

	report.Textf(b, "\nRanking for %s, first evicted first:\n", r.RankedFor)
	rows = nil
	for _, p := range r.Ranking {
		rows = append(rows, []string{fmt.Sprint(p.Rank), p.Pod, yesNo(p.ExceedsRequest), fmt.Sprint(p.Priority), usage(r.RankedFor, p), size(r.RankedFor, p.Request), cmp.Or(p.Reason, "-"), p.Place})
	}
	columns([]string{"", "POD", "OVER REQUEST", "PRIORITY", "USAGE", "REQUEST", "NEVER EVICTED", "PLACE"}, rows)

	if f := r.Forecast; f != nil {
		report.Textf(b, "\nUntil %s of %s are available, if nothing else changes:\n", exact(f.Signal, f.Target), f.Signal)
		rows = nil
		for _, s := range f.Steps {
			rows = append(rows, []string{s.Pod, fmt.Sprintf("%ds", s.GracePeriodSeconds), size(f.Signal, s.Frees), size(f.Signal, s.Available)})
		}
		columns([]string{"POD", "GRACE", "FREES", "AVAILABLE"}, rows)
		if !f.Cleared {
			report.Textf(b, "That is not enough.\n")
		}
	}
}

// size writes an amount of a signal: bytes in Ki to Ti with at most two decimals, everywhere alike; other amounts as they are.
func size(s pressure.Signal, text string) string {
	if r := s.Resource(); r == "pids" || r == "inodes" {
		return text
	}
	return inBytes(text)
}

// exact is size for an amount that must not be cut down: one that has no short form in two decimals stays as it is.
func exact(s pressure.Signal, text string) string {
	short := size(s, text)
	a, err := resource.ParseQuantity(short)
	b, bad := resource.ParseQuantity(text)
	if err == nil && bad == nil && a.Cmp(b) != 0 && !strings.ContainsAny(text[len(text)-1:], "0123456789") {
		return text
	}
	return short
}

func inBytes(text string) string {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return text
	}
	return report.Amount(v1.ResourceMemory, big.NewInt(q.Value()))
}

func clock(t time.Time) string { return t.Format(time.RFC3339) }

func valueOf(t threshold) string {
	if t.Quantity != "" {
		return t.Value + " = " + size(t.Signal, t.Quantity)
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

func usage(s pressure.Signal, p rankedPod) string {
	if !p.Measured {
		return "unknown"
	}
	return size(s, p.Usage)
}

func orDash(s string) string { return cmp.Or(s, "-") }
func orNone(s string) string { return cmp.Or(s, "none") }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
