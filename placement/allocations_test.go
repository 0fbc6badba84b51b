package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// A decision about a pod like one before takes memory once, for its predicates.
func TestDecisionTakesLittleMemory(t *testing.T) {
	testkit.CountsWork(t)
	s, pods := benchCluster(t, 0, 200, 1), [20]*v1.Pod{}
	p, err := New(s, benchProfile())
	require.NoError(t, err)
	for k := range pods {
		pods[k] = testkit.Pod(fmt.Sprint("p", k)).Labels("app=x").Request("cpu=100m").Obj()
		require.True(t, p.Decide(pods[k], Options{}).Placed())
	}
	k := 0
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		p.Decide(pods[k%len(pods)], Options{})
		k++
	}), 1.0)
}
