// Command podberth runs in a copy of scheduler-library. It reads clusters with pods as JSON lines, and asks the library and podberth which nodes take
// each pod. It prints a line for each difference and a table of what the answers cost.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"sigs.k8s.io/scheduler-library/pkg/simulator"
	"sigs.k8s.io/scheduler-library/pkg/upstreamsync/snapshot"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/estimate"
	"github.com/podberth/podberth/release"
)

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := run(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler-library:", err)
		os.Exit(1)
	}
}

func run(from io.Reader) error {
	clusters, questions, feasible, differ := 0, 0, 0, 0
	for in := json.NewDecoder(from); ; clusters++ {
		var c struct {
			Seed    int64
			Objects cluster.Objects
			Pending []*v1.Pod
		}
		if err := in.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		_, library, names, err := build(c.Objects)
		if err != nil {
			return err
		}
		estimator, err := ours(c.Objects)
		if err != nil {
			return err
		}
		for _, p := range c.Pending {
			questions++
			theirs, failed := ask(library, names, p)
			answer, err := estimator.Feasible(p, nil)
			slices.Sort(theirs)
			slices.Sort(answer.Nodes)
			feasible += len(theirs)
			if !slices.Equal(theirs, answer.Nodes) || (failed != nil) != (err != nil) {
				differ++
				fmt.Printf("seed %d, %s/%s: the library %v (%v), podberth %v (%v)\n", c.Seed, p.Namespace, p.Name, theirs, failed, answer.Nodes, err)
			}
		}
	}
	fmt.Printf("%d clusters, %d questions, %d answers of a node, %d differ\n", clusters, questions, feasible, differ)
	if differ > 0 {
		return errors.New("the answers differ")
	}
	return costs()
}

// build returns a simulator with the default profile, a snapshot of a cluster, and the names of its nodes.
func build(o cluster.Objects) (*simulator.SchedulingSimulator, *snapshot.ClusterSnapshot, []string, error) {
	ctx := context.Background()
	profile, err := latest.Default()
	if err != nil {
		return nil, nil, nil, err
	}
	client, err := simulator.NewReadonlyClient(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		return nil, nil, nil, err
	}
	factory := informers.NewSharedInformerFactory(fake.NewSimpleClientset(lists(o)...), 0)
	s, err := simulator.NewSchedulingSimulator(ctx, profile, client, factory)
	if err != nil {
		return nil, nil, nil, err
	}
	state, err := s.NewClusterState(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	names := []string{}
	for _, n := range o.Nodes {
		state.Cache.AddNode(klog.Background(), n)
		names = append(names, n.Name)
	}
	for _, p := range o.Pods {
		if p.Spec.NodeName == "" || cluster.Finished(p) {
			continue
		}
		if err := state.Cache.AddPod(klog.Background(), p); err != nil {
			return nil, nil, nil, err
		}
	}
	view, err := state.Snapshot(klog.Background())
	return s, view, names, err
}

// lists are the objects that plugins look up with listers.
func lists(o cluster.Objects) (all []runtime.Object) {
	add(&all, o.Namespaces)
	add(&all, o.Services)
	add(&all, o.ReplicationControllers)
	add(&all, o.ReplicaSets)
	add(&all, o.StatefulSets)
	add(&all, o.Claims)
	add(&all, o.PersistentVolumes)
	add(&all, o.StorageClasses)
	add(&all, o.CSINodes)
	add(&all, o.CSIDrivers)
	add(&all, o.CSIStorageCapacities)
	add(&all, o.VolumeAttachments)
	add(&all, o.Pods)
	add(&all, o.Nodes)
	return all
}

func add[T runtime.Object](to *[]runtime.Object, list []T) {
	for _, o := range list {
		*to = append(*to, o)
	}
}

func ask(s *snapshot.ClusterSnapshot, names []string, p *v1.Pod) ([]string, error) {
	among, err := s.MakePlacement(names)
	if err != nil {
		return nil, err
	}
	nodes, _, err := s.CanSchedulePod(context.Background(), p, among)
	return nodes, err
}

// ours returns an estimator that follows the library's release.
func ours(o cluster.Objects) (*estimate.Estimator, error) {
	s, err := cluster.New(o)
	if err != nil {
		return nil, err
	}
	args := placement.PluginArgs{Release: release.V1_36}
	return estimate.New(estimate.Input{Snapshot: s, Profile: args.Profile()})
}

// row is a question to both.
type row struct {
	name         string
	theirs, ours func() error
}

// costs prints what questions cost with 5,000 nodes and 50,000 pods.
func costs() error {
	o := large(5000, 50000)
	fresh, library, names, err := build(o)
	if err != nil {
		return err
	}
	among, err := library.MakePlacement(names)
	if err != nil {
		return err
	}
	snap, err := cluster.New(o)
	if err != nil {
		return err
	}
	args := placement.PluginArgs{Release: release.V1_36}
	profile := args.Profile()
	estimator, err := estimate.New(estimate.Input{Snapshot: snap, Profile: profile})
	if err != nil {
		return err
	}
	ctx := context.Background()
	var rows []row
	for _, kind := range []string{"plain", "zone spread", "anti-affinity"} {
		p := pod("asked", kind, "")
		rows = append(rows, row{"feasible nodes, " + kind, func() error { _, _, err := library.CanSchedulePod(ctx, p, among); return err }, func() error { _, err := estimator.Feasible(p, nil); return err }})
	}
	const copies = 100
	asked := pod("asked", "plain", "")
	template := &v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Namespace: asked.Namespace, Labels: asked.Labels}, Spec: asked.Spec}
	placed := func(n int, err error) error {
		if err == nil && n != copies {
			err = fmt.Errorf("%d of %d copies have a place", n, copies)
		}
		return err
	}
	rows = append(rows, row{fmt.Sprint(copies, " copies placed and taken back"), func() error {
		results, err := library.SchedulePodsByTemplate(ctx, template, among, copies, snapshot.NewSchedulePodsByTemplateOptions(true))
		return placed(len(results), err)
	}, func() error {
		room, err := estimator.Replicas(asked, copies)
		return placed(len(room.Nodes), err)
	}})
	leaving := o.Pods[:10]
	rows = append(rows, row{"10 pods out and back", func() error {
		out, err := library.PreemptPods(ctx, leaving)
		if err == nil {
			_, err = library.Unpreempt(out)
		}
		return err
	}, func() error {
		return snap.Try(func() (bool, error) {
			for _, p := range leaving {
				if err := snap.Remove(p); err != nil {
					return false, err
				}
			}
			return false, nil
		})
	}})
	// The last one: a new snapshot of the library may spoil the one before.
	rows = append(rows, row{"snapshot", func() error { _, err := fresh.NewClusterSnapshot(ctx, o.Pods, o.Nodes); return err }, func() error { _, err := cluster.New(o); return err }})
	for _, r := range rows {
		theirs, err := measured(r.theirs)
		if err != nil {
			return err
		}
		podberth, err := measured(r.ours)
		if err != nil {
			return err
		}
		fmt.Printf("%s: the library %v, %d allocations; podberth %v, %d allocations\n", r.name,
			time.Duration(theirs.NsPerOp()), theirs.AllocsPerOp(), time.Duration(podberth.NsPerOp()), podberth.AllocsPerOp())
	}
	return nil
}

func measured(do func() error) (r testing.BenchmarkResult, err error) {
	r = testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if e := do(); e != nil {
				err = e
				return
			}
		}
	})
	return r, err
}

// large is a cluster of three zones whose nodes have equal numbers of pods.
func large(nodes, pods int) (o cluster.Objects) {
	for i := range nodes {
		name := fmt.Sprintf("n%04d", i)
		room := v1.ResourceList{"cpu": resource.MustParse("32"), "memory": resource.MustParse("128Gi"), "pods": resource.MustParse("110")}
		o.Nodes = append(o.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: "abc"[i%3 : i%3+1]}},
			Status: v1.NodeStatus{Allocatable: room, Capacity: room}})
	}
	for i := range pods {
		o.Pods = append(o.Pods, pod(fmt.Sprintf("p%05d", i), []string{"plain", "zone spread", "anti-affinity"}[i%100/98*(i%2+1)], o.Nodes[i%nodes].Name))
	}
	return o
}

// pod returns a pod with the rule of its kind, which is its label too.
func pod(name, kind, node string) *v1.Pod {
	label := map[string]string{"plain": "plain", "zone spread": "spread", "anti-affinity": "apart"}[kind]
	mine := &metav1.LabelSelector{MatchLabels: map[string]string{"app": label}}
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: mine.MatchLabels}, Spec: v1.PodSpec{NodeName: node, SchedulerName: v1.DefaultSchedulerName,
		Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")}}}}}}
	switch kind {
	case "zone spread":
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 100, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: mine}}
	case "anti-affinity":
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: v1.LabelHostname, LabelSelector: mine}}}}
	}
	return p
}
