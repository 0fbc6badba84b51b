package history

// NumToFind115 returns the number of feasible nodes after which a search among n candidates stopped in Kubernetes v1.14 and
// v1.15: filter.NumToFind with a minimum of 50 nodes instead of 100. percentage is percentageOfNodesToScore. 0 means the
// adaptive percentage. Values above 100 count as 100. Rule: documentation of v1.14, "Scheduler Performance Tuning".
func NumToFind115(n int, percentage int32) int {
	p := int(percentage)
	if p <= 0 {
		p = max(5, 50-n/125)
	}
	return min(n, max(50, n/100*p+n%100*p/100)) // n*p/100 without overflow
}
