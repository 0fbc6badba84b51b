package place

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/internal/must"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

// mostCopies is how many pods -how-many places at most: a node may allow more pods than anybody can count.
const mostCopies = 100_000

// roomFor is the answer to -how-many, in the form in which it is printed.
type roomFor struct {
	report.Head
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// How many more pods like this one fit, at most 100,000; of a pod of a group the pods of the groups that fit.
	Count int `json:"count"`
	// With --admit: what the API server says about one more, when a quota refuses it; there is no "stop" then.
	Refused string     `json:"refused,omitempty"`
	Group   *groupsFor `json:"group,omitempty"` // of a pod of a group: how many more groups fit, each with all of its pods
	placement.Room
}

// roomOf returns the answer about a pod.
func roomOf(pod string, room placement.Room, refused error) roomFor {
	a := roomFor{Head: report.HeadOf("HowMany"), Pod: pod, Count: len(room.Nodes), Room: room}
	a.Namespace, a.Name, _ = strings.Cut(pod, "/")
	if refused != nil {
		a.Refused = refused.Error()
	}
	return a
}

// howMany says how many more pods like a pod of the input fit into the cluster as it is, and for a pod of a group how many more groups. Pending
// pods are not placed before. With -admit quotas are charged with each copy.
func howMany(ctx context.Context, out *bytes.Buffer, stderr io.Writer, w *world, o options, profile placement.Profile) (failed bool) {
	c := *w.find(o.howMany)
	tree, pods, alone := w.treeFor(&c)
	if tree != nil {
		return howManyGroups(ctx, out, stderr, w, o, profile, tree, pods)
	}
	c.Spec.NodeName, c.Status.NominatedNodeName = "", ""
	placer := must.Get(placement.NewPlacer(w.snapshot, profile))
	progress := report.NewProgress(stderr, "place: -how-many", "pods fit so far", nil)
	within, quotas := upTo(ctx, mostCopies, progress), w.gate.Quotas.Clone()
	var refused error
	room, err := placer.HowMany(&c, func(placed int) bool {
		if !within(placed) {
			return false
		}
		next := c
		next.Name = fmt.Sprintf("%s-%d", c.Name, placed+1)
		refused = quotas.Charge(&next)
		return refused == nil
	})
	progress.End()
	must.Do(cmp.Or(err, program.Interrupted(ctx)))
	n := len(room.Nodes)
	if report.IsData(o.Output) {
		if room.Nodes == nil {
			room.Nodes = []string{}
		}
		writeData(out, roomOf(o.howMany, room, refused), o.Output)
		return n == 0
	}
	if room.Stop == nil && refused == nil {
		report.Textf(out, "At least %d more pods like %s fit; no more than that are tried.\n", n, o.howMany)
	} else {
		report.Textf(out, "%d more pod(s) like %s fit.\n", n, o.howMany)
	}
	if alone != "" {
		report.Textf(out, "It counts as a pod alone: %s.\n", alone)
	}
	nodeCounts(out, o, room.Nodes)
	switch {
	case refused != nil:
		report.Textf(out, "One more does not: %v\n", refused)
	case room.Stop != nil:
		report.Textf(out, "One more does not: %s\n", room.Stop.Text())
	}
	return n == 0
}

// nodeCounts is a table of nodes with their copies.
func nodeCounts(out *bytes.Buffer, o options, nodes []string) {
	if len(nodes) == 0 {
		return
	}
	count := map[string]int{}
	for _, node := range nodes {
		count[node]++
	}
	var rows [][]string
	for _, node := range sortedKeys(count) {
		rows = append(rows, []string{node, fmt.Sprint(count[node])})
	}
	table, _ := o.Tables.Layout.Columns([]string{"NODE", "PODS"}, rows)
	fmt.Fprint(out, table)
}

// upTo lets HowMany place at most limit copies. It says how many fit so far.
func upTo(ctx context.Context, limit int, progress *report.Progress) func(placed int) bool {
	return func(placed int) bool {
		progress.Step(placed, 0)
		return placed < limit && ctx.Err() == nil
	}
}
