package rollout

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
)

// The caller's functions say how long pods and nodes take.
func TestTimes(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil)
	w.stateful("db", "cpu=1", "n1", appsv1.OrderedReadyPodManagement, nil)
	o := given("n1", "n2")
	o.Surge, o.Drain.GracePeriodSeconds = 1, new(int64(7))
	o.Start = func(pod *v1.Pod, node string) time.Duration {
		require.NotEmpty(t, node)
		if pod.Labels["app"] == "db" {
			return 10 * time.Second
		}
		return time.Second
	}
	o.Renew = func(n *v1.Node) time.Duration {
		if n.Name == "n1-surge-1" {
			return time.Minute
		}
		return 5 * time.Second
	}
	require.Equal(t, []string{
		"0s surge n1-surge-1 until 1m0s",
		"1m0s replace n1 until 1m22s",
		"  1m0s..1m17s: web-0 -> web-0-moved-1 n3@1m0s, db-0 -> db-0 n5@1m7s",
		"1m22s replace n2 until 1m34s",
		"  1m22s..1m29s: web-1 -> web-1-moved-1 n1@1m22s",
		"1m34s retire n1-surge-1 until 1m34s",
	}, lines(w.plan(t, o)))
	o.Stop = func(*v1.Pod) time.Duration { return -time.Second }
	require.Equal(t, []string{
		"0s surge n1-surge-1 until 1m0s",
		"1m0s replace n1 until 1m15s",
		"  1m0s..1m10s: web-0 -> web-0-moved-1 n3@1m0s, db-0 -> db-0 n5@1m0s",
		"1m15s replace n2 until 1m21s",
		"  1m15s..1m16s: web-1 -> web-1-moved-1 n1@1m15s",
		"1m21s retire n1-surge-1 until 1m21s",
	}, lines(w.plan(t, o)), "pods stop at once")
}

// Times that a time.Duration cannot hold are the largest one.
func TestHugeTimes(t *testing.T) {
	const most = time.Duration(math.MaxInt64)
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n2", nil)
	for i, seconds := range []int64{math.MaxInt64, 1 << 34} { // 1<<34 seconds in nanoseconds are negative as an int64
		w.objects.Pods[i].Spec.TerminationGracePeriodSeconds = &seconds
	}
	p := w.plan(t, given("n1", "n2"))
	require.Len(t, p.Steps, 2)
	for _, s := range p.Steps {
		require.Equal(t, []time.Duration{most, most, most}, []time.Duration{s.Waves[0].Moves[0].Gone, s.Empty, s.End})
	}
	require.Equal(t, most, p.Total)

	o := given("n1", "n2")
	o.Stop = func(*v1.Pod) time.Duration { return time.Second }
	o.Start = func(*v1.Pod, string) time.Duration { return most }
	o.Renew = func(*v1.Node) time.Duration { return most }
	o.Surge, o.Timeout = 2, most
	w.pod("", "", "waits", "", template("waits", "cpu=1", nil))
	p = w.plan(t, o)
	require.Equal(t, most, p.Total)
	require.Empty(t, p.Blocked)
	require.Equal(t, []any{Surge, most}, []any{p.Steps[0].Action, p.Steps[0].End})
	require.Equal(t, []Arrival{{"default/waits", "n3", most}}, p.Steps[1].Waves[0].Placed)
	require.Equal(t, []time.Duration{most, most}, []time.Duration{p.Steps[2].Waves[0].Moves[0].Ready, p.Steps[2].End})
}
