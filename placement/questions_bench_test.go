package placement

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

func questionCluster(b *testing.B) *cluster.Snapshot {
	return runningReplicas(b, 5000, 2, func(i int) *v1.Pod { return replica(i%6, i%20, i) })
}

// BenchmarkQuestions measures the questions beside Decide over 5,000 nodes.
func BenchmarkQuestions(b *testing.B) {
	b.Run("HowMany", func(b *testing.B) { // us a copy
		p, err := NewPlacer(questionCluster(b), benchProfile())
		require.NoError(b, err)
		for b.Loop() {
			room, err := p.HowMany(testkit.Pod("x").Request("cpu=1,memory=1Gi").Obj(), func(n int) bool { return n < 1000 })
			if err != nil || len(room.Nodes) != 1000 {
				b.Fatal(len(room.Nodes), err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "us/copy")
	})
	b.Run("PlaceAll", func(b *testing.B) {
		s := questionCluster(b)
		p, err := NewPlacer(s, benchProfile())
		require.NoError(b, err)
		var pods []*v1.Pod
		for i := range 1000 {
			pods = append(pods, replica(i%6, i%20, 1_000_000+i))
		}
		for b.Loop() {
			mark := s.Mark()
			if _, err := p.PlaceAll(pods, Options{}); err != nil {
				b.Fatal(err)
			}
			s.Rollback(mark)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "us/pod")
	})
	b.Run("Violations", func(b *testing.B) {
		p, err := New(questionCluster(b), benchProfile())
		require.NoError(b, err)
		for b.Loop() {
			p.Violations()
		}
	})
	b.Run("planner", func(b *testing.B) { // what planners do: remove a pod, decide about it, place it, take all back
		s := questionCluster(b)
		p, err := NewPlacer(s, benchProfile())
		require.NoError(b, err)
		n, waiting := 0, unbound(s)
		for b.Loop() {
			move(b, s, p, waiting, n)
			n++
		}
	})
	for _, forks := range []int{1, 2} {
		b.Run(fmt.Sprintf("forks-%d", forks), func(b *testing.B) { // scenarios on forks, one goroutine each
			s := questionCluster(b)
			waiting := unbound(s)
			var placers []*Placer
			for range forks {
				fork := s.Fork()
				p, err := NewPlacer(fork, benchProfile())
				require.NoError(b, err)
				placers = append(placers, p)
			}
			run := func(p *Placer, n int) {
				for i := range n {
					move(b, p.snapshot, p, waiting, i)
				}
			}
			const scenarios = 20_000
			for b.Loop() {
				var wait sync.WaitGroup
				for _, p := range placers {
					wait.Add(1)
					go func() { defer wait.Done(); run(p, scenarios/forks) }()
				}
				wait.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e3/scenarios, "us/scenario")
		})
	}
}

// unbound returns the first pod of each slot and a copy of it without a node. The copies are made before the time begins: a copy is 1.3 kB, five
// times what a scenario allocates, and a planner that asks about a pod again keeps its copy.
func unbound(s *cluster.Snapshot) (list [][2]*v1.Pod) {
	for slot := range s.Len() {
		var pair [2]*v1.Pod
		for q := range s.Pods(slot) {
			free := *q
			free.Spec.NodeName = ""
			pair = [2]*v1.Pod{q, &free}
			break
		}
		list = append(list, pair)
	}
	return list
}

func move(b *testing.B, s *cluster.Snapshot, p *Placer, waiting [][2]*v1.Pod, n int) {
	pair := waiting[n*7%s.Len()]
	if pair[0] == nil {
		return
	}
	mark := s.Mark()
	if err := p.Forget(pair[0]); err != nil {
		b.Error(err)
	}
	if d := p.Decide(pair[1], Options{}); d.Placed() {
		if err := p.Assume(pair[1], d); err != nil {
			b.Error(err)
		}
	}
	s.Rollback(mark)
}
