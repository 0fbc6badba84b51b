package taint

import (
	"testing"
	"time"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods are in the order of their namespaces, and in a namespace in that of their names.
func TestCompareNames(t *testing.T) {
	order := []types.NamespacedName{{Namespace: "a", Name: "y"}, {Namespace: "a", Name: "z"}, {Namespace: "b", Name: "x"}}
	for i, a := range order {
		for k, b := range order {
			c := compareNames(a, b)
			require.Equal(t, []bool{i < k, i == k, i > k}, []bool{c < 0, c == 0, c > 0}, "%s and %s", a, b)
		}
	}
}

// A heap of timers keeps no pod behind its end.
func TestHeapLetsGo(t *testing.T) {
	h := &dueHeap{}
	h.Push(due{fire: at(1), pod: &podTimer{}})
	h.Pop()
	require.Equal(t, due{}, (*h)[:1][0])
}

// A bucket without a rate never has a token; a bucket with one has a token at once, and the next after its period.
func TestTokens(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	none := newTokenBucket(0, start)
	require.False(t, none.Would(start.Add(time.Hour)))
	require.False(t, none.Accept(start.Add(time.Hour)))
	_, ok := none.Next(start)
	require.False(t, ok)
	b := newTokenBucket(0.1, start)
	require.True(t, b.Would(start))
	require.True(t, b.Accept(start))
	require.False(t, b.Would(start.Add(9*time.Second)))
	at, ok := b.Next(start)
	require.True(t, ok)
	require.WithinDuration(t, start.Add(10*time.Second), at, time.Microsecond)
	require.True(t, b.Would(at))
}

// The timers and a forecast look at the objects as they were given: a later write of the caller changes no deadline, and a forecast
// writes into no node.
func TestNothingIsShared(t *testing.T) {
	timers := NewTimers(Options{})
	p := podOn("n", "p", tolerationsOf("x:300"))
	timers.SetPod(p, start)
	*p.Spec.Tolerations[0].TolerationSeconds = 1
	timers.SetNode(nodeWith("n", taintsOf("x")), start)
	next, ok := timers.Next()
	require.True(t, ok)
	require.Equal(t, at(300), next)
	timers.SetPod(p, start) // the same object says something else now
	next, ok = timers.Next()
	require.True(t, ok)
	require.Equal(t, at(1), next)

	unheard := nodeWith("n", nil) // without a Ready condition
	testkit.Unchanged(t, func() {
		_, err := Forecast(Input{Nodes: []*v1.Node{unheard}, Start: start, Until: time.Hour})
		require.NoError(t, err)
	}, unheard)
}

// A node that never had a Ready condition shows no sign of life by being observed again: it counts from its creation.
func TestNodeWithoutReady(t *testing.T) {
	n := nodeWith("n", nil)
	n.Status.Conditions, n.CreationTimestamp = nil, metav1.NewTime(start)
	h := heartbeat{}.Observe(n, time.Time{}, start.Add(time.Minute))
	require.Equal(t, start, h.Probe)
	require.Equal(t, h, h.Observe(n, time.Time{}, start.Add(2*time.Minute)))
}
