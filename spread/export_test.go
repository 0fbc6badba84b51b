package spread

// Hint is the hint, for the tests.
var Hint = hint

// count is Count with a state that tests may look into.
func (h *hardEvaluator) count(c Cluster) *hardState { return h.counted(c, nil) }

// count is Count with a state that tests may look into.
func (p *softEvaluator) count(c Cluster) *softState { return p.counted(c, nil) }
