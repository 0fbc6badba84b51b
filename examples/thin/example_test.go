package thin_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/examples/thin"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
)

// printer is a client that prints what a real one would ask of the API server.
type printer struct {
	pods map[string]*v1.Pod
	said chan string
}

func (c *printer) Pod(namespace, name string) *v1.Pod { return c.pods[namespace+"/"+name] }

func (c *printer) Bind(_ context.Context, pod *v1.Pod, d placement.Decision) error {
	c.said <- "bind " + pod.Name + " to " + d.Node
	return nil
}

func (c *printer) Evict(_ context.Context, a preemption.Actions) {
	for _, victim := range a.Evict {
		c.said <- "evict " + victim.Name
	}
}

func (c *printer) Report(_ context.Context, pod *v1.Pod, text string, _ queue.Nomination) {
	c.said <- pod.Name + ": " + text
}

func Example() {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	node.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{node}})
	if err != nil {
		panic(err)
	}
	client := &printer{pods: map[string]*v1.Pod{}, said: make(chan string, 10)}
	s, err := thin.New(snapshot, placement.DefaultProfile(), client, time.Now)
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"web", "db"} {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
		p.Spec.SchedulerName = v1.DefaultSchedulerName
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("3")}}}}
		client.pods["shop/"+name] = p
		if err := s.SeePod(nil, p); err != nil {
			panic(err)
		}
		s.One(context.Background())
		fmt.Println(<-client.said)
	}
	// Output:
	// bind web to n1
	// db: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
}
