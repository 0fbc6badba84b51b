package httpextender_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/scheduler/httpextender"
)

// An extender prefers node-5 for gpu pods and has no driver on node-2.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := `{"NodeNames": ["node-4", "node-5"], "FailedNodes": {"node-2": "no driver"}}`
		if r.URL.Path == "/prioritize" {
			answer = `[{"Host": "node-4", "Score": 1}, {"Host": "node-5", "Score": 10}]`
		}
		if _, err := io.WriteString(w, answer); err != nil {
			fmt.Println(err)
		}
	}))
	defer server.Close()
	clients, err := httpextender.NewAll([]configv1.Extender{
		{URLPrefix: server.URL, FilterVerb: "filter", PrioritizeVerb: "prioritize", Weight: 2, NodeCacheCapable: true},
	}, httpextender.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var nodes []*v1.Node
	for _, name := range []string{"node-2", "node-4", "node-5"} {
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "gpu-1"}}
	answer, err := httpextender.FilterAll(context.Background(), clients, pod, nodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Nodes, answer.Failed)
	fmt.Println(httpextender.ScoreAll(context.Background(), clients, pod, nodes[1:]))
	// Output:
	// [node-4 node-5] map[node-2:no driver]
	// [20 200]
}
