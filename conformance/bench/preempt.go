package main

import (
	"fmt"
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
)

// distinctPreemption is the workload in which no two preemptors ask for the same.
const distinctPreemption = "preemption-distinct"

// fullCluster has four pods of three priorities on every node, which leave no room, and 200 disruption budgets. The pods to
// come have a priority in between; in turn they have no constraint, spread over zones, and keep apart on nodes.
func fullCluster(n int) world {
	const groups = 200
	w := world{nodes: makeNodes(n, "4", "64Gi"), namespaces: []*v1.Namespace{namespace("default", nil)}}
	priorities := []int32{0, 100, 1000}
	for i := range 4 * n {
		p := makePod("default", fmt.Sprintf("run-%d", i), fmt.Sprintf("group-%d", i%groups))
		p.Spec.NodeName = w.nodes[i%n].Name
		p.Spec.Priority = &priorities[i/n%3]
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("1")
		start := metav1.NewTime(time.Unix(int64(1_700_000_000+i), 0))
		p.Status.StartTime = &start
		w.running = append(w.running, p)
	}
	for g := range groups {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("budget-%d", g)}}
		b.Spec.Selector = selector(fmt.Sprintf("group-%d", g))
		b.Status.DisruptionsAllowed = int32(g % 3)
		w.budgets = append(w.budgets, b)
	}
	middle := int32(500)
	w.pod = func(i int) *v1.Pod {
		app := fmt.Sprintf("vip-%d", i%3)
		p := makePod("default", fmt.Sprintf("vip-%d", i), app)
		p.Spec.Priority = &middle
		p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("2")
		switch i % 3 {
		case 1:
			addSpread(p, v1.LabelTopologyZone, v1.DoNotSchedule, app)
		case 2:
			addAnti(p, v1.LabelHostname, app, nil)
		}
		return p
	}
	return w
}

// measurePreemption times attempts that fail and find victims, from the pod to the nomination. No victim is evicted.
// Decisions are compared with every node tried, in one order.
func measurePreemption(name string, nodes, pods, more, runs int) (result, error) {
	w := fullCluster(nodes)
	if name == distinctPreemption {
		pod := w.pod
		w.pod = func(i int) *v1.Pod {
			p := pod(i)
			p.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = *resource.NewQuantity(int64(200<<20+i), resource.BinarySI)
			return p
		}
	}
	more = min(more, 50*pods)
	r := result{Workload: name, Nodes: nodes, Running: len(w.running), Pods: pods, PodberthPods: more, Agree: true}
	var ours, theirs []float64
	for range runs {
		rate, err := preemptKube(w, pods)
		if err != nil {
			return r, err
		}
		theirs = append(theirs, rate)
		if rate, err = preemptBerth(w, more); err != nil {
			return r, err
		}
		ours = append(ours, rate)
	}
	agree, err := comparePreemption(w, min(pods, 12))
	if err != nil {
		return r, err
	}
	r.Agree, r.PodberthPodsPerSecond, r.KubePodsPerSecond = agree, median(ours), median(theirs)
	r.Ratio = r.PodberthPodsPerSecond / r.KubePodsPerSecond
	return r, nil
}

func (k *kube) attempt(pod *v1.Pod) (*framework.CycleState, *framework.FitError, error) {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, nil, err
	}
	if err := k.refresh(); err != nil {
		return nil, nil, err
	}
	state := framework.NewCycleState()
	_, err = k.sched.SchedulePod(k.ctx, k.fw, state, &framework.QueuedPodInfo{PodInfo: info})
	fit, ok := err.(*framework.FitError)
	if !ok {
		return nil, nil, fmt.Errorf("pod %s: want a fit error, have %v", pod.Name, err)
	}
	return state, fit, nil
}

// preemption makes the plugin with its default arguments; its dry run uses the framework of k.
func (k *kube) preemption() (*defaultpreemption.DefaultPreemption, error) {
	const name = "DefaultPreemption"
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	for _, c := range defaults.Profiles[0].PluginConfig {
		if c.Name != name {
			continue
		}
		p, err := plugins.NewInTreeRegistry()[name](k.ctx, c.Args, k.fw)
		if err != nil {
			return nil, err
		}
		return p.(*defaultpreemption.DefaultPreemption), nil
	}
	return nil, fmt.Errorf("no %s", name)
}

func preemptKube(w world, n int) (float64, error) {
	k, err := newKube(w, false)
	if err != nil {
		return 0, err
	}
	defer k.close()
	dp, err := k.preemption()
	if err != nil {
		return 0, err
	}
	runtime.GC()
	var took time.Duration
	for i := range n {
		pod := w.pod(i)
		begin := time.Now()
		state, fit, err := k.attempt(pod)
		if err != nil {
			return 0, err
		}
		nodes, err := fit.Diagnosis.NodeToStatus.NodesForStatusCode(k.fw.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
		if err != nil {
			return 0, err
		}
		offset, wanted := dp.GetOffsetAndNumCandidates(int32(len(nodes)))
		found, _, err := dp.Evaluator.DryRunPreemption(k.ctx, state, pod, nodes, w.budgets, offset, wanted)
		if err != nil {
			return 0, err
		}
		if c := dp.Evaluator.SelectCandidate(k.ctx, found); c == nil {
			return 0, fmt.Errorf("pod %s: no candidate", pod.Name)
		}
		took += time.Since(begin)
	}
	return float64(n) / took.Seconds(), nil
}

func preemptBerth(w world, n int) (float64, error) {
	b, err := newBerth(w)
	if err != nil {
		return 0, err
	}
	budgets := disruption.NewBudgets(w.budgets, disruption.BudgetOptions{})
	runtime.GC()
	stop, err := profiled()
	if err != nil {
		return 0, err
	}
	defer stop()
	var took time.Duration
	for i := range n {
		pod := w.pod(i)
		begin := time.Now()
		d := b.plan.Decide(pod, placement.Options{})
		if d.Placed() {
			return 0, fmt.Errorf("pod %s has a place", pod.Name)
		}
		r := b.plan.Preempt(pod, d.Failure, placement.Options{}, placement.PreemptOptions{Budgets: budgets, Now: begin, Options: preemption.Options{Offset: i}})
		took += time.Since(begin)
		if r.Outcome != preemption.Success {
			return 0, fmt.Errorf("pod %s: %s", pod.Name, r.Message)
		}
	}
	return float64(n) / took.Seconds(), nil
}

// comparePreemption compares the victims of every node and the chosen node. From the fourth preemptor of a kind on, podberth has kept
// what the nodes would give up.
func comparePreemption(w world, n int) (bool, error) {
	k, err := newKube(w, false)
	if err != nil {
		return false, err
	}
	defer k.close()
	dp, err := k.preemption()
	if err != nil {
		return false, err
	}
	b, err := newBerth(w)
	if err != nil {
		return false, err
	}
	budgets := disruption.NewBudgets(w.budgets, disruption.BudgetOptions{})
	all := int32(len(w.nodes))
	for i := range n {
		pod := w.pod(i)
		state, fit, err := k.attempt(pod)
		if err != nil {
			return false, err
		}
		nodes, err := fit.Diagnosis.NodeToStatus.NodesForStatusCode(k.fw.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
		if err != nil {
			return false, err
		}
		found, _, err := dp.Evaluator.DryRunPreemption(k.ctx, state, pod, nodes, w.budgets, 0, all)
		if err != nil {
			return false, err
		}
		theirs := map[string]string{}
		for _, c := range found {
			theirs[c.Name()] = fmt.Sprint(c.Victims().NumPDBViolations, names(c.Victims().Pods))
		}
		r := b.plan.Preempt(pod, b.plan.Decide(pod, placement.Options{}).Failure, placement.Options{}, placement.PreemptOptions{Budgets: budgets, Now: time.Now(), Options: preemption.Options{Candidates: preemption.CandidateArgs{MinAbsolute: &all}}})
		for _, c := range r.Candidates {
			if have := fmt.Sprint(c.Violations, victims(c)); theirs[c.Node] != have {
				fmt.Printf("pod %s on %s: kube-scheduler %q, podberth %q\n", pod.Name, c.Node, theirs[c.Node], have)
				return false, nil
			}
		}
		if chosen := dp.Evaluator.SelectCandidate(k.ctx, found).Name(); chosen != r.Node {
			fmt.Printf("pod %s: kube-scheduler chooses %s, podberth %s\n", pod.Name, chosen, r.Node)
			return false, nil
		}
	}
	return true, nil
}

func victims(c preemption.Candidate) (out []string) {
	for _, v := range c.Victims {
		out = append(out, v.Pod.Name)
	}
	return out
}

func names(pods []*v1.Pod) (out []string) {
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}
