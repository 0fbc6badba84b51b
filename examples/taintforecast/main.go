// Command taintforecast says which pods taints make leave their nodes, and when: it plays events such as a kubelet that
// falls silent through the node lifecycle and the taint-eviction controller.
//
//	go run ./examples/taintforecast -f examples/simulate/testdata/cluster.yaml -stop general-a1 -admit
//	go run ./examples/taintforecast -f examples/simulate/testdata/cluster.yaml -events examples/taintforecast/testdata/events.yaml -admit
package main

import (
	"os"

	"github.com/podberth/podberth/examples/taintforecast/taintforecast"
)

func main() { os.Exit(taintforecast.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
