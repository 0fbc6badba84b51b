package placement

import (
	"cmp"

	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/volumes"
)

// This file has the differences between releases in the plugins of a profile. The rules of a plugin are in its package.

// released returns the arguments with the release of the profile for the plugins whose arguments name none, and with how tolerations
// match taints for PodTopologySpread.
func (a PluginArgs) released() PluginArgs {
	for _, v := range []*release.Version{
		&a.NodeResourcesFit.Fit.Release, &a.BalancedAllocation.Release, &a.PodTopologySpread.Release, &a.InterPodAffinity.Release,
		&a.Volumes.Release, &a.Devices.Search.Release,
	} {
		if *v == release.Current {
			*v = a.Release
		}
	}
	a.PodTopologySpread.Matching = cmp.Or(a.PodTopologySpread.Matching, a.Taints)
	return a
}

// namesNode reports whether NodeName names its node at PreFilter, so that other nodes are out before any filter, as in v1.37 (rule
// L3.5).
func namesNode(v release.Version) bool { return v.AtLeast(release.V1_37) }

// scoresStorage reports whether VolumeBinding scores nodes, as in v1.37 (rule L2.4).
func scoresStorage(o volumes.Options) bool {
	return o.Release.AtLeast(release.V1_37) && !o.WithoutStorageScore
}

// scoredSince returns the scored resources that devices may provide: none before v1.36 (rule L5.4).
func scoredSince(v release.Version, list []score.Resource) []score.Resource {
	if !v.AtLeast(release.V1_36) {
		return nil
	}
	return list
}

// scoresChange reports whether NodeResourcesBalancedAllocation scores the change of the balance, as since v1.36 (rule L5.1).
func scoresChange(v release.Version) bool { return v.AtLeast(release.V1_36) }
