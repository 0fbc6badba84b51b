package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// Plugins see a copy of the pod under the pod's name with the number of the copy, from 1.
func TestNamesOfCopies(t *testing.T) {
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4,pods=110").Obj()},
		Pods:  []*v1.Pod{testkit.Pod("web-2").Request("cpu=1").On("n").Obj()}, // has the name of a copy
	})
	require.NoError(t, err)
	var names []string
	profile := DefaultProfile()
	profile.Filters = append(profile.Filters, &Plugin{Name: "Names", Filter: func(pod *v1.Pod, _ Cluster) PreFiltered {
		names = append(names, pod.Name)
		return PreFiltered{Code: filter.Skip}
	}})
	p, err := NewPlacer(s, profile)
	require.NoError(t, err)
	room, err := p.HowMany(testkit.Pod("web").Request("cpu=1").Obj(), nil)
	require.NoError(t, err)
	require.Len(t, room.Nodes, 3)
	require.Equal(t, []string{"web-1", "web-2-2", "web-3", "web-4"}, names)
}
