// Command drain plans draining nodes: which pods block, in which waves the others can leave without breaking a
// PodDisruptionBudget, and where each would go.
//
//	go run ./examples/drain -f examples/drain/testdata/cluster.yaml -force -ignore-daemonsets -delete-emptydir-data node-a1
package main

import (
	"os"

	"github.com/podberth/podberth/examples/drain/drain"
)

func main() { os.Exit(drain.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
