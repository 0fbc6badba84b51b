package whatif

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/place"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// answer is the result, in the form in which it is printed.
type answer struct {
	report.Head
	Changes []string `json:"changes"` // the changes in their order, as the command line has them
	Summary summary  `json:"summary"` // counts of pods
	Waits   []waits  `json:"waits"`   // the pods without a node afterwards, those because of the changes first
	Placed  []placed `json:"placed"`  // pods that get a node because of the changes, and new pods
	Moves   []move   `json:"moves"`   // pods that leave a node and get one again
	Gone    []gone   `json:"gone"`    // pods that leave for good
	Victims []victim `json:"victims"` // pods that give way by preemption because of the changes
	// Evictions that the Eviction API refuses, and pods of a larger workload that the API server refuses; these stay as they are.
	Refused []refused `json:"refused"`
}

// summary counts pods before and after. Waiting are those without a node.
type summary struct {
	WaitingBefore int `json:"waitingBefore"` // pods without a node as things are, after the scheduler has tried them
	WaitingAfter  int `json:"waitingAfter"`  // the same with the changes
	NewlyWaiting  int `json:"newlyWaiting"`  // of these the ones that wait because of the changes
	Placed        int `json:"placed"`        // pods that get a node because of the changes, and new pods
	Moves         int `json:"moves"`         // pods that leave a node and get one again
}

type waits struct {
	Pod     string `json:"pod"`     // NAMESPACE/NAME; a pod that is made again keeps its name here
	Since   string `json:"since"`   // "change" or "before": it waits because of the changes, or as things are too
	From    string `json:"from"`    // the node that it has left; "" for none
	Message string `json:"message"` // kube-scheduler's message
}

type placed struct {
	Pod  string `json:"pod"`
	Node string `json:"node"` // its node
	New  bool   `json:"new"`  // whether a change made it
}

type move struct {
	Pod  string `json:"pod"`
	From string `json:"from"` // the node that it leaves
	To   string `json:"to"`   // the node that it gets
}

// gone is a pod that leaves for good.
type gone struct {
	Pod  string `json:"pod"`
	Node string `json:"node"` // the node that it leaves; "" for none
	Why  string `json:"why"`  // why nobody makes it again
}

// victim is a pod that gives way by preemption because of the changes.
type victim struct {
	Pod string `json:"pod"`
	By  string `json:"by"` // the pod to which it gives way
}

// refused is what the API server does not do: an eviction, or a pod of a workload that grows.
type refused struct {
	Pod      string   `json:"pod"`
	Message  string   `json:"message"`  // the server's text
	Cause    string   `json:"cause"`    // the cause of a refused eviction; "" otherwise
	Remedies []string `json:"remedies"` // what would change the answer
}

func refusedPod(pod, text string) refused {
	return refused{Pod: pod, Message: text, Remedies: []string{}}
}

// outcome is what program place says about a pod.
type outcome struct {
	Pod     string
	Outcome string
	Node    string
	Message string
	Victims []string // the pods that gave way to it
}

// place asks where the waiting pods go.
func (w *world) place(in io.Reader, o options, stderr io.Writer) (map[string]outcome, error) {
	var out, errs bytes.Buffer
	args := []string{"-f=-", "-o=json"}
	if o.gates != nil {
		args = append(args, "-feature-gates="+o.gates.String())
	}
	if code := place.Run(w.ctx, args, in, &out, &errs); code != program.OK {
		return nil, errors.New(strings.TrimPrefix(strings.TrimSpace(errs.String()), "place: "))
	}
	if _, err := stderr.Write(errs.Bytes()); err != nil {
		return nil, err
	}
	var a struct{ Pods []outcome }
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		return nil, err
	}
	all := map[string]outcome{}
	for _, p := range a.Pods {
		all[p.Pod] = p
	}
	return all, nil
}

// victims returns the pods that give way, those that wait before and those that run, each with the pod to which it gives way.
func victims(all map[string]outcome) map[string]string {
	by := map[string]string{}
	for name, p := range all {
		for _, v := range p.Victims {
			by[v] = name
		}
	}
	return by
}

// compare asks where the waiting pods go before the changes and after them.
func (w *world) compare(before io.Reader, o options, stderr io.Writer) (*answer, error) {
	var was map[string]outcome
	var bad error
	var wait sync.WaitGroup
	wait.Go(func() { was, bad = w.place(before, o, io.Discard) })
	is, err := w.place(dump.Hold(w.o), o, stderr)
	wait.Wait()
	if err := cmp.Or(bad, err); err != nil {
		return nil, err
	}
	a := &answer{Head: report.HeadOf("WhatIf"), Changes: []string{}, Waits: []waits{}, Placed: []placed{}, Moves: []move{}, Gone: []gone{}, Victims: []victim{}, Refused: []refused{}}
	for _, c := range o.changes {
		a.Changes = append(a.Changes, c.String())
	}
	for _, p := range was {
		if p.Node == "" {
			a.Summary.WaitingBefore++
		}
	}
	shows := func(pod string) bool { namespace, _, _ := strings.Cut(pod, "/"); return o.Tables.Shows(namespace) }
	for _, name := range slices.Sorted(maps.Keys(is)) {
		p, old := is[name], was[name]
		from, left := w.moved[name]
		switch {
		case p.Outcome == "Preempted": // it is among the victims
		case p.Node == "":
			a.Summary.WaitingAfter++
			since := "before"
			if left || w.made[name] || old.Node != "" {
				since = "change"
				a.Summary.NewlyWaiting++
			}
			if shows(name) {
				a.Waits = append(a.Waits, waits{name, since, from, p.Message})
			}
		case left:
			a.Summary.Moves++
			if shows(name) {
				a.Moves = append(a.Moves, move{name, from, p.Node})
			}
		case old.Node == "":
			a.Summary.Placed++
			if shows(name) {
				a.Placed = append(a.Placed, placed{name, p.Node, w.made[name]})
			}
		}
	}
	gave, give := victims(was), victims(is)
	for _, name := range slices.Sorted(maps.Keys(give)) {
		if gave[name] == "" && shows(name) {
			a.Victims = append(a.Victims, victim{name, give[name]})
		}
	}
	slices.SortStableFunc(a.Waits, func(x, y waits) int { return strings.Compare(y.Since, x.Since) }) // because of the changes first
	for _, g := range w.gone {
		if shows(g.Pod) {
			a.Gone = append(a.Gone, g)
		}
	}
	for _, r := range w.refused {
		if shows(r.Pod) {
			a.Refused = append(a.Refused, r)
		}
	}
	return a, nil
}

// String is the answer in a line.
func (a *answer) String() string {
	s := a.Summary
	text := fmt.Sprintf("pods without a node: %d (before: %d)", s.WaitingAfter, s.WaitingBefore)
	for _, x := range []struct {
		says string
		n    int
	}{{"because of the changes", s.NewlyWaiting}, {"get a node", s.Placed}, {"move", s.Moves}, {"go for good", len(a.Gone)}, {"give way to others", len(a.Victims)}, {"refused", len(a.Refused)}} {
		if x.n > 0 {
			text += fmt.Sprintf("; %s: %d", x.says, x.n)
		}
	}
	return text
}

// table writes the answer in a sentence and what happens to each pod.
func (a *answer) table(out *strings.Builder, t *program.Tables) {
	l := t.Layout
	if !l.NoHeaders {
		out.WriteString(l.Text("", a.String()) + l.Nodes.Note())
	}
	section := func(title string, header []string, rows [][]string) {
		if len(rows) > 0 {
			l.Section(out, title, header, rows)
		}
	}
	var rows [][]string
	for _, r := range a.Refused {
		rows = append(rows, []string{r.Pod, r.Message + suffix(r.Cause) + suffix(strings.Join(r.Remedies, "; or "))})
	}
	section("Refused", []string{"POD", "WHY"}, rows)
	rows = nil
	for _, x := range a.Waits {
		rows = append(rows, []string{x.Pod, x.Since, dash(x.From), x.Message})
	}
	section("Wait", []string{"POD", "SINCE", "FROM", "MESSAGE"}, rows)
	rows = nil
	for _, x := range a.Placed {
		rows = append(rows, []string{x.Pod, l.Nodes.Of(x.Node)})
	}
	section("Get a node", []string{"POD", "NODE"}, rows)
	rows = nil
	for _, x := range a.Moves {
		rows = append(rows, []string{x.Pod, l.Nodes.Of(x.From), l.Nodes.Of(x.To)})
	}
	section("Move", []string{"POD", "FROM", "TO"}, rows)
	rows = nil
	for _, x := range a.Victims {
		rows = append(rows, []string{x.Pod, x.By})
	}
	section("Give way", []string{"POD", "TO"}, rows)
	rows = nil
	for _, x := range a.Gone {
		rows = append(rows, []string{x.Pod, dash(x.Node), x.Why})
	}
	section("Go", []string{"POD", "FROM", "WHY"}, rows)
}

func suffix(text string) string {
	if text == "" {
		return ""
	}
	return "; " + text
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
