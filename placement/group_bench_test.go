package placement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// largeGroup writes nodes of so many sizes in domains of so many nodes each, and a group of equal pods.
func largeGroup(nodes, sizes, domain, pods int, key string) string {
	var b strings.Builder
	for k := range nodes {
		fmt.Fprintf(&b, "node n%d:%dm zone=z%d\n", k, 8000+k%sizes, k/domain)
	}
	fmt.Fprintf(&b, "group g gang%d %s\n", pods, key)
	for k := range pods {
		fmt.Fprintf(&b, "pod p%d:1 in=g\n", k)
	}
	return b.String()
}

// BenchmarkDecideGroup decides about gangs over 5,000 and 50,000 nodes: 1,000 members anywhere, 100 within one of 50 zones, and 100 within a
// rack of 20 nodes, where racks are equal and where no rack is equal to another, and there with a larger member first. Gangs like each were decided before. It reports the processor time too, which other processes change less.
func BenchmarkDecideGroup(b *testing.B) {
	type test struct {
		name                string
		sizes, domain, pods int
		key                 string
	}
	for _, nodes := range []int{5000, 50000} {
		for _, c := range []test{
			{"anywhere", 1, 20, 1000, ""}, {"in one of 50 zones", 1, nodes / 50, 100, "key=zone"},
			{"in a rack of 20", 1, 20, 100, "key=zone"}, {"in a rack of 20 of its own kind", 991, 20, 100, "key=zone"},
			{"in a rack of 20 of its own kind, with a leader", 991, 20, 100, "key=zone"},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, nodes), func(b *testing.B) {
				text := largeGroup(nodes, c.sizes, c.domain, c.pods, c.key)
				if strings.HasSuffix(c.name, "leader") {
					text = strings.Replace(text, "pod p0:1", "pod p0:2", 1)
				}
				s, snapshot, _, o := groupSnapshot(b, "gates=T\n"+text)
				profile := s.Profile()
				profile.Sampling = placement.AllNodes()
				placer, err := placement.NewPlacer(snapshot, profile)
				require.NoError(b, err)
				for range 3 { // then all that is kept is there
					placer.DecideGroup(s.Queued, o)
				}
				before := testkit.ProcessorTime(b)
				for b.Loop() {
					d := placer.DecideGroup(s.Queued, o)
					require.Equal(b, filter.Success, d.Code, d.Groups[0].Message)
				}
				b.ReportMetric(float64((testkit.ProcessorTime(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
			})
		}
	}
}

// waitingGang writes nodes with two running pods each, which cannot leave, and a gang whose last member has no room anywhere.
func waitingGang(nodes int) string {
	var text strings.Builder
	text.WriteString(strings.Replace(largeGroup(nodes, 1, 20, 9, ""), "gang9", "gang10", 1) + "pod large:9 in=g\n")
	for k := range 2 * nodes {
		fmt.Fprintf(&text, "pod r%d:1 on=n%d\n", k, k%nodes)
	}
	return text.String()
}

// BenchmarkWaitingGang decides about a gang whose last member has no room anywhere, where each member looks at a part of the nodes and where it
// looks at all.
func BenchmarkWaitingGang(b *testing.B) {
	for _, nodes := range []int{5000, 50000} {
		for name, sampling := range map[string]filter.Sampling{"part": {}, "all": placement.AllNodes()} {
			b.Run(fmt.Sprintf("%s/%d", name, nodes), func(b *testing.B) {
				s, snapshot, _, o := groupSnapshot(b, waitingGang(nodes))
				profile := s.Profile()
				profile.Sampling = sampling
				placer, err := placement.NewPlacer(snapshot, profile)
				require.NoError(b, err)
				placer.DecideGroup(s.Queued, o)
				before := testkit.ProcessorTime(b)
				for b.Loop() {
					d := placer.DecideGroup(s.Queued, o)
					require.Equal(b, filter.Unschedulable, d.Code, d.Groups[0].Message)
				}
				b.ReportMetric(float64((testkit.ProcessorTime(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
			})
		}
	}
}

// BenchmarkFirstGang decides about gangs of which none was decided before: 100 equal members within a rack of 20 nodes, of which few are equal
// to another. Each gang asks for more than the one before, over nodes that are known. In "fails" no rack has room. A leader asks for more than the
// others: then each rack is tried.
func BenchmarkFirstGang(b *testing.B) {
	for _, nodes := range []int{5000, 50000} {
		for _, c := range []struct {
			name string
			cpu  int64 // of the first gang, in thousandths
			code filter.Code
			more int64 // that the first member asks for
		}{{"placed", 1000, filter.Success, 0}, {"fails", 3000, filter.Unschedulable, 0}, {"placed with a leader", 1000, filter.Success, 500}, {"fails with a leader", 3000, filter.Unschedulable, 500}} {
			b.Run(fmt.Sprintf("%s/%d", c.name, nodes), func(b *testing.B) {
				s, snapshot, _, o := groupSnapshot(b, "gates=T\n"+largeGroup(nodes, 991, 20, 100, "key=zone"))
				profile := s.Profile()
				profile.Sampling = placement.AllNodes()
				placer, err := placement.NewPlacer(snapshot, profile)
				require.NoError(b, err)
				cpu := c.cpu
				first := func() {
					for k, pod := range s.Queued {
						amount := cpu
						if k == 0 {
							amount += c.more
						}
						pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = *resource.NewMilliQuantity(amount, resource.DecimalSI)
					}
					cpu++
					d := placer.DecideGroup(s.Queued, o)
					require.Equal(b, c.code, d.Code, d.Groups[0].Message)
				}
				first() // then the racks are known
				before := testkit.ProcessorTime(b)
				for b.Loop() {
					first()
				}
				b.ReportMetric(float64((testkit.ProcessorTime(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
			})
		}
	}
}
