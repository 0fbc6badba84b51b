// Command plugin decides with a plugin of one's own: a filter, a score, a key and a queueing hint in one value. A label of a
// node has the speed of its network. An annotation of a pod asks for a speed. Slower nodes are rejected, and of the others the
// slowest is the best, so that fast networks stay free.
//
//	go run ./examples/plugin
package main

import (
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/resources"
)

const speedKey = "example.com/gbit"

func network() *placement.Plugin {
	return &placement.Plugin{
		Name: "Network",
		Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
			return placement.PreFiltered{Predicate: speeds{c, speed(pod.Annotations)}}
		},
		Score: func(pod *v1.Pod, c placement.Cluster) (placement.Scorer, error) {
			return speeds{c, speed(pod.Annotations)}, nil
		},
		// The next two let equal pods share work: the answer about a node depends on the node alone, and this is all that the
		// plugin reads of a pod.
		Keep:      placement.KeepByNode,
		AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Annotations[speedKey]...) },
		// A pod that this plugin rejected waits for these events. A queue asks the hint which of them may help.
		Events: []queue.Event{{Resource: "Node", Action: queue.Add | queue.UpdateNodeLabel}},
		Hint: func(affinity.Namespaces) queue.Hint {
			return func(pod *v1.Pod, _, now any) (bool, error) {
				n, ok := now.(*v1.Node)
				return ok && speed(n.Labels) >= speed(pod.Annotations), nil
			}
		},
	}
}

func speed(m map[string]string) int32 {
	n, _ := strconv.ParseInt(m[speedKey], 10, 32) // no number: 0
	return int32(n)
}

// speeds is the plugin for one pod over one cluster: the predicate and the scorer.
type speeds struct {
	cluster placement.Cluster
	want    int32
}

func (s speeds) Name() string    { return "Network" }
func (s speeds) Raw(i int) int64 { return int64(s.at(i)) }

func (s speeds) Check(i int) resources.Verdict {
	if s.at(i) < s.want {
		return 1 | resources.Unresolvable // no victim makes a network faster
	}
	return 0
}

func (s speeds) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) had a slower network"}
}

// Normalize gives the slowest feasible node 100 and the fastest 0.
func (s speeds) Normalize(raw, lo, hi int64) int64 { return 100 * (hi - raw) / max(1, hi-lo) }

// AppendSignature appends what the verdict and the raw score of a slot depend on.
func (s speeds) AppendSignature(dst []int32, i int) []int32 { return append(dst, s.at(i)) }

func (s speeds) at(i int) int32 {
	if n := s.cluster.Node(i); n != nil {
		return speed(n.Labels)
	}
	return -1 // a free slot
}

func main() {
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node("n1", "1"), node("n2", "100"), node("n3", "25")}})
	if err != nil {
		panic(err)
	}
	own, profile := network(), placement.DefaultProfile()
	profile.Filters = append(profile.Filters, own)
	profile.Scores = append(profile.Scores, placement.Weighted{Plugin: own, Weight: 2})
	plan, err := placement.New(snapshot, profile)
	if err != nil {
		panic(err)
	}
	for _, gbit := range []string{"", "10", "400"} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "video", Annotations: map[string]string{speedKey: gbit}}}
		d := plan.Decide(pod, placement.Options{})
		if d.Placed() {
			fmt.Printf("%q goes to %s\n", gbit, d.Node)
			continue
		}
		helps, err := own.Hint(snapshot)(pod, nil, node("n4", "800"))
		fmt.Printf("%q waits: %s\n  a node with 800 would help: %v %v\n", gbit, d.Failure.Text(), helps, err)
	}
}

func node(name, gbit string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{speedKey: gbit}}}
	n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("10")}
	return n
}
