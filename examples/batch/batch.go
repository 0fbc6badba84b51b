// Command batch is a batch scheduler: it starts a job when all its pods have a node, and no pod otherwise. A job that does not
// fit takes no room from the jobs behind it.
//
//	go run ./examples/batch
package main

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

// job is a number of equal pods that are of use only together.
type job struct {
	name    string
	workers int
	gpus    string // of each worker
}

func (j job) pods() (pods []*v1.Pod) {
	for k := range j.workers {
		name := fmt.Sprint(j.name, "-", k)
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "train", Name: name, UID: types.UID(name)}}
		gpus := v1.ResourceList{"example.com/gpu": resource.MustParse(j.gpus)}
		p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: gpus, Limits: gpus}}}
		pods = append(pods, p)
	}
	return pods
}

// start starts the jobs of a queue that fit, and returns the others.
func start(placer *placement.Placer, queue []job) (waiting []job, err error) {
	for _, j := range queue {
		decisions, err := placer.PlaceAll(j.pods(), placement.Options{})
		if none := new(placement.NoPlaceError); errors.As(err, &none) {
			fmt.Printf("%s waits, %v\n", j.name, err)
			waiting = append(waiting, j)
			continue
		}
		if err != nil { // such as a pod that runs already
			return nil, err
		}
		fmt.Print(j.name, " starts on")
		for _, d := range decisions {
			fmt.Print(" ", d.Node)
		}
		fmt.Println()
	}
	return waiting, nil
}

// end takes the pods of a job out of the cluster.
func end(placer *placement.Placer, j job) error {
	fmt.Println(j.name, "ends")
	for _, p := range j.pods() {
		if err := placer.Forget(p); err != nil {
			return err
		}
	}
	return nil
}

func run() error {
	var nodes []*v1.Node
	for _, name := range []string{"n1", "n2", "n3"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		n.Status.Allocatable = v1.ResourceList{"example.com/gpu": resource.MustParse("4"), "pods": resource.MustParse("110")}
		nodes = append(nodes, n)
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
	if err != nil {
		return err
	}
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	if err != nil {
		return err
	}
	vision := job{"vision", 2, "4"}
	waiting, err := start(placer, []job{vision, {"language", 2, "3"}, {"speech", 2, "2"}, {"robots", 3, "1"}})
	if err != nil {
		return err
	}
	if err := end(placer, vision); err != nil {
		return err
	}
	waiting, err = start(placer, waiting)
	fmt.Println("waiting:", waiting)
	return err
}

func main() {
	if err := run(); err != nil {
		panic(err)
	}
}
