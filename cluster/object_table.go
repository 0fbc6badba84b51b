package cluster

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// table holds objects sorted by space (a namespace, "" for cluster-wide kinds) and name. Forks share a space until one of
// them writes to it.
type table[T any] struct {
	own    *owner
	spaces map[string]*space[T]
	n      int
}

type space[T any] struct {
	own   *owner
	items []tableItem[T]
}

type tableItem[T any] struct {
	name string
	obj  T
}

func (t *table[T]) get(in, name string) (obj T, ok bool) {
	if b := t.spaces[in]; b != nil {
		if i, ok := b.search(name); ok {
			return b.items[i].obj, true
		}
	}
	return obj, false
}

func (b *space[T]) search(name string) (int, bool) {
	return slices.BinarySearchFunc(b.items, name, func(x tableItem[T], name string) int { return strings.Compare(x.name, name) })
}

func (t *table[T]) write(own *owner, in string) *space[T] {
	if t.own != own {
		t.spaces, t.own = maps.Clone(t.spaces), own
		if t.spaces == nil {
			t.spaces = map[string]*space[T]{}
		}
	}
	b := t.spaces[in]
	switch {
	case b == nil:
		b = &space[T]{own: own}
		t.spaces[in] = b
	case b.own != own:
		b = &space[T]{own: own, items: slices.Clone(b.items)}
		t.spaces[in] = b
	}
	return b
}

// put adds or replaces an object and returns the object that was there.
func (t *table[T]) put(own *owner, in, name string, obj T) (old T, had bool) {
	b := t.write(own, in)
	i, had := b.search(name)
	if had {
		old, b.items[i].obj = b.items[i].obj, obj
		return old, true
	}
	b.items = slices.Insert(b.items, i, tableItem[T]{name, obj})
	t.n++
	return old, false
}

// remove deletes an object and returns it.
func (t *table[T]) remove(own *owner, in, name string) (old T, had bool) {
	if _, ok := t.get(in, name); !ok {
		return old, false
	}
	b := t.write(own, in)
	i, _ := b.search(name)
	old = b.items[i].obj
	b.items = slices.Delete(b.items, i, i+1)
	t.n--
	if len(b.items) == 0 {
		delete(t.spaces, in)
	}
	return old, true
}

func (t *table[T]) in(space string) iter.Seq[T] {
	return func(yield func(T) bool) {
		if b := t.spaces[space]; b != nil {
			for i := range b.items {
				if !yield(b.items[i].obj) {
					return
				}
			}
		}
	}
}

func (t *table[T]) all() iter.Seq[T] {
	if t.n == 0 {
		return func(func(T) bool) {}
	}
	return func(yield func(T) bool) {
		for _, in := range slices.Sorted(maps.Keys(t.spaces)) {
			for _, x := range t.spaces[in].items {
				if !yield(x.obj) {
					return
				}
			}
		}
	}
}

// Lookup reads the objects of one kind; List makes it. It always shows the current state of the snapshot. The snapshot must
// not change during a call or an iteration.
type Lookup[T any] struct{ t *table[T] }

// Get returns the object with that namespace ("" for cluster-wide kinds) and name. It returns the zero T and false when
// there is no such object. O(log objects of the namespace).
func (l Lookup[T]) Get(namespace, name string) (T, bool) { return l.t.get(namespace, name) }

// In yields the objects of a namespace by name.
func (l Lookup[T]) In(namespace string) iter.Seq[T] { return l.t.in(namespace) }

// All yields the objects by namespace and name.
func (l Lookup[T]) All() iter.Seq[T] { return l.t.all() }
