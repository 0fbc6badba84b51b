// Command lint finds scheduling rules of manifests that can never be met, contradict each other, or do nothing.
//
//	go run ./examples/lint -f examples/lint/testdata/manifests.yaml -cluster examples/simulate/testdata/cluster.yaml
package main

import (
	"os"

	"github.com/podberth/podberth/examples/lint/lint"
)

func main() { os.Exit(lint.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
