package diagnose

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// A search holds at most 40 changes beside those of nodes. Changes of volumes stay before changes of the pod.
func TestMostChanges(t *testing.T) {
	type test struct {
		name              string
		ports, claims     int
		changes, everyone int
		cut               string
	}
	testkit.Run(t, []test{
		{"one less", 39, 0, 39, 0, ""},
		{"as many", 40, 0, 40, 0, ""},
		{"one more", 41, 0, 40, 0, "size"},
		{"missing claims", 30, 10, 30, 10, "size"},
		{"missing claims alone", 0, 41, 0, 40, "size"},
	}, func(t *testing.T, c test) {
		pod := testkit.Pod("web")
		for k := range c.ports {
			pod = pod.HostPort("", v1.ProtocolTCP, int32(1+k))
		}
		p := pod.Obj()
		for k := range c.claims {
			p.Spec.Volumes = append(p.Spec.Volumes, claimed(fmt.Sprint("c", k))...)
		}
		d := begun(t, cluster.Objects{Nodes: five()}, p)
		d.list()
		require.Equal(t, []any{c.changes, c.everyone, c.cut}, []any{len(d.changes), len(d.everyone), d.cut})
	})
}

// Taints of at most four other nodes go for minDomains; a node with two such taints has a change for each. What two constraints need
// is one change.
func TestMostOpenings(t *testing.T) {
	for zones := range 7 {
		o := cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Zone("free").Capacity("cpu=1").Obj()}}
		for k := range zones {
			name := fmt.Sprint("n", k)
			o.Nodes = append(o.Nodes, testkit.Node(name).Zone(name).Capacity("cpu=1").Taint("x:NoSchedule").Obj())
			o.Pods = append(o.Pods, testkit.Pod(name).Labels("app=a").On(name).Obj())
		}
		pod := testkit.Pod("web").Labels("app=a").Spread(1, zone, v1.DoNotSchedule, "app=a").Obj()
		honor, n := v1.NodeInclusionPolicyHonor, int32(9)
		pod.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy, pod.Spec.TopologySpreadConstraints[0].MinDomains = &honor, &n
		require.Len(t, begun(t, o, pod).openings(), min(zones, 4), "%d zones", zones)
		twice := pod.DeepCopy()
		twice.Spec.TopologySpreadConstraints = append(twice.Spec.TopologySpreadConstraints, pod.Spec.TopologySpreadConstraints...)
		require.Len(t, begun(t, o, twice).openings(), min(zones, 4), "%d zones", zones)
		if zones == 1 {
			o.Nodes[1].Spec.Taints = testkit.Taints("x:NoSchedule", "y:NoSchedule")
			require.Len(t, begun(t, o, pod).openings(), 2)
		}
	}
}

// Two changes do the same when nothing that they say differs.
func TestSameChange(t *testing.T) {
	c := Change{Kind: Untaint, Object: "Node n1", Path: "spec.taints", From: "x", To: "y"}
	d := c
	require.True(t, c.same(&d))
	for _, other := range []Change{
		{Kind: Label, Object: c.Object, Path: c.Path, From: c.From, To: c.To}, {Kind: c.Kind, Object: "Node n2", Path: c.Path, From: c.From, To: c.To},
		{Kind: c.Kind, Object: c.Object, Path: "spec", From: c.From, To: c.To}, {Kind: c.Kind, Object: c.Object, Path: c.Path, From: "z", To: c.To},
		{Kind: c.Kind, Object: c.Object, Path: c.Path, From: c.From, To: "z"},
	} {
		require.False(t, c.same(&other), "%+v", other)
	}
}

// One more node is like the other one without what is on that: other labels with its name follow, and limits of volumes too.
func TestOneMoreNode(t *testing.T) {
	n := testkit.Node("n1").Label("own", "n1").Label("shared", "x").Capacity("cpu=4").Obj()
	n.UID = "u"
	n.Status.VolumesAttached = []v1.AttachedVolume{{Name: "v"}}
	n.Status.VolumesInUse = []v1.UniqueVolumeName{"v"}
	csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "u"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "d", NodeID: "n1"}}}}
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{n}, CSINodes: []*storagev1.CSINode{csi}})
	require.NoError(t, err)
	addNode(s, n, "n2", "")
	more := n.DeepCopy()
	more.Name, more.UID, more.Status.VolumesAttached, more.Status.VolumesInUse = "n2", "", nil, nil
	more.Labels[v1.LabelHostname], more.Labels["own"] = "n2", "n2"
	require.Equal(t, more, s.Node(s.Slot("n2")))
	got, ok := cluster.List[*storagev1.CSINode](s).Get("", "n2")
	require.True(t, ok)
	require.Equal(t, csi.Spec, got.Spec)
	require.Empty(t, got.UID)
	require.Equal(t, "n1", n.Name)
}

// A profile has no volumes and no devices, because each changed cluster has its own.
func TestProfileWithDevices(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()})
	require.NoError(t, err)
	for _, p := range []placement.Profile{{Volumes: volumetracker.New(s, volumetracker.Of(s))}, {Devices: tracker.New(s, tracker.Of(s))}} {
		_, err := Relax(Input{Snapshot: s, Profile: p}, testkit.Pod("web").Obj(), Options{})
		require.ErrorContains(t, err, "profile: Forbidden")
	}
}

// Every node has a say, in clusters of more than 100 nodes too: the last of 120 nodes is the best.
func TestNoSampling(t *testing.T) {
	o := cluster.Objects{}
	for k := range 120 {
		o.Nodes = append(o.Nodes, testkit.Node(fmt.Sprint("n", k)).Capacity("cpu=4,memory=8Gi").Label("best", fmt.Sprint(k == 119)).Obj())
	}
	pod := testkit.Pod("web").Request("cpu=1").Obj()
	pod.Spec.Affinity = addPreference(nil, "best", "true")
	require.Equal(t, "n119", relax(t, o, pod, Options{}).Node)
	s, err := cluster.New(o)
	require.NoError(t, err)
	c, err := Compare(Input{Snapshot: s}, pod, "n0")
	require.NoError(t, err)
	require.Equal(t, "n119", c.Chosen)
}

// A plugin without a key may look at all of the pod, so every change of the pod may matter to it.
func TestPluginWithoutKey(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()})
	require.NoError(t, err)
	profile := placement.DefaultProfile()
	profile.Filters = append([]*placement.Plugin{{Name: "NoPorts", Filter: func(p *v1.Pod, _ placement.Cluster) placement.PreFiltered {
		if p.Spec.Containers[0].Ports[0].HostPort > 0 {
			return placement.PreFiltered{Code: filter.Unschedulable, Reasons: []string{"no host ports"}}
		}
		return placement.PreFiltered{Code: filter.Skip}
	}}}, profile.Filters...)
	d, err := Relax(Input{Snapshot: s, Profile: profile}, testkit.Pod("web").Request("cpu=1").HostPort("", v1.ProtocolTCP, 80).Obj(), Options{Nodes: -1})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"spec.containers[0].ports[0].hostPort"}}, d.Conflicts)
	require.Len(t, d.Relaxations, 1)
	require.Equal(t, "Pod default/web, made again: drop spec.containers[0].ports[0].hostPort (80)", d.Relaxations[0].Text())
}

// Plugins of the profile may have every name, also those of the filters that a diagnosis adds.
func TestNamesOfPlugins(t *testing.T) {
	o := cluster.Objects{Nodes: five()[:2], Pods: []*v1.Pod{running("a", "n1", "cpu=3"), running("b", "n2", "cpu=3")}}
	s, err := cluster.New(o)
	require.NoError(t, err)
	options := Options{Where: func(n *v1.Node) bool { return n.Name == "n1" }, Cost: only(RemovePods, MovePods)}
	plain, err := Relax(Input{Snapshot: s}, testkit.Pod("web").Request("cpu=2").Obj(), options)
	require.NoError(t, err)
	require.Len(t, plain.Relaxations, 1)
	profile := placement.DefaultProfile()
	for _, name := range []string{"Where", "Elsewhere", "Elsewhere-more"} {
		profile.Filters = append(profile.Filters, &placement.Plugin{Name: name, Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
			return placement.PreFiltered{Code: filter.Skip}
		}})
	}
	named, err := Relax(Input{Snapshot: s, Profile: profile}, testkit.Pod("web").Request("cpu=2").Obj(), options)
	require.NoError(t, err)
	require.Equal(t, texts(plain.Relaxations), texts(named.Relaxations))
}

// The error of a score plugin is an error of Compare, also if a single node needs no score.
func TestErrorOfScores(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: five()[:2]})
	require.NoError(t, err)
	profile := placement.DefaultProfile()
	profile.Scores = append(profile.Scores, placement.Weighted{Plugin: &placement.Plugin{Name: "Fails", Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) {
		return nil, errors.New("oh")
	}}})
	_, err = Compare(Input{Snapshot: s, Profile: profile}, testkit.Pod("web").NodeSelector(v1.LabelHostname+"=n1").Obj(), "n2")
	require.ErrorContains(t, err, "oh")
}

// Of two equal terms, the change of each makes both a preference, and both changes make no second pair.
func TestEqualTerms(t *testing.T) {
	pod := testkit.Pod("web").RequireApart(zone, "app=a").RequireApart(zone, "app=a").RequireApart(zone, "app=b").Obj()
	var edits []*Change
	for _, c := range podChanges(pod) {
		if c.Kind == Prefer {
			edits = append(edits, c)
		}
	}
	require.Len(t, edits, 3)
	p := pod.DeepCopy()
	for k, want := range []int{1, 1, 2} {
		edits[k].edit(p, 0)
		a := p.Spec.Affinity.PodAntiAffinity
		require.Len(t, a.PreferredDuringSchedulingIgnoredDuringExecution, want, "after change %d", k)
		require.Len(t, a.RequiredDuringSchedulingIgnoredDuringExecution, []int{1, 1, 0}[k])
	}
}
