package placement_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/placement/plugintest"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

// bandwidth is a plugin in one file. An annotation of a pod requests a speed of the node's network, in Gbit/s. A label
// of a node has the node's speed. The plugin rejects slower nodes, and prefers the slowest of the other nodes.
func bandwidth() *placement.Plugin {
	return &placement.Plugin{
		Name: "Bandwidth",
		// the answer about a node changes only with the object of the node
		Keep: placement.KeepByNode,
		// everything that the plugin reads of a pod
		AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(append(dst, pod.Annotations[speedKey]...), 0) },
		// the events that a rejected pod waits for, and whether one of them helps
		Events: []queue.Event{{Resource: "Node", Action: queue.Add | queue.UpdateNodeLabel}},
		Hint:   func(affinity.Namespaces) queue.Hint { return fasterNode },
		Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
			return placement.PreFiltered{Predicate: speeds{c, speed(pod.Annotations)}}
		},
		Score: func(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) {
			return speeds{c, speed(pod.Annotations)}, nil
		},
	}
}

const speedKey = "example.com/gbit"

func speed(m map[string]string) int32 {
	n, _ := strconv.ParseInt(m[speedKey], 10, 32) // no number: 0
	return int32(n)
}

// speeds is the plugin for one pod over one cluster.
type speeds struct {
	cluster placement.Cluster
	want    int32
}

func (s speeds) Name() string { return "Bandwidth" }

func (s speeds) at(i int) int32 {
	if n := s.cluster.Node(i); n != nil {
		return speed(n.Labels)
	}
	return -1 // a free slot is rejected
}

func (s speeds) Check(i int) resources.Verdict {
	if s.at(i) < s.want {
		return 1 | resources.Unresolvable // no preemption makes a network faster
	}
	return 0
}

func (s speeds) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) had a slower network"}
}

func (s speeds) Raw(i int) int64 { return int64(s.at(i)) }

func (s speeds) Normalize(raw, lo, hi int64) int64 {
	if hi == lo {
		return 100
	}
	return 100 * (hi - raw) / (hi - lo)
}

// AppendSignature appends the values that determine the verdict and the raw score of a slot.
func (s speeds) AppendSignature(dst []int32, i int) []int32 { return append(dst, s.at(i)) }

// fasterNode is the queueing hint: a node that is fast enough now may help.
func fasterNode(pod *v1.Pod, _, now any) (bool, error) {
	n, ok := now.(*v1.Node)
	return ok && speed(n.Labels) >= speed(pod.Annotations), nil
}

// The plugin names everything that it reads.
func TestBandwidthNamesWhatItReads(t *testing.T) {
	pod := func(name, gbit string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{speedKey: gbit}}}
	}
	node := func(name, gbit string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{speedKey: gbit}}}
	}
	err := plugintest.Check(bandwidth(), []*v1.Pod{pod("a", "5"), pod("b", "40")}, []*v1.Node{node("n1", "1"), node("n2", "10"), node("n3", "100")})
	if err != nil {
		t.Error(err)
	}
}

// A new plugin is one file, and one line in a list.
func ExamplePlugin_bandwidth() {
	node := func(name, zone, gbit string) *v1.Node {
		amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("10")}
		return &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone, speedKey: gbit}},
			Status:     v1.NodeStatus{Capacity: amounts, Allocatable: amounts},
		}
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{
		node("n1", "a", "1"), node("n2", "a", "10"), node("n3", "b", "25"), node("n4", "b", "1"), node("n5", "c", "100"),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	profile := placement.DefaultProfile()
	own := bandwidth()
	profile.Filters = append(profile.Filters, own)
	profile.Scores = append(profile.Scores, placement.Weighted{Plugin: own, Weight: 1})
	plan, err := placement.New(snapshot, profile)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, gbit := range []string{"5", "40", "400"} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", Annotations: map[string]string{speedKey: gbit}}}
		d := plan.Decide(pod, placement.Options{})
		if d.Placed() {
			fmt.Println(gbit, "Gbit/s:", d.Node)
		} else {
			fmt.Println(gbit, "Gbit/s:", d.Failure.Text())
		}
	}

	// A queue hears of the events of the profile's plugins. The pod that Bandwidth rejected waits for a node that is fast enough.
	events, err := profile.Registrations(snapshot, release.Current)
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := queue.New(queue.Options{Profiles: map[string]queue.Profile{v1.DefaultSchedulerName: {Events: events}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Unix(0, 0)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", Annotations: map[string]string{speedKey: "400"}}}
	q.Add(pod, now)
	e, _ := q.Pop(now)
	if _, err := q.Return(e, queue.Failure{Rejecters: []string{"Bandwidth"}}, now); err != nil {
		fmt.Println(err)
		return
	}
	for _, gbit := range []string{"100", "400"} {
		q.Move(queue.Change{Event: queue.Event{Resource: "Node", Action: queue.Add}, New: node("n6", "c", gbit)}, now)
		fmt.Println("after a node with", gbit, "Gbit/s:", q.Explain(pod, now).Place)
	}
	// Output:
	// 5 Gbit/s: n2
	// 40 Gbit/s: n5
	// 400 Gbit/s: 0/5 nodes are available: 5 node(s) had a slower network.
	// after a node with 100 Gbit/s: unschedulable
	// after a node with 400 Gbit/s: backoff
}
