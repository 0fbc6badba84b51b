package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement/internal/hooks"
	"github.com/podberth/podberth/spread"
	"github.com/podberth/podberth/volumes"

	resourcev1 "k8s.io/api/resource/v1"
)

// stateOf returns the state of a pod, ready to append domains, and its layout key.
func stateOf(t *testing.T, p *Plugin, c Cluster, pod *v1.Pod) (hooks.State, string) {
	t.Helper()
	compiled, err := p.states(c).Compile(pod)
	require.NoError(t, err)
	compiled.AppendKey(nil)
	s := compiled.Count()
	return s, string(s.AppendLayoutKey(nil))
}

// Pods share a division of the nodes when they count by the same keys in the same way. Keys are appended to each other, so that no key begins
// another.
func TestLayoutKeys(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones(), Services: services()})
	require.NoError(t, err)
	const zone, host, rack, hard, soft = v1.LabelTopologyZone, v1.LabelHostname, "rack", v1.DoNotSchedule, v1.ScheduleAnyway
	pod := func() testkit.PodBuilder { return testkit.Pod("p").Labels("app=x") }
	for name, c := range map[string]struct {
		plugin *Plugin
		pods   []testkit.PodBuilder
	}{
		"spread": {newPodTopologySpread(spread.Options{}), []testkit.PodBuilder{
			pod().Spread(1, zone, hard, "app=x"), pod().Spread(1, zone, soft, "app=x"), pod().Spread(1, rack, soft, "app=x"), pod().Spread(1, host, soft, "app=x"),
			pod().Spread(1, zone, hard, "app=x").Spread(1, rack, soft, "app=x"), pod().Spread(1, rack, hard, "app=x").Spread(1, zone, soft, "app=x"),
			pod().Spread(1, zone, hard, "app=x").Spread(1, rack, hard, "app=x"), pod().Spread(1, zone, soft, "app=x").Spread(1, host, soft, "app=x"),
			testkit.Pod("p").Labels("svc=s"), // the system's constraints by hostname and zone, which ignore no node
			pod().Spread(3, host, soft, "app=x").Spread(5, zone, soft, "app=x"),
		}},
		"affinity": {newInterPodAffinity(affinity.PodOptions{}), []testkit.PodBuilder{
			pod(), pod().RequireApart(zone, "app=x"), pod().RequireApart(rack, "app=x"), pod().RequireApart(zone, "app=x").RequireWith(rack, "app=x"),
		}},
	} {
		var keys []string
		for _, b := range c.pods {
			_, key := stateOf(t, c.plugin, s, b.Obj())
			_, again := stateOf(t, c.plugin, s, b.Obj())
			require.Equal(t, key, again, name)
			for k, other := range keys {
				require.False(t, strings.HasPrefix(key, other) || strings.HasPrefix(other, key), "%s: pods %d and %d", name, k, len(keys))
			}
			keys = append(keys, key)
		}
	}
}

// Domains and counts are appended behind what is there already, and there are as many keys as domains.
func TestDomainsAreAppended(t *testing.T) {
	o := cluster.Objects{Nodes: threeZones()}
	o.Nodes = append(o.Nodes, testkit.Node("d1").Obj())
	for k, n := range []string{"a1", "a1", "b2"} {
		o.Pods = append(o.Pods, testkit.Pod(fmt.Sprint("r", k)).Labels("app=x").On(n).Obj())
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	const zone, host = v1.LabelTopologyZone, v1.LabelHostname
	spreading := testkit.Pod("p").Labels("app=x").Spread(1, zone, v1.DoNotSchedule, "app=x").Spread(1, host, v1.DoNotSchedule, "app=x").Obj()
	apart := testkit.Pod("p").Labels("app=x").RequireApart(zone, "app=x").RequireApart(host, "app=x").Obj()
	for name, x := range map[string]hooks.State{"spread": first(stateOf(t, newPodTopologySpread(spread.Options{}), s, spreading)), "affinity": first(stateOf(t, newInterPodAffinity(affinity.PodOptions{}), s, apart))} {
		require.Equal(t, 2, x.Keys(), name)
		require.True(t, x.Single(), name)
		var some []string
		for i := range s.Len() {
			domains := x.AppendDomains(nil, i)
			require.Len(t, domains, 2, name)
			require.Contains(t, domains, int32(0), "%s: every node has a name of its own", name)
			require.Equal(t, append([]int32{5, -1, 7}, domains...), x.AppendDomains([]int32{5, -1, 7}, i), name)
			counts, has := x.AppendCounts(nil, i)
			more, also := x.AppendCounts([]int32{5, -1, 7}, i)
			require.Equal(t, append([]int32{5, -1, 7}, counts...), more, name)
			require.Equal(t, has, also, name)
			if has {
				some = append(some, s.Node(i).Name)
			}
		}
		require.Equal(t, []string{"a1", "b2"}, some, name)
	}
}

// A state that no pod moves appends nothing to what other states read and count.
func TestUnmoved(t *testing.T) {
	x := unmoved{}
	require.Equal(t, []string{"images"}, x.Reads([]string{"images"}))
	counts, some := x.AppendCounts([]int32{7}, 0)
	require.Equal(t, []int32{7}, counts)
	require.False(t, some)
	require.Equal(t, []int32{7}, x.AppendCounted([]int32{7}))
	require.False(t, x.Matched(0))
	require.False(t, x.Single())
	require.Equal(t, 1, x.Keys(), "the verdicts, or the devices, are its key")
}

// Only the counts of keys whose values no two nodes share make a slot one with counts, wherever these keys stand.
func TestCountsOfUniqueKeys(t *testing.T) {
	var o cluster.Objects
	for k, n := range threeZones() {
		n.Labels["zz-serial"] = fmt.Sprint(k)
		o.Nodes = append(o.Nodes, n)
	}
	o.Pods = []*v1.Pod{testkit.Pod("x").Labels("app=x").On("a2").Obj(), testkit.Pod("y").Labels("app=y").On("b1").Obj(), testkit.Pod("z").Labels("app=z").On("b2").Obj()}
	s, err := cluster.New(o)
	require.NoError(t, err)
	pod := testkit.Pod("p").RequireApart(v1.LabelHostname, "app=x").RequireApart(v1.LabelTopologyZone, "app=z").RequireApart("zz-serial", "app=y").PreferWith(5, v1.LabelHostname, "app=z").Obj()
	x := first(stateOf(t, newInterPodAffinity(affinity.PodOptions{}), s, pod))
	require.Equal(t, 3, x.Keys())
	var some []string
	for i := range s.Len() {
		if _, has := x.AppendCounts(nil, i); has {
			some = append(some, s.Node(i).Name)
		}
	}
	require.Equal(t, []string{"a2", "b1", "b2"}, some)
}

func first[A, B any](a A, _ B) A { return a }

// The key of a pod that the filter skips begins no key of other pods.
func TestKeysOfSkippedPods(t *testing.T) {
	claim, pv := waiting("data", "fast", "1Gi"), disk("pv-data", "fast", "a", "1Gi")
	bind(claim, pv, "csi.example.com")
	p, s := planOf(t, cluster.Objects{
		Nodes: threeZones(), PersistentVolumes: []*v1.PersistentVolume{pv}, Claims: []*v1.PersistentVolumeClaim{claim},
		DeviceClasses: []*resourcev1.DeviceClass{gpuClass("")}, ResourceClaims: []*resourcev1.ResourceClaim{gpuClaim("x", 1)}, ResourceSlices: []*resourcev1.ResourceSlice{gpuSlice("a2", 1)},
	})
	for name, c := range map[string]struct {
		keyer hooks.PodKeyer
		pod   *v1.Pod
	}{
		"volumes": {limitsCounting{volumes.Options{}, newVolumes(s), s, new(volumes.LimitsState)}, mounting(testkit.Pod("p").Obj(), "data")},
		"devices": {p.profile.Filter("DynamicResources").states(s).(claimCounting), claiming(testkit.Pod("p").Obj(), "x")},
	} {
		skipped, ok := c.keyer.AppendPodKey([]byte("k"), testkit.Pod("p").Obj())
		require.True(t, ok, name)
		other, ok := c.keyer.AppendPodKey([]byte("k"), c.pod)
		require.True(t, ok, name)
		require.Equal(t, "k", string(skipped[:1]), name)
		require.Equal(t, "k", string(other[:1]), name)
		require.False(t, strings.HasPrefix(string(other), string(skipped)), name)
	}
}
