package preemption_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release"
)

// Two budgets select one victim: v1.37 charges none after the first that breaks, in the order of their names.
func TestBudgetsOfReleases(t *testing.T) {
	type test struct {
		name, why   string
		none, one   string // names of the budgets without room and with room for one victim
		until, then string
	}
	testkit.Run(t, []test{
		{"L8.11", "budget a breaks first, so that b keeps room for the victim", "a", "b", "n2: dear", "n1: low"},
		{"L8.11 other order", "the budget with room is charged first", "b", "a", "n2: dear", "n2: dear"},
	}, func(t *testing.T, c test) {
		for _, v := range release.Versions() {
			want := c.until
			if v.AtLeast(release.V1_37) {
				want = c.then
			}
			s := parts(node("n1", "4"), node("n2", "4"), pod("high", 2, "2", "n1").Labels("app=x,tier=y").Obj(), pod("low", 1, "2", "n1").Labels("app=x").Obj(),
				pod("dear", 5, "4", "n2").Obj(), budget(c.none, "tier=y", 0), budget(c.one, "app=x", 1)).with(preemption.Options{Release: v})
			p := pod("p", 10, "2", "").Obj()
			require.Equal(t, want, shown(s.preempt(t, p)), v)
			slices.Reverse(s.budgets)
			require.Equal(t, want, shown(s.preempt(t, p)), "%s: the order of the list decides nothing", v)
		}
	})
}
