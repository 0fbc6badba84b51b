package extender_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/scheduler/extender"
)

// A stock kube-scheduler asks which of two nodes can take a pod of two CPUs.
func Example() {
	node := func(name, cpu string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110"),
		}}}
	}
	h, err := extender.New(cluster.Objects{Nodes: []*v1.Node{node("n1", "1"), node("n2", "4")}}, nil, extender.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(h)
	defer server.Close()
	const asked = `{"Pod": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}, "NodeNames": ["n1", "n2"]}`
	answer, err := http.Post(server.URL+"/filter", "application/json", strings.NewReader(asked))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	fmt.Print(string(text), err)
	// Output:
	// {"Nodes":null,"NodeNames":["n2"],"FailedNodes":{},"FailedAndUnresolvableNodes":{"n1":"Insufficient cpu"},"Error":""}
	// <nil>
}
