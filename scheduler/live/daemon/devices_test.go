package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// A device that is not attached in time fails the attempt. The next attempt gives the device back, and the attempt after it takes one again.
func TestDeviceTakesTooLong(t *testing.T) { // B2.40
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{}
		gpus(t, api)
		api.Put(t, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: ptr.To("n"), Pool: resourcev1.ResourcePool{Name: "n", ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "gpu-0", BindingConditions: []string{"Attached"}, BindingFailureConditions: []string{"Broken"}}},
		}}, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d"}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}},
		}}}, pod("p", func(p *v1.Pod) {
			p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "d", ResourceClaimName: ptr.To("d")}}
		}))
		c := configure(t, api)
		var err error
		c.Configuration, err = config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: mine, pluginConfig: [{name: DynamicResources, args: {bindingTimeout: 3s}}]}]\n"))
		require.NoError(t, err)
		began := time.Now()
		d := start(t, c)
		r := <-d.results
		require.Equal(t, []any{scheduler.SchedulingError, `running PreBind plugin "DynamicResources": device binding timeout: context deadline exceeded`}, []any{r.Outcome, r.Message})
		require.Equal(t, 3*time.Second, time.Since(began))
		r = <-d.results
		require.Equal(t, scheduler.Rejected, r.Outcome)
		require.Contains(t, r.Message, "1 resourceclaim not available on the node. deallocation of ResourceClaim completed")
		var claim resourcev1.ResourceClaim
		for claim.Status.Allocation == nil {
			time.Sleep(time.Second) // of the bubble
			require.True(t, api.Get("default/resourceclaims/d", &claim))
		}
		require.Less(t, time.Since(began), 20*time.Second)
		claim.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "gpu.example.com", Pool: "n", Device: "gpu-0", Conditions: []metav1.Condition{{Type: "Attached", Status: metav1.ConditionTrue}}}}
		api.Put(t, &claim)
		r = <-d.results
		require.Equal(t, scheduler.Scheduled, r.Outcome, r.Message)
		d.stop()
		require.NoError(t, <-d.ended)
	})
}
