package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

// A plan does not hold the trials of earlier questions, although the kinds of the victims never come back.
func TestForgetsTrials(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4,memory=8Gi,pods=10").Obj()}})
	require.NoError(t, err)
	p, err := NewPlacer(s, DefaultProfile())
	require.NoError(t, err)
	for k := range 20 {
		victim := testkit.Pod(fmt.Sprint("default/v", k)).Request(fmt.Sprintf("cpu=%dm", 2000+k)).Obj()
		require.NoError(t, s.Assume(victim, 0))
		pod := testkit.Pod(fmt.Sprint("default/p", k)).Request("cpu=3").Priority(1).Obj()
		d := p.Decide(pod, Options{})
		require.Equal(t, preemption.Success, p.Preempt(pod, d.Failure, Options{}, PreemptOptions{}).Outcome)
		require.NoError(t, s.Remove(victim))
	}
	held := 0
	for _, moves := range p.preempter.running.effects {
		if moves != nil {
			held++
		}
	}
	require.Len(t, p.preempter.running.effects, 20)
	require.Equal(t, 1, held, "only the last question's")
}
