package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A plan compiles the terms of its running pods once: asking about one more pod does not pay for each term set again. Plans share
// no such memory.
func TestTermsAreCompiledOnce(t *testing.T) {
	const sets = 200
	objects := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Zone("z").Obj()}}
	for i := range sets {
		objects.Pods = append(objects.Pods, testkit.Pod(fmt.Sprint("p", i)).On("n").Labels(fmt.Sprint("app=", i)).RequireApart(v1.LabelTopologyZone, fmt.Sprint("app=", i)).Obj())
	}
	s, err := cluster.New(objects)
	require.NoError(t, err)
	p, err := New(s, DefaultProfile())
	require.NoError(t, err)
	pod := testkit.Pod("new").Obj()
	require.False(t, p.Prepare(pod).Rejected())
	require.Less(t, testing.AllocsPerRun(3, func() { p.Prepare(pod) }), float64(sets))

	other, err := New(s, DefaultProfile())
	require.NoError(t, err)
	profile := DefaultProfile()
	for k, f := range profile.Filters {
		if f.own != nil {
			require.NotSame(t, p.profile.Filters[k], other.profile.Filters[k])
			mine := *f
			require.Same(t, &mine, mine.own(&mine), "a copy may have other functions")
			require.Less(t, testing.AllocsPerRun(1, func() { p.profile.Filters[k].Filter(pod, s) }), testing.AllocsPerRun(1, func() { mine.Filter(pod, s) })/3)
		}
	}
}
