// Command simulate schedules the pending pods of a cluster dump and prints where each went and why not.
//
//	go run ./examples/simulate -f examples/simulate/testdata/cluster.yaml
package main

import (
	"os"

	"github.com/podberth/podberth/examples/simulate/simulate"
)

func main() { os.Exit(simulate.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
