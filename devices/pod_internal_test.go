package devices

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// inFlight are the claims of a namespace, of which some are in flight.
type inFlight struct {
	oneClaim
	uids []types.UID
}

func (c inFlight) InFlight(uid types.UID) bool {
	for _, x := range c.uids {
		if x == uid {
			return true
		}
	}
	return false
}

// A pod waits for its claims that are in flight. The special claim that is only in memory has no UID, and is not looked up.
func TestClaimsInFlight(t *testing.T) {
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}}
	extended := ExtendedResources{"example.com/gpu": class}
	asking := func(extended bool) *v1.Pod {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p"}}
		if !extended {
			pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "c", ResourceClaimName: new("c")}}
			return pod
		}
		pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"example.com/gpu": resource.MustParse("1")}}}}
		return pod
	}
	created := extendedClaim(asking(true), onlyClaims{})
	created.Name, created.UID = "p-extended", "x"
	type test struct {
		name, why string
		pod       *v1.Pod
		claims    onlyClaims
		uids      []types.UID
		code      filter.Code
	}
	testkit.Run(t, []test{
		{"a claim in memory", "nobody can have reserved it", asking(true), nil, []types.UID{"", "x"}, filter.Success},
		{"a claim that was created", "another attempt has reserved it", asking(true), onlyClaims{created}, []types.UID{"x"}, filter.UnschedulableAndUnresolvable},
		{"a claim that was created and is free", "nobody has reserved it", asking(true), onlyClaims{created}, []types.UID{"", "y"}, filter.Success},
		{"a claim of the pod", "another pod has reserved it", asking(false), onlyClaims{{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c"}}}, []types.UID{"c"}, filter.UnschedulableAndUnresolvable},
		{"a claim of the pod without a UID", "it is looked up as any other claim", asking(false), onlyClaims{{ObjectMeta: metav1.ObjectMeta{Name: "c"}}}, []types.UID{""}, filter.UnschedulableAndUnresolvable},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.code, Compile(c.pod, inFlight{oneClaim{c.claims, class}, c.uids}, extended).Code())
	})
}

// A request of one alternative is a request.
func TestOneAlternative(t *testing.T) {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c"}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "one", DeviceClassName: "class"}}}}
	code, reason := checkClasses(claim, oneClaim{class: &resourcev1.DeviceClass{}})
	require.Equal(t, filter.Success, code, reason)
	code, reason = checkClasses(claim, oneClaim{})
	require.Equal(t, filter.UnschedulableAndUnresolvable, code)
	require.Equal(t, "request r/one: device class class does not exist", reason)
}

// Where an allocation names two alternatives of a request, the first one counts. No search makes such an allocation.
func TestPreferenceOfTwoAlternatives(t *testing.T) {
	spec := &resourcev1.ResourceClaimSpec{}
	spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "a"}, {Name: "b"}}}, {Name: "s", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "a"}}}}
	allocation := &resourcev1.AllocationResult{}
	for _, name := range []string{"r/b", "r/a", "s/a"} {
		allocation.Devices.Results = append(allocation.Devices.Results, resourcev1.DeviceRequestAllocationResult{Request: name})
	}
	require.EqualValues(t, 2*best, preference(spec, allocation))
	allocation.Devices.Results = allocation.Devices.Results[:1]
	require.EqualValues(t, best-1, preference(spec, allocation))
}
