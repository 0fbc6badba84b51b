package shell_test

import (
	"fmt"

	"github.com/podberth/podberth/tools/shell"
)

// Words are for a command, a comment is for what stands beside it.
func ExampleWords() {
	fmt.Println("kubectl cordon -- " + shell.Words("node-a1", "n2; reboot"))
	fmt.Println(shell.Comment("left out:\nnode-a2"))
	// Output:
	// kubectl cordon -- node-a1 'n2; reboot'
	// # left out:\nnode-a2
}
