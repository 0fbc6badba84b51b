package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/volumes"
)

// This file calls the objects and functions of Options. Each call is guarded as guarded_calls.go says.

// podNow returns the API server's version of the pod, nil if the pod is deleted. The error is a failure of the Client.
func (s *Scheduler) podNow(namespace, name string) (*v1.Pod, error) {
	return ask(s, context.Background(), "Client.Pod", func(context.Context) (*v1.Pod, error) {
		return s.o.Client.Pod(namespace, name), nil
	})
}

// known returns for the queue whether a pod exists, and its node. The queue is locked. If the Client fails, the pod
// counts as existing and without a node.
func (s *Scheduler) known(pod *v1.Pod) (node string, there bool) {
	now, err := s.podNow(pod.Namespace, pod.Name)
	if err != nil {
		s.queue.failed = append(s.queue.failed, err)
		return "", true
	}
	if now == nil {
		return "", false
	}
	return now.Spec.NodeName, true
}

func (s *Scheduler) act(ctx context.Context, what Point, run func(context.Context) error) error {
	_, err := ask(s, ctx, what, func(ctx context.Context) (struct{}, error) { return struct{}{}, run(ctx) })
	return err
}

func (s *Scheduler) bind(ctx context.Context, pod *v1.Pod, node string) error {
	return s.act(ctx, "Client.Bind", func(ctx context.Context) error { return s.o.Client.Bind(ctx, pod, node) })
}

func (s *Scheduler) patch(ctx context.Context, pod *v1.Pod, p StatusPatch) error {
	return s.act(ctx, "Client.PatchStatus", func(ctx context.Context) error { return s.o.Client.PatchStatus(ctx, pod, p) })
}

func (s *Scheduler) bindVolumes(ctx context.Context, pod *v1.Pod, d volumes.Decision) error {
	return s.act(ctx, "Client.BindVolumes", func(ctx context.Context) error { return s.o.Client.BindVolumes(ctx, pod, d) })
}

func (s *Scheduler) writeClaims(ctx context.Context, pod *v1.Pod, w ClaimWrites) error {
	return s.act(ctx, "Client.WriteClaims", func(ctx context.Context) error { return s.o.Client.WriteClaims(ctx, pod, w) })
}

func (s *Scheduler) delete(ctx context.Context, pod *v1.Pod) error {
	return s.act(ctx, "Client.Delete", func(ctx context.Context) error { return s.o.Client.Delete(ctx, pod) })
}

// report calls OnError. A failure of OnError itself is dropped, because nothing else could report the failure.
func (s *Scheduler) report(err error) {
	if err != nil && s.o.OnError != nil {
		_ = notify(s, "OnError", func() { s.o.OnError(err) })
	}
}

func (s *Scheduler) event(pod *v1.Pod, kind, reason, action, note string) {
	if s.o.Recorder != nil {
		s.report(notify(s, "Recorder.Event", func() { s.o.Recorder.Event(pod, kind, reason, action, note) }))
	}
}

// finish calls OnResult for an attempt that ended.
func (s *Scheduler) finish(a *attempt) {
	if s.o.OnResult != nil {
		s.report(notify(s, "OnResult", func() { s.o.OnResult(a.result) }))
	}
}

// moved calls OnMove. The queue is locked.
func (s *Scheduler) moved(moves []queue.Move) {
	s.countMoves(moves)
	if s.o.OnMove == nil {
		return
	}
	now := s.clock.Now()
	for _, m := range moves {
		if err := notify(s, "OnMove", func() { s.o.OnMove(m, now) }); err != nil {
			s.queue.failed = append(s.queue.failed, err)
		}
	}
}

// tie calls Tie. If Tie fails, the first node is chosen.
func (s *Scheduler) tie(n int) int {
	k, err := ask(s, context.Background(), "Tie", func(context.Context) (int, error) { return s.o.Tie(n), nil })
	s.report(err)
	return k
}

// budgets returns the disruption budgets of Options. Without such budgets it returns the budgets of the cluster, the same as before
// while their objects are the same: preemption keeps its work between attempts with the same budgets.
func (s *Scheduler) budgets() (*disruption.Budgets, error) {
	if s.o.Budgets != nil {
		return ask(s, context.Background(), "Budgets", func(context.Context) (*disruption.Budgets, error) { return s.o.Budgets(), nil })
	}
	pdbs := slices.Collect(cluster.List[*policyv1.PodDisruptionBudget](s.snapshot).All())
	if s.disruptions == nil || !slices.Equal(pdbs, s.pdbs) {
		s.pdbs, s.disruptions = pdbs, disruption.NewBudgets(pdbs, disruption.BudgetOptions{})
	}
	return s.disruptions, nil
}

// start runs a task beside the scheduling cycles. When Options.Go panics before it runs the task, a goroutine runs it.
func (s *Scheduler) start(task func()) {
	var once sync.Once
	run := func() {
		once.Do(func() {
			s.tasks.Add(1)
			defer s.tasks.Add(-1)
			defer func() {
				if r := recover(); r != nil {
					s.report(fmt.Errorf("panic: %v", r))
				}
			}()
			task()
		})
	}
	if s.o.Go == nil {
		go run()
		return
	}
	defer func() {
		if r := recover(); r != nil {
			s.report(fmt.Errorf("Options.Go panicked: %v", r))
			go run()
		}
	}()
	s.o.Go(run)
}

// measure calls Metrics. After a panic Metrics is not called any more.
func (s *Scheduler) measure(use func(Metrics)) {
	if !s.measures() {
		return
	}
	defer func() {
		if r := recover(); r != nil && s.unmeasured.CompareAndSwap(false, true) {
			s.start(func() { s.report(fmt.Errorf("Metrics panicked and is not called any more: %v", r)) })
		}
	}()
	use(s.o.Metrics)
}

func (s *Scheduler) measures() bool { return s.o.Metrics != nil && !s.unmeasured.Load() }

// interested reports whether the scheduler calls an extender's verb for a pod.
func (s *Scheduler) interested(ctx context.Context, e Extender, v Verb, pod *v1.Pod) (bool, error) {
	offers, err := ask(s, ctx, "Extender.Offers", func(context.Context) (bool, error) { return e.Offers(v), nil })
	if !offers { // as after an error
		return false, err
	}
	return ask(s, ctx, "Extender.Interested", func(context.Context) (bool, error) { return e.Interested(pod), nil })
}

// consult calls an extender that offers the verb and is interested in the pod. asked is false for any other extender.
func consult[T any](s *Scheduler, ctx context.Context, e Extender, v Verb, pod *v1.Pod, run func(context.Context) (T, error)) (answer T, asked bool, err error) {
	if asked, err = s.interested(ctx, e, v, pod); !asked { // as after an error
		return answer, err != nil, err
	}
	answer, err = ask(s, ctx, Point("Extender."+v), run)
	return answer, true, err
}

// ignorable reports whether failures of an extender are ignored. An extender whose Ignorable fails is not ignorable.
func (s *Scheduler) ignorable(e Extender) bool {
	yes, err := ask(s, context.Background(), "Extender.Ignorable", func(context.Context) (bool, error) { return e.Ignorable(), nil })
	s.report(err)
	return yes
}

func (s *Scheduler) extenderName(e Extender) string {
	name, err := ask(s, context.Background(), "Extender.Name", func(context.Context) (string, error) { return e.Name(), nil })
	s.report(err)
	return name
}

// passOver reports the failure of an ignorable extender to OnError.
func (s *Scheduler) passOver(e Extender, err error) {
	s.report(fmt.Errorf("extender %s: %w", s.extenderName(e), err))
}
