package volumes

import (
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.Intn(len(from))] }

// randomWorld draws small clusters in which every rule has a chance.
func randomWorld(rng *rand.Rand) *world {
	w := &world{classes: classes(storageClass("static", noProvisioner, wait), storageClass("dynamic", "d", wait), storageClass("narrow", "e", wait, v1.TopologySelectorTerm{
		MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{"a"}}}}), storageClass("now", "d", now))}
	for i := range 1 + rng.Intn(3) {
		w.nodes = append(w.nodes, node(fmt.Sprint("n", i), "zone", pick(rng, "a", "b"), v1.LabelTopologyZone, pick(rng, "z1", "z2"), "topology.ebs.csi.aws.com/zone", pick(rng, "z1", "z2")))
		if rng.Intn(4) > 0 {
			n := csiNode(w.nodes[i].Name, map[string]int32{"d": int32(rng.Intn(4)), "e": -1, "ebs.csi.aws.com": int32(rng.Intn(3))})
			w.csiNodes = append(w.csiNodes, migrating(n, pick(rng, "", "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd,kubernetes.io/aws-ebs")))
		}
	}
	sizes := []string{"1Gi", "2Gi", "3Gi", "5Gi"}
	for i := range rng.Intn(7) {
		pv := volume(fmt.Sprint("v", i), pick(rng, "static", "static", "dynamic", ""), pick(rng, sizes...))
		if rng.Intn(2) == 0 {
			on("zone", pick(rng, "a", "b"))(pv)
		}
		if rng.Intn(4) == 0 {
			pv.Labels[pick(rng, v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone)] = pick(rng, "z1", "z1__z2", "z2__")
		}
		switch rng.Intn(6) {
		case 0:
			pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: "default", Name: fmt.Sprint("c", rng.Intn(5))}
		case 1:
			pv.Status.Phase = v1.VolumeReleased
		case 2:
			pv.Spec.CSI, pv.Spec.AWSElasticBlockStore = nil, &v1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(rng, "vol-1", "vol-2")}
		}
		w.volumes = append(w.volumes, pv)
	}
	for i := range 2 + rng.Intn(5) {
		c := claim(fmt.Sprint("c", i), pick(rng, "static", "static", "dynamic", "narrow", "now", ""), pick(rng, sizes...))
		if rng.Intn(3) == 0 {
			boundTo(fmt.Sprint("v", rng.Intn(7)))(c)
		}
		if rng.Intn(4) == 0 {
			rwop(c)
		}
		if rng.Intn(8) == 0 {
			c.Annotations[AnnSelectedNode] = pick(rng, "n0", "n1")
		}
		w.claims = append(w.claims, c)
	}
	w.drivers = []*storagev1.CSIDriver{driver("d", rng.Intn(2) == 0)}
	for i := range rng.Intn(3) {
		w.capacities = append(w.capacities, capacityOf(fmt.Sprint("k", i), "dynamic", pick(rng, "", "1Gi", "3Gi"), pick(rng, map[string]string(nil), map[string]string{}, map[string]string{"zone": "a"})))
	}
	for i := range rng.Intn(3) {
		w.attachments = append(w.attachments, attached(fmt.Sprint("a", i), pick(rng, "n0", "n1"), fmt.Sprint("v", rng.Intn(7))))
	}
	for i := range w.nodes {
		for k := range rng.Intn(3) {
			w.put(i, randomPod(rng, w, fmt.Sprintf("r%d-%d", i, k)))
		}
	}
	return w
}

func randomPod(rng *rand.Rand, w *world, name string) *v1.Pod {
	p := pod(name)
	for range rng.Intn(4) {
		p.Spec.Volumes = append(p.Spec.Volumes, pod("", fmt.Sprint("c", rng.Intn(len(w.claims)+rng.Intn(2)))).Spec.Volumes...)
	}
	if rng.Intn(3) == 0 {
		inline(p, pick(rng, ebsVolume("vol-1", true), ebsVolume("vol-2", false), gcePD("d", true), gcePD("d", false)))
	}
	return p
}

// slowBinding is VolumeBinding's rule for one node, sentence by sentence, for a pod that PreFilter lets pass.
func slowBinding(w *world, p *v1.Pod, n *v1.Node) string {
	o := w.objects()
	var flags [4]bool // node conflict, no match, no space, missing
	var delayed []*v1.PersistentVolumeClaim
	stopped := false
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		c, _ := o.Claims.Get("default", v.PersistentVolumeClaim.ClaimName)
		if c.Spec.VolumeName == "" {
			delayed = append(delayed, c)
			continue
		}
		if stopped {
			continue
		}
		pv, ok := o.PersistentVolumes.Get("", c.Spec.VolumeName)
		if !ok {
			flags[3], stopped = true, true
		} else if !slowReach(o, pv, n) {
			flags[0], stopped = true, true
		}
	}
	flags[1], flags[2] = slowDelayed(w, delayed, n)
	var out []string
	for k, text := range []string{"node(s) didn't match PersistentVolume's node affinity", "node(s) didn't find available persistent volumes to bind",
		"node(s) did not have enough free storage", "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"} {
		if flags[k] {
			out = append(out, text)
		}
	}
	return strings.Join(out, ", ")
}

// slowReach is the rule of bound volumes: the affinity as written, which names no zone keys in this test, and the zone
// labels for EBS volumes on nodes that have migrated the plugin.
func slowReach(o Objects, pv *v1.PersistentVolume, n *v1.Node) bool {
	if pv.Spec.NodeAffinity != nil {
		if s, _ := affinity.CompileSelector(pv.Spec.NodeAffinity.Required); !s.Matches(n) {
			return false
		}
	}
	csiNode, ok := o.CSINodes.Get("", n.Name)
	if !ok || pv.Spec.AWSElasticBlockStore == nil || !strings.HasSuffix(csiNode.Annotations[v1.MigratedPluginsAnnotationKey], "kubernetes.io/aws-ebs") {
		return true
	}
	zones, ok := pv.Labels[v1.LabelTopologyZone]
	if !ok {
		zones = pv.Labels[v1.LabelFailureDomainBetaZone]
	}
	return zones == "" || slices.Contains(strings.Split(zones, "__"), n.Labels["topology.ebs.csi.aws.com/zone"])
}

func slowDelayed(w *world, delayed []*v1.PersistentVolumeClaim, n *v1.Node) (noMatch, noSpace bool) {
	var match, provision []*v1.PersistentVolumeClaim
	for _, c := range delayed {
		switch c.Annotations[AnnSelectedNode] {
		case "":
			match = append(match, c)
		case n.Name:
			provision = append(provision, c)
		default:
			return true, false
		}
	}
	size := func(c *v1.PersistentVolumeClaim) int64 {
		q := c.Spec.Resources.Requests[v1.ResourceStorage]
		return q.Value()
	}
	sort.SliceStable(match, func(i, j int) bool { return size(match[i]) < size(match[j]) })
	used := map[string]bool{}
	for _, c := range match {
		var best *v1.PersistentVolume
		for _, pv := range w.volumes {
			capacity := pv.Spec.Capacity[v1.ResourceStorage]
			if used[pv.Name] || pv.Spec.StorageClassName != *c.Spec.StorageClassName || capacity.Value() < size(c) {
				continue
			}
			reaches := true
			if pv.Spec.NodeAffinity != nil {
				e := pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0]
				reaches = slices.Contains(e.Values, n.Labels[e.Key])
			}
			if pv.Spec.ClaimRef != nil {
				if pv.Spec.ClaimRef.Name != c.Name {
					continue
				}
				best = nil
				if reaches {
					best = pv
				}
				break
			}
			if pv.Status.Phase != v1.VolumeAvailable || !reaches || !slices.Contains(pv.Spec.AccessModes, c.Spec.AccessModes[0]) {
				continue
			}
			if best != nil {
				b := best.Spec.Capacity[v1.ResourceStorage]
				if capacity.Value() >= b.Value() {
					continue
				}
			}
			best = pv
		}
		if best != nil {
			used[best.Name] = true
		} else {
			provision = append(provision, c)
		}
	}
	for _, c := range provision {
		switch *c.Spec.StorageClassName {
		case "static":
			return true, false
		case "narrow":
			if n.Labels["zone"] != "a" {
				return true, false
			}
		case "dynamic":
			if *w.drivers[0].Spec.StorageCapacity && !slices.ContainsFunc(w.capacities, func(k *storagev1.CSIStorageCapacity) bool {
				s, _ := metav1.LabelSelectorAsSelector(k.NodeTopology)
				return k.Capacity != nil && k.Capacity.Value() >= size(c) && s.Matches(labels.Set(n.Labels))
			}) {
				return false, true
			}
		}
	}
	return false, false
}

// slowLimits is the rule of NodeVolumeLimits for one node, over names of volumes.
func slowLimits(w *world, p *v1.Pod, i int) bool {
	o := w.objects()
	n, ok := o.CSINodes.Get("", w.nodes[i].Name)
	if !ok {
		return true
	}
	disks := func(p *v1.Pod) map[string]string {
		out := map[string]string{}
		for _, v := range p.Spec.Volumes {
			var pv *v1.PersistentVolume
			switch {
			case v.AWSElasticBlockStore != nil:
				out["ebs/"+v.AWSElasticBlockStore.VolumeID] = "ebs.csi.aws.com"
			case v.GCEPersistentDisk != nil:
				out["gce/"+v.GCEPersistentDisk.PDName] = "pd.csi.storage.gke.io"
			case v.PersistentVolumeClaim != nil:
				c, ok := o.Claims.Get("default", v.PersistentVolumeClaim.ClaimName)
				if !ok {
					continue
				}
				if pv, ok = o.PersistentVolumes.Get("", c.Spec.VolumeName); ok {
					if pv.Spec.CSI != nil {
						out["d/"+pv.Spec.CSI.VolumeHandle] = "d"
					} else {
						out["ebs/"+pv.Spec.AWSElasticBlockStore.VolumeID] = "ebs.csi.aws.com"
					}
				} else if c.Spec.StorageClassName != nil {
					sc, _ := o.StorageClasses.Get("", *c.Spec.StorageClassName)
					out["claim/"+c.Name] = sc.Provisioner
				}
			}
		}
		return out
	}
	have := map[string]string{}
	for _, q := range w.pods[i] {
		for d, driver := range disks(q) {
			have[d] = driver
		}
	}
	fresh := map[string]int{}
	for d, driver := range disks(p) {
		if _, ok := have[d]; !ok {
			fresh[driver]++
		}
	}
	count := map[string]int{}
	for _, driver := range have {
		count[driver]++
	}
	seen := map[string]bool{}
	for _, a := range w.attachments {
		pv, ok := o.PersistentVolumes.Get("", *a.Spec.Source.PersistentVolumeName)
		if a.Spec.NodeName != n.Name || !ok || pv.Spec.CSI == nil || seen["d/"+pv.Spec.CSI.VolumeHandle] {
			continue
		}
		seen["d/"+pv.Spec.CSI.VolumeHandle] = true
		if _, used := have["d/"+pv.Spec.CSI.VolumeHandle]; !used {
			count["d"]++
		}
	}
	for _, d := range n.Spec.Drivers {
		if d.Allocatable != nil && fresh[d.Name] > 0 && count[d.Name]+fresh[d.Name] > int(*d.Allocatable.Count) {
			return false
		}
	}
	return true
}

func checkWorld(t *testing.T, seed int64) {
	rng := rand.New(rand.NewSource(seed))
	w := randomWorld(rng)
	for len(w.pods) < len(w.nodes) {
		w.pods = append(w.pods, nil)
	}
	p := randomPod(rng, w, "p")
	c := Compile(p, w.objects(), Options{})
	binding := c.Binding()
	state := binding.On(w)
	limits, restrictions := c.limits(), c.restrictions()
	known := binding.PreFilter().Code == filter.Success
	for i, n := range w.nodes {
		if known {
			require.Equal(t, slowBinding(w, p, n), strings.Join(state.Reasons(state.Check(i)), ", "))
			_, ok := state.Bindings(i)
			require.Equal(t, state.Check(i) == 0, ok)
			require.Equal(t, ok, len(state.Explain(i)) == 0)
		}
		if limits.reason == "" {
			require.Equal(t, slowLimits(w, p, i), limits.On(NewUsage(w, w.objects())).Check(i) == 0, "limits")
		}
	}
	if len(w.pods[0]) == 0 {
		return
	}
	// When one pod leaves, the usage after Remove and a trial agree with a new usage.
	gone := w.pods[0][0]
	less := *w
	less.pods = slices.Clone(w.pods)
	less.pods[0] = w.pods[0][1:]
	if restrictions.PreFilter().Code == filter.Success {
		fresh := restrictions.On(NewUsage(&less, w.objects())).(*restrictionsState)
		kept := NewUsage(w, w.objects())
		kept.Remove(gone, 0)
		on := restrictions.On(kept).(*restrictionsState)
		require.Equal(t, fresh.used, on.used, "usage")
		for i := range w.nodes {
			require.Equal(t, fresh.Check(i), on.Check(i), "usage")
		}
		require.Equal(t, fresh.conflicts, on.conflicts)
	}
	u := NewUsage(w, w.objects())
	s := limits.On(u)
	tr := s.NewTrial()
	tr.Remove(gone, 0)
	want := limits.On(NewUsage(&less, w.objects())).Check(0)
	require.Equal(t, want, tr.Check(0), "trial")
	tr.Add(gone, 0)
	require.Equal(t, s.Check(0), tr.Check(0))
	u.Remove(gone, 0)
	require.Equal(t, want, s.Check(0), "usage")
}

func TestAgainstSlowRules(t *testing.T) {
	for seed := range int64(4000) {
		checkWorld(t, seed)
	}
}

func FuzzVolumes(f *testing.F) {
	f.Add(int64(1))
	f.Fuzz(checkWorld)
}

func TestPurity(t *testing.T) {
	for seed := range int64(50) {
		rng := rand.New(rand.NewSource(seed))
		w := randomWorld(rng)
		p := randomPod(rng, w, "p")
		testkit.Unchanged(t, func() {
			testkit.Unchanged(t, func() {
				testkit.Unchanged(t, func() {
					testkit.Unchanged(t, func() {
						l := NewLedger(w.objects())
						for i := range w.nodes {
							for _, plugin := range plugins(Compile(p, l.Objects(), Options{ReserveCapacity: true}), w) {
								plugin.count().Check(i)
							}
							if assume(l, w, p, i, Options{}) == nil {
								d, _ := l.Decision(p.UID)
								d.Objects()
								show(l)
							}
						}
					}, w.claims...)
				}, w.volumes...)
			}, w.capacities...)
		}, p)
	}
}

func TestChecksDoNotAllocate(t *testing.T) {
	for seed := range int64(200) {
		rng := rand.New(rand.NewSource(seed))
		w := randomWorld(rng)
		p := randomPod(rng, w, "p")
		for _, plugin := range plugins(Compile(p, w.objects(), Options{}), w) {
			s := plugin.count()
			require.Zero(t, testing.AllocsPerRun(10, func() {
				for i := range w.nodes {
					s.Check(i)
				}
			}), "%s, seed %d", s.Name(), seed)
		}
	}
}
