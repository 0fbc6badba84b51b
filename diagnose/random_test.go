package diagnose

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// All that is said about pods of random clusters: relaxations, conflicts, comparisons and what wakes the pod. Of the changes that were
// considered, and of all answers about most of the clusters, the file has a hash. Limits of the work are part of the input, so that a
// search that needs more of it says less.
func TestRandom(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(370) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+9e6, 300))
		objects, pod := random(b)
		objects.PodDisruptionBudgets = randomBudgets(b)
		if b.OneIn(3) {
			randomDevices(b, &objects, pod)
		}
		if b.OneIn(2) {
			pod.Spec.Containers[0].Image = "app:v1"
			for _, n := range objects.Nodes {
				if b.OneIn(2) {
					n.Status.Images = []v1.ContainerImage{{Names: []string{"app:v1"}, SizeBytes: 500 << 20}}
				}
			}
			pod.Spec.Affinity = addPreference(pod.Spec.Affinity, "disk", testkit.Pick(b, "ssd", "hdd"))
		}
		for _, p := range objects.Pods {
			switch b.Below(4) {
			case 0:
				gone := metav1.NewTime(testkit.Epoch.Add(time.Duration(b.Below(100)) * time.Second))
				p.DeletionTimestamp = &gone
			case 1:
				started, most := metav1.NewTime(testkit.Epoch), int64(30+b.Below(60))
				p.Status.StartTime, p.Spec.ActiveDeadlineSeconds = &started, &most
			}
		}
		o := Options{Size: b.Below(4), Nodes: testkit.Pick(b, 0, 2, 5, -1), Steps: testkit.Pick(b, 0, 0, 60, 600)}
		if b.OneIn(4) {
			o.Where = func(n *v1.Node) bool { return n.Name != "n0" }
		}
		if seed < 45 {
			fmt.Fprintf(&out, "%d: %s", seed, answers(t, objects, pod, o, WakeOptions{}))
			continue
		}
		crowd(b, &objects, pod, &o)
		s, err := cluster.New(objects)
		require.NoError(t, err)
		d, err := Relax(Input{Snapshot: s}, pod, o)
		require.NoError(t, err)
		text, err := json.Marshal(d)
		require.NoError(t, err)
		h := testkit.Hash64(t, seed)
		h.Write(text)
		h.Write([]byte(answers(t, objects, pod, o, WakeOptions{})))
		fmt.Fprintf(&out, "%d: %d relaxations %016x\n", seed, len(d.Relaxations), h.Sum64())
	}
	testkit.Golden(t, "testdata/random.txt", out.String())
}

// crowd adds what makes sets of changes larger: nodes that are alike, pods of higher and lower priority, gates, volumes of zones, and
// changes that may not be made.
func crowd(b *testkit.Bytes, o *cluster.Objects, pod *v1.Pod, options *Options) {
	for k := range b.Below(4) {
		n := o.Nodes[b.Below(len(o.Nodes))].DeepCopy()
		n.Name = fmt.Sprintf("copy-%d", k)
		n.Labels[v1.LabelHostname] = n.Name
		o.Nodes = append(o.Nodes, n)
	}
	for k := range b.Below(8) {
		p := testkit.Pod(fmt.Sprintf("more-%d", k)).On(o.Nodes[b.Below(len(o.Nodes))].Name).Labels(testkit.Pick(b, "app=a", "app=b", "app=c")).
			Request(testkit.Pick(b, "cpu=1", "cpu=1500m", "memory=2Gi")).Priority(int32(b.Below(3) - 1))
		if b.OneIn(3) {
			p = p.Owner("apps/v1", "ReplicaSet", "web")
		}
		o.Pods = append(o.Pods, p.Obj())
	}
	pod.Spec.Priority = new(int32(b.Below(3)))
	for k := range b.Below(4) {
		if k < 2 {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: fmt.Sprint("gate-", k)})
		}
	}
	if b.OneIn(3) {
		pod.Spec.SchedulingGates = nil
	}
	if b.OneIn(3) {
		class, mode := testkit.Pick(b, "late", "none"), storagev1.VolumeBindingWaitForFirstConsumer
		o.StorageClasses = []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode}}
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}}}
		volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Spec: v1.PersistentVolumeSpec{StorageClassName: class, AccessModes: claim.Spec.AccessModes,
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: zone, Operator: v1.NodeSelectorOpIn, Values: []string{testkit.Pick(b, "a", "b", "d")}}}}}}}}, Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable}}
		if b.OneIn(2) {
			claim.Spec.VolumeName, claim.Annotations = volume.Name, map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
			volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: "data"}
		}
		o.Claims = append(o.Claims, claim)
		o.PersistentVolumes = append(o.PersistentVolumes, volume)
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}})
	}
	never := Kind(testkit.Pick(b, "", string(RemovePods), string(AddNode), string(DropSelector), string(Label)))
	options.Cost = func(c Change) int64 {
		if c.Kind == never {
			return -1
		}
		return DefaultCost(c)
	}
	if options.Steps == 0 {
		options.Steps = testkit.Pick(b, 2000, 8000)
	}
}

// answers writes all that is said about a pod. Of the changes that were considered it writes a hash.
func answers(t *testing.T, objects cluster.Objects, pod *v1.Pod, o Options, wake WakeOptions) string {
	var out strings.Builder
	s, err := cluster.New(objects)
	require.NoError(t, err)
	in := Input{Snapshot: s}
	d, err := Relax(in, pod, o)
	require.NoError(t, err)
	h := fnv.New32a()
	for _, c := range d.Changes {
		fmt.Fprintln(h, DefaultCost(c), c.Text())
	}
	fmt.Fprintf(&out, "%q %s, preempts %q %v, %d changes %08x, conflicts %v, cut %q\n", d.Node, d.Message, d.Preempts, d.Victims, len(d.Changes), h.Sum32(), d.Conflicts, d.Cut)
	for _, r := range d.Relaxations {
		fmt.Fprintf(&out, "    %d %s %s\n", r.Cost, r.Node, r.Text())
	}
	for _, n := range objects.Nodes {
		c, err := Compare(in, pod, n.Name)
		if err != nil {
			continue
		}
		fmt.Fprintf(&out, "    %s and not %s: %v", c.Chosen, c.Other, c.Parts)
		for _, f := range c.Flips {
			fmt.Fprintf(&out, "; %s %s: %s", f.Kind, f.Object, f.Text)
		}
		out.WriteByte('\n')
	}
	w, err := Wake(in, pod, wake)
	require.NoError(t, err)
	fmt.Fprintf(&out, "    waits for %v:", w.Events)
	for _, e := range w.Ends {
		fmt.Fprintf(&out, " %s leaves %s after %s (%s, %t);", e.Pod, e.Node, e.At.Sub(testkit.Epoch), e.Why, e.Wakes)
	}
	fmt.Fprintf(&out, " %s\n", w.Node)
	return out.String()
}

// addPreference adds a preferred node label.
func addPreference(a *v1.Affinity, key, value string) *v1.Affinity {
	if a == nil {
		a = &v1.Affinity{}
	}
	if a.NodeAffinity == nil {
		a.NodeAffinity = &v1.NodeAffinity{}
	}
	a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: 3, Preference: v1.NodeSelectorTerm{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}
	return a
}
