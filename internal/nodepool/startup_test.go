package nodepool

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A taint is listed with its value and its effect: the same key may be one of the pool with another effect.
func TestAgentTaints(t *testing.T) {
	starts := v1.Taint{Key: "example.com/starting", Value: "true", Effect: v1.TaintEffectNoSchedule}
	bare := v1.Taint{Key: "example.com/bare", Effect: v1.TaintEffectNoExecute}
	node := &v1.Node{}
	require.False(t, OfAgent(node, starts))
	marked := &v1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AgentTaints: "example.com/starting=true:NoSchedule,example.com/bare:NoExecute"}}}
	require.True(t, OfAgent(marked, starts))
	require.True(t, OfAgent(marked, bare))
	starts.Effect = v1.TaintEffectNoExecute
	require.False(t, OfAgent(marked, starts))
	require.False(t, OfAgent(marked, v1.Taint{}))
	require.False(t, OfAgent(node, v1.Taint{}))
}
