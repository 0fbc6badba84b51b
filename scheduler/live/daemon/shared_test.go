package daemon

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// Pods that share a claim are bound soon, although each writes its reservation into the same object.
func TestSharedClaim(t *testing.T) { // B2.37
	synctest.Test(t, func(t *testing.T) {
		const pods = 64
		api := &apitest.API{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet {
				time.Sleep(2 * time.Millisecond) // of the bubble
			}
			return false
		}}
		gpus(t, api)
		api.Put(t, node("n", "99"), &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d"}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}},
		}}})
		for k := range pods {
			api.Put(t, pod(fmt.Sprintf("p%02d", k), func(p *v1.Pod) {
				p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "d", ResourceClaimName: ptr.To("d")}}
			}))
		}
		began, outcomes := time.Now(), map[scheduler.Outcome]int{}
		d := start(t, configure(t, api))
		for outcomes[scheduler.Scheduled] < pods {
			outcomes[(<-d.results).Outcome]++
		}
		require.Zero(t, outcomes[scheduler.SchedulingError], "nobody met a newer version")
		require.Equal(t, pods, api.Asked(http.MethodPut, claimsPath+"/d/status"), "one write for each pod")
		require.Less(t, time.Since(began), time.Second)
		var claim resourcev1.ResourceClaim
		require.True(t, api.Get("default/resourceclaims/d", &claim))
		require.Len(t, claim.Status.ReservedFor, pods)
		d.stop()
		require.NoError(t, <-d.ended)
	})
}
