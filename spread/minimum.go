package spread

import "slices"

// histogramLimit bounds the counts that minimum keeps by number; larger ones mean few domains, which are cheap to scan.
const histogramLimit = 4096

// minimum keeps the smallest count of the domains of one constraint while counts move. A histogram of the counts makes a
// move by one O(1). Counts below 0 (a what-if that takes away a pod that was not counted) and beyond the histogram are
// found by a scan.
type minimum struct {
	histogram []int32 // domains by count
	inside    int32   // domains in the histogram
	below     int32   // domains with a negative count
	least     int32   // smallest count in the histogram; only valid while inside > 0
}

func (m *minimum) enter(count int32) {
	switch {
	case count < 0:
		m.below++
	case count < histogramLimit:
		if int(count) >= len(m.histogram) {
			m.histogram = append(m.histogram, make([]int32, int(count)+1-len(m.histogram))...)
		}
		m.histogram[count]++
		if m.inside == 0 || count < m.least {
			m.least = count
		}
		m.inside++
	}
}

func (m *minimum) leave(count int32) {
	switch {
	case count < 0:
		m.below--
	case count < histogramLimit:
		m.histogram[count]--
		m.inside--
		if m.inside > 0 {
			for m.histogram[m.least] == 0 {
				m.least++
			}
		}
	}
}

// move replaces one domain's count. Entering first keeps the search for the next smallest short.
func (m *minimum) move(from, to int32) {
	m.enter(to)
	m.leave(from)
}

// of returns the smallest of counts, leaving out the domains that are absent; 0 if there is no domain.
func (m *minimum) of(counts []int32, absent []bool) int32 {
	if m.below == 0 && m.inside > 0 {
		return m.least
	}
	least, found := int32(0), false
	for d, n := range counts {
		if (absent == nil || !absent[d]) && (!found || n < least) {
			least, found = n, true
		}
	}
	return least
}

func (m *minimum) clone() minimum {
	out := *m
	out.histogram = slices.Clone(m.histogram)
	return out
}
