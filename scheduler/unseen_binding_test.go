package scheduler

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A pod whose binding was answered and never seen is read when its time is over.
func TestUnseenBinding(t *testing.T) { // W8.6
	refused := errors.New("refused")
	type test struct {
		name, why string
		read      func(*v1.Pod) (*v1.Pod, error)
		on        string // the pods that the scheduler counts on the node
		waits     bool
		errs      int
	}
	testkit.Run(t, []test{
		{"lost", "the API server does not know of the binding, so the pod is tried again", func(p *v1.Pod) (*v1.Pod, error) {
			now := p.DeepCopy()
			now.Spec.NodeName = ""
			return now, nil
		}, "", true, 1},
		{"bound", "the watch is behind", func(p *v1.Pod) (*v1.Pod, error) { return p, nil }, "p", false, 0},
		{"gone", "it holds nothing", func(*v1.Pod) (*v1.Pod, error) { return nil, nil }, "", false, 1},
		{"unknown", "its room is kept until it is known", func(*v1.Pod) (*v1.Pod, error) { return nil, refused }, "p", false, 1},
	}, func(t *testing.T, c test) {
		_, list := probes(1)
		p, reg := on(list, "-", Bind) // the API server binds without an event
		reads := 0
		r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg, AssumeTTL: 30 * time.Second, ReadPod: func(p *v1.Pod) (*v1.Pod, error) {
			reads++
			return c.read(p)
		}}, three())
		r.add(pod("p")).step()
		require.Equal(t, Scheduled, r.last().Outcome)
		r.clock.advance(29 * time.Second)
		r.s.Tick()
		r.work()
		require.Zero(t, reads)
		r.clock.advance(time.Second)
		r.s.Tick()
		r.work()
		require.Equal(t, 1, reads)
		require.Equal(t, c.on, r.on("n1"))
		require.Len(t, r.errs, c.errs)
		attempts := len(r.results)
		r.step()
		require.Equal(t, c.waits, len(r.results) > attempts, "the pod is tried again")
		r.clock.advance(30 * time.Second)
		r.s.Tick()
		r.work()
		if c.name == "bound" || c.name == "unknown" {
			require.Equal(t, 2, reads, "it is read again")
		}
	})
}
