// Command failures says what happens to the pods of a cluster when nodes or zones fail: which pods come back and where, which
// stay pending and why, and how many nodes may fail.
//
//	go run ./examples/failures -f examples/failures/testdata/cluster.yaml -headroom
package main

import (
	"os"

	"github.com/podberth/podberth/examples/failures/failures"
)

func main() { os.Exit(failures.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
