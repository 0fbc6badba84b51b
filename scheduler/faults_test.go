package scheduler

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
)

// podless is a server that cannot tell a pod's present version.
type podless struct{ *server }

func (podless) Pod(string, string) *v1.Pod { panic("boom") }

// Preemption evicts nobody when it cannot read the preemptor. The attempt says why.
func TestPreemptorIsUnreadable(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		r, p := fullNode(t, o, "a", "b")
		r.s.o.Client = podless{r.server}
		r.add(p).step()
		require.Contains(t, r.last().Message, "preemption: Client.Pod panicked: boom")
		require.Empty(t, r.deleted)
	})
}

// Victims come back one by one while the preemptor still fits. When a plugin cannot add a victim back, the node is given up.
func TestVictimsThatCannotComeBack(t *testing.T) {
	for _, broken := range []bool{false, true} {
		_, list := probes(1)
		if broken {
			list[0].answer["AddPod"] = bad
		}
		p, reg := on(list, PreFilter)
		low := func(name string) *v1.Pod {
			return testkit.Pod("default/" + name).On("n1").Priority(0).Request("cpu=2").Obj()
		}
		r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, []*v1.Node{node("n1")}, low("a"), low("b"))
		r.add(testkit.Pod("default/high").Priority(9).Request("cpu=1").Obj()).step()
		if broken {
			require.Empty(t, r.last().Victims)
			require.Contains(t, r.last().Message, `preemption: running AddPod on PreFilter plugin "A": broken`)
			continue
		}
		require.Len(t, r.last().Victims, 1)
	}
}

// A hint of a plugin decides whether an event wakes the pods that the plugin rejected. A hint that fails wakes them.
func TestHintOfPlugin(t *testing.T) {
	type test struct {
		name  string
		wants bool
		err   error
		place queue.Place
	}
	testkit.Run(t, []test{
		{"wants it", true, nil, queue.Backoff},
		{"does not want it", false, nil, queue.Unschedulable},
		{"fails", false, errors.New("broken"), queue.Backoff},
	}, func(t *testing.T, c test) {
		_, list := probes(1)
		list[0].answer[Filter] = u("no")
		list[0].events = []queue.Registration{{Event: queue.Event{Resource: "Node", Action: queue.Add}, Hint: func(*v1.Pod, any, any) (bool, error) { return c.wants, c.err }}}
		r := lockedRig(t, list[0], Filter)
		p := pod("p")
		r.add(p).step()
		require.Equal(t, queue.Unschedulable, r.place(p))
		r.s.AddNode(node("n4"))
		require.Equal(t, c.place, r.place(p))
	})
}

// The volumes of a pod are promised to it from the decision until they are bound.
func TestVolumesArePromised(t *testing.T) {
	for _, plan := range []bool{true, false} {
		o := Options{Profiles: []Profile{{SchedulerName: "default-scheduler"}}}
		s, c := volumeScheduler(t, rand.New(rand.NewPCG(1, 9)), o)
		if !plan {
			s.profiles["default-scheduler"].plan = nil
		}
		var tasks []func()
		s.o.Go = func(task func()) { tasks = append(tasks, task) }
		promised := 0
		for _, name := range slices.Sorted(maps.Keys(c.claims)) { // claims compete for volumes
			p := pod("p-" + name)
			p.Spec.Containers = nil
			identified([]*v1.Pod{p})
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
			c.pods[podinfo.Name(p)] = p
			s.AddPod(p)
			require.True(t, s.TryScheduleOne(context.Background()))
			if len(tasks) == 0 {
				continue // no volume is large enough
			}
			d, ok := s.volumes.Reserved(p)
			require.True(t, ok)
			require.False(t, d.Empty())
			promised++
			tasks[0]()
			tasks = nil
			require.True(t, s.cycle.TryLock())
			require.NoError(t, s.refresh())
			s.cycle.Unlock()
			_, ok = s.volumes.Reserved(p)
			require.False(t, ok, "the volumes are bound")
		}
		require.NotZero(t, promised)
	}
}
