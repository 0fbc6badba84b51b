package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
)

// BenchmarkHomeless decides about pods that fit on no node, each with a claim of its own: bound to a volume in a zone without nodes, of a class
// that provides nothing in these zones, for more devices than a node has, or bound where no node has room. Between two of them a pod comes to a node.
func BenchmarkHomeless(b *testing.B) {
	for _, kind := range []string{"bound", "waiting", "devices", "large"} {
		for _, nodes := range []int{5_000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, nodes), func(b *testing.B) { benchmarkHomeless(b, kind, nodes) })
		}
	}
}

func benchmarkHomeless(b *testing.B, kind string, nodes int) {
	elsewhere := storageClass("elsewhere", "csi.example.com")
	elsewhere.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelTopologyZone, Values: []string{"z"}}}}}
	o := cluster.Objects{
		DeviceClasses:  []*resourcev1.DeviceClass{gpuClass("example.com/gpu")},
		StorageClasses: []*storagev1.StorageClass{storageClass("fast", "csi.example.com"), elsewhere},
	}
	for i := range nodes {
		n := testkit.Node(fmt.Sprintf("node-%d", i)).Zone(string("abc"[i%3])).Capacity("cpu=32,memory=64Gi").Obj()
		o.Nodes = append(o.Nodes, n)
		if kind == "devices" {
			o.ResourceSlices = append(o.ResourceSlices, gpuSlice(n.Name, 8))
		}
	}
	const pods = 2000
	for k := range pods {
		switch name := fmt.Sprint("c-", k); kind {
		case "devices":
			o.ResourceClaims = append(o.ResourceClaims, gpuClaim(name, 9))
		case "waiting":
			o.Claims = append(o.Claims, waiting(name, "elsewhere", "1Gi"))
		default:
			c, pv := waiting(name, "fast", "1Gi"), disk("pv-"+name, "fast", map[string]string{"bound": "z", "large": "a"}[kind], "1Gi")
			bind(c, pv, "csi.example.com")
			o.Claims, o.PersistentVolumes = append(o.Claims, c), append(o.PersistentVolumes, pv)
		}
	}
	s, err := cluster.New(o)
	require.NoError(b, err)
	profile := PluginArgs{Devices: tracker.Options{Compiler: models{}}}.Profile()
	profile.Sampling = AllNodes()
	p, err := NewPlacer(s, profile)
	require.NoError(b, err)
	n, m := 0, s.Mark()
	step := func() {
		pod := testkit.Pod(fmt.Sprint("pod-", n)).Request("cpu=1")
		if kind == "large" {
			pod = pod.Request("cpu=100")
		}
		name := fmt.Sprint("c-", n%pods)
		claim := mounting
		if kind == "devices" {
			claim = claiming
		}
		homeless := claim(pod.Obj(), name)
		if d := p.Decide(homeless, Options{}); d.Failure == nil || d.Failure.Err != nil {
			b.Fatal(text(d))
		}
		if err := s.Assume(testkit.Pod(fmt.Sprint("other-", n)).Request("cpu=1").Obj(), n%nodes); err != nil {
			b.Fatal(err)
		}
		n++
	}
	for range 3 { // what is kept is made for the first pods of a kind
		step()
	}
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
	require.True(b, s.Rollback(m))
}
