// Command upgrade tells what changes for a cluster when Kubernetes goes from one minor version to another.
//
//	go run ./examples/upgrade -f examples/upgrade/testdata/cluster.yaml -from 1.36 -to 1.37
package main

import (
	"os"

	"github.com/podberth/podberth/examples/upgrade/upgrade"
)

func main() { os.Exit(upgrade.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
