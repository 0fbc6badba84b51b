package cluster

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// What a snapshot sums up at the first question may be asked for by several goroutines at once, some of which fork it. The race detector finds a
// read or a write without the lock.
func TestFirstQuestionsSideBySide(t *testing.T) {
	for round := range 20 {
		var o Objects
		for k := range 12 {
			n := testkit.Node(fmt.Sprint("n", k)).Zone(fmt.Sprint("z", k%3)).Capacity("cpu=4,pods=9").Obj()
			n.Status.Images = []v1.ContainerImage{{Names: []string{"i"}, SizeBytes: 1 << 20}}
			o.Nodes = append(o.Nodes, n)
		}
		s, err := New(o)
		require.NoError(t, err)
		if round%2 == 0 { // an index that a change has copied, and that no caller has yet
			_, _, _ = s.Domains(v1.LabelTopologyZone)
			moved := o.Nodes[0].DeepCopy()
			moved.Labels[v1.LabelTopologyZone] = "z1"
			require.NoError(t, s.Set(moved))
		}
		var wg sync.WaitGroup
		start := make(chan struct{})
		for k := range 4 {
			wg.Go(func() {
				<-start
				x := s
				if k == 0 {
					x = s.Fork()
				}
				if len(x.Order()) != 12 {
					t.Errorf("the order lacks nodes: %v", x.Order())
				}
				if _, nodes, _ := x.Image("i"); nodes != 12 {
					t.Errorf("%d nodes have the image", nodes)
				}
				if _, domains, have := x.Domains(v1.LabelTopologyZone); domains != 3 || have != 12 {
					t.Errorf("%d nodes in %d zones", have, domains)
				}
			})
		}
		close(start)
		wg.Wait()
	}
}

// One question alone, without the locks of others around it, is asked by two goroutines at once.
func TestOneQuestionSideBySide(t *testing.T) {
	questions := map[string]func(*Snapshot) bool{
		"order":  func(s *Snapshot) bool { return len(s.Order()) == 3 },
		"images": func(s *Snapshot) bool { _, nodes, _ := s.Image("i"); return nodes == 3 },
		"domains": func(s *Snapshot) bool {
			_, domains, have := s.Domains(v1.LabelTopologyZone)
			return domains == 3 && have == 3
		},
	}
	for name, ask := range questions {
		for range 20 {
			var o Objects
			for k := range 3 {
				n := testkit.Node(fmt.Sprint("n", k)).Zone(fmt.Sprint("z", k)).Capacity("cpu=4,pods=9").Obj()
				n.Status.Images = []v1.ContainerImage{{Names: []string{"i"}, SizeBytes: 1 << 20}}
				o.Nodes = append(o.Nodes, n)
			}
			s, err := New(o)
			require.NoError(t, err)
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() {
					if !ask(s) {
						t.Errorf("%s: a wrong answer", name)
					}
				})
			}
			wg.Wait()
		}
	}
}
