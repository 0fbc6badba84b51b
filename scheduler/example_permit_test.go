package scheduler_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/volumes"
)

// Pair is a plugin at Permit. A pod that has a node waits there, not yet bound, until its partner has a node too.
type Pair struct{ handle *scheduler.Handle }

// Name is what profiles call the plugin.
func (Pair) Name() string { return "Pair" }

// Permit lets the first pod of the pair wait, and both go when the second comes.
func (p Pair) Permit(_ context.Context, s *scheduler.State, pod *v1.Pod, _ string) (*scheduler.Status, time.Duration) {
	for _, first := range p.handle.WaitingPods() {
		p.handle.Allow(first.UID, p.Name())
		return nil, 0
	}
	fmt.Println(pod.Name, "waits on Permit")
	s.PodsToActivate.Add(partner) // the queue tries the partner now, also if it waits for an event
	return scheduler.NewStatus(scheduler.Wait), time.Minute
}

var leader, partner = half("leader"), half("partner")

func half(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec:       v1.PodSpec{SchedulerName: "default-scheduler", Containers: []v1.Container{{Name: "main"}}},
	}
}

// pairClient is a client that prints bindings.
type pairClient struct{}

func (pairClient) Pod(_, name string) *v1.Pod {
	if name == leader.Name {
		return leader
	}
	return partner
}

func (pairClient) Bind(_ context.Context, pod *v1.Pod, node string) error {
	fmt.Println(pod.Name, "goes to", node)
	return nil
}
func (pairClient) PatchStatus(context.Context, *v1.Pod, scheduler.StatusPatch) error { return nil }
func (pairClient) WriteClaims(context.Context, *v1.Pod, scheduler.ClaimWrites) error { return nil }
func (pairClient) BindVolumes(context.Context, *v1.Pod, volumes.Decision) error      { return nil }
func (pairClient) Delete(context.Context, *v1.Pod) error                             { return nil }

func ExamplePermitPlugin() {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	node.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node}})
	if err != nil {
		panic(err)
	}
	var bindings []func()
	s, err := scheduler.New(snapshot, scheduler.Options{
		Client:   pairClient{},
		Go:       func(binding func()) { bindings = append(bindings, binding) },
		Plugins:  scheduler.Registry{"Pair": func(_ any, h *scheduler.Handle) (scheduler.Plugin, error) { return Pair{h}, nil }},
		Profiles: []scheduler.Profile{{Plugins: scheduler.Plugins{scheduler.Permit: {Enabled: []scheduler.PluginRef{{Name: "Pair"}}}}}},
	})
	if err != nil {
		panic(err)
	}
	s.AddPod(leader)
	s.AddPod(partner)
	s.TryScheduleOne(context.Background())
	s.TryScheduleOne(context.Background())
	for len(bindings) > 0 {
		bind := bindings[0]
		bindings = bindings[1:]
		bind()
	}
	// Output:
	// leader waits on Permit
	// partner goes to n1
	// leader goes to n1
}
