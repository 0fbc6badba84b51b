// Command kubectl-podberth answers questions about the scheduling of a cluster: why a pod waits, where pods go, what a drain does,
// which nodes may fail. It reads the cluster of the current kubeconfig context and changes nothing, or it reads dumps and needs no
// cluster. kubectl finds it as a plugin:
//
//	kubectl podberth why web-0
//	kubectl podberth place -f cluster.yaml
package main

import (
	"context"
	"os"

	"github.com/podberth/podberth/cmd/internal/command"
	"github.com/podberth/podberth/cmd/internal/source"
)

func main() {
	p := command.Program{Name: "kubectl podberth", Cluster: source.New()}
	os.Exit(p.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
