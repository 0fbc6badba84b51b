//go:build k1_36

package devices

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/podberth/podberth/internal/hints"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// v1.36 does not hear of deleted claims (rule L7.16): DynamicResources registers additions and updates, as podberth does, and the hint skips a deletion.
func TestDeletedClaim(t *testing.T) {
	registered, err := kube(t, endless).Hints("DynamicResources")
	require.NoError(t, err)
	seen := 0
	for _, r := range registered {
		if r.Event.Resource == fwk.ResourceClaim {
			require.Zero(t, r.Event.ActionType&fwk.Delete)
			require.NotZero(t, r.Event.ActionType&fwk.Add)
			seen++
		}
	}
	require.Equal(t, 1, seen)
	for _, r := range queue.DefaultEvents(nil, release.V1_36) {
		if r.Plugin == "DynamicResources" && r.Event.Resource == string(fwk.ResourceClaim) {
			require.Zero(t, r.Event.Action&queue.Delete)
			require.NotZero(t, r.Event.Action&queue.Add)
			seen++
		}
	}
	require.Equal(t, 2, seen)
	claim := &resourcev1.ResourceClaim{}
	claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "p", Device: "x"}}}}
	helps, err := hints.Claim(nil, release.V1_36)(&v1.Pod{}, claim, nil)
	require.NoError(t, err)
	require.False(t, helps)
}
