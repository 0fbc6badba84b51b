package placement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// rowReader is a score of nothing that counts the rows that it reads.
type rowReader struct{ rows *int }

func (x rowReader) Raw(int) int64 { *x.rows++; return 0 }

// A gang that waits for room gets the decision that asking node by node gives, whether a member looks at a part of the nodes or at all. A gang like
// one before reads the rows of few nodes.
func TestWaitingGang(t *testing.T) {
	testkit.CountsWork(t)
	const nodes = 200
	for name, sampling := range map[string]filter.Sampling{"part": {}, "all": placement.AllNodes()} {
		t.Run(name, func(t *testing.T) {
			s, snapshot, _, o := groupSnapshot(t, waitingGang(nodes))
			rows := 0
			placer := func(keep placement.Keep) *placement.Placer {
				profile := s.Profile()
				profile.Sampling = sampling
				profile.Scores = append(profile.Scores, placement.Weighted{Weight: 1, Plugin: &placement.Plugin{
					Name: "Reads", Keep: keep, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
					Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) { return rowReader{&rows}, nil },
				}})
				p, err := placement.NewPlacer(snapshot, profile)
				require.NoError(t, err)
				return p
			}
			kept := placer(placement.KeepByNodeAndPods)
			for round := range 6 {
				before := rows
				d := kept.DecideGroup(s.Queued, o)
				if round == 0 {
					require.GreaterOrEqual(t, rows-before, nodes, "every node is new")
				}
				if round > 1 {
					require.Less(t, rows-before, nodes/2, "round %d", round)
				}
				require.Equal(t, filter.Unschedulable, d.Code)
				require.Equal(t, told(placer(placement.KeepNothing).DecideGroup(s.Queued, o)), told(d), "round %d", round)
				o.Next = d.Next
				pod := testkit.Pod(fmt.Sprint("more", round)).Request("cpu=2").On(fmt.Sprint("n", 30*round)).Obj()
				require.NoError(t, snapshot.Set(pod))
			}
		})
	}
}
