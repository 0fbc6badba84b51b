package scheduler_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/volumes"
)

// BlinkingLightScorer is the plugin of the documentation of the scheduling framework: it ranks nodes by how many blinking
// lights they have.
type BlinkingLightScorer struct{}

// Name is what profiles call the plugin.
func (BlinkingLightScorer) Name() string { return "BlinkingLightScorer" }

// Score counts the lights of a node.
func (BlinkingLightScorer) Score(_ context.Context, _ *scheduler.State, _ *v1.Pod, node *scheduler.NodeInfo) (lights int64, _ *scheduler.Status) {
	if _, err := fmt.Sscan(node.Node.Annotations["blinking-lights"], &lights); err != nil {
		return 0, nil // the node has no lights
	}
	return lights, nil
}

// NormalizeScores brings the counts to 0..100. If no node has a light, all scores are 0.
func (BlinkingLightScorer) NormalizeScores(_ context.Context, _ *scheduler.State, _ *v1.Pod, scores []scheduler.NodeScore) *scheduler.Status {
	var highest int64
	for _, s := range scores {
		highest = max(highest, s.Score)
	}
	for k := range scores {
		if highest > 0 {
			scores[k].Score = scores[k].Score * 100 / highest
		}
	}
	return nil
}

// printer is a client that prints bindings.
type printer struct{ pod *v1.Pod }

func (p printer) Pod(string, string) *v1.Pod { return p.pod }
func (p printer) Bind(_ context.Context, pod *v1.Pod, node string) error {
	fmt.Println(pod.Name, "goes to", node)
	return nil
}
func (p printer) PatchStatus(context.Context, *v1.Pod, scheduler.StatusPatch) error { return nil }
func (p printer) WriteClaims(context.Context, *v1.Pod, scheduler.ClaimWrites) error { return nil }
func (p printer) BindVolumes(context.Context, *v1.Pod, volumes.Decision) error      { return nil }
func (p printer) Delete(context.Context, *v1.Pod) error                             { return nil }

func Example() {
	var nodes []*v1.Node
	for name, lights := range map[string]string{"n1": "0", "n2": "10", "n3": "5"} {
		nodes = append(nodes, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"blinking-lights": lights}},
			Status:     v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}},
		})
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
	if err != nil {
		panic(err)
	}
	web := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web"},
		Spec: v1.PodSpec{SchedulerName: "default-scheduler", Containers: []v1.Container{{
			Name: "web", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}},
		}}},
	}
	s, err := scheduler.New(snapshot, scheduler.Options{
		Client:  printer{web},
		Go:      func(task func()) { task() }, // each pod is bound at once
		Plugins: scheduler.Registry{"BlinkingLightScorer": func(any, *scheduler.Handle) (scheduler.Plugin, error) { return BlinkingLightScorer{}, nil }},
		Profiles: []scheduler.Profile{{Plugins: scheduler.Plugins{
			scheduler.Score: {Enabled: []scheduler.PluginRef{{Name: "BlinkingLightScorer", Weight: 5}}},
		}}},
	})
	if err != nil {
		panic(err)
	}
	s.AddPod(web)
	s.TryScheduleOne(context.Background())
	// Output: web goes to n2
}

// Counts of 0, 5 and 10 become 0, 50 and 100. If all counts are 0, they stay 0.
func ExampleNodeScore() {
	for _, counts := range [][]int64{{0, 5, 10}, {0, 0}} {
		var scores []scheduler.NodeScore
		for _, c := range counts {
			scores = append(scores, scheduler.NodeScore{Score: c})
		}
		BlinkingLightScorer{}.NormalizeScores(context.Background(), nil, nil, scores)
		for _, s := range scores {
			fmt.Print(s.Score, " ")
		}
	}
	// Output: 0 50 100 0 0
}
