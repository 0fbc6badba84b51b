package score_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/score"
)

const benchNodes = 5000

func benchRows() *rows {
	var nodes []*v1.Node
	for i := range benchNodes {
		b := testkit.Node(fmt.Sprintf("n%d", i)).Capacity("cpu=16,memory=64Gi").Image(300*mib, "gcr.io/300:v1")
		if i%4 == 0 {
			b = b.Capacity(foo+"=4").Image(900*mib, "gcr.io/900:v1")
		}
		nodes = append(nodes, b.Obj())
	}
	r := newRows(nodes...)
	running := pod("cpu=500m,memory=1Gi")
	for i := range nodes {
		for range i % 8 {
			r.run(i, running)
		}
	}
	return r
}

// evaluators returns the raw scores of every plugin on the same cluster.
func evaluators(tb testing.TB, r *rows) map[string]func(int) int64 {
	p := imagePod("", 0, "gcr.io/300:v1", "gcr.io/900:v1")
	p.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=1,memory=2Gi," + foo + "=1")
	compiled := func(args score.FitArgs) func(int) int64 {
		e, err := score.CompileAllocation(p, args)
		require.NoError(tb, err)
		return e.On(r).Raw
	}
	balanced := func(args score.BalanceArgs) func(int) int64 {
		e, err := score.CompileBalance(p, args)
		require.NoError(tb, err)
		return e.On(r).Raw
	}
	bins := ratio(seedWeights, 0, 0, 100, 10)
	return map[string]func(int) int64{
		"LeastAllocated":           compiled(score.FitArgs{}),
		"MostAllocated":            compiled(score.FitArgs{ScoringStrategy: &score.Strategy{Type: score.MostAllocated}}),
		"RequestedToCapacityRatio": compiled(score.FitArgs{ScoringStrategy: &bins}),
		"Balanced":                 balanced(score.BalanceArgs{}),
		"BalancedThree":            balanced(score.BalanceArgs{Resources: weighted("cpu", 1, "memory", 1, foo, 1)}),
		"Images":                   score.CompileImages(p, release.Current).On(r).Raw,
	}
}

func TestRawDoesNotAllocate(t *testing.T) {
	r := benchRows()
	for name, raw := range evaluators(t, r) {
		t.Run(name, func(t *testing.T) {
			var sum int64
			require.Zero(t, testing.AllocsPerRun(20, func() {
				for i := range 100 {
					sum += raw(i)
				}
			}))
			require.Positive(t, sum)
		})
	}
}

// An operation is one node.
func BenchmarkRaw(b *testing.B) {
	r := benchRows()
	for name, raw := range evaluators(b, r) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var sum int64
			i := 0
			for range b.N {
				sum += raw(i)
				if i++; i == benchNodes {
					i = 0
				}
			}
			if sum < 0 {
				b.Fatal("negative score")
			}
		})
	}
}

// An operation is one pod.
func BenchmarkCompile(b *testing.B) {
	p := pod("cpu=1,memory=2Gi")
	for name, compile := range map[string]func() error{
		"Allocation": func() error { _, err := score.CompileAllocation(p, score.FitArgs{}); return err },
		"Balance":    func() error { _, err := score.CompileBalance(p, score.BalanceArgs{}); return err },
		"Images":     func() error { score.CompileImages(p, release.Current); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := compile(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
