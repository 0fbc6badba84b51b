package lint

import "fmt"

// amount returns a number with its noun: "1 node", "3 nodes".
func amount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
