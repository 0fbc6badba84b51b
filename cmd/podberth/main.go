// Command podberth answers questions about the scheduling of a cluster from dumps: why a pod waits, where pods go, what a drain does,
// which nodes may fail. It needs no cluster. kubectl-podberth has the same commands and reads a cluster too.
//
//	go run ./cmd/podberth place -A -f examples/testdata/cluster.yaml
//	go run ./cmd/podberth why data/postgres-3 -f examples/testdata/cluster.yaml
package main

import (
	"context"
	"os"

	"github.com/podberth/podberth/cmd/internal/command"
)

func main() {
	os.Exit(command.Program{Name: "podberth"}.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
