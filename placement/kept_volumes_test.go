package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/volumes"
)

// A plan decides about pods with claims as a plan without kept work, whatever happens to pods, nodes and storage objects.
func TestKeptVolumes(t *testing.T) {
	seeds := 80
	if testing.Short() {
		seeds = 60
	}
	shared, homeless := 0, 0
	for seed := range seeds {
		s, h := playVolumes(t, rand.New(rand.NewPCG(uint64(seed), 8)), fmt.Sprint("seed ", seed), 60)
		shared, homeless = shared+s, homeless+h
	}
	require.Greater(t, shared, seeds*5, "decisions that used shared work")
	require.Greater(t, homeless, seeds*15, "failures from shared work")
}

// A change of an object that a pod does not read takes nothing that is kept for the pod.
func TestKeptBesideOtherObjects(t *testing.T) {
	type testCase struct {
		name   string
		object metav1.Object
		plain  bool // the pod without volumes keeps its shape
		claims bool // the pod with a claim keeps its shape
	}
	testkit.Run(t, []testCase{
		{"claim", waiting("other", "fast", "1Gi"), true, false},
		{"volume", disk("other", "fast", "a", "1Gi"), true, false},
		{"class", storageClass("other", "csi.example.com"), true, false},
		{"CSINode", &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "a1"}}, true, false},
		{"CSIDriver", &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "csi.example.com"}}, true, false},
		{"capacity", &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}, StorageClassName: "fast"}, true, false},
		{"attachment", &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, true, false},
		{"budget", &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}, true, true},
		{"priority class", &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, true, true},
		{"service", &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}, false, false},
	}, func(t *testing.T, c testCase) {
		claim := waiting("c", "fast", "1Gi", v1.ReadWriteOnce)
		s, err := cluster.New(cluster.Objects{
			Nodes: threeZones(), StorageClasses: []*storagev1.StorageClass{storageClass("fast", "csi.example.com")}, Claims: []*v1.PersistentVolumeClaim{claim},
		})
		require.NoError(t, err)
		prepared := map[string]bool{}
		profile := benchProfile()
		profile.Filters = append(profile.Filters, &Plugin{
			Name: "Witness", Keep: KeepByNode, AppendKey: func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Name...) },
			Filter: func(pod *v1.Pod, _ Cluster) PreFiltered {
				prepared[pod.Name] = true
				return PreFiltered{Code: filter.Skip}
			},
		})
		p, err := New(s, profile)
		require.NoError(t, err)
		plain, with := testkit.Pod("plain").Obj(), mounting(testkit.Pod("with").Obj(), "c")
		for _, pod := range []*v1.Pod{plain, with} {
			for range 2 {
				require.True(t, p.Decide(pod, Options{}).Placed())
			}
		}
		kept := func(pod *v1.Pod) bool {
			clear(prepared)
			require.True(t, p.Decide(pod, Options{}).Placed())
			return !prepared[pod.Name]
		}
		require.Equal(t, []bool{true, true}, []bool{kept(plain), kept(with)})
		require.NoError(t, s.Set(c.object))
		require.Equal(t, []bool{c.plain, c.claims}, []bool{kept(plain), kept(with)})
	})
}

func FuzzKeptVolumes(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 2000), uint8(40))
	f.Fuzz(func(t *testing.T, data []byte, steps uint8) {
		playVolumes(t, rand.New(testkit.NewBytes(data)), "fuzz", int(steps%12))
	})
}

// claimWorld makes claims of few kinds.
type claimWorld struct {
	*world
	claims int
}

// claim returns a claim and its volume, if the claim is bound.
func (w *claimWorld) claim(name string) (*v1.PersistentVolumeClaim, *v1.PersistentVolume) {
	mode := v1.ReadWriteOnce
	if w.chance(8) {
		mode = v1.ReadWriteOncePod
	}
	c := waiting(name, w.pick("fast", "zone-a", "zone-b", "local", "local", "counted"), w.pick("1Gi", "1Gi", "2Gi"), mode)
	if w.chance(12) {
		c.Annotations = map[string]string{volumes.AnnSelectedNode: w.pick("n0", "n1")}
	}
	if w.chance(2) {
		return c, nil
	}
	*c.Spec.StorageClassName = "fast"
	pv := disk("pv-"+name, "fast", w.pick("a", "b", "c"), "1Gi")
	bind(c, pv, w.pick("csi.example.com", "csi.example.com", "other.example.com"))
	if w.chance(5) {
		pv.Spec.CSI, pv.Spec.AWSElasticBlockStore = nil, &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-" + name}
	}
	if w.chance(4) {
		pv.Labels = map[string]string{v1.LabelTopologyZone: w.pick("a", "a__b")}
	}
	if w.chance(6) {
		pv.Spec.NodeAffinity = nil
	}
	return c, pv
}

func (w *claimWorld) csiNode(name string) *storagev1.CSINode {
	limit := int32(1 + w.r.IntN(3))
	meta := metav1.ObjectMeta{Name: name}
	if w.chance(2) {
		meta.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: "kubernetes.io/aws-ebs"}
	}
	return &storagev1.CSINode{ObjectMeta: meta, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}}}
}

// capacity returns what a driver publishes for a zone.
func (w *claimWorld) capacity(zone string) *storagev1.CSIStorageCapacity {
	q := resource.MustParse(w.pick("1Gi", "3Gi", "9Gi"))
	return &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "in-" + zone}, StorageClassName: "counted", Capacity: &q,
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: zone}}}
}

// free returns a volume that no claim has.
func (w *claimWorld) free(name string) *v1.PersistentVolume {
	pv := disk(name, w.pick("local", "local", "fast"), w.pick("a", "b", "c"), w.pick("1Gi", "3Gi"))
	if w.chance(6) {
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: fmt.Sprintf("c%d", w.r.IntN(60))}
	}
	return pv
}

func (w *claimWorld) storage(nodes int) cluster.Objects {
	o := cluster.Objects{StorageClasses: []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner"), storageClass("fast", "csi.example.com"), storageClass("counted", "counted.example.com")}}
	yes := true
	o.CSIDrivers = []*storagev1.CSIDriver{{ObjectMeta: metav1.ObjectMeta{Name: "counted.example.com"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}}}
	o.CSIStorageCapacities = []*storagev1.CSIStorageCapacity{w.capacity("a"), w.capacity("b")}
	for _, zone := range []string{"a", "b"} {
		c := storageClass("zone-"+zone, "csi.example.com")
		c.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: v1.LabelTopologyZone, Values: []string{zone, "c"}}}}}
		o.StorageClasses = append(o.StorageClasses, c)
	}
	for k := range nodes {
		n := w.node(fmt.Sprintf("n%d", k))
		o.Nodes = append(o.Nodes, n)
		if !w.chance(5) {
			o.CSINodes = append(o.CSINodes, w.csiNode(n.Name))
		}
	}
	for range 60 {
		c, pv := w.claim(fmt.Sprintf("c%d", w.claims))
		w.claims++
		o.Claims = append(o.Claims, c)
		if pv != nil {
			o.PersistentVolumes = append(o.PersistentVolumes, pv)
		}
	}
	for k := range 6 {
		o.PersistentVolumes = append(o.PersistentVolumes, w.free(fmt.Sprintf("d%d", k)))
	}
	return o
}

// playVolumes returns the number of decisions that used kept work.
func playVolumes(t *testing.T, r *rand.Rand, name string, steps int) (shared, homeless int) {
	w := &claimWorld{world: &world{r: r}}
	nodes := 4 + r.IntN(5)
	s, err := cluster.New(w.storage(nodes))
	require.NoError(t, err)
	profile := PluginArgs{Volumes: volumes.Options{ReserveCapacity: w.chance(3)}}.Profile()
	profile.Sampling = AllNodes()
	if w.chance(3) { // it comes before the filter that reads rows
		k := slices.IndexFunc(profile.Filters, func(f *Plugin) bool { return f.Name == plugins.VolumeRestrictions })
		profile.Filters[0], profile.Filters[k] = profile.Filters[k], profile.Filters[0]
	}
	with, err := NewPlacer(s, profile)
	require.NoError(t, err)
	profile.Volumes = with.Volumes()
	var placed []*v1.Pod
	base, shapes := r.IntN(30), 1+r.IntN(2)
	for step := range steps {
		at := fmt.Sprintf("%s step %d", name, step)
		node := s.Node(int(s.Order()[r.IntN(len(s.Order()))]))
		switch r.IntN(24) {
		case 0:
			n := node.DeepCopy()
			n.Labels[v1.LabelTopologyZone] = w.pick("a", "b", "c")
			require.NoError(t, s.Set(n), at)
		case 1:
			require.NoError(t, s.Set(w.csiNode(node.Name)), at)
		case 2:
			c, pv := w.claim(fmt.Sprintf("c%d", r.IntN(w.claims)))
			require.NoError(t, s.Set(c), at)
			if pv != nil {
				require.NoError(t, s.Set(pv), at)
			}
		case 3:
			require.NoError(t, s.Set(w.free(fmt.Sprintf("d%d", r.IntN(6)))), at)
		case 4, 5:
			if k := len(placed) - 1; k >= 0 {
				j := r.IntN(k + 1)
				require.NoError(t, with.Forget(placed[j]), at)
				placed[j], placed = placed[k], placed[:k]
			}
		case 6:
			require.NoError(t, s.Set(w.capacity(w.pick("a", "b", "c"))), at)
		case 7:
			require.NoError(t, s.Set(w.node(fmt.Sprintf("n%d", r.IntN(nodes+2)))), at)
		default:
			pod := w.pod(base + r.IntN(shapes))
			pod.Namespace = "default"
			for range 1 + r.IntN(2) {
				if !w.chance(5) {
					mounting(pod, fmt.Sprintf("c%d", r.IntN(w.claims)))
				}
			}
			if k := len(placed); k > 0 && w.chance(4) { // the volumes of a running pod
				pod.Spec.Volumes = placed[r.IntN(k)].Spec.Volumes
			}
			for w.chance(5) {
				disk := v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: w.pick("vol-1", "vol-2", "vol-3")}}
				if w.chance(2) {
					disk = v1.VolumeSource{RBD: &v1.RBDVolumeSource{RBDImage: w.pick("x", "y"), CephMonitors: []string{w.pick("1", "2")}, ReadOnly: w.chance(3)}}
				}
				pod.Spec.Volumes = append(slices.Clone(pod.Spec.Volumes), v1.Volume{Name: "disk", VolumeSource: disk})
			}
			without, err := New(s, profile)
			require.NoError(t, err)
			without.engine = nil
			want, d := without.Decide(pod, Options{}), with.Decide(pod, Options{})
			require.Equal(t, text(want), text(d), at)
			require.Equal(t, want.Volumes, d.Volumes, at)
			homeless += requireSameFailure(t, at, without, with.Plan, want.Failure, d.Failure)
			if d.Placed() {
				if len(pod.Spec.Volumes) > 0 && used(with.Plan, pod) {
					shared++
				}
				require.NoError(t, with.Assume(pod, d), at)
				placed = append(placed, pod)
			}
		}
	}
	return shared, homeless
}

// requireSameFailure returns 1 if the second plan has a failure from kept work: the attempt behind it says about each node what that of the first
// plan says.
func requireSameFailure(t *testing.T, at string, without, with *Plan, want, got *Failure) int {
	if want == nil || want.Err != nil {
		return 0
	}
	a, b := without.Failed(want), with.Failed(got)
	x, y := a.Verdicts(nil, Options{}), b.Verdicts(nil, Options{})
	for i := range x {
		if x[i] != NotAsked() {
			require.Equal(t, a.Predicates.Reasons(x[i], i), b.Predicates.Reasons(y[i], i), "%s slot %d", at, i)
		}
	}
	require.Equal(t, a.Rejections(nil, Options{}), b.Rejections(nil, Options{}), at)
	if b.verdicts != nil || len(b.pod.Spec.Volumes) == 0 {
		return 0
	}
	return 1
}
