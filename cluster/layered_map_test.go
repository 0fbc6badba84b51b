package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Forks of a layered map each say what a plain map of their own says. A map that nobody shares keeps no layers and no marks.
// Layers stay few, because each is more than twice as large as the next.
func TestLayeredMap(t *testing.T) {
	type fork struct {
		own   *owner
		m     layered[string]
		plain map[string]int32
	}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		forks := []*fork{{own: &owner{}, plain: map[string]int32{}}}
		forks[0].m.reset(forks[0].own, 0)
		shared := false
		for range 300 {
			f := forks[r.IntN(len(forks))]
			k := fmt.Sprint(r.IntN(40))
			switch n := r.IntN(20); {
			case n == 0 && seed > 9 && len(forks) < 6:
				shared = true
				g := *f
				g.own, g.plain = &owner{}, maps.Clone(f.plain)
				f.own = &owner{} // both begin another layer
				forks = append(forks, &g)
			case n < 8:
				f.m.delete(f.own, k)
				delete(f.plain, k)
			default:
				v := int32(r.IntN(9))
				f.m.put(f.own, k, v)
				f.plain[k] = v
			}
			for _, f := range forks {
				if f.m.get(k) != value(f.plain, k) || find(&f.m, []byte(k)) != value(f.plain, k) {
					t.Fatalf("seed %d: %s", seed, k)
				}
				if !shared {
					require.Len(t, f.m.top, len(f.plain))
					require.Empty(t, f.m.frozen)
				}
				for i, layer := range f.m.frozen {
					require.True(t, len(layer) > 0)
					require.True(t, i == 0 || len(f.m.frozen[i-1]) > 2*len(layer))
					for k, v := range layer {
						require.False(t, i == 0 && v == gone, "%s: the bottom layer has no marks", k)
					}
				}
			}
		}
	}
}

func value(m map[string]int32, k string) int32 {
	if v, ok := m[k]; ok {
		return v
	}
	return gone
}

// A new owner begins a layer of its own only when there is something to share.
func TestFreezeOfNothing(t *testing.T) {
	var m layered[string]
	m.put(&owner{}, "a", 1)
	require.Empty(t, m.frozen)
	require.Len(t, m.top, 1)
}
