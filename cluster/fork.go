package cluster

// Fork returns a snapshot that is equal to s; later changes of one do not show in the other. Both share everything until one
// of them writes. The first change to a part copies that part (a few kilobytes), so many forks of a large cluster are cheap.
// Marks stay with s. Reads of s and other calls of Fork may run concurrently. Afterwards one goroutine may use and change s, and
// another one the fork. O(1), and after pods came O(their new sets).
func (s *Snapshot) Fork() *Snapshot {
	s.lazy.Lock()
	defer s.lazy.Unlock()
	s.listSets() // once, and not for each fork
	f := &Snapshot{core: s.core, indexes: s.indexes, images: s.images, order: s.order}
	s.own, f.own = &owner{}, &owner{}
	return f
}
