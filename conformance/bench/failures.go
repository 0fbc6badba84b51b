package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/failures"
)

// perNode is the number of running pods of a node that fails.
const perNode = 30

// failing has 30 pods on each node, of applications with 60 pods each: in turn they have no constraint, spread over zones, and
// keep apart on nodes. A controller that is not among the objects makes a lost pod again as it was.
func failing(n int) world {
	w := world{nodes: makeNodes(n, "32", "64Gi"), namespaces: []*v1.Namespace{namespace("default", nil)}}
	many, yes := max(1, n*perNode/60), true
	for i := range n * perNode {
		at := (i%n + i/n*997) % many
		app := fmt.Sprintf("app-%d", at)
		p := makePod("default", fmt.Sprintf("%s-%d", app, i), app)
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Rollout", Name: app, Controller: &yes}}
		p.Spec.NodeName = w.nodes[i%n].Name
		switch at % 3 {
		case 1:
			addSpread(p, v1.LabelTopologyZone, v1.DoNotSchedule, app)
		case 2:
			addAnti(p, v1.LabelHostname, app, nil)
		}
		w.running = append(w.running, p)
	}
	return w
}

// measureFailures times failures of single nodes: the nodes leave one at a time, and what they lost is decided and placed again.
// kube-scheduler gets the pods of some nodes in podberth's order. Both sides must leave the same pods pending.
func measureFailures(nodes, pods, more, runs int) (result, error) {
	w := failing(nodes)
	sample, all := max(1, pods/perNode), min(nodes, max(1, more/perNode))
	r := result{Workload: "failures", Nodes: nodes, Running: len(w.running), Pods: sample * perNode, PodberthPods: all * perNode, Agree: true}
	s, err := cluster.New(cluster.Objects{Nodes: w.nodes, Pods: w.running, Namespaces: w.namespaces})
	if err != nil {
		return r, err
	}
	profile := placement.DefaultProfile()
	profile.Sampling = placement.AllNodes()
	p, err := failures.New(failures.Input{Snapshot: s, Profile: profile})
	if err != nil {
		return r, err
	}
	k, err := newKube(w, false)
	if err != nil {
		return r, err
	}
	defer k.close()
	scenarios := p.Nodes()
	var ours, theirs []float64
	for range runs {
		runtime.GC()
		begin := time.Now()
		results, err := p.Run(scenarios[:all], failures.Options{Parallel: parallel})
		if err != nil {
			return r, err
		}
		ours = append(ours, float64(all*perNode)/time.Since(begin).Seconds())
		var took time.Duration
		for i := range sample {
			at := i * all / sample
			pending, t, err := k.fail(w, at)
			if err != nil {
				return r, err
			}
			took += t
			r.Agree = r.Agree && slices.Equal(pending, stays(results[at]))
		}
		theirs = append(theirs, float64(sample*perNode)/took.Seconds())
	}
	r.PodberthPodsPerSecond, r.KubePodsPerSecond = median(ours), median(theirs)
	r.Ratio = r.PodberthPodsPerSecond / r.KubePodsPerSecond
	return r, nil
}

// stays returns the names of the pods that a result leaves pending, sorted.
func stays(r failures.Result) (names []string) {
	for _, o := range r.Pods {
		if o.Fate == failures.Pending {
			names = append(names, o.Pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// parallel is a parallel-for on all processors.
func parallel(n int, run func(i int)) {
	var group sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				run(i)
			}
		})
	}
	group.Wait()
}

// fail plays the failure of a node, and then undoes everything. It returns the names of the pods without a place, sorted, and
// the time of the failure alone.
func (k *kube) fail(w world, node int) (pending []string, took time.Duration, err error) {
	logger, cache := klog.FromContext(k.ctx), k.sched.Cache
	var lost []*v1.Pod
	for i := node; i < len(w.running); i += len(w.nodes) {
		lost = append(lost, w.running[i])
	}
	slices.SortFunc(lost, func(a, b *v1.Pod) int { return strings.Compare(a.Name, b.Name) })
	var assumed []*v1.Pod
	begin := time.Now()
	for _, p := range lost {
		if err := k.removePod(p); err != nil {
			return nil, 0, err
		}
	}
	if err := cache.RemoveNode(logger, w.nodes[node]); err != nil {
		return nil, 0, err
	}
	for _, p := range lost {
		again := p.DeepCopy()
		again.Spec.NodeName = ""
		host, _, err := k.decide(again)
		if err != nil {
			return nil, 0, err
		}
		if host == "" {
			pending = append(pending, p.Name)
			continue
		}
		again.Spec.NodeName = host
		if err := cache.AssumePod(logger, again); err != nil {
			return nil, 0, err
		}
		assumed = append(assumed, again)
	}
	took = time.Since(begin)
	for _, p := range assumed {
		if err := cache.ForgetPod(logger, p); err != nil {
			return nil, 0, err
		}
	}
	cache.AddNode(logger, w.nodes[node])
	for _, p := range lost {
		if err := cache.AddPod(logger, p); err != nil {
			return nil, 0, err
		}
	}
	slices.Sort(pending)
	return pending, took, k.refresh()
}
