package cluster

import (
	"slices"

	"github.com/podberth/podberth/resources"
)

// owner marks the parts to which a snapshot may write. A part with another owner is shared with a fork, and the snapshot
// copies the part before it writes.
type owner struct{ _ byte }

const (
	chunkBits = 6
	chunkLen  = 1 << chunkBits
	chunkMask = chunkLen - 1
)

// column is a list in chunks. Forks share a chunk until one of them writes to it.
type column[T any] struct {
	own    *owner // of the list of chunks
	chunks []*chunk[T]
}

type chunk[T any] struct {
	own *owner
	v   [chunkLen]T
}

func (c *column[T]) at(i int) T { return c.chunks[i>>chunkBits].v[i&chunkMask] }

// write returns element i for writing.
func (c *column[T]) write(own *owner, i int) *T {
	k := c.chunks[i>>chunkBits]
	if k.own != own {
		k = c.clone(own, i>>chunkBits)
	}
	return &k.v[i&chunkMask]
}

func (c *column[T]) clone(own *owner, k int) *chunk[T] {
	c.unshare(own)
	n := *c.chunks[k]
	n.own = own
	c.chunks[k] = &n
	return &n
}

func (c *column[T]) unshare(own *owner) {
	if c.own != own {
		c.chunks, c.own = slices.Clone(c.chunks), own
	}
}

// grow makes room for n elements.
func (c *column[T]) grow(own *owner, n int) {
	for len(c.chunks)<<chunkBits < n {
		c.unshare(own)
		c.chunks = append(c.chunks, &chunk[T]{own: own})
	}
}

// vectors is a column of resource vectors. Each chunk is one flat array. A chunk becomes wider only when one of its rows
// needs more columns, so that a new resource name does not change the other chunks.
type vectors struct {
	own    *owner
	chunks []*vectorChunk
}

type vectorChunk struct {
	own    *owner
	stride int
	v      []int64
}

func (c *vectors) at(i int) resources.Vector {
	k := c.chunks[i>>chunkBits]
	o := (i & chunkMask) * k.stride
	return k.v[o : o+k.stride : o+k.stride]
}

// write returns row i for writing, with at least width columns.
func (c *vectors) write(own *owner, i, width int) resources.Vector {
	k := c.chunks[i>>chunkBits]
	if k.own != own || k.stride < width {
		k = c.clone(own, i>>chunkBits, width)
	}
	o := (i & chunkMask) * k.stride
	return k.v[o : o+k.stride : o+k.stride]
}

func (c *vectors) clone(own *owner, at, width int) *vectorChunk {
	c.unshare(own)
	old := c.chunks[at]
	n := &vectorChunk{own: own, stride: max(old.stride, width)}
	if n.stride == old.stride {
		n.v = slices.Clone(old.v)
	} else {
		n.v = make([]int64, chunkLen*n.stride)
		for r := range chunkLen {
			copy(n.v[r*n.stride:], old.v[r*old.stride:(r+1)*old.stride])
		}
	}
	c.chunks[at] = n
	return n
}

func (c *vectors) unshare(own *owner) {
	if c.own != own {
		c.chunks, c.own = slices.Clone(c.chunks), own
	}
}

func (c *vectors) grow(own *owner, n int) {
	for len(c.chunks)<<chunkBits < n {
		c.unshare(own)
		c.chunks = append(c.chunks, &vectorChunk{own: own, stride: resources.Scalars, v: make([]int64, chunkLen*resources.Scalars)})
	}
}
