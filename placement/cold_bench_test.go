package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// BenchmarkCold decides about pods that nobody has read lately, as those of a backlog: 60,000 replicas, which no cache holds.
func BenchmarkCold(b *testing.B) {
	p, err := NewPlacer(questionCluster(b), benchProfile())
	require.NoError(b, err)
	var pods []*v1.Pod
	for i := range 60_000 {
		pods = append(pods, replica(i%6, i%20, 1_000_000+i))
	}
	i := 0
	for b.Loop() {
		if d := p.Decide(pods[i%len(pods)], Options{}); !d.Placed() {
			b.Fatal(d.Failure.Text())
		}
		i++
	}
}
