package estimate

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// compare holds the answers about a random cluster against those of placing every copy.
func compare(t *testing.T, data []byte) {
	b := testkit.NewBytes(data)
	o, worker, leader := random(b)
	if b.OneIn(4) {
		leader = nil
	}
	e := newEstimator(t, o)
	q := Question{Worker: worker, Leader: leader, Domains: Domains(b.Below(2)), Limit: b.Below(6)}
	if b.OneIn(4) {
		q.Free = func(node string) v1.ResourceList { return testkit.Resources("cpu=3,memory=2Gi,example.com/gpu=1") }
	}
	before := e.snapshot.Version()
	got, err := e.PerNode(q)
	require.NoError(t, err)

	defer e.snapshot.Rollback(e.snapshot.Mark())
	slots, err := e.slots(nil)
	require.NoError(t, err)
	for _, i := range slots {
		if q.Free != nil {
			require.NoError(t, e.free(i, q.Free))
		}
	}
	c, err := e.counter(q)
	require.NoError(t, err)
	c.alone, c.beside = byPlacing, byPlacing
	for k, i := range slots {
		want, err := c.count(i)
		require.NoError(t, err)
		require.Equal(t, want, got[k], "before version %d", before)
	}
}

// Arithmetic and trials count what placing counts, to the last text.
func TestPerNodeIsPlacing(t *testing.T) {
	for seed := range uint64(testkit.Rounds(1000)) {
		compare(t, testkit.RandomBytes(seed, 200))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzPerNode(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(testkit.RandomBytes(seed, 200))
	}
	f.Fuzz(compare)
}

// Feasible has the nodes that an attempt allows, and one reason for each of the others.
func TestFeasibleIsTheFilters(t *testing.T) {
	for seed := range uint64(testkit.Rounds(400)) {
		o, pod, _ := random(testkit.NewBytes(testkit.RandomBytes(seed, 200)))
		if len(pod.Spec.ResourceClaims) > 0 || len(pod.Spec.Volumes) > 0 {
			continue // the claims are made in the question
		}
		e := newEstimator(t, o)
		answer, err := e.Feasible(pod, nil)
		require.NoError(t, err)
		var want []string
		for _, i := range e.placer.Prepare(pod).Search(placement.Options{Scored: true}).Feasible {
			want = append(want, e.snapshot.Node(i).Name)
		}
		require.Equal(t, want, answer.Nodes, "seed %d", seed)
		refused := 0
		for _, r := range answer.Refused {
			require.NotEmpty(t, r.Plugin)
			require.NotEmpty(t, r.Reason)
			refused += r.Nodes
		}
		require.Equal(t, len(o.Nodes), len(answer.Nodes)+refused, "seed %d", seed)
	}
}
