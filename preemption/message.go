package preemption

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	noVictims  = "No preemption victims found for incoming pod"
	notHelpful = "Preemption is not helpful for scheduling"
)

// histogram counts why nodes were tried in vain.
type histogram struct {
	nodes   int
	tallies []tally
}

// tally is a number of nodes with one answer, or with one text if the answer allows.
type tally struct {
	answer  Answer
	reasons []string
	n       int
}

// add counts slot i. It asks for the reasons of an answer once.
func (h *histogram) add(w WhatIf, i int, o outcome) {
	h.nodes++
	switch {
	case o.err != nil:
		h.text(o.err.Error())
		return
	case o.answer.Verdict == 0:
		h.text(o.reason)
		return
	}
	for k := range h.tallies {
		if h.tallies[k].answer == o.answer {
			h.tallies[k].n++
			return
		}
	}
	reasons, general := w.Reasons(i, o.answer)
	if general {
		h.tallies = append(h.tallies, tally{o.answer, reasons, 1})
		return
	}
	for _, reason := range reasons {
		h.text(reason)
	}
}

func (h *histogram) text(reason string) {
	for k := range h.tallies {
		if t := &h.tallies[k]; t.answer.Verdict == 0 && t.reasons[0] == reason {
			t.n++
			return
		}
	}
	h.tallies = append(h.tallies, tally{Answer{}, []string{reason}, 1})
}

// counts returns the nodes of each reason, and rest nodes for which preemption does not help, in the order of the message.
func (h *histogram) counts(rest int) []Count {
	var out []Count
	add := func(reason string, n int) {
		for k := range out {
			if out[k].Reason == reason {
				out[k].Nodes += n
				return
			}
		}
		out = append(out, Count{reason, n})
	}
	for _, t := range h.tallies {
		for _, reason := range t.reasons {
			add(reason, t.n)
		}
	}
	if rest > 0 {
		add(notHelpful, rest)
	}
	slices.SortFunc(out, func(a, b Count) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// Count is how many nodes have a reason.
type Count struct {
	Reason string
	Nodes  int
}

// String returns "<nodes> <reason>".
func (c Count) String() string { return strconv.Itoa(c.Nodes) + " " + c.Reason }

// message returns "0/<nodes> nodes are available: <counts>.".
func message(nodes int, counts []Count) string {
	parts := make([]string, len(counts))
	for k, c := range counts {
		parts[k] = c.String()
	}
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(parts, ", "))
}

// noVictimError says that the preemptor fits on a node that was rejected although nobody leaves.
func noVictimError(node string) error {
	return fmt.Errorf("expected at least one victim pod on node %q", node)
}
