package filter

import "github.com/podberth/podberth/internal/view"

// ScanOrder returns the slots of all nodes in the order in which kube-scheduler scans the nodes when they were added in the
// order of their slots: the first node of each zone, then the second node of each zone, and so on. Zones (region and zone
// labels) come in the order of their first nodes. O(nodes). Rule: documentation, "Scheduler Performance Tuning": nodes 1 to
// 4 in one zone and 5 and 6 in another are scanned as 1, 5, 2, 6, 3, 4.
func ScanOrder(c Cluster) []int {
	order := view.ScanOrder(c)
	out := make([]int, len(order))
	for k, i := range order {
		out[k] = int(i)
	}
	return out
}
