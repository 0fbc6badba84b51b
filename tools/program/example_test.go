package program_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/podberth/podberth/tools/program"
)

// A program writes its errors as one line each and ends with their exit code.
func ExampleCode() {
	var files []string
	flags := program.Flags(program.Help{Name: "drain", Purpose: "says whether a node can be drained.", Usage: []string{"drain -f PATH"}}, os.Stdout)
	program.Inputs(flags, &files, "the cluster")
	err := program.Parse(flags, []string{"-f", "cluster.yaml"})
	if err == nil {
		err = program.CheckInputs(files)
	}
	fmt.Println(program.Code("drain", err, os.Stdout), files)
	fmt.Println(program.Code("drain", errors.New("no node n6"), os.Stdout))
	// Output:
	// 0 [cluster.yaml]
	// drain: no node n6
	// 2
}
