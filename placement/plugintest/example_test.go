package plugintest_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/placement/plugintest"
	"github.com/podberth/podberth/resources"
)

// sameTeam allows the nodes whose team is that of the pod.
type sameTeam struct {
	cluster placement.Cluster
	team    string
}

func (s sameTeam) Name() string { return "Team" }
func (s sameTeam) Check(i int) resources.Verdict {
	if s.cluster.Node(i).Labels["team"] != s.team {
		return 1
	}
	return 0
}
func (s sameTeam) Reasons(resources.Verdict) []string {
	return []string{"node(s) belonged to another team"}
}
func (s sameTeam) Code(resources.Verdict) filter.Code { return filter.UnschedulableAndUnresolvable }
func (s sameTeam) Reads(dst []string) []string        { return append(dst, "label:team") }

// A plugin that forgets to name what it reads gives pods the nodes of other pods. Check names the field.
func Example() {
	team := &placement.Plugin{
		Name: "Team", Keep: placement.KeepByNode,
		AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Namespace...) },
		Filter: func(pod *v1.Pod, c placement.Cluster) placement.PreFiltered {
			return placement.PreFiltered{Predicate: sameTeam{c, pod.Labels["team"]}}
		},
	}
	amounts := v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("10")}
	node := func(name, team string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}, Status: v1.NodeStatus{Capacity: amounts, Allocatable: amounts}}
	}
	nodes := []*v1.Node{node("n1", "red"), node("n2", "blue")}
	pods := []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: map[string]string{"team": "red"}}}}

	fmt.Println(plugintest.Check(team, pods, nodes))
	team.AppendKey = func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Labels["team"]...) }
	fmt.Println(plugintest.Check(team, pods, nodes))
	// Output:
	// plugin Team: AppendKey forgets .Labels[team], removed: pods with equal keys have other answers
	// <nil>
}
