package place

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"

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
	Count     int    `json:"count"`
	Refused   string `json:"refused,omitempty"` // with -admit: what the API server says about one more
	placement.Room
}

// howMany says how many more pods like a pod of the input fit into the cluster as it is. Pending pods are not placed before. With
// -admit quotas are charged with each copy.
func howMany(ctx context.Context, out *bytes.Buffer, stderr io.Writer, w *world, o options, profile placement.Profile) (failed bool) {
	c := *w.find(o.howMany)
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
	if report.IsData(o.output) {
		if room.Nodes == nil {
			room.Nodes = []string{}
		}
		a := roomFor{Head: report.HeadOf("HowMany"), Pod: o.howMany, Namespace: c.Namespace, Name: c.Name, Count: n, Room: room}
		if refused != nil {
			a.Refused = refused.Error()
		}
		writeData(out, a, o.output)
		return n == 0
	}
	if room.Stop == nil && refused == nil {
		report.Textf(out, "At least %d more pods like %s fit; -how-many tries no more than that.\n", n, o.howMany)
	} else {
		report.Textf(out, "%d more pod(s) like %s fit.\n", n, o.howMany)
	}
	if n > 0 {
		count := map[string]int{}
		for _, node := range room.Nodes {
			count[node]++
		}
		var rows [][]string
		for _, node := range sortedKeys(count) {
			rows = append(rows, []string{node, fmt.Sprint(count[node])})
		}
		table, _ := o.tables.Layout.Columns([]string{"NODE", "PODS"}, rows)
		fmt.Fprint(out, table)
	}
	switch {
	case refused != nil:
		report.Textf(out, "One more does not: %v\n", refused)
	case room.Stop != nil:
		report.Textf(out, "One more does not: %s\n", room.Stop.Text())
	}
	return n == 0
}

// upTo lets HowMany place at most limit copies. It says how many fit so far.
func upTo(ctx context.Context, limit int, progress *report.Progress) func(placed int) bool {
	return func(placed int) bool {
		progress.Step(placed, 0)
		return placed < limit && ctx.Err() == nil
	}
}
