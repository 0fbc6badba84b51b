// Command podberth-scheduler is the scheduler of package scheduler against a real API server. docs/live.md says how to run it.
package main

import (
	"context"
	"os"

	"github.com/podberth/podberth/scheduler/live/command"
)

func main() { os.Exit(command.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }
