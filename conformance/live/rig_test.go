package live

import (
	"context"
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/conformance/apiserver"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/daemon"
)

// world is an API server with a namespace-wide view for the test.
type world struct {
	t      *testing.T
	ctx    context.Context
	server *apiserver.Server
	link   *link
	api    kubernetes.Interface // of the test, not through the link
	last   error                // is part of the failure of until

	groups   *podgroup.Gates       // of the daemon; nil: without groups
	registry prometheus.Registerer // of the daemon's metrics; nil: none
	started  func(*daemon.Daemon)  // hears of each daemon; nil: nobody does
	document string                // the schedulers' configuration
	wire     *wire                 // of the scenario
	made     sync.Map              // UIDs of the pods of the scenario
	halt     func()                // stops the scheduler of the scenario
	again    func()                // stops the scheduler of the scenario and starts another

	views []*view // of the schedulers that run
}

// plainConfig is a configuration that says nothing.
const plainConfig = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// lateBy finds the scenarios that a busy machine would fail.
var lateBy = flag.Duration("late", 0, "answers and watches of the schedulers are late by up to this, some kinds of objects more than others")

// newLink makes a link that is late as the flag says.
func newLink() *link {
	if *lateBy == 0 {
		return &link{}
	}
	return &link{late: &delays{most: *lateBy}}
}

func newWorld(t *testing.T, flags ...string) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), server: apiserver.Start(t, append([]string{"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"}, flags...)...), link: newLink(), document: plainConfig}
	w.connect("")
	return w
}

func (w *world) connect(user string, groups ...string) {
	w.t.Helper()
	require.NoError(w.t, w.link.connect(w.server.Config, user, groups...))
	w.api = kubernetes.NewForConfigOrDie(w.server.Config)
}

func load(t testing.TB, document string) *config.Configuration {
	t.Helper()
	c, err := config.Load([]byte(document))
	require.NoError(t, err)
	return c
}

// podberth starts the daemon and returns it with a function that stops it.
func (w *world) podberth(change ...func(*daemon.Config)) (d *daemon.Daemon, stop func() error) {
	w.t.Helper()
	settings := daemon.Config{REST: w.link.config(), Configuration: load(w.t, w.document), Groups: w.groups, Registry: w.registry}
	for _, f := range change {
		f(&settings)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d, err := daemon.New(ctx, settings)
	require.NoError(w.t, err)
	if w.started != nil {
		w.started(d)
	}
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	gone := w.viewed(viewOf(d))
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		gone()
		cancel()
		return <-done
	}
	w.t.Cleanup(func() { require.NoError(w.t, stop()) })
	return d, stop
}

// patience is how long a test waits for what must come. A pod that nothing wakes is tried again after five minutes, which is longer.
const patience = 3 * time.Minute

// until waits for a condition.
func (w *world) until(what string, met func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.ctx, 10*time.Millisecond, patience, true, func(context.Context) (bool, error) { return met(), nil })
	require.NoError(w.t, err, "%s; the last error: %v", what, w.last)
}

// newNode returns a node with room for 110 pods.
func newNode(name, cpu string, change ...func(*v1.Node)) *v1.Node {
	room := v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("110")}
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}, Status: v1.NodeStatus{Capacity: room, Allocatable: room,
		Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}
	for _, f := range change {
		f(n)
	}
	return n
}

// priorityClass makes a class.
func (w *world) priorityClass(name string, value int32, change ...func(*schedulingv1.PriorityClass)) {
	w.t.Helper()
	c := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	for _, f := range change {
		f(c)
	}
	_, err := w.api.SchedulingV1().PriorityClasses().Create(w.ctx, c, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *world) node(name, cpu string, change ...func(*v1.Node)) {
	w.t.Helper()
	n, err := w.api.CoreV1().Nodes().Create(w.ctx, newNode(name, cpu, change...), metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.nodeSeen(n)
}

func newPod(name, cpu string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](0), Containers: []v1.Container{{
		Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}},
	}}}}
	for _, f := range change {
		f(p)
	}
	return p
}

func (w *world) pod(name, cpu string, change ...func(*v1.Pod)) *v1.Pod {
	w.t.Helper()
	p, err := w.api.CoreV1().Pods("default").Create(w.ctx, newPod(name, cpu, change...), metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.made.Store(p.UID, true)
	return p
}

func (w *world) get(name string) *v1.Pod {
	w.t.Helper()
	p, err := w.api.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return p
}

func (w *world) delete(name string) {
	w.t.Helper()
	require.NoError(w.t, w.api.CoreV1().Pods("default").Delete(w.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
}

func (w *world) bound(name, node string) {
	w.t.Helper()
	w.until(name+" is bound to "+node, func() bool {
		p, err := w.api.CoreV1().Pods("default").Get(w.ctx, name, metav1.GetOptions{})
		return err == nil && p.Spec.NodeName != "" && (node == "" || p.Spec.NodeName == node)
	})
}

// condition returns the pod's condition of a type, an empty one without.
func condition(p *v1.Pod, kind v1.PodConditionType) v1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1.PodCondition{}
}

// events returns the notes of a reason about a pod, by the order of their names.
func (w *world) events(reason, pod string) []string {
	w.t.Helper()
	list, err := w.api.EventsV1().Events("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	var out []string
	for _, e := range list.Items {
		if e.Reason == reason && e.Regarding.Name == pod {
			out = append(out, e.Note)
		}
	}
	return out
}
