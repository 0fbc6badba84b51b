// Command importers asks other projects and podberth the same: it takes a module from the module proxy, adds files of ours to a temporary copy, runs
// what is there, and deletes the copy. None of their code is kept.
//
//	GOWORK=off go run ./importers descheduler          its own tests, unchanged, with podberth under named functions
//	GOWORK=off go run ./importers nodefit              its NodeFit, kube-scheduler and podberth over generated clusters
//	GOWORK=off go run ./importers karpenter            what the specs of its device allocator ask, asked of podberth and of kube-scheduler's allocator
//	GOWORK=off go run ./importers consolidation        where the specs of its consolidation put pods, asked of podberth and of kube-scheduler
//	GOWORK=off go run ./importers scheduler-library    which nodes take the pods of generated clusters, asked of it and of podberth, with the cost
//
// The tests run without podberth first. Tests that fail then are not counted. A test or an answer that differs must be named here with the reason, and a
// reason that nothing needs any more is an error. docs/reports/importers.md has the last reports.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// reports print what another project and podberth say. They get the folder of the tree.
var reports = map[string]func(tree string) error{
	"descheduler":       descheduler.run,
	"nodefit":           nodeFit,
	"karpenter":         karpenterDevices,
	"consolidation":     karpenterSimulations,
	"scheduler-library": askSchedulerLibrary,
}

func main() {
	flag.Parse()
	report, ok := reports[flag.Arg(0)]
	if !ok || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "importers: name one of", strings.Join(slices.Sorted(maps.Keys(reports)), ", "))
		os.Exit(2)
	}
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err == nil {
		err = report(strings.TrimSpace(string(out)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "importers:", err)
		os.Exit(1)
	}
}
