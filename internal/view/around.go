package view

// Around returns the place of a number in a ring of n places, 0 to n-1, for negative numbers too.
func Around(a, n int) int { return (a%n + n) % n }
