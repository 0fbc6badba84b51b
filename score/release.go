package score

import "github.com/podberth/podberth/release"

// This file has the differences between releases in the scores.

// absoluteBalance reports whether NodeResourcesBalancedAllocation gives the balance of the node with the pod, as up to v1.35, and
// not the change of the balance (rule L5.1).
func absoluteBalance(v release.Version) bool { return !v.AtLeast(release.V1_36) }

// volumesCount reports whether ImageLocality adds up the sizes of image volumes, as since v1.36 (rule L5.2).
func volumesCount(v release.Version) bool { return v.AtLeast(release.V1_36) }

// countedVolumes returns how many of n image volumes raise the size for which ImageLocality gives 100, as in v1.37 (rule L5.2).
func countedVolumes(v release.Version, n int64) int64 {
	if v.AtLeast(release.V1_37) {
		return n
	}
	return 0
}
