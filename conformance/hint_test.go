package conformance

import (
	"testing"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
)

// hintCluster is small, and every eighth one has more pending pods, for the events that only they bring about.
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

// Every queueing hint of every plugin, with the default arguments and with random ones. None may be compared so seldom
// that a mistake in it could hide: for n clusters at least 2n times, n/10 times each with Queue and Skip for an answer.
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
