package main

import (
	"fmt"
	"io"

	"github.com/podberth/podberth/examples/report"
	"github.com/podberth/podberth/placement"
)

// mostCopies is how many pods -how-many places at most: a node may allow more pods than anybody can count.
const mostCopies = 100_000

// howMany answers how many more pods like one of the input fit into the cluster as it is, no pending pod placed.
func howMany(out io.Writer, w *world, o options, profile placement.Profile) (failed bool, err error) {
	pod := w.pods[o.howMany]
	if pod == nil {
		return false, fmt.Errorf("-how-many: Not found: %q: no pod of that namespace and name", o.howMany)
	}
	c := *pod
	c.Spec.NodeName, c.Status.NominatedNodeName = "", ""
	plan, err := placement.New(w.snapshot, profile)
	if err != nil {
		return false, err
	}
	room, err := plan.HowMany(&c, mostCopies)
	if err != nil {
		return false, err
	}
	if report.IsData(o.output) {
		return room.Count == 0, writeData(out, struct {
			Pod string `json:"pod"`
			placement.Room
		}{o.howMany, room}, o.output)
	}
	if room.Stop == nil {
		fmt.Fprintf(out, "At least %d more pods like %s fit; -how-many tries no more than that.\n", room.Count, o.howMany)
	} else {
		fmt.Fprintf(out, "%d more pod(s) like %s fit.\n", room.Count, o.howMany)
	}
	if room.Count > 0 {
		count := map[string]int{}
		for _, n := range room.Nodes {
			count[n]++
		}
		var rows [][]string
		for _, n := range sortedKeys(count) {
			rows = append(rows, []string{n, fmt.Sprint(count[n])})
		}
		fmt.Fprint(out, report.Columns([]string{"NODE", "PODS"}, rows))
	}
	if room.Stop != nil {
		fmt.Fprintf(out, "One more does not: %s\n", room.Stop.Text())
	}
	return room.Count == 0, nil
}
