// Command nodepressure prints what the kubelet does on a node that runs short of memory, disk or processes.
//
//	go run ./examples/nodepressure -f examples/nodepressure/testdata/pods.yaml -summary examples/nodepressure/testdata/memory.json
package main

import (
	"os"

	"github.com/podberth/podberth/examples/nodepressure/nodepressure"
)

func main() { os.Exit(nodepressure.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
