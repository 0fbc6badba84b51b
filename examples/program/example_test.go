package program_test

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/examples/program"
)

func ExampleColumns() {
	var out strings.Builder
	program.Columns(&out, []string{"POD", "NODE"}, [][]string{{"web-1", "general-a1"}, {"db", "general-b2"}})
	fmt.Print(out.String())
	// Output:
	// POD     NODE
	// web-1   general-a1
	// db      general-b2
}
