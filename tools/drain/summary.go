package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podberth/podberth/tools/report"
)

// homeless are the evictions whose pods get no new node, in the order of the waves.
func (p *plan) homeless() (out []eviction) {
	for _, w := range p.Waves {
		for _, e := range w.Evictions {
			if e.Homeless {
				out = append(out, e)
			}
		}
	}
	return out
}

// elsewhere are the evictions of pods on nodes that are not drained, in the order of the waves.
func (p *plan) elsewhere() (out []eviction) {
	for _, w := range p.Waves {
		for _, e := range w.Evictions {
			if !slices.Contains(p.Nodes, e.Node) && e.Bypass != "Terminating" {
				out = append(out, e)
			}
		}
	}
	return out
}

// summary is the answer in one sentence: how many pods leave, which hang for ever, which wait, and which get no new node.
func (p *plan) summary() string {
	leaving, homeless := 0, p.homeless()
	for _, w := range p.Waves {
		leaving += len(w.Evictions)
	}
	var forever, later, behind []blocked
	for _, b := range p.Blocked {
		switch {
		case b.Behind:
			behind = append(behind, b)
		case b.WaitingHelps:
			later = append(later, b)
		default:
			forever = append(forever, b)
		}
	}
	text := fmt.Sprintf("%d of %s", leaving, leave(leaving+len(p.Blocked)))
	if len(p.Waves) > 0 {
		text += " in " + report.Count(len(p.Waves), "wave")
	}
	add := func(n int, one, many, first string, causes map[string]bool) {
		does := many
		if n == 1 {
			does = one
		}
		text += fmt.Sprintf("; %d %s: %s", n, does, first)
		if more := len(causes) - 1; more > 0 {
			text += fmt.Sprintf(", and %s", report.Count(more, "other cause"))
		}
	}
	stay := func(list []blocked, one, many string) {
		if groups := grouped(list); len(groups) > 0 {
			first := groups[0][0]
			add(len(list), one, many, first.Pod+", "+first.Cause, different(list, func(b blocked) string { return b.Cause }))
		}
	}
	stay(forever, "hangs for ever", "hang for ever")
	stay(later, "waits for now", "wait for now")
	if len(behind) > 0 {
		text += fmt.Sprintf("; %d may leave once their drain begins", len(behind))
	}
	if without := homes(homeless); len(without) > 0 {
		first := without[0][0]
		add(len(homeless), "gets no new node", "get no new node", first.Pod+", "+first.reason(), different(homeless, func(e eviction) string { return e.reason() }))
	}
	if len(p.Skipped) > 0 {
		text += fmt.Sprintf("; %d skipped", len(p.Skipped))
	}
	return text
}

// different returns the texts of a list.
func different[T any](list []T, text func(T) string) map[string]bool {
	out := map[string]bool{}
	for _, x := range list {
		out[text(x)] = true
	}
	return out
}

// leave returns "1 pod leaves", "2 pods leave".
func leave(n int) string {
	if n == 1 {
		return "1 pod leaves"
	}
	return report.Count(n, "pod") + " leave"
}

// together groups a list by a key. The largest group comes first; groups of one size keep the order of their first.
func together[T any, K comparable](list []T, key func(T) K) (groups [][]T) {
	at := map[K]int{}
	for _, x := range list {
		k := key(x)
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	slices.SortStableFunc(groups, func(a, b []T) int { return cmp.Compare(len(b), len(a)) })
	return groups
}

// grouped puts pods of an owner together that are blocked for one cause. Those for which waiting is not enough come first, and those
// that other pods keep from the drain come last.
func grouped(list []blocked) [][]blocked {
	groups := together(list, func(b blocked) [5]string {
		owner := b.Owner
		if b.Behind {
			owner = "" // they have one cause: the other pods
		}
		return [5]string{owner, b.Budget, b.Cause, b.Proof, b.Remedy}
	})
	rank := func(b blocked) int {
		switch {
		case b.Behind:
			return 2
		case b.WaitingHelps:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(groups, func(a, b []blocked) int { return cmp.Compare(rank(a[0]), rank(b[0])) })
	return groups
}

// homes puts pods of an owner together that get no new node for one cause.
func homes(list []eviction) [][]eviction {
	return together(list, func(e eviction) [2]string { return [2]string{e.Owner, e.reason()} })
}

// skips puts pods together that stay for one reason.
func skips(list []skipped) [][]skipped {
	return together(list, func(s skipped) string { return s.Reason })
}

func podsOf[T any](list []T, ref func(T) podRef) (pods, nodes []string) {
	for _, x := range list {
		r := ref(x)
		pods = append(pods, r.Pod)
		if !slices.Contains(nodes, r.Node) {
			nodes = append(nodes, r.Node)
		}
	}
	return pods, nodes
}

// joined returns all names with -all, else the first three and how many more there are.
func joined(names []string, all bool) string {
	if all {
		return strings.Join(names, ", ")
	}
	return strings.ReplaceAll(report.Few(names), ",", ", ")
}
