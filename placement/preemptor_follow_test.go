package placement

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/view"
	"github.com/podberth/podberth/preemption"
)

// Other rejections replace those of nodes that no filter rejected, in a copy.
func TestReplacedRejections(t *testing.T) {
	x := &preempter{rejections: []preemption.Rejection{preemption.Failed}}
	kept := []preemption.Rejection{preemption.Fits, preemption.Resolvable, preemption.Fits}
	by := map[int]preemption.Rejection{-1: preemption.Failed, 0: preemption.Unresolvable, 1: preemption.Failed, 3: preemption.Failed}
	for range 2 {
		require.Equal(t, []preemption.Rejection{preemption.Unresolvable, preemption.Resolvable, preemption.Fits}, x.replaced(kept, by))
	}
	require.Equal(t, []preemption.Rejection{preemption.Fits, preemption.Resolvable, preemption.Fits}, kept)
}

// What is kept for a kind of preemptors is asked again for the nodes that changed. It is asked again for all nodes after a change of the
// filters, of what they have counted, or of more than nodes, and when the log does not reach back.
func TestPreemptorFollows(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	require.NoError(t, s.Remove(s.Node(1)))
	attempt := func(names ...string) (a *Attempt, asked *int) {
		asked = new(int)
		var profile Profile
		for _, name := range names {
			profile.Filters = append(profile.Filters, &Plugin{Name: name, Filter: func(*v1.Pod, Cluster) PreFiltered { return PreFiltered{Predicate: asking{nothing{name}, asked}} }})
		}
		p, err := New(s, profile)
		require.NoError(t, err)
		return p.Prepare(testkit.Pod("p").Obj()), asked
	}
	one, oneAsked := attempt("One")
	two, twoAsked := attempt("One", "Two")
	other, otherAsked := attempt("Two", "One")
	log := changes{}
	add := func(e ...cluster.Event) { log.events = append(log.events, e...) }
	x := &preemptor{}
	var changed, others uint64
	type test struct {
		name, why     string
		event         func()
		state         uint64
		a             *Attempt
		asked         *int
		want          int
		changed, made bool // the numbers that grow
	}
	const all = 4
	testkit.Run(t, []test{
		{"first", "nothing is known", func() {}, 1, one, oneAsked, all, true, true},
		{"same", "nothing has changed", func() {}, 1, one, oneAsked, 0, false, false},
		{"node", "a node has changed", func() { add(cluster.Event{Node: 2}, cluster.Event{Node: 0}) }, 1, one, oneAsked, 2, false, false},
		{"again", "the change is known", func() {}, 1, one, oneAsked, 0, false, false},
		{"free slot", "nobody is asked about it", func() { add(cluster.Event{Node: 1}) }, 1, one, oneAsked, 0, false, false},
		{"other objects", "no filter of such pods reads them", func() { add(cluster.Event{Node: view.Storage}, cluster.Event{Node: view.Unread}) }, 1, one, oneAsked, 0, false, false},
		{"everything", "ids have other meanings", func() { add(cluster.Event{Node: -1}) }, 1, one, oneAsked, all, true, true},
		{"node after everything", "all nodes are asked about", func() { add(cluster.Event{Node: -1}, cluster.Event{Node: 0}) }, 1, one, oneAsked, all, true, true},
		{"state", "other counts", func() {}, 2, one, oneAsked, all, true, true},
		{"state and node", "other counts", func() { add(cluster.Event{Node: 0}) }, 3, one, oneAsked, all, true, true},
		{"more filters", "another list", func() {}, 3, two, twoAsked, 2 * all, true, true},
		{"order", "a rejection has the place of its filter", func() {}, 3, other, otherAsked, 2 * all, true, true},
		{"same filters", "nothing has changed", func() {}, 3, other, otherAsked, 0, false, false},
		{"behind the log", "its events are gone", func() { add(cluster.Event{Node: 0}); x.cursor.Version = 2 }, 3, other, otherAsked, 2 * all, true, true},
		{"nodes", "there are more slots", func() { x.rejections = x.rejections[:3] }, 3, other, otherAsked, 2 * all, true, true},
		{"rejection", "a node has another answer than before", func() { x.rejections[0] = preemption.Failed; add(cluster.Event{Node: 0}) }, 3, other, otherAsked, 2, true, false},
	}, func(t *testing.T, c test) {
		c.event()
		*c.asked = 0
		x.follow(c.state, c.a, log)
		require.Equal(t, c.want, *c.asked)
		require.Equal(t, c.changed, x.changes > changed)
		require.Equal(t, c.made, x.others > others)
		changed, others = x.changes, x.others
		require.Equal(t, []preemption.Rejection{preemption.Fits, preemption.Unresolvable, preemption.Fits, preemption.Fits, preemption.Fits}, x.rejections)
	})
}
