package filter

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/resources"
)

// What PreFilters return is the caller's: a later answer, or a write of the caller, does not change it.
func TestPreFiltersShareNothing(t *testing.T) {
	var f PreFilters
	for _, name := range []string{"A", "B", "C"} { // the list has room for one more
		f.Add(PreFilterResult{Plugin: name, Nodes: []string{"n"}})
	}
	require.Equal(t, []string{"node(s) didn't satisfy plugin(s) [A B C D]"}, f.LeftOut("D"))
	require.Equal(t, []string{"node(s) didn't satisfy plugin(s) [A B C]"}, f.LeftOut())
	f.Add(PreFilterResult{Plugin: "D", Code: Unschedulable})
	first := f.Rejecters()
	require.Equal(t, []string{"D", "A", "B", "C"}, first)
	first[0] = "x"
	require.Equal(t, []string{"D", "A", "B", "C"}, f.Rejecters())
	f.Add(PreFilterResult{Plugin: "E", Nodes: []string{}})
	require.Equal(t, []string{"A", "B", "C", "E"}, f.Rejecters())
	f.Rejecters()[0] = "x"
	require.Equal(t, []string{"node(s) didn't satisfy plugin(s) [A B C E]"}, f.LeftOut(), "plugins that narrowed, not plugins that rejected")

	for _, code := range []Code{Unschedulable, UnschedulableAndUnresolvable} {
		var alone PreFilters // nothing narrowed
		alone.Add(PreFilterResult{Plugin: "D", Code: code})
		alone.Rejecters()[0] = "x"
		require.Equal(t, []string{"D"}, alone.Rejecters())
	}
}

// reusing is a predicate that fills one list with the reasons of each node.
type reusing struct {
	fixed
	list []string
}

func (r *reusing) Partial(resources.Verdict) bool { return true }
func (r *reusing) ReasonsAt(i int) []string {
	r.list[0] = [...]string{"odd", "even"}[i%2]
	return r.list
}

// A histogram keeps reasons, not the list in which it got them.
func TestHistogramKeepsReasons(t *testing.T) {
	ps := Predicates{&reusing{fixed: fixed{"A", []resources.Verdict{1, 1, 1}, nil}, list: make([]string, 1)}}
	var h Histogram
	for i := range 3 {
		h.Add(ps, Rejection{Predicate: 0, Verdict: 1}, i, 1)
	}
	require.Equal(t, []Count{{"even", 1}, {"odd", 2}}, h.Counts(ps))
}

// A conflict names the pod that holds the port.
func TestHolderOfPort(t *testing.T) {
	used := withPorts(pod("used"), port("", "", 80))
	got := CompilePorts(withPorts(pod("want"), port("", "", 80))).On(newWorld(node("n")).put(0, used)).Explain(0)
	require.Len(t, got, 1)
	require.Same(t, used, got[0].Holder)
}
