package cluster

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A snapshot does not keep the object of a pod that has left, unless the pod was the first of its sets.
func TestSnapshotLetsGoOfPods(t *testing.T) {
	type test struct {
		name  string
		leave func(t *testing.T, s *Snapshot, p *v1.Pod)
	}
	testkit.Run(t, []test{
		{"unset", func(t *testing.T, s *Snapshot, p *v1.Pod) {
			require.NoError(t, s.Remove(p))
		}},
		{"unset under a mark that is released", func(t *testing.T, s *Snapshot, p *v1.Pod) {
			m := s.Mark()
			require.NoError(t, s.Remove(p))
			require.True(t, s.Commit(m))
		}},
		{"unset under a mark that is rolled back, and unset again", func(t *testing.T, s *Snapshot, p *v1.Pod) {
			m := s.Mark()
			require.NoError(t, s.Remove(p))
			require.True(t, s.Rollback(m))
			require.NoError(t, s.Remove(p))
		}},
		{"replaced", func(t *testing.T, s *Snapshot, p *v1.Pod) {
			require.NoError(t, s.Set(p.DeepCopy()))
		}},
	}, func(t *testing.T, c test) {
		s := mustNew(t, Objects{Nodes: two(), Pods: []*v1.Pod{testkit.Pod("first").On("a").HostPort("", v1.ProtocolTCP, 80).Obj()}})
		at := func() weak.Pointer[v1.Pod] {
			p := testkit.Pod("second").On("a").HostPort("", v1.ProtocolTCP, 80).Obj()
			require.NoError(t, s.Set(p))
			c.leave(t, s, p)
			return weak.Make(p)
		}()
		runtime.GC()
		require.Nil(t, at.Value())
		runtime.KeepAlive(s)
	})
}
