package page_test

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/tools/page"
)

// A page about one node and a pod that waits. A program writes it into a file for the browser.
func ExamplePage_Write() {
	nodes := []*v1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{v1.LabelTopologyZone: "a"}},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}},
	}}
	pods := []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}}
	p := page.New("Where the waiting pods go", nodes, pods)
	p.Summary = "0 scheduled, 1 unschedulable"
	p.Tell(page.Pod{Name: "default/web", State: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu."})

	var file strings.Builder
	if err := p.Write(&file); err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(file.String()) {
		if strings.HasPrefix(line, "<title>") || strings.HasPrefix(line, "<p>0") {
			fmt.Print(line)
		}
	}
	// Output:
	// <title>Where the waiting pods go</title>
	// <p>0 scheduled, 1 unschedulable</p>
}
