package placement

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/volumes"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

// Assume makes a decision about volumes visible to the next pod. Forget removes the decision.
func TestDecisionsAboutVolumesReachTheNextPod(t *testing.T) {
	p, s := placerOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner")},
		PersistentVolumes: []*v1.PersistentVolume{disk("disk-b", "local", "b", "100Gi")},
		Claims:            []*v1.PersistentVolumeClaim{waiting("data-1", "local", "50Gi"), waiting("data-2", "local", "50Gi")},
	})
	first, second := mounting(testkit.Pod("db-1").Obj(), "data-1"), mounting(testkit.Pod("db-2").Obj(), "data-2")
	d := place(t, p, first)
	require.Equal(t, "b1", d.Node)
	require.Len(t, d.Volumes.Bind, 1)
	require.Equal(t, "disk-b", d.Volumes.Bind[0].Volume.Name)
	reserved, ok := p.Volumes().Reserved(first)
	require.True(t, ok)
	require.Equal(t, d.Volumes, reserved)

	d = p.Decide(second, Options{})
	require.Equal(t, "0/5 nodes are available: 5 node(s) didn't find available persistent volumes to bind.", d.Failure.Text())
	require.Equal(t, []string{"VolumeBinding"}, d.Failure.Rejecters)

	require.NoError(t, p.Forget(first))
	require.Equal(t, "b1", p.Decide(second, Options{}).Node)
	require.Nil(t, s.Pod("default", "db-1"))
	require.Error(t, p.Forget(first), "it is on no node")
}

// If the cluster changed after the decision, Assume returns an error and changes nothing.
func TestAssumeOfAStaleDecision(t *testing.T) {
	p, s := placerOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner")},
		PersistentVolumes: []*v1.PersistentVolume{disk("disk-b", "local", "b", "100Gi")},
		Claims:            []*v1.PersistentVolumeClaim{waiting("data-1", "local", "50Gi"), waiting("data-2", "local", "50Gi")},
	})
	first, second := mounting(testkit.Pod("db-1").Obj(), "data-1"), mounting(testkit.Pod("db-2").Obj(), "data-2")
	d1, d2 := p.Decide(first, Options{}), p.Decide(second, Options{})
	require.NoError(t, p.Assume(first, d1))
	require.EqualError(t, p.Assume(second, d2), `persistentvolume "disk-b" is promised to claim default/data-1, not free for default/data-2`)
	require.Nil(t, s.Pod("default", "db-2"))
	require.Error(t, p.Assume(first, d1), "it is placed already")
	_, ok := p.Volumes().Reserved(first)
	require.True(t, ok, "the failed attempt took nothing back")
	require.ErrorContains(t, p.Assume(testkit.Pod("x").Obj(), Decision{Slot: -1}), "the decision has no node")
}

// If two pending pods have one ReadWriteOncePod claim, every node rejects the second pod.
func TestReadWriteOncePod(t *testing.T) {
	p, _ := placerOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("fast", "csi.example.com")},
		Claims: []*v1.PersistentVolumeClaim{waiting("one", "fast", "1Gi", v1.ReadWriteOncePod)},
	})
	d := place(t, p, mounting(testkit.Pod("first").Obj(), "one"))
	require.Len(t, d.Volumes.Provision, 1)
	second := mounting(testkit.Pod("second").Obj(), "one")
	d = p.Decide(second, Options{})
	require.Equal(t, "0/5 nodes are available: 5 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.", d.Failure.Text())
	slot, _ := p.Slot("b2")
	require.Equal(t, []Rejection{
		{Plugin: "VolumeRestrictions", Code: "Unschedulable", Numbers: []string{"claim one is used by default/first"},
			Reasons: []string{"node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"}},
		{Plugin: "VolumeBinding", Code: "UnschedulableAndUnresolvable", Numbers: []string{"claim one: node(s) didn't find available persistent volumes to bind"},
			Reasons: []string{"node(s) didn't find available persistent volumes to bind"}},
	}, p.Rejections(second, slot), "the claim is being provisioned for another node")
}

// A ReadWriteOncePod claim that no running pod uses rejects no pod: a pod that is only nominated does not hold the
// claim.
func TestReadWriteOncePodOfANominatedPod(t *testing.T) {
	p, _ := placerOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("fast", "csi.example.com")},
		Claims: []*v1.PersistentVolumeClaim{waiting("one", "fast", "1Gi", v1.ReadWriteOncePod)},
	})
	nominated := mounting(testkit.Pod("nominated").Priority(10).Obj(), "one")
	d := p.Decide(mounting(testkit.Pod("p").Obj(), "one"), Options{Nominated: func(int) []*v1.Pod { return []*v1.Pod{nominated} }})
	require.True(t, d.Placed(), "%s", text(d))
}

// Messages and numbers include every volume plugin.
func TestVolumePlugins(t *testing.T) {
	limit := int32(1)
	csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "a1"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "csi.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}}}
	used, zonal, other := waiting("used", "fast", "1Gi"), waiting("zonal", "fast", "1Gi"), waiting("other", "fast", "1Gi")
	pvs := []*v1.PersistentVolume{disk("pv-used", "fast", "a", "1Gi"), disk("pv-zonal", "fast", "a", "1Gi"), disk("pv-other", "fast", "a", "1Gi")}
	for k, c := range []*v1.PersistentVolumeClaim{used, zonal, other} {
		bind(c, pvs[k], "csi.example.com")
	}
	pvs[1].Labels = map[string]string{v1.LabelTopologyZone: "a"}
	p, _ := placerOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("fast", "csi.example.com")},
		PersistentVolumes: pvs, Claims: []*v1.PersistentVolumeClaim{used, zonal, other}, CSINodes: []*storagev1.CSINode{csi},
		Pods: []*v1.Pod{mounting(testkit.Pod("user").On("a1").Obj(), "used")},
	})
	pod := mounting(testkit.Pod("p").Obj(), "zonal")
	got := map[string][]Rejection{}
	for _, name := range []string{"a1", "a2", "b1"} {
		slot, _ := p.Slot(name)
		got[name] = p.Rejections(pod, slot)
	}
	require.Equal(t, map[string][]Rejection{
		"a1": {{Plugin: "NodeVolumeLimits", Code: "Unschedulable", Reasons: []string{"node(s) exceed max volume count"}, Numbers: []string{"csi.example.com: 1 attached and 1 more, 1 allowed"}}},
		"a2": nil,
		"b1": {
			{Plugin: "VolumeBinding", Code: "UnschedulableAndUnresolvable", Reasons: []string{"node(s) didn't match PersistentVolume's node affinity"},
				Numbers: []string{"claim zonal with volume pv-zonal: node(s) didn't match PersistentVolume's node affinity"}},
			{Plugin: "VolumeZone", Code: "UnschedulableAndUnresolvable", Reasons: []string{"node(s) had no available volume zone"},
				Numbers: []string{"volume pv-zonal: topology.kubernetes.io/zone is a"}},
		},
	}, got)
	d := p.Decide(mounting(testkit.Pod("q").Obj(), "nowhere"), Options{})
	require.Equal(t, `0/5 nodes are available: persistentvolumeclaim "nowhere" not found.`, d.Failure.Text())
	require.Equal(t, []string{"VolumeRestrictions"}, d.Failure.Rejecters)
	require.Equal(t, filter.UnschedulableAndUnresolvable, d.Failure.Code)
}

// On nodes whose CSINode says that the in-tree EBS plugin is migrated, a volume of this plugin must be in the zone of
// the CSI driver. A change of the CSINode counts at once.
func TestMigratedVolume(t *testing.T) {
	claim, pv := waiting("data", "fast", "1Gi"), disk("pv-data", "fast", "a", "1Gi")
	bind(claim, pv, "")
	pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}
	p, s := placerOf(t, cluster.Objects{Nodes: threeZones(), PersistentVolumes: []*v1.PersistentVolume{pv}, Claims: []*v1.PersistentVolumeClaim{claim}})
	pod := mounting(testkit.Pod("db").Obj(), "data")
	require.True(t, p.Decide(pod, Options{}).Placed())
	for _, name := range []string{"a1", "a2"} {
		require.NoError(t, s.Set(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{v1.MigratedPluginsAnnotationKey: "kubernetes.io/aws-ebs"}}}))
	}
	require.Equal(t, "0/5 nodes are available: 5 node(s) didn't match PersistentVolume's node affinity.", p.Decide(pod, Options{}).Failure.Text())
	slot, _ := p.Slot("a1")
	require.Equal(t, []Rejection{{Plugin: "VolumeBinding", Code: "UnschedulableAndUnresolvable", Reasons: []string{"node(s) didn't match PersistentVolume's node affinity"},
		Numbers: []string{"claim data with volume pv-data: node(s) didn't match PersistentVolume's node affinity (its zone is that of topology.ebs.csi.aws.com/zone here)"}}}, p.Rejections(pod, slot))
	labelled := s.Node(slot).DeepCopy()
	labelled.Labels["topology.ebs.csi.aws.com/zone"] = "a"
	require.NoError(t, s.Set(labelled))
	require.Equal(t, "a1", p.Decide(pod, Options{}).Node)
}

// unread is a snapshot whose pods nobody may read.
type unread struct {
	*cluster.Snapshot
	t *testing.T
}

func (c unread) Pods(i int) iter.Seq[*v1.Pod] {
	c.t.Error("the pods are counted")
	return c.Snapshot.Pods(i)
}

// Pods without volumes of their own skip the four plugins, without allocation. Nothing is counted for such pods.
func TestVolumePluginsSkipAtOnce(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	profile := DefaultProfile()
	profile.Volumes = volumetracker.New(unread{s, t}, volumetracker.Of(s))
	p, err := New(s, profile)
	require.NoError(t, err)
	pod := testkit.Pod("p").Obj()
	pod.Spec.Volumes = []v1.Volume{
		{VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}}, {VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}}, {VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}},
		{VolumeSource: v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}}, {VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{}}},
	}
	var plugins []*Plugin
	for _, f := range p.profile.Filters {
		if strings.Contains(f.Name, "Volume") {
			plugins = append(plugins, f)
		}
	}
	require.Len(t, plugins, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, f := range plugins {
			if f.Filter(pod, s).Code != filter.Skip {
				t.Fatal(f.Name)
			}
		}
	}))
}

// A cluster that is no snapshot has its own method for storage.
type storing struct {
	Cluster
	objects volumes.Objects
}

func (c storing) VolumeObjects() volumes.Objects { return c.objects }

func TestStorageOfOtherClusters(t *testing.T) {
	plain := testkit.NewCluster(threeZones(), nil).WithRows()
	pod := mounting(testkit.Pod("db").Obj(), "data")
	p, err := New(plain, DefaultProfile())
	require.NoError(t, err)
	require.Equal(t, `0/5 nodes are available: persistentvolumeclaim "data" not found.`, p.Decide(pod, Options{}).Failure.Text())

	c := storing{plain, volumes.Objects{
		Claims: volumes.List(waiting("data", "local", "1Gi")), PersistentVolumes: volumes.List(disk("disk-c", "local", "c", "1Gi")),
		StorageClasses: volumes.List(storageClass("local", "kubernetes.io/no-provisioner")),
	}}
	p, err = New(c, DefaultProfile())
	require.NoError(t, err)
	require.Equal(t, "c1", p.Decide(pod, Options{}).Node)
}

// Plans of several profiles share their reservations. A plan with more nodes begins with these reservations.
func TestVolumesAreShared(t *testing.T) {
	p, s := placerOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner")},
		PersistentVolumes: []*v1.PersistentVolume{disk("disk-b", "local", "b", "100Gi")},
		Claims:            []*v1.PersistentVolumeClaim{waiting("data-1", "local", "50Gi"), waiting("data-2", "local", "50Gi")},
	})
	other, err := New(s, p.profile)
	require.NoError(t, err)
	alone, err := New(s, DefaultProfile())
	require.NoError(t, err)
	first, second := mounting(testkit.Pod("db-1").Obj(), "data-1"), mounting(testkit.Pod("db-2").Obj(), "data-2")
	place(t, p, first)
	require.False(t, other.Decide(second, Options{}).Placed())
	require.True(t, alone.Decide(second, Options{}).Placed(), "its Volumes are its own")

	more, err := p.WithNodes(testkit.Node("b3").Zone("b").Capacity("cpu=4,memory=8Gi").Obj())
	require.NoError(t, err)
	require.False(t, more.Decide(second, Options{}).Placed(), "the volume is taken there too")
	require.True(t, more.Volumes().Unreserve(first))
	require.True(t, more.Decide(second, Options{}).Placed())
	require.False(t, p.Decide(second, Options{}).Placed(), "the original keeps its own")
}

// HowMany gives each copy its own ephemeral claims, and gives a ReadWriteOncePod claim to one copy.
func TestHowManyWithVolumes(t *testing.T) {
	p, s := placerOf(t, cluster.Objects{
		Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner")},
		PersistentVolumes: []*v1.PersistentVolume{disk("d1", "local", "b", "1Gi"), disk("d2", "local", "c", "1Gi"), disk("d3", "local", "c", "1Gi")},
		Claims:            []*v1.PersistentVolumeClaim{waiting("one", "local", "1Gi", v1.ReadWriteOncePod)},
	})
	class := "local"
	scratch := testkit.Pod("scratch").Obj()
	scratch.Spec.Volumes = []v1.Volume{{Name: "s", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{
		VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{Spec: waiting("", class, "1Gi").Spec}}}}}
	room, err := p.HowMany(scratch, nil)
	require.NoError(t, err)
	require.Len(t, room.Nodes, 3, "one for each volume")
	require.Equal(t, "0/5 nodes are available: 5 node(s) didn't find available persistent volumes to bind.", room.Stop.Text())
	require.Equal(t, `0/5 nodes are available: waiting for ephemeral volume controller to create the persistentvolumeclaim "scratch-s".`,
		p.Decide(scratch, Options{}).Failure.Text(), "the pod itself has no claim yet")

	for range 2 { // the first question leaves no reservation
		room, err = p.HowMany(mounting(testkit.Pod("p").Obj(), "one"), nil)
		require.NoError(t, err)
		require.Len(t, room.Nodes, 1)
		require.Zero(t, podsOn(s))
	}
}

// Preemption considers volumes: the pod that leaves frees a claim that only one pod may use, or the last attachment of
// a node.
func TestPreemptionForVolumes(t *testing.T) {
	limit := int32(1)
	claims := []*v1.PersistentVolumeClaim{waiting("one", "fast", "1Gi", v1.ReadWriteOncePod), waiting("used", "fast", "1Gi"), waiting("mine", "fast", "1Gi")}
	var pvs []*v1.PersistentVolume
	for _, c := range claims {
		pv := disk("pv-"+c.Name, "fast", "a", "1Gi")
		bind(c, pv, "csi.example.com")
		pvs = append(pvs, pv)
	}
	o := cluster.Objects{
		Nodes: threeZones()[:2], StorageClasses: []*storagev1.StorageClass{storageClass("fast", "csi.example.com")}, PersistentVolumes: pvs, Claims: claims,
		Pods: []*v1.Pod{mounting(testkit.Pod("holder").Priority(1).On("a2").Obj(), "one"), mounting(testkit.Pod("user").Priority(2).On("a1").Obj(), "used")},
	}
	for _, n := range o.Nodes {
		o.CSINodes = append(o.CSINodes, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "csi.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}}})
	}
	p, _ := placerOf(t, o)
	type test struct{ name, why, claim, node, victim string }
	testkit.Run(t, []test{
		{"claim", "the pod that uses the ReadWriteOncePod claim leaves", "one", "a2", "holder"},
		{"attachment", "the node of the less important pod gets room for one volume", "mine", "a2", "holder"},
	}, func(t *testing.T, c test) {
		pod := mounting(testkit.Pod("incoming").Priority(10).Obj(), c.claim)
		d := p.Decide(pod, Options{})
		require.False(t, d.Placed())
		r := p.Preempt(pod, d.Failure, Options{}, PreemptOptions{})
		require.Equal(t, c.node, r.Node, r.Message)
		require.Len(t, r.Victims, 1)
		require.Equal(t, c.victim, r.Victims[0].Pod.Name)
	})
}

// Decisions, reservations and what-ifs change no object. Objects to be written are copies.
func TestVolumeDecisionsChangeNoObject(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 37))
		p, s := volumeWorld(t, r)
		claims, volumes := slices.Collect(cluster.List[*v1.PersistentVolumeClaim](s).All()), slices.Collect(cluster.List[*v1.PersistentVolume](s).All())
		testkit.Unchanged(t, func() {
			testkit.Unchanged(t, func() {
				for k := range 12 {
					pod := volumePod(r, fmt.Sprintf("p%d", k))
					testkit.Unchanged(t, func() {
						if d := p.Decide(pod, Options{}); d.Placed() {
							require.NoError(t, p.Assume(pod, d))
							d.Volumes.Objects()
						}
						p.Rejections(pod, 0)
						_, err := p.HowMany(pod, func(placed int) bool { return placed < 2 })
						require.NoError(t, err)
					}, pod)
				}
			}, claims...)
		}, volumes...)
	}
}
