package estimate

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The way decides the cost, not the answer.
func TestWays(t *testing.T) {
	worker := func() testkit.PodBuilder { return testkit.Pod("w").Labels("app=w").Request("cpu=1") }
	leader := func() testkit.PodBuilder { return testkit.Pod("l").Labels("app=l").Request("cpu=1") }
	type test struct {
		name, why      string
		worker, leader *v1.Pod
		alone, beside  way
		repels         bool
	}
	testkit.Run(t, []test{
		{"requests", "copies take nothing but resources", worker().Obj(), leader().Obj(), byArithmetic, byArithmetic, false},
		{"apart", "the first copy keeps the next one off", worker().RequireApart(host, "app=w").Obj(), leader().Obj(), byTrial, byTrial, false},
		{"port", "the first copy has the port", worker().HostPort("", v1.ProtocolTCP, 80).Obj(), leader().Obj(), byTrial, byTrial, false},
		{"spread", "each copy counts", worker().Spread(3, host, v1.DoNotSchedule, "app=w").Obj(), leader().Obj(), byTrial, byTrial, false},
		{"spread over zones", "the caller chooses the zone: the first copy is asked about", worker().Spread(3, zone, v1.DoNotSchedule, "app=w").Obj(), leader().Obj(), byArithmetic, byArithmetic, false},
		{"leader apart from leaders", "its terms do not select workers", worker().Obj(), leader().RequireApart(host, "app=l").Obj(), byArithmetic, byArithmetic, false},
		{"leader apart from workers", "a worker has no terms, so that its filter of inter-pod affinity does not look", worker().Obj(), leader().RequireApart(host, "app=w").Obj(), byArithmetic, byArithmetic, true},
		{"disk", "each copy has a claim, and takes of what the next one finds", withDisk(worker().Obj()), leader().Obj(), byPlacing, byPlacing, false},
		{"leader with a disk", "the leader has a claim", worker().Obj(), withDisk(leader().Obj()), byArithmetic, byPlacing, false},
	}, func(t *testing.T, c test) {
		o, _, _ := random(testkit.NewBytes(nil))
		for i, n := range o.Nodes {
			n.Labels[zone] = "abab"[i%2 : i%2+1]
		}
		o.Nodes = append(o.Nodes, testkit.Node("more").Zone("a").Capacity("cpu=8,pods=10").Obj())
		e := newEstimator(t, o)
		defer e.snapshot.Rollback(e.snapshot.Mark())
		got, err := e.counter(Question{Worker: c.worker, Leader: c.leader})
		require.NoError(t, err)
		require.Equal(t, c.alone, got.alone, "alone")
		require.Equal(t, c.beside, got.beside, "beside")
		require.Equal(t, c.repels, got.repels != nil, "repels")
		require.Equal(t, c.alone != byPlacing, got.worker.later.steady())
	})
}
