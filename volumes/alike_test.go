package volumes

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/filter"
)

// alikes returns the keys of a pod for binding, zones, restrictions and limits, "" where the pod must be asked about by itself.
func alikes(w *world, p *v1.Pod, u *Usage) (keys [4]string, states [4]filter.Predicate) {
	c := Compile(p, w.objects(), Options{})
	binding, zone := c.Binding(), c.zone()
	restricted, limited := c.restrictions().On(u), c.limits().On(u)
	states = [4]filter.Predicate{binding.On(w), zone.On(w), restricted, limited}
	for k, x := range [...]any{binding, zone, restricted, limited} {
		key, ok := x.(interface {
			AppendAlike(dst []byte) ([]byte, bool)
		}).AppendAlike([]byte("x"))
		if ok {
			keys[k] = string(key)
		}
		if len(key) == 0 || key[0] != 'x' {
			panic("a key keeps what was there before")
		}
	}
	return keys, states
}

// apartOf returns the slots where a state may say something else than what pods share.
func apartOf(state any) []int32 {
	if s, ok := state.(interface{ AppendApart(dst []int32) []int32 }); ok {
		return s.AppendApart(nil)
	}
	return nil
}

// namedByVolume reports whether a volume may be reserved for a claim of the pod, so that the pod is no twin of another one.
func namedByVolume(w *world, p *v1.Pod) bool {
	for _, d := range Compile(p, w.objects(), Options{}).binding().delayed {
		if mayName(w.objects().PersistentVolumes, class(d.claim), d.claim.Namespace, d.claim.Name) {
			return true
		}
	}
	return false
}

// twin returns a pod with copies of the claims of a pod under other names, bound to copies of their volumes.
func twin(w *world, p *v1.Pod) *v1.Pod {
	q := p.DeepCopy()
	q.Name, q.UID = p.Name+"-twin", p.UID+"-twin"
	o := w.objects()
	for k := range q.Spec.Volumes {
		source := q.Spec.Volumes[k].PersistentVolumeClaim
		if source == nil {
			continue
		}
		c, ok := o.Claims.Get("default", source.ClaimName)
		if !ok {
			continue
		}
		source.ClaimName += "-twin"
		if _, have := w.objects().Claims.Get("default", source.ClaimName); have {
			continue
		}
		c = c.DeepCopy()
		c.Name, c.UID = source.ClaimName, c.UID+"-twin"
		if pv, ok := o.PersistentVolumes.Get("", c.Spec.VolumeName); ok {
			c.Spec.VolumeName += "-twin"
			if _, have := w.objects().PersistentVolumes.Get("", c.Spec.VolumeName); !have {
				pv = pv.DeepCopy()
				pv.Name = c.Spec.VolumeName
				if pv.Spec.CSI != nil {
					pv.Spec.CSI.VolumeHandle += "-twin"
				}
				w.volumes = append(w.volumes, pv)
			}
		}
		w.claims = append(w.claims, c)
	}
	return q
}

func inTreePortworx(id string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		pv.Spec.CSI, pv.Spec.PortworxVolume = nil, &v1.PortworxVolumeSource{VolumeID: id}
	}
}

func csiPortworx(id string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: portworx.driver, VolumeHandle: id}
	}
}

// Pods with equal keys get equal verdicts, and pods that differ in nothing but names have equal keys or none.
func TestAlike(t *testing.T) {
	names := [4]string{"binding", "zone", "restrictions", "limits"}
	equal, none, differ := [4]int{}, [4]int{}, [4]int{}
	for seed := range int64(3000) {
		rng := rand.New(rand.NewSource(seed))
		w := randomWorld(rng)
		if rng.Intn(2) == 0 { // few objects that differ
			w.volumes = w.volumes[:min(len(w.volumes), 2)]
			for i := range w.nodes {
				w.pods = w.pods[:0]
				w.put(i)
			}
		}
		p := randomPod(rng, w, "p")
		pods := []*v1.Pod{p, twin(w, p), randomPod(rng, w, "q"), randomPod(rng, w, "r")}
		u := NewUsage(w, w.objects())
		var keys [4][4]string
		var states [4][4]filter.Predicate
		for k, p := range pods {
			keys[k], states[k] = alikes(w, p, u)
		}
		for at, name := range names {
			if keys[0][at] == "" {
				none[at]++
			} else if keys[1][at] != "" && (at != 0 || !namedByVolume(w, p)) && (at != 2 || states[0][at].(*restrictionsState).conflicts == 0) {
				require.Equal(t, keys[0][at], keys[1][at], "%s, seed %d: a twin", name, seed)
			}
			for a := range pods {
				for b := range pods[:a] {
					if keys[a][at] == "" || keys[a][at] != keys[b][at] {
						continue
					}
					equal[at]++
					first, second := states[a][at], states[b][at]
					switch s := first.(type) { // the pods of a key share this state
					case *limitsState:
						first = s.Alike(u)
					case *restrictionsState:
						first = s.Alike()
					}
					apart := apartOf(second)
					require.True(t, at == 3 || slices.IsSorted(apart), "%s, seed %d", name, seed)
					for i := range w.nodes {
						if slices.Contains(apart, int32(i)) {
							differ[at]++
							continue
						}
						require.Equal(t, first.Check(i), second.Check(i), "%s, seed %d, %s and %s", name, seed, pods[a].Name, pods[b].Name)
					}
				}
			}
		}
	}
	for at, name := range names {
		require.Greater(t, equal[at], 500, name)
		require.Greater(t, none[at], 400, name)
	}
	require.Greater(t, differ[2], 100, "slots apart for disks")
	require.Greater(t, differ[3], 100, "slots apart for limits")
}

// What makes a key: everything that the filter reads about nodes.
func TestAlikeKeys(t *testing.T) {
	topology := func(key, value string) v1.TopologySelectorTerm {
		return v1.TopologySelectorTerm{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: key, Values: []string{value}}}}
	}
	other := claim("bound-b", "", "1Gi", boundTo("pb"))
	both := v1.TopologySelectorTerm{MatchLabelExpressions: append(topology("zone", "a").MatchLabelExpressions, topology("rack", "a").MatchLabelExpressions...)}
	w := &world{nodes: []*v1.Node{node("n1", "zone", "a")},
		volumes: volumes(volume("pa", "", "1Gi", on("zone", "a")), volume("pa2", "", "1Gi", on("zone", "a")), volume("pb", "", "1Gi", on("zone", "b")), volume("free", "", "1Gi"),
			volume("za", "", "1Gi", labelled(v1.LabelTopologyZone, "z1")), volume("za2", "", "1Gi", labelled(v1.LabelTopologyZone, "z1")), volume("zb", "", "1Gi", labelled(v1.LabelTopologyZone, "z2")), volume("match", "matched", "1Gi"), volume("ebs", "", "1Gi", ebs, labelled(zoneLabel, "a")), volume("ebs-b", "", "1Gi", ebs, labelled(zoneLabel, "b")),
			volume("px", "", "1Gi", inTreePortworx("1")), volume("pxd", "", "1Gi", csiPortworx("2")), volume("pxd3", "", "1Gi", csiPortworx("3"))),
		classes: classes(storageClass("d", "d", wait), storageClass("d2", "d", wait), storageClass("e", "e", wait), storageClass("ta", "d", wait, topology("zone", "a")),
			storageClass("tb", "d", wait, topology("zone", "b")), storageClass("tk", "d", wait, topology("rack", "a")), storageClass("either", "d", wait, topology("zone", "a"), topology("rack", "a")), storageClass("both", "d", wait, both), storageClass("counted", "counted", wait), storageClass("matched", "d", wait)),
		drivers: []*storagev1.CSIDriver{driver("counted", true)},
		claims: claims(claim("bound-a", "", "1Gi", boundTo("pa")), claim("bound-a2", "", "1Gi", boundTo("pa2")), other, claim("bound-free", "", "1Gi", boundTo("free")), claim("lost", "", "1Gi", boundTo("none")),
			claim("zone-a", "", "1Gi", boundTo("za")), claim("zone-a2", "", "1Gi", boundTo("za2")), claim("zone-b", "", "1Gi", boundTo("zb")),
			claim("d", "d", "1Gi"), claim("d2", "d2", "1Gi"), claim("e", "e", "1Gi"), claim("ta", "ta", "1Gi"), claim("tb", "tb", "1Gi"), claim("tk", "tk", "1Gi"), claim("counted", "counted", "1Gi"), claim("matched", "matched", "1Gi"),
			claim("either", "either", "1Gi"), claim("both", "both", "1Gi"), claim("ebs", "", "1Gi", boundTo("ebs")), claim("ebs-b", "", "1Gi", boundTo("ebs-b")),
			claim("px", "", "1Gi", boundTo("px")), claim("pxd", "", "1Gi", boundTo("pxd")), claim("pxd3", "", "1Gi", boundTo("pxd3")),
			claim("unread", "d", "1Gi", func(c *v1.PersistentVolumeClaim) {
				c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Bad"}}}
			}),
			claim("chosen", "d", "1Gi", func(c *v1.PersistentVolumeClaim) { c.Annotations[AnnSelectedNode] = "n1" }), claim("rwop", "", "1Gi", boundTo("pa"), rwop))}
	key := func(names ...string) [4]string {
		keys, _ := alikes(w, pod("p", names...), NewUsage(w, w.objects()))
		return keys
	}
	const binding, zone, restrictions, limits = 0, 1, 2, 3
	require.Equal(t, key("bound-a"), key("bound-a2"))
	require.Equal(t, key("zone-a"), key("zone-a2"))
	require.Equal(t, key("d")[binding], key("d2")[binding], "one driver")
	require.NotEqual(t, key("zone-a")[zone], key("zone-b")[zone])
	require.NotEmpty(t, key()[binding])
	different := [][]string{{"bound-a"}, {"bound-b"}, {"bound-free"}, {"bound-a", "bound-a2"}, {"d"}, {"d", "d2"}, {"e"}, {"ta"}, {"tb"}, {"tk"}, {"either"}, {"both"}, {"bound-free", "bound-free"}, {"bound-free", "bound-free", "bound-free"}, {"bound-free", "d"}, {"bound-a", "d"}, {"chosen"}, {"counted"}, {"matched"}, {"ebs"}, {"ebs-b"}, {}}
	seen := map[string][]string{}
	for _, names := range different {
		k := key(names...)[binding]
		require.NotEmpty(t, k, names)
		require.Nil(t, seen[k], "%v and %v", names, seen[k])
		seen[k] = append([]string{fmt.Sprint(names)}, names...)
	}
	for a := range seen {
		for b := range seen {
			require.False(t, a != b && strings.HasPrefix(b, a), "%v and %v: what follows a key must not change what it says", seen[a], seen[b])
		}
	}
	for _, at := range []int{zone, limits} {
		require.False(t, strings.HasPrefix(key("zone-a")[at], key()[at]), "nor does a key begin with the key of a pod that asks for nothing")
	}
	for _, name := range []string{"lost", "unknown", "unread"} {
		require.Empty(t, key(name)[binding], name)
	}
	require.Equal(t, key("rwop")[restrictions], key("bound-a")[restrictions], "no pod uses the claim")
	require.Empty(t, key("unknown")[restrictions])
	require.Empty(t, key("unknown")[zone])
	require.NotEmpty(t, key("bound-a")[zone])
	require.Empty(t, key("unknown")[limits])
	withDisk, _ := alikes(w, inline(pod("p"), gcePD("d", false)), NewUsage(w, w.objects()))
	require.NotEmpty(t, withDisk[restrictions])
	require.NotEqual(t, key()[restrictions], withDisk[restrictions], "a disk")
	for _, p := range []*v1.Pod{inline(pod("p"), ebsVolume("aws://z/disk", false)), ephemeral(pod("bound"), "a")} {
		keys, _ := alikes(w, p, NewUsage(w, w.objects()))
		require.Empty(t, keys[limits], "the plugin fails")
	}
	require.NotEqual(t, key("d")[limits], key("e")[limits])
	require.NotEqual(t, key("d")[limits], key("d", "d2")[limits])
	require.Equal(t, key("d")[limits], key("bound-a")[limits], "one volume of one driver")
	require.Equal(t, key("pxd")[limits], key("pxd3")[limits])
	require.NotEqual(t, key("px", "pxd")[limits], key("pxd", "pxd3")[limits], "some nodes count volumes of the in-tree kind, others do not")
	before := key("d")[limits]
	w.put(0, pod("q", "d", "rwop"))
	require.Equal(t, before, key("d")[limits], "the node of the pod that uses the volume has no limit")
	require.NotEqual(t, key("rwop")[restrictions], key("bound-a")[restrictions], "a pod uses the claim")
	w.csiNodes = append(w.csiNodes, csiNode("n1", map[string]int32{"d": 1}))
	apart := func(u *Usage, name string) []int32 {
		return apartOf(Compile(pod("p", name), w.objects(), Options{}).Limits().On(u))
	}
	u := NewUsage(w, w.objects())
	require.Equal(t, []int32{0}, apart(u, "d"), "only pods with the volume have room there")
	require.Empty(t, apart(u, "d2"))
	u.Remove(w.pods[0][0], 0)
	require.Empty(t, apart(u, "d"), "the pod has gone")
	u.Add(w.pods[0][0], 0)
	require.Equal(t, []int32{0}, apart(u, "d"))
}

// The state of alike pods counts every volume as one that no pod uses, whatever comes later. The first pod's state stays.
func TestAlikeState(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, csiNodes: []*storagev1.CSINode{csiNode("n1", map[string]int32{"d": 1})}, classes: classes(storageClass("s", "d", wait)), claims: claims(claim("c", "s", "1Gi"))}
	u := NewUsage(w, w.objects())
	own := Compile(pod("p", "c"), w.objects(), Options{}).Limits().On(u).(*limitsState)
	shared := own.Alike(u)
	require.Zero(t, shared.Check(0))
	u.Add(pod("q", "c"), 0)
	require.Zero(t, own.Check(0), "the pods share the volume")
	require.Equal(t, limitExceeded, shared.Check(0), "another volume")
}
