package devices

// SetPatience sets after how many steps a search looks ahead.
func (a *Allocator) SetPatience(steps int) { a.patience = steps }

// Steps returns the steps of the last search.
func (s *Search) Steps() int { return s.bound.steps }

// Full and FullFreeing are what On and Freeing return, with all methods.
type (
	Full        = state
	FullFreeing = freeing
)

// Onto is On.
func (p *Pod) Onto(c Cluster, a *Allocator, clock Clock) *state { return p.on(c, a, clock) }

// Frees is Freeing.
func (s *state) Frees(objects Objects) *freeing { return &freeing{s, objects} }
