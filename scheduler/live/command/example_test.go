package command_test

import (
	"context"
	"fmt"
	"os"

	"github.com/podberth/podberth/scheduler/live/command"
)

func ExampleRun() {
	code := command.Run(context.Background(), []string{"--kubeconfig", "missing.yaml"}, os.Stdout, os.Stdout)
	fmt.Println("exit code", code)
	// Output:
	// error: --kubeconfig missing.yaml: stat missing.yaml: no such file or directory
	// exit code 2
}
