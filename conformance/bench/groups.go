package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"
	pgapi "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/groups"
)

// rackNodes is how many nodes a rack has.
const rackNodes = 20

// gangs are workloads of groups: so many gangs of so many pods come to a cluster with two running pods on each node.
var gangs = map[string]gang{
	"gang":         {pods: 1000, kube: 1, ours: 20},
	"gang-racks":   {pods: 100, kube: 2, ours: 20, key: "example.com/rack"},
	"gang-unequal": {pods: 100, kube: 1, ours: 5, key: "example.com/rack", unequal: true},
	"gang-waiting": {pods: 10, kube: 100, ours: 100, large: true},
}

type gang struct {
	pods, kube, ours int    // of a gang; gangs for each side
	key              string // of the topology constraint
	large            bool   // the last pod has no room anywhere
	unequal          bool   // no node, and so no rack, is equal to another
}

// groupGates are the gates that are on for groups.
func groupGates(on bool) error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{"GenericWorkload": on, "TopologyAwareWorkloadScheduling": on})
}

func (g gang) group(k int) *pgapi.PodGroup {
	x := &pgapi.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("gang-%03d", k), UID: types.UID(fmt.Sprintf("gang-%d", k))}}
	x.Spec.SchedulingPolicy.Gang = &pgapi.GangSchedulingPolicy{MinCount: int32(g.pods)}
	x.Spec.DisruptionMode = &pgapi.DisruptionMode{Single: &pgapi.SingleDisruptionMode{}}
	if g.key != "" {
		x.Spec.SchedulingConstraints = &pgapi.PodGroupSchedulingConstraints{Topology: []pgapi.TopologyConstraint{{Key: g.key}}}
	}
	return x
}

// members are the pods of a gang, in the order in which they are tried.
func (g gang) members(k int) (out []*v1.Pod) {
	for i := range g.pods {
		name := g.group(k).Name
		p := makePod("default", fmt.Sprintf("%s-%04d", name, i), "gang")
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
		if g.large && i == g.pods-1 {
			p.Spec.Containers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("33")
		}
		out = append(out, p)
	}
	return out
}

// cluster has the nodes, in racks.
func (g gang) cluster(n int) (world, error) {
	w, err := replicas(func(*v1.Pod, string) {})(n)
	for i, node := range w.nodes {
		node.Labels["example.com/rack"] = fmt.Sprintf("rack-%04d", i/rackNodes)
		if g.unequal {
			node.Status.Allocatable[v1.ResourceCPU] = *resource.NewMilliQuantity(32000+int64(i), resource.DecimalSI)
		}
	}
	return w, err
}

// measureGang lets both sides decide about gangs. Compared are the conditions of the groups.
func measureGang(name string, nodes, runs int) (result, error) {
	g := gangs[name]
	w, err := g.cluster(nodes)
	if err != nil {
		return result{}, err
	}
	if err := groupGates(true); err != nil {
		return result{}, err
	}
	r := result{Workload: name, Nodes: len(w.nodes), Running: len(w.running), Pods: g.kube * g.pods, PodberthPods: g.ours * g.pods, Agree: true}
	var ours, theirs []float64
	for range runs {
		rate, said, err := g.kubeRun(w)
		if err != nil {
			return r, err
		}
		theirs = append(theirs, rate)
		rate, own, err := g.berthRun(w)
		if err != nil {
			return r, err
		}
		ours = append(ours, rate)
		for k := range said {
			if said[k] != own[k] {
				r.Agree = false
				fmt.Fprintf(os.Stderr, "gang %d: kube-scheduler says %s, podberth %s\n", k, said[k], own[k])
			}
		}
	}
	r.PodberthPodsPerSecond, r.KubePodsPerSecond = median(ours), median(theirs)
	r.Ratio = r.PodberthPodsPerSecond / r.KubePodsPerSecond
	return r, groupGates(false)
}

// berthRun decides about the gangs, one after the other, and places those that fit.
func (g gang) berthRun(w world) (rate float64, said []string, err error) {
	s, err := cluster.New(cluster.Objects{Nodes: w.nodes, Pods: w.running, Namespaces: w.namespaces})
	if err != nil {
		return 0, nil, err
	}
	all := placement.DefaultProfile()
	all.Sampling = placement.AllNodes()
	placer, err := placement.NewPlacer(s, all)
	if err != nil {
		return 0, nil, err
	}
	o := placement.GroupOptions{Gates: podgroup.Gates{Topology: true}, Preempt: &placement.GroupPreempt{Budgets: disruption.NewBudgets(nil, disruption.BudgetOptions{})}}
	var pods [][]*v1.Pod
	for k := range g.ours {
		if err := s.Set(groups.Of(g.group(k))); err != nil {
			return 0, nil, err
		}
		pods = append(pods, g.members(k))
	}
	runtime.GC()
	stop, err := profiled()
	if err != nil {
		return 0, nil, err
	}
	defer stop()
	began := time.Now()
	for _, list := range pods {
		d := placer.DecideGroup(list, o)
		if d.Code == filter.Success {
			if err := placer.AssumeGroup(d); err != nil {
				return 0, nil, err
			}
		}
		said = append(said, d.Groups[0].Reason+" "+d.Groups[0].Message)
	}
	return float64(g.ours*g.pods) / time.Since(began).Seconds(), said, nil
}

// kubeRun lets kube-scheduler take the gangs from its queue. The time is that of its scheduling cycles: bindings run beside, and writes to
// the API are those of a fake client.
func (g gang) kubeRun(w world) (rate float64, said []string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var objects []k8sruntime.Object
	objects = appendObjects(objects, w.nodes)
	objects = appendObjects(objects, w.namespaces)
	objects = appendObjects(objects, w.running)
	for k := range g.kube {
		objects = append(objects, g.group(k))
	}
	client := fake.NewSimpleClientset(objects...)
	client.PrependReactor("create", "pods", func(a ktesting.Action) (bool, k8sruntime.Object, error) {
		if a.GetSubresource() != "binding" {
			return false, nil, nil
		}
		return true, a.(ktesting.CreateAction).GetObject(), nil // the pod stays assumed
	})
	percentage := int32(100)
	factory := scheduler.NewInformerFactory(client, 0, nil)
	recorder := profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()}))
	sched, err := scheduler.New(ctx, client, factory, nil, recorder, scheduler.WithPercentageOfNodesToScore(&percentage))
	if err != nil {
		return 0, nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if err := sched.WaitForHandlersSync(ctx); err != nil {
		return 0, nil, err
	}
	sched.SchedulingQueue.Run(klog.FromContext(ctx))
	defer sched.SchedulingQueue.Close()
	made := 0
	for k := range g.kube {
		for i, p := range g.members(k) {
			if _, err := client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
				return 0, nil, err
			}
			if made++; made%50 != 0 && i < g.pods-1 { // a watch of the fake client holds 100 events
				continue
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
				waiting, _ := sched.SchedulingQueue.PendingPods()
				if len(waiting) == made {
					break
				}
				if time.Now().After(end) {
					return 0, nil, fmt.Errorf("kube-scheduler has %d of %d pods in its queue", len(waiting), made)
				}
			}
		}
	}
	if n := len(sched.SchedulingQueue.PodsInActiveQ()); n != made {
		return 0, nil, fmt.Errorf("%d of %d pods are active", n, made)
	}
	runtime.GC()
	began := time.Now()
	for range g.kube { // a gang that fails comes back behind the others
		sched.ScheduleOne(ctx)
	}
	took := time.Since(began).Seconds()
	for k := range g.kube {
		text, err := condition(ctx, client, g.group(k).Name)
		if err != nil {
			return 0, nil, err
		}
		said = append(said, text)
	}
	return float64(g.kube*g.pods) / took, said, nil
}

// condition waits for the condition of a group.
func condition(ctx context.Context, client *fake.Clientset, name string) (string, error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		x, err := client.SchedulingV1beta1().PodGroups("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		for _, c := range x.Status.Conditions {
			if c.Type == podgroup.InitiallyScheduled {
				return c.Reason + " " + c.Message, nil
			}
		}
	}
	return "", fmt.Errorf("group %s has no condition", name)
}
