// Command watch shows the scheduler of examples/thin at work: pods and nodes come, a pod is bound, waits, is woken by a new
// node, and evicts another pod. The API server is a map in memory, and the time is a number.
//
//	go run ./examples/watch
package main

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

// server is the API server. The scheduler calls it in the background: it hands over what it is told, and main prints it.
type server struct {
	pods   map[string]*v1.Pod
	bound  chan *v1.Pod
	failed chan string
	evict  chan []*v1.Pod
}

func (s *server) Pod(_, name string) *v1.Pod { return s.pods[name] }

func (s *server) Bind(_ context.Context, pod *v1.Pod, d placement.Decision) error {
	pod = pod.DeepCopy()
	pod.Spec.NodeName = d.Node
	s.bound <- pod
	return nil
}

func (s *server) Evict(_ context.Context, a preemption.Actions) { s.evict <- a.Evict }

func (s *server) Report(_ context.Context, pod *v1.Pod, text string, _ queue.Nomination) {
	s.failed <- pod.Name + " waits: " + text
}

// world is a scheduler, its server and the time.
type world struct {
	*server
	scheduler *thin.Scheduler
	seconds   int64
}

func (w *world) now() time.Time   { return time.Unix(w.seconds, 0) }
func (w *world) say(words ...any) { fmt.Print(w.seconds, " s: ", fmt.Sprintln(words...)) }

// change tells the scheduler of a pod that came, was bound (now has a node) or went (now is nil).
func (w *world) change(name string, now *v1.Pod) {
	old := w.pods[name]
	if w.pods[name] = now; now == nil {
		delete(w.pods, name)
	}
	check(w.scheduler.SeePod(old, now))
}

// wait lets seconds pass and prints what the scheduler does.
func (w *world) wait(seconds int) {
	for range seconds {
		for w.scheduler.One(context.Background()) {
			select {
			case pod := <-w.bound:
				w.say(pod.Name, "is bound to", pod.Spec.NodeName)
				w.change(pod.Name, pod)
			case text := <-w.failed:
				w.say(text)
				for _, victim := range <-w.evict {
					w.say(victim.Name, "is evicted")
					w.change(victim.Name, nil)
				}
			}
		}
		w.seconds++
	}
}

func main() {
	w := &world{server: &server{map[string]*v1.Pod{}, make(chan *v1.Pod), make(chan string), make(chan []*v1.Pod)}}
	snapshot, err := cluster.New(cluster.Objects{})
	check(err)
	w.scheduler, err = thin.New(snapshot, placement.DefaultProfile(), w, w.now)
	check(err)
	for _, step := range []metav1.Object{node("n1"), pod("web", 0), pod("db", 0), node("n2"), pod("pay", 100)} {
		w.say(step.GetName(), "comes")
		if p, ok := step.(*v1.Pod); ok {
			w.change(p.Name, p)
		} else {
			check(w.scheduler.See("Node", nil, step))
		}
		w.wait(5)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func node(name string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("110")}
	return n
}

func pod(name string, priority int32) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
	p.Spec = v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Priority: &priority, Containers: []v1.Container{{
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("3")}}}}}
	return p
}
