package cluster

import "slices"

// layered is a map from K to a number that forks share. It has frozen layers, oldest first, and on top a layer to which the
// owner writes. The value gone marks a deleted key. Two layers are merged when the newer layer has at least half the size of
// the layer below. So a look-up reads a logarithmic number of layers.
type layered[K comparable] struct {
	own    *owner
	frozen []map[K]int32
	top    map[K]int32
}

const gone int32 = -1

// get returns the value of k, gone when there is none.
func (l *layered[K]) get(k K) int32 {
	if v, ok := l.top[k]; ok {
		return v
	}
	for i := len(l.frozen) - 1; i >= 0; i-- {
		if v, ok := l.frozen[i][k]; ok {
			return v
		}
	}
	return gone
}

// find is get for a key in bytes, without making a string of them.
func find(l *layered[string], k []byte) int32 {
	if v, ok := l.top[string(k)]; ok {
		return v
	}
	for i := len(l.frozen) - 1; i >= 0; i-- {
		if v, ok := l.frozen[i][string(k)]; ok {
			return v
		}
	}
	return gone
}

func (l *layered[K]) put(own *owner, k K, v int32) {
	if l.own != own {
		l.freeze(own)
	}
	l.top[k] = v
}

func (l *layered[K]) delete(own *owner, k K) {
	if l.own != own {
		l.freeze(own)
	}
	if len(l.frozen) == 0 {
		delete(l.top, k)
		return
	}
	l.top[k] = gone
}

// freeze makes the top layer, which a fork may share, a frozen layer and begins another top layer.
func (l *layered[K]) freeze(own *owner) {
	if len(l.top) > 0 {
		l.frozen = append(slices.Clip(l.frozen), l.top)
		for n := len(l.frozen); n >= 2 && 2*len(l.frozen[n-1]) >= len(l.frozen[n-2]); n = len(l.frozen) {
			merged := merge(l.frozen[n-2], l.frozen[n-1], n == 2)
			l.frozen = append(slices.Clone(l.frozen[:n-2]), merged)
		}
	}
	l.top, l.own = map[K]int32{}, own
}

// merge returns the entries of both layers. The newer entry of a key wins. The bottom layer needs no marks of deletion.
func merge[K comparable](older, newer map[K]int32, bottom bool) map[K]int32 {
	m := make(map[K]int32, len(older)+len(newer))
	for k, v := range older {
		m[k] = v
	}
	for k, v := range newer {
		if v == gone && bottom {
			delete(m, k)
			continue
		}
		m[k] = v
	}
	return m
}

// reset empties the map; n is the number of entries to come.
func (l *layered[K]) reset(own *owner, n int) {
	l.frozen, l.top, l.own = nil, make(map[K]int32, n), own
}
