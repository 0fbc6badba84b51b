package optimal_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/preemption/optimal"
	"github.com/podberth/podberth/resources"
)

// failing is the default profile with a filter that fails for one pod.
func failing(name string) placement.Profile {
	p := placement.DefaultProfile()
	p.Filters = append(p.Filters, &placement.Plugin{Name: "Fails", Filter: func(pod *v1.Pod, _ placement.Cluster) placement.PreFiltered {
		if pod.Name == name {
			return placement.PreFiltered{Code: filter.Error, Reasons: []string{"it fails"}}
		}
		return placement.PreFiltered{}
	}})
	return p
}

// The error of a filter is that of the answer.
func TestFilterFails(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "4")}, pods: []*v1.Pod{web("a", 1, "4", "n1")}}
	pod := testkit.Pod("p").Priority(100).Request("cpu=4").Obj()
	g := s.gang(t, testkit.Pod("g1").Priority(100).Request("cpu=4").Obj(), pod)
	g.Profile = failing("p")
	_, err := optimal.PlaceGang(g, optimal.Options{})
	require.ErrorContains(t, err, "it fails")

	snapshot, _ := s.comeback(t)
	c, err := optimal.NewComeback(snapshot, failing("a"))
	require.NoError(t, err)
	leaves := preemption.Candidate{Slot: snapshot.Slot("n1"), Node: "n1", Victims: []preemption.Victim{{Placed: preemption.Placed{Pod: s.pods[0]}}}}
	_, err = c.After(pod, leaves, placement.PreemptOptions{})
	require.ErrorContains(t, err, "it fails")
	c, err = optimal.NewComeback(snapshot, placement.Profile{})
	require.NoError(t, err)
	_, err = c.After(s.pods[0], preemption.Candidate{}, placement.PreemptOptions{})
	require.Error(t, err, "the preemptor runs already")
	leaves.Victims[0].Pod = testkit.Pod("unknown").On("n1").Obj()
	_, err = c.After(pod, leaves, placement.PreemptOptions{})
	require.Error(t, err, "no such victim runs")
}

// failingFrom is the default profile with a filter that fails from the nth time on that it is asked. asked counts.
func failingFrom(n int, asked *int) placement.Profile {
	p := placement.DefaultProfile()
	p.Filters = append(p.Filters, &placement.Plugin{Name: "Fails", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		if *asked++; *asked >= n {
			return placement.PreFiltered{Code: filter.Error, Reasons: []string{"it fails"}}
		}
		return placement.PreFiltered{}
	}})
	return p
}

// An error that begins with any of the decisions about a gang, or about the victims that come back, is that of the answer.
func TestFilterFailsAnyTime(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "4")}, pods: []*v1.Pod{
		web("a", 1, "2", "n1"), web("b", 2, "2", "n1"), web("c", 3, "1", "n2"), web("d", 3, "3", "n2"),
	}}
	whole := func(name string) *v1.Pod { return testkit.Pod(name).Priority(100).Request("cpu=3").Obj() }
	ends := func(ask func(n int, asked *int) error) {
		for n := 1; ; n++ {
			asked := 0
			err := ask(n, &asked)
			if asked < n {
				require.NoError(t, err)
				require.Greater(t, n, 3)
				return
			}
			require.ErrorContains(t, err, "it fails", "from decision %d on", n)
		}
	}
	ends(func(n int, asked *int) error {
		g := s.gang(t, whole("g1"), whole("g2"))
		g.Profile = failingFrom(n, asked)
		p, err := optimal.PlaceGang(g, optimal.Options{})
		require.Equal(t, err == nil, p.Placed)
		return err
	})
	snapshot, _ := s.comeback(t)
	leaves := preemption.Candidate{Slot: snapshot.Slot("n2"), Node: "n2", Victims: []preemption.Victim{{Placed: preemption.Placed{Pod: s.pods[2]}}, {Placed: preemption.Placed{Pod: s.pods[3]}}}}
	ends(func(n int, asked *int) error {
		c, err := optimal.NewComeback(snapshot, failingFrom(n, asked))
		require.NoError(t, err)
		all, err := c.After(whole("p"), leaves, placement.PreemptOptions{Now: now})
		require.Equal(t, err == nil, all != nil)
		return err
	})
}

// The errors of a profile say where it is used.
func TestProfileErrors(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "4")}}
	snapshot, _ := s.comeback(t)
	devices := placement.Profile{Devices: tracker.New(snapshot, tracker.Of(snapshot))}
	const want = "optimal: profile.Devices: Forbidden: the search has devices of its own"
	_, err := optimal.NewComeback(snapshot, devices)
	require.EqualError(t, err, want)
	g := s.gang(t, testkit.Pod("g").Obj())
	g.Profile = devices
	_, err = optimal.PlaceGang(g, optimal.Options{})
	require.EqualError(t, err, want)
}

// Cost decides about a victim once, as long as the snapshot stays as it is.
func TestCostIsKept(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "4"), node("n2", "4")}, pods: []*v1.Pod{web("a", 1, "4", "n1"), web("b", 1, "4", "n2")}}
	snapshot, _ := s.comeback(t)
	asked := 0
	back, err := optimal.NewComeback(snapshot, failingFrom(math.MaxInt, &asked))
	require.NoError(t, err)
	cost := back.Cost(optimal.Costs{Homeless: 3})
	a := preemption.Placed{Pod: s.pods[0], Slot: snapshot.Slot("n1")}
	require.EqualValues(t, 3, cost(a))
	first := asked
	require.Positive(t, first)
	require.EqualValues(t, 3, cost(a))
	require.Equal(t, first, asked)
	require.NoError(t, snapshot.Remove(s.pods[1]))
	require.Zero(t, cost(a))
	second := asked
	require.Greater(t, second, first)
	require.Zero(t, cost(a))
	require.Equal(t, second, asked)
	_, empty := situation{}.comeback(t)
	require.EqualValues(t, 3, empty.Cost(optimal.Costs{Homeless: 3})(a), "a cluster that never changed")
}

// An error that comes once ends the work on a gang, whichever decision it belongs to.
func TestFilterFailsOnce(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "4")}, pods: []*v1.Pod{web("a", 1, "4", "n1")}}
	for n := 1; ; n++ {
		asked := 0
		g := s.gang(t, testkit.Pod("g").Priority(100).Request("cpu=4").Obj())
		g.Profile = placement.DefaultProfile()
		g.Profile.Filters = append(g.Profile.Filters, &placement.Plugin{Name: "Fails", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
			if asked++; asked == n {
				return placement.PreFiltered{Code: filter.Error, Reasons: []string{"it fails"}}
			}
			return placement.PreFiltered{}
		}})
		_, err := optimal.PlaceGang(g, optimal.Options{})
		if asked < n {
			require.NoError(t, err)
			require.Greater(t, n, 3)
			return
		}
		require.ErrorContains(t, err, "it fails", "decision %d", n)
	}
}

// failsInTrials is a filter that allows every node. It fails when it is asked about a node without some pods.
type failsInTrials struct{}

func (failsInTrials) Name() string                       { return "FailsInTrials" }
func (failsInTrials) Check(int) resources.Verdict        { return 0 }
func (failsInTrials) Reasons(resources.Verdict) []string { return []string{"it fails"} }
func (failsInTrials) Code(resources.Verdict) filter.Code { return filter.Error }
func (failsInTrials) NewTrial() filter.Trial             { return failingTrial{} }

type failingTrial struct{}

func (failingTrial) Check(int) resources.Verdict { return 1 }
func (failingTrial) Add(*v1.Pod, int)            {}
func (failingTrial) Remove(*v1.Pod, int)         {}
func (failingTrial) Reset()                      {}

// An error in the search of victims for a gang is that of the answer, even if the gang would fit without pods of lower priority.
func TestSearchOfAGangFails(t *testing.T) {
	s := situation{nodes: []*v1.Node{node("n1", "4")}, pods: []*v1.Pod{web("a", 1, "4", "n1")}}
	g := s.gang(t, testkit.Pod("g").Priority(100).Request("cpu=4").Obj())
	g.Profile = placement.DefaultProfile()
	g.Profile.Filters = append(g.Profile.Filters, &placement.Plugin{Name: "FailsInTrials", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		return placement.PreFiltered{Predicate: failsInTrials{}}
	}})
	_, err := optimal.PlaceGang(g, optimal.Options{})
	require.ErrorContains(t, err, "it fails")
}
