package preemption

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	noVictims  = "No preemption victims found for incoming pod"
	notHelpful = "Preemption is not helpful for scheduling"
)

// histogram counts the reasons of the nodes that were tried without success.
type histogram struct {
	nodes   int
	tallies []tally
	texts   map[string]int // nodes by reasons that stand in no tally
}

// tally is a number of nodes with one answer.
type tally struct {
	answer  Answer
	reasons []string
	n       int
}

// add counts slot i. It asks for the reasons of an answer once. It reports whether the outcome has the same texts on every slot.
func (h *histogram) add(w WhatIf, i int, o outcome) bool {
	h.nodes++
	switch {
	case o.err != nil:
		h.text(o.err.Error())
		return false
	case o.answer.Verdict == 0:
		h.text(o.reason)
		return true
	}
	for k := range h.tallies {
		if h.tallies[k].answer == o.answer {
			h.tallies[k].n++
			return true
		}
	}
	reasons, general := w.Reasons(i, o.answer)
	if general {
		h.tallies = append(h.tallies, tally{o.answer, reasons, 1})
		return true
	}
	for _, reason := range reasons {
		h.text(reason)
	}
	return false
}

func (h *histogram) text(reason string) {
	if h.texts == nil {
		h.texts = map[string]int{}
	}
	h.texts[reason]++
}

// counts returns "<nodes> <reason>" for each reason, and for rest nodes for which preemption does not help, sorted as text.
func (h *histogram) counts(rest int) []string {
	nodes := map[string]int{}
	maps.Copy(nodes, h.texts)
	for _, t := range h.tallies {
		for _, reason := range t.reasons {
			nodes[reason] += t.n
		}
	}
	if rest > 0 {
		nodes[notHelpful] += rest
	}
	var out []string
	for reason, n := range nodes {
		out = append(out, strconv.Itoa(n)+" "+reason)
	}
	slices.Sort(out)
	return out
}

// message returns "0/<nodes> nodes are available: <counts>.".
func message(nodes int, counts []string) string {
	return fmt.Sprintf("0/%d nodes are available: %s.", nodes, strings.Join(counts, ", "))
}

// noVictimError is the error of a node that was rejected and on which the preemptor fits while every pod stays.
func noVictimError(node string) error {
	return fmt.Errorf("expected at least one victim pod on node %q", node)
}
