package conformance

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/placement"
)

// The test decides sequences of 200 pods of a few templates with one plan that keeps its work between pods. Every second
// cluster has room for all pods, so that scores decide, and constraints that some pods make hard.
func TestSequence(t *testing.T) {
	run(t, gen.Count(80, 2), func(seed int64) *gen.Cluster {
		shape := gen.Shape{Nodes: 12, Running: 20, Pending: 5}
		if seed%2 == 1 {
			shape.Roomy, shape.Focus = true, roomyFeatures[seed/2%int64(len(roomyFeatures))]
		}
		c := gen.Of(seed, shape)
		if shape.Roomy {
			for _, p := range c.Pending[:len(c.Pending)/2] {
				for i := range p.Spec.TopologySpreadConstraints {
					p.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable = v1.DoNotSchedule
				}
			}
		}
		return compare.Repeat(c, 200)
	}, defaultProfile(t), (*compare.Side).Sequence)
}

// The test uses profiles with random arguments, weights and plugins. A new profile comes every few clusters.
func TestProfiles(t *testing.T) {
	const each = 40
	n := gen.Count(1200, 12)
	for k := 0; k < n; k += each {
		from := *gen.Seed + int64(k)
		p, err := compare.Random(from)
		if err != nil {
			t.Fatal(err)
		}
		runFrom(t, from, min(each, n-k), gen.New, p, (*compare.Side).Cluster)
	}
}

// In clusters of more than 100 nodes the search looks at a sample only. The test compares the size of the sample, its order
// and its start. Each cluster needs its own scheduler, because the scheduler remembers where the next search begins.
func TestSampling(t *testing.T) {
	n := gen.Count(6, 0)
	if *gen.Clusters > 0 {
		n = max(30, *gen.Clusters/1000)
	}
	for i := range n {
		seed := *gen.Seed + int64(i)
		p := defaultProfile(t)
		percentage := []int32{0, 1, 30, 60, 100}[seed%5]
		p.Real.PercentageOfNodesToScore, p.Podberth.Sampling.Percentage = &percentage, &percentage
		if seed%3 == 2 { // the global value is the adaptive one
			p.Real.PercentageOfNodesToScore, p.Podberth = nil, placement.DefaultProfile()
		}
		s, err := compare.New(context.Background(), p, seen)
		if err != nil {
			t.Fatal(err)
		}
		c := gen.Of(seed, gen.Shape{Nodes: 110 + 60*int(seed%4), Running: 80, Pending: 8, Exactly: true})
		differences, err := s.Sequence(compare.Repeat(c, 40))
		if err != nil {
			t.Fatal(err)
		}
		bad := unknown(differences)
		seen.Case(t.Name(), seed, bad)
		for _, d := range bad {
			t.Errorf("seed %d: %s", seed, d)
		}
	}
}
