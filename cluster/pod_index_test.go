package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A table has the entries that a plain list has, however many of them have one position, and keeps a third of its places free.
func TestHashTable(t *testing.T) {
	for seed := range uint64(testkit.Rounds(60)) {
		r := rand.New(rand.NewPCG(seed, 4))
		n := r.IntN(20)
		table := newHashTable(n)
		places := len(table.at)
		var plain []hashEntry
		for step := range 300 {
			e := hashEntry{uint32(r.IntN(4 << r.IntN(30))), int32(1 + r.IntN(3))}
			if len(plain) > 0 && r.IntN(2) == 0 {
				e = plain[r.IntN(len(plain))]
			}
			if r.IntN(5) < 2 {
				table.remove(e)
				if at := slices.Index(plain, e); at >= 0 {
					plain = slices.Delete(plain, at, at+1)
				}
			} else {
				table.add(e)
				plain = append(plain, e)
			}
			require.Equal(t, len(plain), table.n)
			require.True(t, step >= n || len(table.at) == places, "room for %d entries", n)
			require.LessOrEqual(t, 3*table.n, 2*len(table.at))
			require.Equal(t, slices.Contains(plain, e), table.has(e))
		}
		got := slices.DeleteFunc(slices.Clone(table.at), func(e hashEntry) bool { return e.slot == 0 })
		require.ElementsMatch(t, plain, got)
		for _, e := range plain {
			require.True(t, table.has(e))
		}
	}
}

// Each fork finds its own pods where they are, and no pod that is gone, when pods share hashes and stale entries stay in layers
// that forks share. Layers stay few, because each is more than twice as large as the next.
func TestPodIndex(t *testing.T) {
	type fork struct {
		s  *Snapshot
		on map[int]int // slot of each pod that is on one
	}
	const pods, nodes = 40, 6
	layers, stale := 0, 0
	for seed := range uint64(testkit.Rounds(60)) {
		r := rand.New(rand.NewPCG(seed, 5))
		list, hashes := make([]*v1.Pod, pods), make([]uint32, pods)
		for i := range list {
			list[i] = testkit.Pod(fmt.Sprintf("space-%d/pod-%d", i%2, i/2)).Obj()
			if hashes[i] = uint32(i / 2 % 7); seed%2 == 0 {
				hashes[i] = hashOf(list[i])
			}
		}
		forks := []*fork{{build(t, nodes, 0), map[int]int{}}}
		for range 300 {
			f := forks[r.IntN(len(forks))]
			switch n := r.IntN(20); {
			case n == 0:
				g := &fork{f.s.Fork(), maps.Clone(f.on)}
				if len(forks) < 5 {
					forks = append(forks, g)
				} else {
					forks[r.IntN(len(forks))] = g
				}
			default:
				i := r.IntN(pods)
				slot, at := f.s.seek(hashes[i], list[i].Namespace, list[i].Name)
				if slot >= 0 {
					f.s.take(slot, at)
					delete(f.on, i)
				}
				if n < 14 {
					f.on[i] = r.IntN(nodes)
					f.s.insert(list[i], hashes[i], f.s.prepare(list[i]), f.on[i], 0)
				}
			}
			for _, f := range forks {
				entries := f.s.index.top.n
				for i, layer := range f.s.index.frozen {
					entries += layer.n
					require.True(t, i == 0 || f.s.index.frozen[i-1].n > 2*layer.n)
				}
				layers, stale = max(layers, len(f.s.index.frozen)), max(stale, entries-len(f.on))
				for i, p := range list {
					want, on := f.on[i]
					slot, at := f.s.seek(hashes[i], p.Namespace, p.Name)
					if on != (slot >= 0) || on && (slot != want || f.s.row(slot).pods[at].pod != p) {
						t.Fatalf("seed %d: %s/%s: want %d %v, got %d", seed, p.Namespace, p.Name, want, on, slot)
					}
				}
			}
		}
	}
	require.Greater(t, layers, 1)
	require.Positive(t, stale)
}

// The index does not grow when pods move away and back from fork to fork: stale and double entries end when layers are merged.
func TestPodIndexStaysSmall(t *testing.T) {
	const pods = 30
	s := build(t, 2, 0)
	list := make([]*v1.Pod, pods)
	for i := range list {
		list[i] = testkit.Pod(fmt.Sprint("pod-", i)).Obj()
		require.NoError(t, s.Assume(list[i], 0))
	}
	for step := range 2000 {
		s = s.Fork()
		p := list[step/2%pods]
		require.NoError(t, s.Remove(p))
		require.NoError(t, s.Assume(p, step%2))
		entries := s.index.top.n
		for _, layer := range s.index.frozen {
			entries += layer.n
		}
		require.LessOrEqual(t, entries, 3*pods)
	}
}

// Pods of equal name in different namespaces, and of swapped namespace and name, are different pods.
func TestPodHash(t *testing.T) {
	require.NotEqual(t, podHash("a", "b"), podHash("b", "a"))
	require.NotEqual(t, podHash("a", "b"), podHash("c", "b"))
	require.NotEqual(t, podHash("a", "b"), podHash("a", "c"))
	require.NotEqual(t, podHash("a", "a"), podHash("b", "b"))
	require.Equal(t, podHash("a", "b"), hashOf(testkit.Pod("a/b").Obj()))
}
