package framework

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"
	kube "k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/scheduler"
)

// contest has a full node, its two pods, and a pod that preempts both.
func contest() (node *v1.Node, victims []*v1.Pod, preemptor *v1.Pod) {
	node = testkit.Node("n1").Capacity("cpu=2,memory=8Gi,pods=10").Obj()
	for _, name := range []string{"a", "b"} {
		victims = append(victims, testkit.Pod("default/"+name).On("n1").Priority(1).Request("cpu=1").Obj())
	}
	return node, victims, testkit.Pod("default/p").Priority(10).Request("cpu=2").Obj()
}

// A preemption deletes the last victim after all others, and gates the preemptor until then. When all victims leave while
// the first of them is being deleted, no event follows that opens the gate: kube-scheduler keeps the preemptor unschedulable
// after the preemption has ended. The reference scheduler tries the preemptor again at once: docs/fidelity/framework.md lists
// the difference.
func TestGatedPreemptor(t *testing.T) {
	require.Equal(t, "unschedulable", theirPreemptor(t))
	require.Equal(t, queue.Backoff, ourPreemptor(t))
}

// theirPreemptor returns the part of kube-scheduler's queue in which the preemptor is after the preemption.
func theirPreemptor(t *testing.T) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	node, victims, preemptor := contest()
	profile, err := real.DefaultProfile()
	require.NoError(t, err)
	metrics.Register()
	client := fake.NewClientset(node, victims[0], victims[1], preemptor)
	factory := informers.NewSharedInformerFactory(client, 0)
	recorders := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	s, err := kube.New(ctx, client, factory, nil, recorders, kube.WithProfiles(profile), kube.WithParallelism(1))
	require.NoError(t, err)
	soon := func(what string, ok func() bool) {
		assert.Eventually(t, ok, time.Minute, time.Millisecond, what)
	}
	var once sync.Once
	late := make(chan struct{}) // closed when both victims have left
	client.PrependReactor("delete", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		once.Do(func() {
			soon("the attempt has ended", func() bool { return len(s.SchedulingQueue.UnschedulablePods()) == 1 })
			for _, v := range victims {
				assert.NoError(t, client.Tracker().Delete(v1.SchemeGroupVersion.WithResource("pods"), v.Namespace, v.Name))
				soon("the victim has left", func() bool { _, err := s.Cache.GetPod(v); return err != nil })
			}
			close(late)
		})
		return true, nil, nil
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	require.NoError(t, s.WaitForHandlersSync(ctx))
	soon("the preemptor is queued", func() bool { return len(s.SchedulingQueue.PodsInActiveQ()) == 1 })
	ended := func() float64 { return theirPreemptions(t) }
	before := ended()
	s.ScheduleOne(ctx)
	select {
	case <-late:
	case <-time.After(time.Minute):
		t.Fatal("no victim was deleted")
	}
	soon("the preemption has ended", func() bool { return ended() > before })
	switch {
	case len(s.SchedulingQueue.UnschedulablePods()) == 1:
		return "unschedulable"
	case len(s.SchedulingQueue.PodsInBackoffQ()) == 1:
		return "backoff"
	}
	return "active"
}

// theirPreemptions returns the number of preemptions that have ended.
func theirPreemptions(t *testing.T) (n float64) {
	for _, m := range gathered(t, legacyregistry.DefaultGatherer)[scheduler.PreemptionTasks].GetMetric() {
		n += m.GetCounter().GetValue()
	}
	return n
}

// departing is an API server. While it deletes the first victim, both victims leave.
type departing struct {
	api
	s       *scheduler.Scheduler
	victims []*v1.Pod
}

func (d *departing) Delete(context.Context, *v1.Pod) error {
	if d.victims == nil {
		return scheduler.ErrGone
	}
	for _, v := range d.victims {
		d.s.DeletePod(v)
	}
	d.victims = nil
	return nil
}

// ourPreemptor returns the place of the preemptor in the reference scheduler's queue after the same events.
func ourPreemptor(t *testing.T) queue.Place {
	node, victims, preemptor := contest()
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node}, Pods: victims})
	require.NoError(t, err)
	var tasks []func()
	client := &departing{victims: victims}
	s, err := scheduler.New(snapshot, scheduler.Options{Client: client, Go: func(task func()) { tasks = append(tasks, task) }})
	require.NoError(t, err)
	client.s, client.pod = s, preemptor
	s.AddPod(preemptor)
	require.True(t, s.TryScheduleOne(t.Context()))
	for len(tasks) > 0 {
		task := tasks[0]
		tasks = tasks[1:]
		task()
	}
	require.Nil(t, client.victims, "both victims have left")
	var entry *queue.Entry
	s.Queue().Read(func(q *queue.Queue) { entry, _ = q.Lookup(preemptor) })
	require.NotNil(t, entry)
	return entry.Place()
}
