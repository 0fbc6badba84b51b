// Command gang schedules groups of pods: each group gets nodes for as many pods as it needs, or none of its pods is placed. It wires the
// queue, where the waiting pods of a group are one entry, to placement.Placer.DecideGroup. A group without room preempts.
//
//	go run ./examples/gang
package main

import (
	"cmp"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// scheduler has what one attempt needs.
type scheduler struct {
	snapshot *cluster.Snapshot
	placer   *placement.Placer
	queue    *queue.Queue
	gates    podgroup.Gates
	known    map[types.NamespacedName]int // pods of each group, those on nodes included
	now      time.Time
}

func newScheduler(o cluster.Objects, gates podgroup.Gates) (*scheduler, error) {
	s := &scheduler{gates: gates, known: map[types.NamespacedName]int{}, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	var err error
	if s.snapshot, err = cluster.New(o); err != nil {
		return nil, err
	}
	if s.placer, err = placement.NewPlacer(s.snapshot, placement.DefaultProfile()); err != nil {
		return nil, err
	}
	groups := &queue.GroupOptions{Objects: s.snapshot, Gates: gates, Known: func(g *podgroup.Group) int {
		return s.known[types.NamespacedName{Namespace: g.Namespace, Name: g.Name}]
	}}
	profile := queue.Profile{Gates: []queue.Gate{queue.SchedulingGates(), groups.Gate()}, Events: append(groups.Events(), queue.DefaultEvents(nil, 0)...)}
	s.queue, err = queue.New(queue.Options{Groups: groups, Profiles: map[string]queue.Profile{v1.DefaultSchedulerName: profile}})
	return s, err
}

// add brings a pod, and tells the queue that other pods may have waited for it.
func (s *scheduler) add(pod *v1.Pod) error {
	if group, ok := podgroup.Of(pod); ok {
		s.known[types.NamespacedName{Namespace: pod.Namespace, Name: group}]++
	}
	if _, err := s.queue.Add(pod, s.now); err != nil {
		return err
	}
	s.queue.Move(queue.Change{Event: queue.Event{Resource: "UnscheduledPod", Action: queue.Add}, New: pod}, s.now)
	return nil
}

// one tries the next group. It reports false when no group is ready.
func (s *scheduler) one() (bool, error) {
	root, _ := s.queue.Pop(s.now)
	if root == nil {
		return false, nil
	}
	if root.Members == nil {
		return false, fmt.Errorf("pod %s has no group: placement.Placer.Decide decides about it", root.Pod.Name)
	}
	var pods []*v1.Pod
	for _, m := range root.Members {
		pods = append(pods, m.Pod)
	}
	d := s.placer.DecideGroup(pods, placement.GroupOptions{Gates: s.gates, Preempt: &placement.GroupPreempt{Now: s.now}})
	for _, g := range d.Groups {
		fmt.Printf("%s: %s, %s\n", g.Group.Name, g.Reason, cmp.Or(g.Message, "all needed pods have nodes"))
	}
	result := queue.RootResult{Outcome: queue.RootFailed} // also when all pods are being deleted
	switch d.Code {
	case filter.Unschedulable:
		result.Outcome = queue.RootUnschedulable
	case filter.Success:
		result.Outcome = queue.RootScheduled
		if err := s.placer.AssumeGroup(d); err != nil { // all placed pods, or none
			return false, err
		}
	}
	for k, m := range d.Members {
		if m.Placed() || m.Dropped {
			if m.Placed() {
				fmt.Printf("  %s on %s\n", m.Pod.Name, m.Node)
			}
			s.queue.Done(m.Pod)
			continue
		}
		failed := queue.Failure{Nomination: queue.Nomination{Override: true, Node: m.Nominate}}
		if m.Failure != nil {
			failed.Rejecters = m.Failure.Rejecters
		}
		result.Failed = append(result.Failed, queue.MemberFailure{Entry: root.Members[k], Failure: failed})
	}
	for _, v := range d.Victims {
		fmt.Printf("  %s leaves\n", v.Pod.Name)
		if err := s.snapshot.Remove(v.Pod); err != nil {
			return false, err
		}
		s.queue.Move(queue.Change{Event: queue.Event{Resource: "AssignedPod", Action: queue.Delete}, Old: v.Pod}, s.now)
	}
	_, err := s.queue.ReturnRoot(root, result, s.now)
	return true, err
}

func run() error {
	nodes := []*v1.Node{node("n1", "rack-a"), node("n2", "rack-a"), node("n3", "rack-b")}
	low := pod("batch-0", "", 3, 0)
	low.Spec.NodeName = "n3"
	groups := []*podgroup.Group{group("train", 3, 10), group("serve", 2, 0), group("tune", 2, 10)}
	groups[0].Constraints = &podgroup.Constraints{Topology: []string{"rack"}}
	s, err := newScheduler(cluster.Objects{Nodes: nodes, Pods: []*v1.Pod{low}, PodGroups: groups}, podgroup.Gates{Topology: true})
	if err != nil {
		return err
	}
	for _, p := range []*v1.Pod{
		pod("train-0", "train", 2, 10), pod("train-1", "train", 2, 10), pod("train-2", "train", 2, 10),
		pod("tune-0", "tune", 2, 10), pod("tune-1", "tune", 2, 10),
		pod("serve-0", "serve", 1, 0), // one of two
	} {
		if err := s.add(p); err != nil {
			return err
		}
	}
	for range 10 {
		did, err := s.one()
		if err != nil {
			return err
		}
		if !did { // groups that failed rest; none waits for an event
			s.now = s.now.Add(2 * time.Second)
			s.queue.Advance(s.now)
		}
	}
	for _, st := range s.queue.All(s.now) {
		x := s.queue.Explain(st.Pod, s.now)
		fmt.Printf("%s is %v: %s\n", st.Pod.Name, st.Place, x.GateMessage)
	}
	return nil
}

func node(name, rack string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": rack}}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("16Gi"), v1.ResourcePods: resource.MustParse("10")}
	return n
}

func group(name string, needs, priority int32) *podgroup.Group {
	return &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID(name)}, Spec: podgroup.Spec{Minimum: &needs, Priority: &priority}}
}

func pod(name, group string, cpu int64, priority int32) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID(name)}}
	p.Spec.Priority = &priority
	if group != "" {
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	}
	p.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(cpu, resource.DecimalSI)}}}}
	return p
}

func main() {
	if err := run(); err != nil {
		panic(err)
	}
}
