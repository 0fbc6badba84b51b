package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/real"
)

var recorded = flag.String("recorded", "", "a file that TestRun of adapters/descheduler has recorded")

func scheduler(t *testing.T, o cluster.Objects) *real.Scheduler {
	t.Helper()
	s, err := real.Default(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Load(o))
	return s
}

// The one test of the descheduler that differs wants an eviction from a zone of 4 pods beside zones of 2 and 3, with no room in the first. The
// pod that comes in its place has no node: the descheduler means it to wait.
func TestScaleUp(t *testing.T) {
	var o cluster.Objects
	add := func(node string, cpu string, pods int) {
		list := v1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("2000"), "pods": resource.MustParse("9")}
		o.Nodes = append(o.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{"zone": node}}, Status: v1.NodeStatus{Allocatable: list}})
		for i := range pods {
			o.Pods = append(o.Pods, web(fmt.Sprint(node, i), node))
		}
	}
	add("a", "250m", 2)
	add("b", "1", 3)
	add("c", "1", 3) // 4 before the eviction
	s := scheduler(t, o)
	_, err := s.Schedule(web("next", ""))
	var unfit *framework.FitError
	require.True(t, errors.As(err, &unfit), "%v", err)
	require.Contains(t, unfit.Error(), "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match pod topology spread constraints.")
}

func web(name, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns1", Name: name, UID: types.UID(name), Labels: map[string]string{"foo": "bar"}},
		Spec: v1.PodSpec{NodeName: node,
			Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("100m")}}}},
			TopologySpreadConstraints: []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"foo": "bar"}}}}},
	}
}

// The real scheduler gives nodes to the pods that come back after the cycles of a recorded run: none gets the node that it left, and all have one.
//
//	cd adapters/descheduler && GOWORK=off go test -run TestRun -args -nodes 100 -cycles 50 -record /tmp/run.json
//	cd conformance && GOWORK=off go test ./importers -run TestRecorded -v -args -recorded /tmp/run.json
func TestRecorded(t *testing.T) {
	if *recorded == "" {
		t.Skip("no -recorded run")
	}
	file, err := os.Open(*recorded)
	require.NoError(t, err)
	defer file.Close()
	come, back, waiting, cycles := 0, 0, 0, 0
	for dec := json.NewDecoder(file); ; cycles++ {
		var c struct {
			Nodes      []*v1.Node
			Pods, Come []*v1.Pod
			Left       []string
		}
		if err := dec.Decode(&c); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		s := scheduler(t, cluster.Objects{Nodes: c.Nodes, Pods: c.Pods})
		for i, p := range c.Come {
			come++
			result, err := s.Schedule(p)
			var unfit *framework.FitError
			switch {
			case errors.As(err, &unfit):
				waiting++
				continue
			case err != nil:
				require.NoError(t, err)
			case result.SuggestedHost == c.Left[i]:
				back++
				t.Logf("cycle %d: %s returns to %s", cycles, p.Name, c.Left[i])
			}
			require.NoError(t, s.Assume(p, result.SuggestedHost))
		}
	}
	t.Logf("%d cycles, %d pods came, %d to the node that they left, %d wait", cycles, come, back, waiting)
	require.Positive(t, come)
	require.Zero(t, back)
	require.Zero(t, waiting)
}
