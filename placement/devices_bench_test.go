package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkDevices decides and assumes pods with a claim for four devices of one model, on nodes with eight devices each. After
// 4,000 pods it takes all of them back. With "extended" the pods ask for four of an extended resource that the class provides.
// With "shared" all pods use one claim that has its devices.
func BenchmarkDevices(b *testing.B) {
	for _, kind := range []string{"claims", "extended", "shared"} {
		for _, nodes := range []int{5_000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, nodes), func(b *testing.B) { benchmarkDevices(b, kind, nodes) })
		}
	}
}

func benchmarkDevices(b *testing.B, kind string, nodes int) {
	class := gpuClass("example.com/gpu")
	class.Spec.Selectors = selectors("a")
	o := cluster.Objects{DeviceClasses: []*resourcev1.DeviceClass{class}}
	for k := range nodes {
		name, model := fmt.Sprintf("node-%d", k), "a"
		o.Nodes = append(o.Nodes, testkit.Node(name).Zone(fmt.Sprintf("zone-%d", k%3)).Capacity("cpu=32,memory=64Gi").Obj())
		s := gpuSlice(name, 8)
		for d := range s.Spec.Devices {
			s.Spec.Devices[d].Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &model}}
		}
		o.ResourceSlices = append(o.ResourceSlices, s)
	}
	var pods []*v1.Pod
	count := 4000
	if kind == "shared" {
		count = 200 // each pod makes the list of the claim's pods longer
	}
	for k := range count {
		pod := testkit.Pod(fmt.Sprintf("pod-%d", k)).Request("cpu=100m")
		switch claim := fmt.Sprintf("claim-%d", k); kind {
		case "claims":
			o.ResourceClaims = append(o.ResourceClaims, gpuClaim(claim, 4))
			pods = append(pods, claiming(pod.Obj(), claim))
		case "extended":
			pods = append(pods, pod.Request("cpu=100m,example.com/gpu=4").Obj())
		case "shared":
			pods = append(pods, claiming(pod.Obj(), "shared"))
		}
	}
	if kind == "shared" {
		shared := gpuClaim("shared", 4)
		shared.Status.Allocation = new(resourcev1.AllocationResult)
		o.ResourceClaims = append(o.ResourceClaims, shared)
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	profile := PluginArgs{Devices: tracker.Options{Compiler: models{}}}.Profile()
	profile.Sampling = AllNodes()
	p, err := NewPlacer(s, profile)
	require.NoError(b, err)
	require.True(b, p.Decide(pods[0], Options{}).Placed())
	require.True(b, p.Decide(pods[1], Options{}).Placed())
	m, n := s.Mark(), 0
	b.ReportAllocs()
	for b.Loop() {
		if n == len(pods) {
			b.StopTimer()
			require.True(b, s.Rollback(m))
			m, n = s.Mark(), 0
			b.StartTimer()
		}
		d := p.Decide(pods[n], Options{})
		if err := p.Assume(pods[n], d); err != nil {
			b.Fatal(err)
		}
		n++
	}
}
