package spread

import "slices"

// histogramLimit is the size of the histogram of minimum. Larger counts are found by a scan: they mean few domains, which
// are cheap to scan.
const histogramLimit = 4096

// minimum keeps the smallest count of the domains of one constraint while counts change. With its histogram of the counts a
// change by one is O(1). Counts beyond the histogram are found by a scan, and so are counts below 0. A trial
// can make a count negative: it may remove a pod that was never counted.
type minimum struct {
	histogram []int32 // number of domains by count
	inside    int32   // number of domains in the histogram
	below     int32   // number of domains with a negative count
	least     int32   // smallest count in the histogram; valid only while inside > 0
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

// move replaces one domain's count. It enters the new count before it removes the old one, so that the search for the next
// smallest count is short.
func (m *minimum) move(from, to int32) {
	m.enter(to)
	m.leave(from)
}

// of returns the smallest of counts. It leaves out absent domains, and returns 0 when there is no domain.
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
