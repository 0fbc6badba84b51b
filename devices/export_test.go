package devices

// SetPatience sets after how many steps a search looks ahead.
func (a *Allocator) SetPatience(steps int) { a.patience = steps }

// Steps returns the steps of the last search.
func (s *Search) Steps() int { return s.bound.steps }
