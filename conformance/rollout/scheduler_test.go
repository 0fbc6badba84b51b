package rollout

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/placement"
)

// scheduler is kube-scheduler, with the objects of the server.
type scheduler struct {
	real *real.Scheduler
	ties int // decisions for another of several best nodes
}

func newScheduler(ctx context.Context) (*scheduler, error) {
	s, err := compare.EveryNode(ctx)
	return &scheduler{real: s}, err
}

// decide returns kube-scheduler's node for a pod, "" for none.
func (s *scheduler) decide(o cluster.Objects, pod *v1.Pod) (string, error) {
	if err := s.real.Load(compare.Copy(&gen.Cluster{Objects: o})); err != nil {
		return "", err
	}
	if err := s.real.Know(pod); err != nil {
		return "", err
	}
	theirs, err := s.real.Attempt(pod)
	if err != nil {
		return "", err
	}
	if theirs.Err != nil {
		return "", nil //nolint:nilerr // the pod has no node
	}
	return theirs.Result.SuggestedHost, nil
}

// agrees returns an error when kube-scheduler's node is another than the planned node and not as good.
func (s *scheduler) agrees(o cluster.Objects, pod *v1.Pod, node string) error {
	host, err := s.decide(o, pod)
	if err != nil {
		return err
	}
	if host == "" {
		return fmt.Errorf("kube-scheduler finds no node for %s, planned is %s", pod.Name, node)
	}
	if host == node {
		return nil
	}
	snapshot, err := cluster.New(o)
	if err != nil {
		return err
	}
	profile := placement.DefaultProfile()
	profile.Sampling = placement.AllNodes()
	plan, err := placement.New(snapshot, profile)
	if err != nil {
		return err
	}
	a := plan.Prepare(pod)
	feasible := a.Search(placement.Options{}).Feasible
	_, totals, err := a.Scores(feasible)
	if err != nil {
		return err
	}
	best := func(name string) bool {
		at := slices.Index(feasible, snapshot.Slot(name))
		return at >= 0 && totals[at] == slices.Max(totals)
	}
	if !best(host) || !best(node) {
		return fmt.Errorf("kube-scheduler places %s on %s, planned is %s", pod.Name, host, node)
	}
	s.ties++
	return nil
}

// bind binds a pod to a node. The pod runs then, and is not ready.
func (w *world) bind(ctx context.Context, pod *v1.Pod, node string) error {
	err := w.client.CoreV1().Pods(w.name).Bind(ctx, &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: pod.Name}, Target: v1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	bound, err := w.client.CoreV1().Pods(w.name).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return w.setReady(ctx, bound, false)
}
