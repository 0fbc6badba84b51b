package cluster

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// images lists, for each image name, the slots that have the image in ascending order. The first question makes the index. A
// fork makes a new index when the images of one of its nodes change.
type images struct {
	own    *owner
	byName map[string][]imageAt
}

type imageAt struct {
	slot int32
	size int64
}

// Image returns the state of an image name in the whole cluster as it is now: the size in bytes, the number of nodes that
// report the image in status.images, and a function that reports whether the node of slot i has it. Where nodes report
// different sizes, the size is that of the lowest slot. has allocates nothing and panics for slots that do not exist, unless
// no node has the image. O(images of all nodes) at the first call, then O(nodes with the image).
func (s *Snapshot) Image(name string) (sizeBytes int64, nodes int, has func(i int) bool) {
	at := s.imageIndex().byName[name]
	if len(at) == 0 {
		return 0, 0, func(int) bool { return false }
	}
	bits := make([]uint64, (s.n+63)/64)
	for _, a := range at {
		bits[a.slot/64] |= 1 << (a.slot % 64)
	}
	return at[0].size, len(at), func(i int) bool { return bits[i/64]>>(i%64)&1 != 0 }
}

func (s *Snapshot) imageIndex() *images {
	s.lazy.RLock()
	x := s.images
	s.lazy.RUnlock()
	if x != nil {
		return x
	}
	s.lazy.Lock()
	defer s.lazy.Unlock()
	if s.images == nil {
		x = &images{own: s.own, byName: map[string][]imageAt{}}
		for i := range s.n {
			if node := s.Node(i); node != nil {
				x.add(i, node)
			}
		}
		s.images = x
	}
	return s.images
}

func (x *images) add(slot int, node *v1.Node) {
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			at := x.byName[name]
			i, there := slices.BinarySearchFunc(at, int32(slot), func(a imageAt, slot int32) int { return int(a.slot - slot) })
			if !there {
				x.byName[name] = slices.Insert(at, i, imageAt{int32(slot), image.SizeBytes})
			}
		}
	}
}

func (x *images) remove(slot int, node *v1.Node) {
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			at := x.byName[name]
			i, there := slices.BinarySearchFunc(at, int32(slot), func(a imageAt, slot int32) int { return int(a.slot - slot) })
			if !there {
				continue
			}
			if len(at) == 1 {
				delete(x.byName, name)
			} else {
				x.byName[name] = slices.Delete(at, i, i+1)
			}
		}
	}
}

func (s *Snapshot) reindexImages(slot int, old, node *v1.Node) {
	x := s.images
	if x == nil || old != nil && node != nil && sameImages(old, node) {
		return
	}
	if x.own != s.own {
		s.images = nil
		return
	}
	if old != nil {
		x.remove(slot, old)
	}
	if node != nil {
		x.add(slot, node)
	}
}

func sameImages(a, b *v1.Node) bool {
	return slices.EqualFunc(a.Status.Images, b.Status.Images, func(x, y v1.ContainerImage) bool {
		return x.SizeBytes == y.SizeBytes && slices.Equal(x.Names, y.Names)
	})
}
