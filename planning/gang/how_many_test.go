package gang_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/internal/testkit/situation/question"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
)

// How many more gangs fit by rack and by node, before and after the running pods are together.
func TestHowMany(t *testing.T) {
	const template = "; group g gang2; pod a,b:2 in=g"
	type test struct {
		name, why, nodes, key string
		most                  int
		want                  gang.Fitting
	}
	parts := func(list ...proof.Part) []proof.Part { return append([]proof.Part{}, list...) }
	testkit.Run(t, []test{
		{"by rack", "pieces of 2 on each node", "node a1:4 rack=r1; node a2:4 rack=r1; node b1:4 rack=r2; pod x:2 on=a1; pod y:2 on=b1", "rack", 9,
			gang.Fitting{Gangs: 1, Domains: parts(proof.Part{Name: "r1", Most: 1})}},
		{"by rack after consolidation", "y has moved to a1", "node a1:4 rack=r1; node a2:4 rack=r1; node b1:4 rack=r2; pod x:2 on=a1; pod y:2 on=a1", "rack", 9,
			gang.Fitting{Gangs: 2, Domains: parts(proof.Part{Name: "r1", Most: 1}, proof.Part{Name: "r2", Most: 1})}},
		{"by node", "a node of 4 takes one", "node a1:4; node a2:5; node b1:3", "kubernetes.io/hostname", 9,
			gang.Fitting{Gangs: 2, Domains: parts(proof.Part{Name: "a1", Most: 1}, proof.Part{Name: "a2", Most: 1})}},
		{"anywhere", "the group has no key", "node a1:4; node a2:5; node b1:3", "", 9, gang.Fitting{Gangs: 2, Domains: parts(proof.Part{Most: 2})}},
		{"none", "nothing fits", "node a1:1", "", 9, gang.Fitting{Domains: parts()}},
		{"cut", "one is enough", "node a1:40", "", 1, gang.Fitting{Gangs: 1, Domains: parts(proof.Part{Most: 1}), Cut: true}},
	}, func(t *testing.T, c test) {
		got, err := gang.HowMany(question.Of(t, c.nodes+template), c.key, c.most, gang.Options{})
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	})
	q := question.Of(t, "node a1:4; node a2:4; group g gang2; pod r:2 in=g on=a1; pod b:2 in=g")
	for pod := range q.Snapshot.Pods(q.Snapshot.Slot("a1")) {
		q.Queued = append(q.Queued, pod)
	}
	got, err := gang.HowMany(q, "kubernetes.io/hostname", 9, gang.Options{})
	require.NoError(t, err)
	require.Equal(t, gang.Fitting{Gangs: 1, Domains: parts(proof.Part{Name: "a2", Most: 1})}, got, "a member that runs is of the template, and keeps its room")
	q = question.Of(t, "node a1:4; node a2:4; group g gang1; pod r:2 in=g on=a1")
	q.Queued = slices.Collect(q.Snapshot.Pods(0))
	got, err = gang.HowMany(q, "", 9, gang.Options{})
	require.NoError(t, err)
	require.Equal(t, 3, got.Gangs, "all members of the template run")
	_, err = gang.HowMany(question.Of(t, "node a1:1"+template), "", 0, gang.Options{})
	require.EqualError(t, err, "gang: most: Invalid value: 0: must be positive")
	_, err = gang.HowMany(question.Of(t, "gates=C; node a1:1; composite job gang1; group g gang1 parent=job; pod a:1 in=g"), "", 1, gang.Options{})
	require.EqualError(t, err, "gang: queued: Unsupported value: a composite group: how many fit is asked of a group alone")
	q = question.Of(t, "node a1:1"+template)
	q.Gates.Claims = true
	shared := *q.Snapshot.Group("d", "g")
	shared.Claims = []podgroup.Claim{{Name: "c", ClaimName: "c"}}
	require.NoError(t, q.Snapshot.Set(&shared))
	_, err = gang.HowMany(q, "", 1, gang.Options{})
	require.EqualError(t, err, "gang: queued: Unsupported value: a group with resourceClaims: nobody makes the claims of more groups")
	_, err = gang.HowMany(proof.Question{}, "", 1, gang.Options{})
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
}
