package daemon

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// gpus puts a node with three devices into a server, and the class that serves example.com/gpu.
func gpus(t *testing.T, api *apitest.API) {
	t.Helper()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: ptr.To("example.com/gpu")}}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: ptr.To("n"), Pool: resourcev1.ResourcePool{Name: "n", ResourceSliceCount: 1},
		Devices: []resourcev1.Device{{Name: "gpu-0"}, {Name: "gpu-1"}, {Name: "gpu-2"}},
	}}
	api.Put(t, node("n", "4"), class, slice)
}

// asking gives a pod one more container, which asks for an extended resource.
func asking(name v1.ResourceName, count string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "g" + count, Resources: v1.ResourceRequirements{Requests: v1.ResourceList{name: resource.MustParse(count)}}})
	}
}

const claimsPath, resourceClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", "resourceclaims"

// A pod whose extended resource a class serves is bound with a claim, to which the API server gives the name. The status of the pod names it.
func TestExtendedResource(t *testing.T) { // B2.38
	const explicit, implicit = "example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"
	type test struct {
		name    string
		pod     *v1.Pod
		devices int
		serves  []string // container and request of each mapping
	}
	testkit.Run(t, []test{
		{"explicit", pod("p", asking(explicit, "2")), 2, []string{"g2 container-1-request-0"}},
		{"implicit", pod("p", asking(implicit, "1")), 1, []string{"g1 container-1-request-0"}},
		{"two containers", pod("p", asking(explicit, "2"), asking(implicit, "1")), 3, []string{"g1 container-2-request-0", "g2 container-1-request-0"}},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			api := &apitest.API{}
			gpus(t, api)
			api.Put(t, x.pod)
			d := start(t, configure(t, api))
			r := <-d.results
			require.Equal(t, scheduler.Scheduled, r.Outcome, r.Message)
			var claim resourcev1.ResourceClaim
			require.True(t, api.Find(resourceClaims, &claim))
			require.True(t, strings.HasPrefix(claim.Name, "p-extended-resources-"), claim.Name)
			require.Len(t, claim.Status.Allocation.Devices.Results, x.devices)
			require.Equal(t, "p", claim.Status.ReservedFor[0].Name)
			var p v1.Pod
			require.True(t, api.Get("default/pods/p", &p))
			require.Equal(t, claim.Name, p.Status.ExtendedResourceClaimStatus.ResourceClaimName)
			require.Equal(t, p.UID, claim.OwnerReferences[0].UID)
			var serves []string
			for _, m := range p.Status.ExtendedResourceClaimStatus.RequestMappings {
				serves = append(serves, m.ContainerName+" "+m.RequestName)
			}
			require.Equal(t, x.serves, serves)
			require.Equal(t, 1, api.Asked(http.MethodPost, claimsPath))
			d.stop()
			require.NoError(t, <-d.ended)
		})
	})
}

// A claim that was made for extended resources goes when a later write fails, and the next attempt makes another.
func TestExtendedResourceFails(t *testing.T) { // B2.39
	type test struct {
		name, method, path string
		refused, made      int // which such request is refused, and how many claims are made
	}
	testkit.Run(t, []test{
		{"creation", http.MethodPost, "/resourceclaims", 1, 2},
		{"status of the claim", http.MethodPut, "/status", 1, 2},
		{"status of the pod", http.MethodPatch, "/pods/p/status", 2, 2},
		{"binding", http.MethodPost, "/binding", 1, 2},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			api, asked := &apitest.API{}, 0 // the first patch of the pod nominates its node
			api.Answer = func(w http.ResponseWriter, r *http.Request) bool {
				if !asks(r, x.method, x.path) {
					return false
				}
				if asked++; asked != x.refused {
					return false
				}
				apitest.Refuse(w, http.StatusForbidden, "Forbidden")
				return true
			}
			gpus(t, api)
			api.Put(t, pod("p", asking("example.com/gpu", "1")))
			d := start(t, configure(t, api))
			require.Equal(t, scheduler.SchedulingError, (<-d.results).Outcome)
			r := <-d.results
			require.Equal(t, scheduler.Scheduled, r.Outcome, r.Message)
			require.Equal(t, x.made, api.Asked(http.MethodPost, claimsPath))
			var claim, other resourcev1.ResourceClaim
			require.True(t, api.Find(resourceClaims, &claim))
			api.Remove("default/resourceclaims/" + claim.Name)
			require.False(t, api.Find(resourceClaims, &other), "one claim was left")
			d.stop()
			require.NoError(t, <-d.ended)
		})
	})
}

// A pod that goes while its claim is made leaves no claim.
func TestExtendedResourcePodGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{}
		api.Answer = func(_ http.ResponseWriter, r *http.Request) bool {
			if asks(r, http.MethodPost, "/resourceclaims") {
				api.Remove("default/pods/p")
			}
			return false
		}
		gpus(t, api)
		api.Put(t, pod("p", asking("example.com/gpu", "1")))
		d := start(t, configure(t, api))
		require.Equal(t, scheduler.SchedulingError, (<-d.results).Outcome)
		synctest.Wait()
		var claim resourcev1.ResourceClaim
		require.False(t, api.Find(resourceClaims, &claim), claim.Name)
		d.stop()
		require.NoError(t, <-d.ended)
	})
}

// A process that was killed after it made the claim leaves the claim without devices. The next process deletes it, and makes another.
func TestExtendedResourceLeftOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{}
		gpus(t, api)
		p := pod("p", as("u"), asking("example.com/gpu", "1"))
		api.Put(t, p, &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "p-extended-resources-old", Annotations: map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u", Controller: ptr.To(true)}},
			},
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: 1}}}}},
		})
		d := start(t, configure(t, api))
		r := <-d.results
		require.Equal(t, scheduler.Rejected, r.Outcome)
		require.Contains(t, r.Message, "1 cannot schedule extended resource claim. deletion of ResourceClaim completed")
		r = <-d.results
		require.Equal(t, scheduler.Scheduled, r.Outcome, r.Message)
		var claim resourcev1.ResourceClaim
		require.True(t, api.Find(resourceClaims, &claim))
		require.NotEqual(t, "p-extended-resources-old", claim.Name)
		d.stop()
		require.NoError(t, <-d.ended)
	})
}
