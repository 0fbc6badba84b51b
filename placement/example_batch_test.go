package placement_test

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// job is a group of pods that are useful only if all of them run.
type job struct {
	name    string
	workers int
	gpus    string // of each worker
}

func (j job) pods() []*v1.Pod {
	var out []*v1.Pod
	for k := range j.workers {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "train", Name: fmt.Sprintf("%s-%d", j.name, k)}}
		p.UID, p.Labels = types.UID(p.Name), map[string]string{"job": j.name}
		gpu := v1.ResourceList{"nvidia.com/gpu": resource.MustParse(j.gpus)}
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: gpu, Limits: gpu}}}
		out = append(out, p)
	}
	return out
}

// admit starts the jobs whose pods all fit, and leaves the other jobs in the queue. A job that does not fit takes no
// room from later jobs.
func admit(placer *placement.Placer, queue []job) (left []job, err error) {
	for _, j := range queue {
		decisions, err := placer.PlaceAll(j.pods(), placement.Options{})
		if none := new(placement.NoPlaceError); errors.As(err, &none) {
			fmt.Printf("%s waits, %v\n", j.name, err)
			left = append(left, j)
			continue
		}
		if err != nil { // such as a pod that runs already
			return nil, err
		}
		fmt.Printf("%s starts on", j.name)
		for _, d := range decisions {
			fmt.Print(" ", d.Node)
		}
		fmt.Println()
	}
	return left, nil
}

// A batch scheduler that places all pods of a group or none.
func Example_batch() {
	var objects cluster.Objects
	for _, name := range []string{"n1", "n2", "n3"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Status.Allocatable = v1.ResourceList{"nvidia.com/gpu": resource.MustParse("4"), v1.ResourcePods: resource.MustParse("110")}
		objects.Nodes = append(objects.Nodes, n)
	}
	snapshot, err := cluster.New(objects)
	if err != nil {
		fmt.Println(err)
		return
	}
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	if err != nil {
		fmt.Println(err)
		return
	}
	left, err := admit(placer, []job{{"vision", 2, "4"}, {"language", 2, "3"}, {"speech", 1, "4"}})
	placed := 0
	for slot := range snapshot.Len() {
		for range snapshot.Pods(slot) {
			placed++
		}
	}
	fmt.Println(len(left), "left,", placed, "pods placed", err)
	// Output:
	// vision starts on n1 n2
	// language waits, pod train/language-1: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.
	// speech starts on n3
	// 1 left, 3 pods placed <nil>
}
