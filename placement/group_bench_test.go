package placement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/filter"
)

// largeGroup writes 5,000 nodes in 50 zones and a group of 100 equal pods.
func largeGroup(key string) string {
	var b strings.Builder
	for k := range 5000 {
		fmt.Fprintf(&b, "node n%d:8 zone=z%d\n", k, k%50)
	}
	fmt.Fprintf(&b, "group g gang100 %s\n", key)
	for k := range 100 {
		fmt.Fprintf(&b, "pod p%d:1 in=g\n", k)
	}
	return b.String()
}

// BenchmarkDecideGroup decides about 100 members over 5,000 nodes: anywhere, and within one of 50 zones.
func BenchmarkDecideGroup(b *testing.B) {
	for _, c := range [][2]string{{"anywhere", ""}, {"in one of 50 zones", "key=zone"}} {
		b.Run(c[0], func(b *testing.B) {
			s, placer, o := groupWorld(b, "gates=T\n"+largeGroup(c[1]))
			o.Preempt = nil
			for b.Loop() {
				d := placer.DecideGroup(s.Queued, o)
				require.Equal(b, filter.Success, d.Code, d.Groups[0].Message)
			}
		})
	}
}
