// Command live is podberth-scheduler: the scheduler of examples/scheduler against a real API server. docs/live.md says how to
// run it.
package main

import (
	"context"
	"os"

	"github.com/podberth/podberth/examples/live/command"
)

func main() { os.Exit(command.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }
