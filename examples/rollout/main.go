// Command rollout plans how every node of a cluster is replaced without stopping anything, and says what would hang.
//
//	go run ./examples/rollout -f examples/rollout/testdata/cluster.yaml -ignore-daemonsets -surge 1
package main

import (
	"os"

	"github.com/podberth/podberth/examples/rollout/rollout"
)

func main() { os.Exit(rollout.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
