package feed_test

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/podberth/podberth/scheduler/live/feed"
)

// printer is a sink. A scheduler takes its place.
type printer struct{}

func (printer) AddPod(p *v1.Pod)         { fmt.Println("pod", p.Name, "on", p.Spec.NodeName) }
func (printer) UpdatePod(_, _ *v1.Pod)   {}
func (printer) DeletePod(p *v1.Pod)      { fmt.Println("pod", p.Name, "is gone") }
func (printer) AddNode(*v1.Node)         {}
func (printer) UpdateNode(_, _ *v1.Node) {}
func (printer) DeleteNode(*v1.Node)      {}
func (printer) Set(_, _ metav1.Object)   {}
func (printer) Remove(metav1.Object)     {}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}, Spec: v1.PodSpec{NodeName: "n1"}}
	f, err := feed.New(fake.NewClientset(web), feed.Options{})
	if err != nil {
		panic(err)
	}
	if err := f.Connect(printer{}); err != nil {
		panic(err)
	}
	f.Start(ctx)
	if err := f.Wait(ctx); err != nil {
		panic(err)
	}
	fmt.Println(f.Pod("default", "web").Name, f.Waiting())
	// Output:
	// pod web on n1
	// web <nil>
}
