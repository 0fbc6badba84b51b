package cluster

import "math/bits"

// hashTable is a collection of entries, found by hash. It has no pointers, so the garbage collector does not read it. Entries
// stand at the position of their hash or in the places that follow, without a gap.
type hashTable struct {
	at   []hashEntry // a power of two, more than a third of it free
	mask uint32
	n    int // number of entries
}

type hashEntry struct {
	hash uint32
	slot int32 // plus 1; 0 marks a free place
}

// newHashTable returns a table with room for n entries.
func newHashTable(n int) hashTable {
	return tableOf(1 << bits.Len(uint(n+n/2)))
}

func tableOf(places int) hashTable {
	return hashTable{at: make([]hashEntry, places), mask: uint32(places - 1)}
}

func (t *hashTable) first(hash uint32) uint32 { return hash & t.mask }

func (t *hashTable) next(i uint32) uint32 { return (i + 1) & t.mask }

func (t *hashTable) has(e hashEntry) bool {
	for i := t.first(e.hash); t.at[i].slot != 0; i = t.next(i) {
		if t.at[i] == e {
			return true
		}
	}
	return false
}

// add adds an entry, also one that the table has.
func (t *hashTable) add(e hashEntry) {
	if 3*(t.n+1) > 2*len(t.at) {
		t.grow()
	}
	t.put(e)
	t.n++
}

func (t *hashTable) grow() {
	larger := tableOf(2 * len(t.at))
	larger.n = t.n
	for _, e := range t.at {
		if e.slot != 0 {
			larger.put(e)
		}
	}
	*t = larger
}

func (t *hashTable) put(e hashEntry) {
	i := t.first(e.hash)
	for t.at[i].slot != 0 {
		i = t.next(i)
	}
	t.at[i] = e
}

// remove removes an entry once, if the table has it, and closes the gap.
func (t *hashTable) remove(e hashEntry) {
	gap := t.first(e.hash)
	for ; t.at[gap] != e; gap = t.next(gap) {
		if t.at[gap].slot == 0 {
			return
		}
	}
	for i := t.next(gap); t.at[i].slot != 0; i = t.next(i) {
		if (i-t.at[i].hash)&t.mask >= (i-gap)&t.mask { // the gap is not before the position of its hash
			t.at[gap], gap = t.at[i], i
		}
	}
	t.at[gap] = hashEntry{}
	t.n--
}
