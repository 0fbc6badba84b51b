package view

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestZoneKey(t *testing.T) {
	const beta, betaRegion = v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion
	type test struct {
		name   string
		labels map[string]string
		want   string
	}
	testkit.Run(t, []test{
		{"no labels", nil, ""},
		{"zone", map[string]string{v1.LabelTopologyZone: "z"}, ":\x00:z"},
		{"region", map[string]string{v1.LabelTopologyRegion: "r"}, "r:\x00:"},
		{"region and zone", map[string]string{v1.LabelTopologyRegion: "r", v1.LabelTopologyZone: "z"}, "r:\x00:z"},
		{"beta labels count first", map[string]string{beta: "b", v1.LabelTopologyZone: "z", betaRegion: "c", v1.LabelTopologyRegion: "r"}, "c:\x00:b"},
		{"an empty beta label counts too", map[string]string{beta: "", v1.LabelTopologyZone: "z"}, ""},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, ZoneKey(&v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: c.labels}}))
	})
}

// Zones equals a slow model under random changes, and a clone keeps what it had.
func TestZones(t *testing.T) {
	var none Zones
	require.Equal(t, []int32{}, none.Order())
	for seed := range int64(200) {
		checkZones(t, rand.New(rand.NewSource(seed)))
	}
}

func FuzzZones(f *testing.F) {
	f.Add([]byte("slots come and go"))
	f.Fuzz(func(t *testing.T, data []byte) { checkZones(t, rand.New(testkit.NewBytes(data))) })
}

func checkZones(t *testing.T, rng *rand.Rand) {
	var z, kept Zones
	var keptOrder []int32
	var seen []string               // zones in the order in which they were first seen
	members := map[string][]int32{} // slots in the order in which they were added
	where := map[int]string{}
	for range 60 {
		slot, key := rng.Intn(12), string(rune('a'+rng.Intn(4)))
		if at, there := where[slot]; there {
			z.Remove(slot, at)
			delete(where, slot)
			members[at] = slices.DeleteFunc(members[at], func(s int32) bool { return int(s) == slot })
			if len(members[at]) == 0 {
				seen = slices.DeleteFunc(seen, func(s string) bool { return s == at })
			}
		} else {
			z.Add(slot, key)
			if !slices.Contains(seen, key) {
				seen = append(seen, key)
			}
			members[key], where[slot] = append(members[key], int32(slot)), key
		}
		want := []int32{}
		for round := 0; len(want) < len(where); round++ {
			for _, key := range seen {
				if round < len(members[key]) {
					want = append(want, members[key][round])
				}
			}
		}
		require.Equal(t, want, z.Order())
		if keptOrder != nil {
			require.Equal(t, keptOrder, kept.Order())
		}
		if rng.Intn(10) == 0 {
			kept, keptOrder = z, want
			z = kept.Clone() // the copy changes, and what it was made of stays
		}
	}
}

// The scan order of a cluster takes the nodes of the zones in turn and leaves free slots out.
func TestScanOrder(t *testing.T) {
	in := func(zone string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.LabelTopologyZone: zone}}}
	}
	require.Equal(t, []int32{0, 2, 4, 3}, ScanOrder(slots{in("a"), nil, in("b"), in("b"), in("")}))
}

type slots []*v1.Node

func (s slots) Len() int            { return len(s) }
func (s slots) Node(i int) *v1.Node { return s[i] }

func TestAround(t *testing.T) {
	for _, c := range [][3]int{{0, 5, 0}, {4, 5, 4}, {5, 5, 0}, {12, 5, 2}, {-1, 5, 4}, {-5, 5, 0}, {-12, 5, 3}} {
		require.Equal(t, c[2], Around(c[0], c[1]), "%d of %d", c[0], c[1])
	}
}
