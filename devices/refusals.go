package devices

// refusal is why a device was not taken.
type refusal uint8

const (
	inUse refusal = iota
	notSelected
	noCapacity
	noCounters
	tainted
	unconstrained
	refusals
)

// tally counts the reasons of refusals by request.
type tally struct{ counts [][refusals]int }

func (s *Search) refuse(r *request, why refusal) (bool, outcome) {
	if s.tally != nil {
		s.tally.counts[r.id][why]++
	}
	return false, failed
}
