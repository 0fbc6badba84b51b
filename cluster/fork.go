package cluster

// Fork returns a snapshot that is equal to this one and goes its own way from here on. Both share everything until one
// of them writes: the first change to a part copies that part (a few kilobytes), so that many forks of a large cluster are
// cheap. Marks stay with the original. Fork is a write on the original, which must not be used by anybody else meanwhile;
// afterwards the two may be used, and changed, independently of each other, by different goroutines too. O(1).
func (s *Snapshot) Fork() *Snapshot {
	f := &Snapshot{core: s.core, indexes: s.indexes, images: s.images, order: s.order}
	s.own, f.own = &owner{}, &owner{}
	return f
}
