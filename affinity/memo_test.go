package affinity_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// TestAppendKeyTerms holds that the key names the terms of running pods that match the pod, also where a running pod has more
// terms than a word has bits.
func TestAppendKeyTerms(t *testing.T) {
	const terms = 130
	running := testkit.Pod("running").On("n1")
	for k := range terms {
		running = running.RequireApart(v1.LabelHostname, fmt.Sprintf("tier=%d", k))
	}
	snapshot, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n1").Obj()}, Pods: []*v1.Pod{running.Obj()}})
	require.NoError(t, err)
	keys := map[string]bool{}
	for k := range terms + 1 { // no term matches the last pod
		e, err := affinity.CompilePods(testkit.Pod("web").Labels(fmt.Sprintf("tier=%d", k)).Obj(), affinity.PodOptions{})
		require.NoError(t, err)
		key, matched := e.AppendKey(nil, nil, snapshot, nil)
		require.False(t, keys[string(key)], "the pod that term %d matches has the key of another pod", k)
		keys[string(key)] = true
		require.Equal(t, k < terms, len(matched) == 1)
	}
}
