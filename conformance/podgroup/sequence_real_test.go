package podgroup

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/podberth/podberth/internal/testkit/situation"
	own "github.com/podberth/podberth/podgroup"
)

// realPlayer is kube-scheduler over a client in memory. It runs in real time.
type realPlayer struct {
	ctx    context.Context
	end    context.CancelFunc
	client *fake.Clientset
}

func newTheirs(ctx context.Context, node *v1.Node) (player, error) {
	if err := switchGates(own.Gates{}); err != nil {
		return nil, err
	}
	klog.SetLogger(logr.Discard())
	p := &realPlayer{client: fake.NewSimpleClientset(node.DeepCopy())}
	p.ctx, p.end = context.WithCancel(ctx)
	p.client.PrependReactor("create", "pods", bind(p.client))
	factory := scheduler.NewInformerFactory(p.client, 0, nil)
	diary := &diary{}
	sched, err := scheduler.New(p.ctx, p.client, factory, nil, func(string) events.EventRecorderLogger { return diary }, scheduler.WithParallelism(1),
		scheduler.WithPodInitialBackoffSeconds(1), scheduler.WithPodMaxBackoffSeconds(1))
	if err != nil {
		return nil, err
	}
	factory.Start(p.ctx.Done())
	factory.WaitForCacheSync(p.ctx.Done())
	if err := sched.WaitForHandlersSync(p.ctx); err != nil {
		return nil, err
	}
	go sched.Run(p.ctx)
	return p, nil
}

func (p *realPlayer) do(s step) error {
	var err error
	switch pods, groups := p.client.CoreV1().Pods(situation.Namespace), p.client.SchedulingV1beta1().PodGroups(situation.Namespace); {
	case s.group != nil:
		_, err = groups.Create(p.ctx, apiGroup(s.group), metav1.CreateOptions{})
	case s.pod != nil:
		_, err = pods.Create(p.ctx, s.pod.DeepCopy(), metav1.CreateOptions{})
	case s.leaves != "":
		err = pods.Delete(p.ctx, s.leaves, metav1.DeleteOptions{})
	default:
		err = groups.Delete(p.ctx, s.removed, metav1.DeleteOptions{})
	}
	if apierrors.IsNotFound(err) {
		err = nil // a victim is gone already
	}
	time.Sleep(apart) // the order in which the informers of pods and of groups tell
	return err
}

// apart is the time between two changes of a batch.
const apart = 20 * time.Millisecond

func (p *realPlayer) rest() {
	select {
	case <-time.After(settled):
	case <-p.ctx.Done():
	}
}

func (p *realPlayer) shown() (out []string) {
	pods, err := p.client.CoreV1().Pods(situation.Namespace).List(p.ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	for k := range pods.Items {
		out = append(out, lineOf(&pods.Items[k]))
	}
	groups, err := p.client.SchedulingV1beta1().PodGroups(situation.Namespace).List(p.ctx, metav1.ListOptions{})
	if err != nil {
		return []string{err.Error()}
	}
	for _, g := range groups.Items {
		for _, c := range g.Status.Conditions {
			out = append(out, groupLine("group "+g.Name, c.Reason, c.Message))
		}
	}
	slices.Sort(out)
	return out
}

func (p *realPlayer) close() { p.end() }
