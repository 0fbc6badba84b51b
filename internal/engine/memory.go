package engine

import "slices"

// Memory keeps lists of counts of states that nobody uses any more, for states that are made later. The zero value is empty and ready to use. A nil Memory
// keeps nothing. A Memory must not be copied and is not safe for concurrent use.
type Memory struct{ lists [][]int32 }

const maxLists = 1 << 5

// Counts returns n counts of 0.
func (m *Memory) Counts(n int) []int32 {
	if m != nil {
		for k, list := range m.lists {
			if n <= cap(list) && cap(list) <= 2*n {
				m.lists = slices.Delete(m.lists, k, k+1)
				clear(list[:n])
				return list[:n]
			}
		}
	}
	return make([]int32, n)
}

// Keep takes a list that nobody else has. Beyond a limit the list that was kept first goes.
func (m *Memory) Keep(list []int32) {
	if m == nil || cap(list) == 0 {
		return
	}
	if len(m.lists) == maxLists {
		m.lists = slices.Delete(m.lists, 0, 1)
	}
	m.lists = append(m.lists, list)
}
