package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// hintCluster makes a small cluster. Every eighth cluster has more pending pods, for events that need several pending pods.
func hintCluster(seed int64) *gen.Cluster {
	shape := gen.Shape{Volumes: seed%2 == 0, Nodes: 4, Running: 6, Pending: 3}
	if seed%4 == 1 {
		shape.Focus = gen.PodAffinity | gen.Spread | gen.Ports
	}
	if seed%8 == 3 {
		shape.Nodes, shape.Running, shape.Pending = 1, 1, 10
	}
	return gen.ForEvents(gen.Of(seed, shape))
}

// The test compares every queueing hint of every plugin, with default and with random arguments. For n clusters each hint
// is compared at least 2n times, and its answers Queue and Skip at least n/10 times each, so that a mistake cannot hide.
func TestHints(t *testing.T) {
	n := gen.Count(300, 3)
	run(t, n, hintCluster, defaultProfile(t), (*compare.Side).Hints)
	few, err := side(t, defaultProfile(t)).FewHints(seen, 2*int64(n), int64(n)/10)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range few {
		t.Errorf("after %d clusters %s", n, line)
	}
	const each = 100
	for k := 0; k < n/4; k += each {
		p, err := compare.Random(*gen.Seed + int64(k))
		if err != nil {
			t.Fatal(err)
		}
		offset := int64(k)
		run(t, min(each, n/4-k), func(seed int64) *gen.Cluster { return hintCluster(seed + offset) }, p, (*compare.Side).Hints)
	}
}

// Pods whose terms and selectors cannot be read: the hints fail, with the same text.
func TestHintErrors(t *testing.T) {
	n := gen.Count(150, 1)
	run(t, n, func(seed int64) *gen.Cluster {
		return gen.UnreadableSelectors(gen.Unreadable(hintCluster(seed)))
	}, defaultProfile(t), (*compare.Side).Hints)
	for _, plugin := range []string{"InterPodAffinity", "NodeAffinity", "PodTopologySpread"} {
		if failed := seen.HintErrors(plugin); failed < int64(n) {
			t.Errorf("the hint of %s failed %d times, want %d", plugin, failed, n)
		}
	}
}
