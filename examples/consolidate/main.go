// Command consolidate says which nodes of a cluster can be emptied and removed, in which order their pods move, and how far the plan
// is from the best at most.
//
//	go run ./examples/consolidate -f examples/consolidate/testdata/cluster.yaml -price-label example.com/price
package main

import (
	"os"

	"github.com/podberth/podberth/examples/consolidate/consolidate"
)

func main() { os.Exit(consolidate.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
