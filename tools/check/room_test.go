package check

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/program"
	"github.com/podberth/podberth/tools/report"
)

const oneNode = `apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", pods: "10"}}
`

// A node has room for as many pods as its resources allow, and for no more than are asked about.
func TestDeviceRoom(t *testing.T) {
	in, err := load(options{Common: program.Common{Files: []string{"-"}}}, strings.NewReader(oneNode))
	require.NoError(t, err)
	ask := testkit.Pod("default/more").Request("cpu=1").Obj()
	require.False(t, in.asksForDevices(ask))
	ask.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}}
	require.True(t, in.asksForDevices(ask))
	ask.Spec.ResourceClaims = nil
	slot, ok := in.plan.Slot("n1")
	require.True(t, ok)
	for n, want := range map[int]int{1: 1, 3: 3, 4: 4, 9: 4} {
		room, err := in.deviceRoom(ask, []int{slot}, n)
		require.NoError(t, err)
		require.Equal(t, want, room(slot), n)
	}
}

// One more pod has a name of its own, no node and no claims yet.
func TestAnother(t *testing.T) {
	in := &input{asked: testkit.Pod("shop/a").On("n1").Obj()}
	in.asked.Status.NominatedNodeName = "n2"
	in.asked.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu"}}
	more := in.another()
	require.Equal(t, []string{"shop/a-more", "shop/a-more", "", ""}, []string{podinfo.Name(more), string(more.UID), more.Spec.NodeName, more.Status.NominatedNodeName})
	require.Empty(t, more.Status.ResourceClaimStatuses)
	require.Equal(t, "n1", in.asked.Spec.NodeName)
}

// A rejection without numbers is its reasons alone.
func TestRejectionWithoutNumbers(t *testing.T) {
	c := &clusterCheck{Violations: []violation{{Pod: "shop/a", Node: "n1", Rejections: []placement.Rejection{
		{Plugin: "X", Reasons: []string{"no", "never"}}, {Plugin: "Y", Reasons: []string{"full"}, Numbers: []string{"1 of 2", "3 of 4"}},
	}}}}
	var out strings.Builder
	c.table(&out, report.Layout{NoHeaders: true})
	require.Equal(t, []string{"shop/a", "n1", "X", "no;", "never", "shop/a", "n1", "Y", "full", "(1", "of", "2;", "3", "of", "4)"}, strings.Fields(out.String()))
}
