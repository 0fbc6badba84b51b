package optimal_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
)

// failing is the default profile with a filter that fails for one pod.
func failing(name string) placement.Profile {
	p := placement.DefaultProfile()
	p.Filters = append(p.Filters, &placement.Plugin{Name: "Fails", Filter: func(pod *v1.Pod, _ placement.Cluster) placement.Filtering {
		if pod.Name == name {
			return placement.Filtering{Code: filter.Error, Reasons: []string{"it fails"}}
		}
		return placement.Filtering{}
	}})
	return p
}

// The error of a filter is that of the answer.
func TestFilterFails(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "4")}, pods: []*v1.Pod{web("a", 1, "4", "n1")}}
	pod := testkit.Pod("p").Priority(100).Request("cpu=4").Obj()
	g := s.gang(t, testkit.Pod("g1").Priority(100).Request("cpu=4").Obj(), pod)
	g.Profile = failing("p")
	_, err := optimal.PlaceGang(g, optimal.Options{})
	require.ErrorContains(t, err, "it fails")

	snapshot, _ := s.comeback(t)
	c, err := optimal.NewComeback(snapshot, failing("a"))
	require.NoError(t, err)
	leaves := preemption.Candidate{Slot: snapshot.Slot("n1"), Node: "n1", Victims: []preemption.Victim{{Placed: preemption.Placed{Pod: s.pods[0]}}}}
	_, err = c.After(pod, leaves, placement.PreemptOptions{})
	require.ErrorContains(t, err, "it fails")
	c, err = optimal.NewComeback(snapshot, placement.Profile{})
	require.NoError(t, err)
	_, err = c.After(s.pods[0], preemption.Candidate{}, placement.PreemptOptions{})
	require.Error(t, err, "the preemptor runs already")
	leaves.Victims[0].Pod = testkit.Pod("unknown").On("n1").Obj()
	_, err = c.After(pod, leaves, placement.PreemptOptions{})
	require.Error(t, err, "no such victim runs")
}
