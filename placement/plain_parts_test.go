package placement

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// The stored form names a claim that the API server does not have by its generated name, and every other claim by its name.
func TestStoredClaims(t *testing.T) {
	claim := func(name, generate, uid string) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{}
		c.Namespace, c.Name, c.GenerateName, c.UID = "default", name, generate, types.UID(uid)
		return c
	}
	d := devices.Allocation{Claims: []*resourcev1.ResourceClaim{claim("a", "", ""), claim("<extended>", "p-extended-", ""), claim("p-x1", "p-x", "1")}}
	d.Results = make([]resourcev1.AllocationResult, 3)
	d.Results[2].Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "p", Device: "x"}}
	data, err := json.Marshal(claimsJSON(d))
	require.NoError(t, err)
	require.Equal(t, `[{"claim":"default/a","devices":[]},{"claim":"default/p-extended","devices":[]},{"claim":"default/p-x1","devices":[{"request":"r","device":"d/p/x"}]}]`, string(data))
}

// Each code of a failure is read back.
func TestStoredCodes(t *testing.T) {
	for _, code := range []filter.Code{filter.Error, filter.Unschedulable, filter.UnschedulableAndUnresolvable, filter.Pending} {
		data, err := json.Marshal(Failure{Code: code})
		require.NoError(t, err)
		var back Failure
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, code, back.Code)
	}
}

// A running pod is found again in every order, is asked about once until its slot is touched, and pods of one kind have one number.
func TestRunningPodsInEveryOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	asked := 0
	k := &running{kinds: map[any]int32{}, memo: map[any]any{}, requests: func(*v1.Pod) (resources.Vector, bool) { return resources.Vector{}, true }}
	k.kindOf = func(p *v1.Pod) (any, int32) {
		asked++
		if p.Labels["kind"] == "" {
			return nil, -1
		}
		return p.Labels["kind"], int32(len(p.Name))
	}
	known := map[*v1.Pod]bool{}
	var pods []*v1.Pod
	for n := range 9 {
		p := testkit.Pod("default/p").Obj()
		p.Labels = map[string]string{"kind": []string{"a", "b", ""}[n%3]}
		pods = append(pods, p)
	}
	numbers := map[string]int32{}
	for range 3000 {
		n := r.IntN(len(pods))
		p, slot := pods[n], n%2
		if r.IntN(50) == 0 {
			k.touch(slot)
			k.touch(7) // no pod was asked about
			for m := slot; m < len(pods); m += 2 {
				known[pods[m]] = false
			}
		}
		before := asked
		x := k.of(p, slot)
		kind := p.Labels["kind"]
		if kind == "" {
			require.Nil(t, x)
			continue
		}
		require.Same(t, p, x.pod)
		if _, ok := numbers[kind]; !ok {
			numbers[kind] = x.kind
		}
		require.Equal(t, numbers[kind], x.kind)
		require.Equal(t, !known[p], asked > before)
		known[p] = true
	}
	require.Len(t, k.effects, 2)
	require.NotEqual(t, numbers["a"], numbers["b"])
	for n, x := range k.slots[0].pods {
		require.Same(t, x.pod, k.of(x.pod, 0).pod)
		require.Equal(t, n+1, k.slots[0].next, "the next question begins behind the pod")
	}
	require.Nil(t, (&running{}).of(pods[0], 0), "a cluster that knows nothing of pods")
}

// The cluster of a pair has its pod on the second slot alone.
func TestPairOfNodes(t *testing.T) {
	pod := testkit.Pod("default/p").Obj()
	for _, p := range []*v1.Pod{nil, pod} {
		c := &pair{node: testkit.Node("n").Obj(), pod: p}
		require.Equal(t, 2, c.Len())
		for k := range 2 {
			require.Same(t, c.node, c.Node(k))
			n := 0
			for q := range c.Pods(k) {
				require.Same(t, pod, q)
				n++
			}
			require.Equal(t, k == 1 && p != nil, n == 1)
		}
	}
}
