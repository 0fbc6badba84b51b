package volumes

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Between equal keys of VolumeBinding neither a verdict nor a score changes, whatever the ledger assumes and forgets in between.
func TestAlikeUnderALedger(t *testing.T) {
	equal, moved := 0, 0
	for seed := range int64(3000) {
		rng := rand.New(rand.NewSource(seed))
		w := randomWorld(rng)
		o := Options{ReserveCapacity: rng.Intn(2) == 0}
		l := NewLedger(w.objects())
		answers := map[string]string{}
		for step := range 8 {
			p := randomPod(rng, w, fmt.Sprint("p", step))
			p.UID = types.UID(p.Name)
			e := Compile(p, l.Objects(), o).binding()
			s := e.On(w).(*bindingState)
			if key, ok := e.AppendAlike(nil); ok {
				answer := ""
				for i := range w.nodes {
					answer += fmt.Sprintln(s.Check(i), s.Raw(i))
				}
				if before, known := answers[string(key)]; known {
					require.Equal(t, before, answer, "seed %d step %d", seed, step)
					equal++
				}
				answers[string(key)] = answer
			}
			i := rng.Intn(len(w.nodes))
			if d, ok := s.Bindings(i); ok && e.pre.Reasons == nil && !d.Empty() && rng.Intn(2) == 0 {
				require.NoError(t, l.Assume(p, w.nodes[i], d))
				moved++
			} else if rng.Intn(3) == 0 && l.Forget(types.UID(fmt.Sprint("p", rng.Intn(step+1)))) {
				moved++
			}
		}
	}
	require.Greater(t, equal, 2000)
	require.Greater(t, moved, 600)
}

// A claim has the key of another until a volume is taken, a volume is promised to one of them, or a claim of the class is being provisioned from a
// capacity that is reserved.
func TestAlikeFreeVolumes(t *testing.T) {
	w := &world{nodes: []*v1.Node{node("n1")}, volumes: volumes(volume("v1", "static", "1Gi"), volume("v2", "static", "2Gi"), volume("w1", "other", "1Gi")),
		classes:    classes(storageClass("static", noProvisioner, wait), storageClass("other", noProvisioner, wait), storageClass("counted", "counted", wait)),
		drivers:    []*storagev1.CSIDriver{driver("counted", true)},
		capacities: []*storagev1.CSIStorageCapacity{capacityOf("k", "counted", "10Gi", map[string]string{})},
		claims: claims(claim("a", "static", "1Gi"), claim("b", "static", "1Gi"), claim("large", "static", "2Gi"), claim("o", "other", "1Gi"),
			claim("x", "counted", "1Gi"), claim("y", "counted", "1Gi"), claim("z", "counted", "2Gi"),
			claim("chosen", "counted", "1Gi", func(c *v1.PersistentVolumeClaim) { c.Annotations[AnnSelectedNode] = "n1" }))}
	l := NewLedger(w.objects())
	key := func(name string, o Options) string {
		k, ok := Compile(pod("p", name), l.Objects(), o).binding().AppendAlike(nil)
		require.True(t, ok, name)
		return string(k)
	}
	take := func(name string) (forget func()) {
		p := pod("taker-"+name, name)
		p.UID = types.UID(p.Name)
		d, ok := Compile(p, l.Objects(), Options{}).Binding().On(w).Bindings(0)
		require.True(t, ok)
		require.NoError(t, l.Assume(p, w.nodes[0], d))
		return func() { require.True(t, l.Forget(p.UID)) }
	}
	var none Options
	reserve := Options{ReserveCapacity: true}
	require.Equal(t, key("a", none), key("b", none))
	require.NotEqual(t, key("a", none), key("large", none))
	require.NotEqual(t, key("a", none), key("o", none))
	before := key("a", none)
	forget := take("o")
	require.Equal(t, before, key("a", none), "a volume of another class")
	forget()
	forget = take("b")
	require.NotEqual(t, before, key("a", none))
	require.NotEqual(t, key("a", none), key("b", none), "a volume is promised to b")
	forget()
	require.NotEqual(t, before, key("a", none), "a number is used once")
	require.Equal(t, key("a", none), key("b", none))

	require.Equal(t, key("x", none), key("y", none))
	require.NotEqual(t, key("x", none), key("z", none))
	before, reserved := key("x", none), key("x", reserve)
	take("y")
	require.Equal(t, before, key("x", none))
	require.NotEqual(t, reserved, key("x", reserve))
	require.Equal(t, key("y", none), key("chosen", none), "both are being provisioned for a node")
	require.NotEqual(t, key("y", reserve), key("chosen", reserve), "y takes no room from itself")
}

// A claim takes the volume that a search through all of them finds.
func TestCandidatesByLabel(t *testing.T) {
	in := func(key string, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}
	}
	found := 0
	for seed := range int64(2000) {
		rng := rand.New(rand.NewSource(seed))
		requirement := func() v1.NodeSelectorRequirement {
			return []v1.NodeSelectorRequirement{in("zone", "a"), in("zone", "b"), in("zone", "a", "b"), in("zone"), in("rack", "r"), in("rack", ""), {Key: "zone", Operator: v1.NodeSelectorOpNotIn, Values: []string{"a"}}, {Key: "rack", Operator: v1.NodeSelectorOpExists}}[rng.Intn(8)]
		}
		lists := [2][]candidate{}
		for k := range rng.Intn(6) {
			pv := volume(fmt.Sprint("v", k), "s", "1Gi")
			if rng.Intn(5) > 0 {
				required := &v1.NodeSelector{}
				for range rng.Intn(3) {
					term := v1.NodeSelectorTerm{}
					for range rng.Intn(3) {
						term.MatchExpressions = append(term.MatchExpressions, requirement())
					}
					required.NodeSelectorTerms = append(required.NodeSelectorTerms, term)
				}
				pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: required}
			}
			reserved := rng.Intn(8) == 0
			x := &lists[1]
			if reserved {
				x = &lists[0]
			}
			*x = append(*x, candidate{volume: pv, affinity: nodeAffinity(pv), reserved: reserved})
		}
		c := newCandidates(lists[0], lists[1])
		n := node("n")
		for label, value := range map[string]string{"zone": pick(rng, "a", "b", "c"), "rack": pick(rng, "r", "", "q")} {
			if rng.Intn(5) > 0 {
				n.Labels[label] = value
			}
		}
		var others []choice
		if len(c.list) > 0 && rng.Intn(2) == 0 {
			others = append(others, choice{volume: &c.list[rng.Intn(len(c.list))]})
		}
		want := ""
		for k := range c.list {
			x := &c.list[k]
			if len(others) > 0 && others[0].volume == x {
				continue
			}
			if reaches(x.affinity, n) {
				want = x.volume.Name
			}
			if want != "" || x.reserved {
				break
			}
		}
		got := ""
		if x := c.match(n, others); x != nil {
			got = x.volume.Name
			found++
		}
		require.Equal(t, want, got, "seed %d", seed)
	}
	require.Greater(t, found, 800)
	require.Less(t, found, 1800)
}
