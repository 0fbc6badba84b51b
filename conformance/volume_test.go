package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// Pods with volumes of all kinds.
func TestVolumes(t *testing.T) {
	run(t, gen.Count(800, 15), func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Volumes: true, Nodes: 5, Running: 10, Focus: gen.Volumes})
	}, defaultProfile(t), (*compare.Side).Cluster)
}

// Claims of every size, among roomy nodes: VolumeBinding's score takes every value.
func TestStorage(t *testing.T) {
	run(t, gen.Count(150, 10), func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Roomy: true, Volumes: true, Nodes: 9, Pending: 6})
	}, defaultProfile(t), (*compare.Side).Cluster)
}

// Pods compete for volumes: a volume that is promised to one pod is not free for the next pod.
func TestReserve(t *testing.T) {
	run(t, gen.Count(300, 3), func(seed int64) *gen.Cluster {
		return gen.Of(seed, gen.Shape{Volumes: true, Nodes: 4, Running: 3, Pending: 8, Exactly: seed%2 == 0, Focus: gen.Volumes})
	}, defaultProfile(t), (*compare.Side).Reserve)
}
