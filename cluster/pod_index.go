package cluster

import (
	"hash/maphash"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// podIndex finds the slot of a pod by the hash of the pod's namespace and name. It keeps no names: the row of a slot says which pods
// are there. So two pods may have one hash, and an entry may be stale. Each pod on a slot has an entry. Forks share the frozen
// layers, as those of a layered map.
type podIndex struct {
	own    *owner
	frozen []*hashTable
	top    hashTable
}

var podSeed = maphash.MakeSeed()

func podHash(namespace, name string) uint32 {
	return uint32(maphash.String(podSeed, name)) ^ uint32(maphash.String(podSeed, namespace)>>32)
}

func hashOf(pod *v1.Pod) uint32 { return podHash(pod.Namespace, pod.Name) }

// reset empties the index; n is the number of pods to come.
func (x *podIndex) reset(own *owner, n int) {
	*x = podIndex{own: own, top: newHashTable(n)}
}

// seek returns the slot of the pod of that hash, namespace and name, and the position of the pod in its row. The slot is gone when
// the pod is on none.
func (s *Snapshot) seek(hash uint32, namespace, name string) (slot, at int) {
	if slot, at = s.seekIn(&s.index.top, hash, namespace, name); slot >= 0 {
		return slot, at
	}
	for i := len(s.index.frozen) - 1; i >= 0; i-- {
		if slot, at = s.seekIn(s.index.frozen[i], hash, namespace, name); slot >= 0 {
			return slot, at
		}
	}
	return int(gone), 0
}

func (s *Snapshot) seekIn(t *hashTable, hash uint32, namespace, name string) (slot, at int) {
	for i := t.first(hash); t.at[i].slot != 0; i = t.next(i) {
		if t.at[i].hash != hash {
			continue
		}
		slot = int(t.at[i].slot) - 1
		if at = s.row(slot).find(hash, namespace, name); at >= 0 {
			return slot, at
		}
	}
	return int(gone), 0
}

// enter adds the entry of a pod that is in the row of the slot.
func (s *Snapshot) enter(hash uint32, slot int) {
	if s.index.own != s.own {
		s.freezeIndex()
	}
	s.index.top.add(hashEntry{hash, int32(slot) + 1})
}

// erase removes the entry of a pod that has left the row of the slot. An entry in a frozen layer stays, as a stale one.
func (s *Snapshot) erase(hash uint32, slot int) {
	if s.index.own == s.own {
		s.index.top.remove(hashEntry{hash, int32(slot) + 1})
	}
}

// freezeIndex makes the top layer, which a fork may share, a frozen layer and begins another top layer. Two layers are merged
// under the condition of layered.freeze.
func (s *Snapshot) freezeIndex() {
	x := &s.index
	if x.top.n > 0 {
		top := x.top
		x.frozen = append(slices.Clip(x.frozen), &top)
		for n := len(x.frozen); n >= 2 && 2*x.frozen[n-1].n >= x.frozen[n-2].n; n = len(x.frozen) {
			x.frozen = append(slices.Clone(x.frozen[:n-2]), s.mergeIndex(x.frozen[n-2], x.frozen[n-1]))
		}
	}
	x.top, x.own = newHashTable(0), s.own
}

// mergeIndex returns the entries of both layers, each once and without the stale ones.
func (s *Snapshot) mergeIndex(layers ...*hashTable) *hashTable {
	n := 0
	for _, t := range layers {
		n += t.n
	}
	m := newHashTable(n)
	for _, t := range layers {
		for _, e := range t.at {
			if e.slot != 0 && s.row(int(e.slot)-1).has(e.hash) && !m.has(e) {
				m.add(e)
			}
		}
	}
	return &m
}
