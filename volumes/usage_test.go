package volumes

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// outline returns what a usage says, with the names of volumes in place of their numbers and in an order of its own.
func outline(u *Usage) (out []string) {
	for i, s := range u.slots {
		if s == nil {
			out = append(out, fmt.Sprint(i, " free"))
			continue
		}
		var lines []string
		for _, x := range s.used {
			lines = append(lines, fmt.Sprint("used ", u.disks[x.id], x.pods, x.driver, x.translated))
		}
		for _, x := range s.attaches {
			lines = append(lines, fmt.Sprint("attached ", x.driver, x.n, s.attached(x.driver)))
		}
		for _, x := range s.faults {
			lines = append(lines, "fault "+u.faults.text(x))
		}
		slices.Sort(lines)
		out = append(append(out, fmt.Sprint(i, s.csi, s.migrated, s.portworx, s.drivers)), lines...)
	}
	for _, k := range slices.SortedFunc(maps.Keys(u.claims), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		out = append(out, fmt.Sprint("claim ", k, u.claims[k]))
	}
	var pods []string
	for name, holders := range u.holders {
		for _, h := range holders {
			pods = append(pods, fmt.Sprint("disk ", name, h.pod.Name, h.slot))
		}
	}
	for id, users := range u.users {
		if len(users) > 0 {
			pods = append(pods, fmt.Sprint("users ", u.disks[id], slices.Sorted(slices.Values(users))))
		}
	}
	slices.Sort(pods)
	return append(out, pods...)
}

// A usage to which pods came and from which pods went is that of the pods that are left.
func TestUsageFollowsPods(t *testing.T) {
	for seed := range int64(400) {
		rng := rand.New(rand.NewSource(seed))
		w := randomWorld(rng)
		w.pods = make([][]*v1.Pod, len(w.nodes)+1)
		w.nodes = append(w.nodes, nil)
		w.volumes = append(w.volumes, volume("px", "", "1Gi", func(pv *v1.PersistentVolume) {
			pv.Spec.CSI, pv.Spec.PortworxVolume = nil, &v1.PortworxVolumeSource{VolumeID: "px-2"}
		}))
		w.claims = append(w.claims, claim("px", "", "1Gi", boundTo("px")), claim("r-e", "static", "1Gi"))
		kept := NewUsage(w, w.objects())
		for step := range 20 {
			i := rng.Intn(len(w.nodes))
			if len(w.pods[i]) > 0 && rng.Intn(5) < 2 {
				at := rng.Intn(len(w.pods[i]))
				gone := *w.pods[i][at] // another object with the same identity
				kept.Remove(&gone, i)
				w.pods[i] = slices.Delete(w.pods[i], at, at+1)
			} else {
				p := randomPod(rng, w, fmt.Sprint("r", step))
				switch rng.Intn(5) {
				case 0:
					p = inline(p, v1.VolumeSource{PortworxVolume: &v1.PortworxVolumeSource{VolumeID: pick(rng, "px-1", "px-2")}}, v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
				case 1:
					p.Spec.Volumes = append(p.Spec.Volumes, pod("", "px").Spec.Volumes...)
				case 2:
					p = inline(p, ebsVolume(pick(rng, "aws://z/one", "aws://z/two"), false), ebsVolume("aws://z/three", false))
				case 3:
					p.Name = "r"
					p = ephemeral(p, "e") // its claim belongs to nobody
				}
				if w.nodes[i] != nil {
					w.pods[i] = append(w.pods[i], p)
				}
				kept.Add(p, i)
			}
			require.Equal(t, outline(NewUsage(w, w.objects())), outline(kept), "seed %d, step %d", seed, step)
		}
		kept.Add(pod("p", "px"), -1)
		kept.Remove(pod("p", "px"), len(w.nodes))
		require.Equal(t, outline(NewUsage(w, w.objects())), outline(kept), "there are no such slots")
	}
}

// Of the pods with disks on a node the one goes that has the name, the namespace and the UID.
func TestHoldersByIdentity(t *testing.T) {
	of := func(namespace, name string, uid types.UID) *v1.Pod {
		p := inline(pod(name), gcePD("d", false))
		p.Namespace, p.UID = namespace, uid
		return p
	}
	pods := []*v1.Pod{of("b", "p", "1"), of("a", "q", "1"), of("a", "p", "2"), of("a", "p", "1")}
	u := NewUsage((&world{nodes: []*v1.Node{node("n1"), node("n2")}}).put(0, pods...), Objects{})
	u.Remove(of("a", "p", "1"), 0)
	require.Equal(t, []holder{{pods[0], 0}, {pods[1], 0}, {pods[2], 0}}, u.holders[inlineDiskName{"gce", "d"}])
	u.Add(pods[0], 1)
	for _, p := range pods[:3] {
		u.Remove(p, 0)
	}
	require.Equal(t, []holder{{pods[0], 1}}, u.holders[inlineDiskName{"gce", "d"}])
	u.Remove(pods[0], 1)
	require.Empty(t, u.holders)
}

// Only a PersistentVolume of a CSI driver counts as attached, once for a node. A driver without a number has no limit.
func TestAttachedVolumes(t *testing.T) {
	inTree := volume("tree", "", "1Gi", func(pv *v1.PersistentVolume) {
		pv.Spec.CSI, pv.Spec.PortworxVolume = nil, &v1.PortworxVolumeSource{VolumeID: "p"}
	})
	w := &world{nodes: []*v1.Node{node("n1"), node("n2")}, volumes: volumes(volume("a", "", "1Gi"), volume("b", "", "1Gi"), inTree)}
	for k, name := range []string{"b", "a", "b", "tree", "none", "b"} {
		w.attachments = append(w.attachments, attached(fmt.Sprint(k), "n1", name))
	}
	w.attachments = append(w.attachments, attached("inline", "n1", ""))
	w.attachments[len(w.attachments)-1].Spec.Source.PersistentVolumeName = nil
	u := NewUsage(w, w.objects())
	require.Equal(t, []attachCount{{"d", 2}}, u.slots[0].attaches)
	require.Empty(t, u.slots[1].attaches)
	require.Len(t, u.disks, 2)

	n := csiNode("n", map[string]int32{"a": 0, "b": -1, "c": 3})
	n.Spec.Drivers[2].Allocatable.Count = nil
	s := &slotUsage{}
	for k := range n.Spec.Drivers {
		s.drivers = append(s.drivers, limitOf(&n.Spec.Drivers[k]))
	}
	require.Equal(t, []driverLimit{{"a", 0}, {"b", -1}, {"c", -1}}, s.drivers)
	require.True(t, s.limited(), "0 is a limit")
	s.drivers = s.drivers[1:]
	require.False(t, s.limited())
	require.True(t, s.hasDriver("c"))
	require.False(t, s.hasDriver("a"))
}
