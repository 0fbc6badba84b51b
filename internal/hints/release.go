package hints

import (
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/release"
)

// This file has the differences between releases.

// freesDevices reports whether the deletion of a claim lets the pods that wait for devices be tried again (rule L7.16).
func freesDevices(v release.Version, deleted *resourcev1.ResourceClaim) bool {
	return v.AtLeast(release.V1_37) && deleted != nil && deleted.Status.Allocation != nil
}
