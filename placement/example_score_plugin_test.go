package placement_test

import (
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
)

// price gives cheap nodes high scores. The price of a node is in a label.
type price struct{ cluster placement.Cluster }

func (p price) Raw(i int) int64 {
	cents, _ := strconv.ParseInt(p.cluster.Node(i).Labels["example.com/cents"], 10, 32) // no number: free of charge
	return cents
}

// Normalize gives the cheapest feasible node 100 and the most expensive node 0.
func (price) Normalize(raw, lo, hi int64) int64 {
	if hi == lo {
		return 100
	}
	return 100 * (hi - raw) / (hi - lo)
}

// Reads lets the plan compute one score for all nodes of equal price.
func (price) Reads(dst []string) []string { return append(dst, "label:example.com/cents") }

// A score plugin over a label of the node. Group and AppendKey let the plan share work between equal pods. Warnings
// lists what prevents the sharing.
func ExampleScorer() {
	var nodes []*v1.Node
	for k, cents := range []string{"30", "12", "12", "45", "80"} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", k+1), Labels: map[string]string{"example.com/cents": cents}}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("110")}
		nodes = append(nodes, n)
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
	if err != nil {
		panic(err)
	}
	cheap := &placement.Plugin{
		Name:      "Cheap",
		Score:     func(_ *v1.Pod, c placement.Cluster) (placement.Scorer, error) { return price{c}, nil },
		Keep:      placement.KeepByNode,                              // an answer changes only with the object of the node
		AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst }, // the plugin reads nothing of the pod
	}
	careless := &placement.Plugin{Name: cheap.Name, Score: cheap.Score}
	for _, plugin := range []*placement.Plugin{cheap, careless} {
		profile := placement.DefaultProfile()
		profile.Scores = append(profile.Scores, placement.Weighted{Plugin: plugin, Weight: 5})
		plan, err := placement.New(snapshot, profile)
		if err != nil {
			panic(err)
		}
		web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
		fmt.Println(plan.Decide(web, placement.Options{}).Node, plan.Warnings())
	}
	// Output:
	// n2 []
	// n2 [plugin Cheap: its Keep is KeepNothing; any other Keep needs AppendKey]
}
