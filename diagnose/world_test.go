package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// What a filter allows with some changes is what it says when it is asked about every node of the changed cluster, though answers about
// other sets of changes are used again. Filters that look at one node come first, and otherwise filters keep their order.
func TestAllowed(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(150) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+8e6, 600))
		objects, pod := wide(b)
		if b.OneIn(2) {
			wideDevices(b, &objects, pod)
		}
		d := begun(t, objects, pod)
		d.asItIs(&Diagnosis{})
		d.list()
		some := func(n int) (set uint64) { // each of n changes in one of four sets
			for k := range n {
				if b.OneIn(4) {
					set |= 1 << k
				}
			}
			return set
		}
		for range 12 {
			c := choice{place: b.Below(1+len(d.places)) - 1, pod: some(len(d.changes) + len(d.everyone))}
			if c.place >= 0 {
				c.node = some(len(d.places[c.place].changes)) | 1
			}
			w := d.world(d.keyOf(c))
			fresh := d.newWorld(w.snapshot)
			require.Equal(t, fresh.target, w.target)
			wide := false
			for k, f := range w.filters {
				require.Equal(t, fresh.filters[k].Name, f.Name)
				require.False(t, wide && local(f))
				wide = wide || !local(f)
				have := append(bits(nil), d.allowed(w, k, c.pod)...)
				want := d.asked(fresh, fresh.filters[k], d.changed(c.pod))
				have.and(w.target)
				require.Equal(t, want, have, "seed %d: %s with %+v", seed, f.Name, c)
			}
			switch {
			case c.place >= 0 && d.keyOf(c).everyone != 0:
				reached["both"]++
			case c.place >= 0:
				reached["a place"]++
			}
		}
	}
	require.Greater(t, min(reached["both"], reached["a place"]), 50)
}

// A search asks the filters that look at one node before the others. Otherwise it keeps the order of the profile.
func TestOrderOfFilters(t *testing.T) {
	o, pod := roomy(testkit.NewBytes(testkit.RandomBytes(1, 300)))
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "c", ResourceClaimName: new(string)}}
	d := begun(t, o, pod)
	var first, second, have []string
	for _, f := range d.profileOver(d.base).Filters {
		if f.WithShared != nil {
			f = f.WithShared(d.profileOver(d.base))
		}
		if local(f) {
			first = append(first, f.Name)
		} else {
			second = append(second, f.Name)
		}
	}
	for _, f := range d.worlds[worldKey{place: -1}].filters {
		have = append(have, f.Name)
	}
	require.Equal(t, append(first, second...), have)
	require.Greater(t, min(len(first), len(second)), 2)
}
