package volumes

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
)

// classy is a world with the optional method Classes.
type classy struct{ *world }

func (c classy) Classes(reads []string) (ids, reps []int32, ok bool) {
	seen := map[string]int32{}
	for i, n := range c.nodes {
		if n == nil {
			ids = append(ids, -1)
			continue
		}
		var b strings.Builder
		for _, r := range reads {
			key, isLabel := strings.CutPrefix(r, "label:")
			value, has := n.Labels[key]
			switch {
			case isLabel:
				fmt.Fprintf(&b, "%q %v;", value, has)
			case r == "name":
				fmt.Fprintf(&b, "%q;", n.Name)
			default:
				return nil, nil, false
			}
		}
		id, ok := seen[b.String()]
		if !ok {
			id = int32(len(reps))
			seen[b.String()] = id
			reps = append(reps, int32(i))
		}
		ids = append(ids, id)
	}
	return ids, reps, true
}

// The verdicts are the same with and without classes of equal nodes.
func TestClassesChangeNothing(t *testing.T) {
	used := 0
	for seed := range int64(1000) {
		rng := rand.New(rand.NewSource(seed))
		w := randomWorld(rng)
		w.nodes = append(w.nodes, nil)
		p := Compile(randomPod(rng, w, "p"), w.objects(), Options{})
		for k, plugin := range plugins(p, w) {
			fast := plugins(p, classy{w})[k].count()
			for i := range w.nodes {
				require.Equal(t, plugin.count().Check(i), fast.Check(i), "%s on slot %d, seed %d", fast.Name(), i, seed)
			}
			switch s := fast.(type) {
			case *bindingState:
				if s.classes.Offered() {
					used++
				}
			case *zoneState:
				require.Equal(t, len(s.zone.rules) > 0, s.classes.Offered())
			}
		}
	}
	require.Greater(t, used, 100)
}

// unindexed is a table without an index by class.
type unindexed struct{ Table[*v1.PersistentVolume] }

// An index of the volumes by class changes no decision.
func TestIndexChangesNothing(t *testing.T) {
	for seed := range int64(500) {
		rng := rand.New(rand.NewSource(seed))
		w := randomWorld(rng)
		p := randomPod(rng, w, "p")
		o := w.objects()
		o.PersistentVolumes = unindexed{o.PersistentVolumes}
		slow, fast, seen := Compile(p, o, Options{}).Binding(), Compile(p, w.objects(), Options{}).Binding(), Compile(p, NewLedger(w.objects()).Objects(), Options{}).Binding()
		require.Equal(t, slow.PreFilter(), fast.PreFilter())
		for i := range w.nodes {
			want, ok := slow.On(w).Bindings(i)
			got, okFast := fast.On(w).Bindings(i)
			viewed, okSeen := seen.On(w).Bindings(i)
			require.Equal(t, ok, okFast)
			require.Equal(t, ok, okSeen)
			require.Equal(t, want, got)
			require.Equal(t, want, viewed)
		}
	}
}

func TestReads(t *testing.T) {
	w := &world{claims: claims(claim("a", "", "1Gi", boundTo("v")), claim("b", "s", "1Gi", func(c *v1.PersistentVolumeClaim) { c.Annotations[AnnSelectedNode] = "n" })),
		volumes: volumes(volume("v", "", "1Gi", on("rack", "r"))), classes: classes(storageClass("s", "d", wait, v1.TopologySelectorTerm{
			MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{"a"}}}}))}
	require.Equal(t, []string{"label:rack", "label:zone", "name"}, Compile(pod("p", "a", "b"), w.objects(), Options{}).binding().reads(nil))
	require.Empty(t, Compile(pod("p", "a"), w.objects(), Options{}).zone().reads(nil))
	w.volumes[0].Labels[v1.LabelTopologyZone] = "z"
	require.Len(t, Compile(pod("p", "a"), w.objects(), Options{}).zone().reads(nil), 4)
}
