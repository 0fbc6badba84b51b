package consolidation

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// One planner makes several plans at the same time, and each is the plan that it makes alone.
func TestConcurrentPlans(t *testing.T) {
	p := large(20, 3).planner(t)
	testkit.Together(t, func() (*Plan, error) { return p.Plan(Options{Steps: 20}) })
}
