package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podberth/podberth/cluster"
	planner "github.com/podberth/podberth/planning/rollout"
)

// player follows a plan on the server. It is the kubelets, the controllers of the pods, and whoever replaces the nodes.
type player struct {
	*world
	*scheduler
	ctx       context.Context
	shape     *v1.Node
	evictions int
	worst     time.Duration // by which a wave took longer than planned
	below     map[string]bool
	samples   map[string]*v1.Pod // a pod of each controller that naive has seen
}

// play follows the plan. The error is the first thing that is not as planned: a refused eviction, a pod that kube-scheduler does not
// place there, a budget below its minimum, or a wave that takes too long.
func (p *player) play(plan *planner.Plan, old []string) error {
	p.below = map[string]bool{}
	if err := p.guard(true); err != nil {
		return err
	}
	for _, name := range old {
		if err := p.edit(name, func(n *v1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: planner.OldTaint, Effect: v1.TaintEffectPreferNoSchedule})
		}); err != nil {
			return err
		}
	}
	for i := range plan.Steps {
		if err := p.step(&plan.Steps[i]); err != nil {
			return fmt.Errorf("step %d, %s %v: %w", i+1, plan.Steps[i].Action, plan.Steps[i].Nodes, err)
		}
	}
	return nil
}

// edit changes a node.
func (p *player) edit(name string, change func(n *v1.Node)) error {
	n, err := p.client.CoreV1().Nodes().Get(p.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	change(n)
	_, err = p.client.CoreV1().Nodes().Update(p.ctx, n, metav1.UpdateOptions{})
	return err
}

func (p *player) step(s *planner.Step) error {
	if s.Action == planner.Surge {
		for _, name := range s.Nodes {
			n := p.shape.DeepCopy()
			n.ObjectMeta = metav1.ObjectMeta{Name: name, Labels: n.Labels}
			n.Labels[v1.LabelHostname], n.Spec = name, v1.NodeSpec{}
			if err := p.createNode(p.ctx, n); err != nil {
				return err
			}
		}
		return nil
	}
	for _, name := range s.Nodes {
		if err := p.edit(name, cordon); err != nil {
			return err
		}
	}
	for i := range s.Waves {
		if err := p.wave(&s.Waves[i]); err != nil {
			return fmt.Errorf("wave %d: %w", i+1, err)
		}
	}
	if err := p.empty(s.Nodes); err != nil {
		return err
	}
	for _, name := range s.Nodes {
		var err error
		if s.Action == planner.Replace {
			err = p.edit(name, func(n *v1.Node) { n.Spec.Unschedulable, n.Spec.Taints = false, nil })
		} else {
			err = p.client.CoreV1().Nodes().Delete(p.ctx, name, metav1.DeleteOptions{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func cordon(n *v1.Node) {
	n.Spec.Unschedulable = true
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
}

// empty returns an error when a pod is left on the nodes.
func (p *player) empty(nodes []string) error {
	o, _, err := p.objects(p.ctx)
	for _, pod := range o.Pods {
		if slices.Contains(nodes, pod.Spec.NodeName) {
			return fmt.Errorf("pod %s is left on %s", pod.Name, pod.Spec.NodeName)
		}
	}
	return err
}

// event is what happens at a time of a wave.
type event struct {
	at time.Duration // after the beginning of the wave
	do func() error
}

// wave evicts in the order of the plan, and then does at the planned times what kubelets, controllers and the scheduler do.
func (p *player) wave(w *planner.Wave) error {
	if err := p.settled(); err != nil {
		return err
	}
	begin := time.Now()
	var events []event
	later := func(at time.Duration, do func() error) { events = append(events, event{at - w.Begin, do}) }
	for _, a := range w.Placed {
		if err := p.place(short(a.Pod), a.To); err != nil {
			return err
		}
		later(a.Ready, func() error { return p.ready(short(a.Pod)) })
	}
	for _, m := range w.Moves {
		pod, err := p.evict(short(m.Pod), m.From)
		if err != nil {
			return err
		}
		next := short(m.Replacement)
		stateful := next != "" && metav1.GetControllerOf(pod).Kind == "StatefulSet"
		if next != "" && !stateful {
			if err := p.make(pod, next); err != nil {
				return err
			}
		}
		if next != "" && m.Placed == w.Begin && !stateful {
			if err := p.place(next, m.To); err != nil {
				return err
			}
		}
		later(m.Gone, func() error {
			if err := p.gone(pod); err != nil || next == "" || m.Placed == w.Begin && !stateful {
				return err
			}
			if stateful {
				if err := p.make(pod, next); err != nil {
					return err
				}
			}
			return p.place(next, m.To)
		})
		if next != "" {
			later(m.Ready, func() error { return p.ready(next) })
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for k, e := range events {
		if err := p.wait(time.Until(begin.Add(e.at))); err != nil {
			return err
		}
		if err := e.do(); err != nil {
			return err
		}
		if k+1 == len(events) || events[k+1].at > e.at {
			if err := p.guard(false); err != nil {
				return err
			}
		}
	}
	over := time.Since(begin) - (w.End - w.Begin)
	if p.worst = max(p.worst, over); over > limit() {
		return fmt.Errorf("the wave takes %v longer than planned", over)
	}
	return nil
}

func short(name string) string { return name[strings.IndexByte(name, '/')+1:] }

// wait waits in real time, for the server's clock cannot be set.
func (p *player) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// evict asks the Eviction API, which must not refuse.
func (p *player) evict(name, from string) (*v1.Pod, error) {
	pod, err := p.client.CoreV1().Pods(p.name).Get(p.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName != from {
		return nil, fmt.Errorf("pod %s is on %s, planned is %s", name, pod.Spec.NodeName, from)
	}
	p.evictions++
	err = p.client.CoreV1().Pods(p.name).EvictV1(p.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.name, Name: name}})
	if err != nil {
		return nil, fmt.Errorf("eviction of %s: %w", name, err)
	}
	return pod, nil
}

// gone takes a terminating pod away, as the kubelet does when its containers have stopped.
func (p *player) gone(pod *v1.Pod) error {
	now, err := p.client.CoreV1().Pods(p.name).Get(p.ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if now.UID != pod.UID || now.DeletionTimestamp == nil {
		return fmt.Errorf("pod %s was evicted and is not terminating", pod.Name)
	}
	none := int64(0)
	return p.client.CoreV1().Pods(p.name).Delete(p.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &none, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
}

// make creates the pod that the controller makes in the place of another.
func (p *player) make(old *v1.Pod, name string) error {
	owner := metav1.GetControllerOf(old)
	var template v1.PodTemplateSpec
	if owner.Kind == "StatefulSet" {
		s, err := p.client.AppsV1().StatefulSets(p.name).Get(p.ctx, owner.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		template = s.Spec.Template
	} else {
		r, err := p.client.AppsV1().ReplicaSets(p.name).Get(p.ctx, owner.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		template = r.Spec.Template
	}
	pod := &v1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name, pod.OwnerReferences = p.name, name, []metav1.OwnerReference{*owner}
	_, err := p.client.CoreV1().Pods(p.name).Create(p.ctx, pod, metav1.CreateOptions{})
	return err
}

// place lets kube-scheduler decide about a pod, and binds the pod to the node of the plan, which must be as good.
func (p *player) place(name, node string) error {
	o, pending, err := p.objects(p.ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(pending, func(pod *v1.Pod) bool { return pod.Name == name })
	if at < 0 {
		return fmt.Errorf("pod %s is not pending", name)
	}
	if err := p.agrees(o, pending[at], node); err != nil {
		return err
	}
	return p.bind(p.ctx, pending[at], node)
}

func (p *player) ready(name string) error {
	pod, err := p.client.CoreV1().Pods(p.name).Get(p.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return p.setReady(p.ctx, pod, true)
}

// settled waits until the disruption controller has counted all pods.
func (p *player) settled() error {
	const step = 20 * time.Millisecond
	var why string
	for range limit() / step {
		var o cluster.Objects
		pending, err := p.changing(p.ctx, &o)
		if err != nil {
			return err
		}
		why = ""
		for _, b := range o.PodDisruptionBudgets {
			if n := healthy(b, append(o.Pods, pending...)); b.Status.ObservedGeneration != b.Generation || int(b.Status.CurrentHealthy) != n || len(b.Status.DisruptedPods) > 0 {
				why = fmt.Sprintf("budget %s: %d pods are healthy, the disruption controller has %d", b.Name, n, b.Status.CurrentHealthy)
			}
		}
		if why == "" {
			return nil
		}
		if err := p.wait(step); err != nil {
			return err
		}
	}
	return errors.New(why)
}

// healthy returns how many pods of a budget are ready and not terminating.
func healthy(b *policyv1.PodDisruptionBudget, pods []*v1.Pod) (n int) {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return -1
	}
	for _, p := range pods {
		if p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) && slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool {
			return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
		}) {
			n++
		}
	}
	return n
}

// guard returns an error when a budget is below its minimum. Budgets that are below in the beginning are left out.
func (p *player) guard(first bool) error {
	var o cluster.Objects
	if _, err := p.changing(p.ctx, &o); err != nil {
		return err
	}
	for _, b := range o.PodDisruptionBudgets {
		n := healthy(b, o.Pods)
		switch {
		case n >= int(b.Status.DesiredHealthy):
		case first:
			p.below[b.Name] = true
		case !p.below[b.Name]:
			return fmt.Errorf("budget %s has %d healthy pods and demands %d", b.Name, n, b.Status.DesiredHealthy)
		}
	}
	return nil
}

// complete returns an error when a workload lacks pods, or a pod is not ready or waits.
func (p *player) complete(waiting int) error {
	o, pending, err := p.objects(p.ctx)
	if err != nil {
		return err
	}
	if len(pending) != waiting {
		return fmt.Errorf("%d pods wait for a node, planned are %d", len(pending), waiting)
	}
	count := map[string]int{}
	for _, pod := range append(o.Pods, pending...) {
		if ref := metav1.GetControllerOf(pod); ref != nil {
			count[ref.Kind+"/"+ref.Name]++
		}
	}
	check := func(key string, replicas *int32) error {
		if count[key] != int(*replicas) {
			return fmt.Errorf("%s has %d pods of %d", key, count[key], *replicas)
		}
		return nil
	}
	for _, r := range o.ReplicaSets {
		err = errors.Join(err, check("ReplicaSet/"+r.Name, r.Spec.Replicas))
	}
	for _, s := range o.StatefulSets {
		err = errors.Join(err, check("StatefulSet/"+s.Name, s.Spec.Replicas))
	}
	return err
}
