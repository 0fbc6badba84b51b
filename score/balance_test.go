package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/engine"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/score"
)

// The table of shares with the pod. The columns of earlier formulas are in TestBalance of package history.
func TestBalance(t *testing.T) {
	r := newRows(node("n", "cpu=10,memory=10000"))
	logged := newRows(node("n", "cpu=47800m,memory=66054406144"))
	type test struct {
		name     string
		requests string
		rows     *rows
		want     int64
	}
	testkit.Run(t, []test{
		{"10 and 20 percent", "cpu=1,memory=2000", r, 72},
		{"20 and 10 percent", "cpu=2,memory=1000", r, 72},
		{"20 and 40 percent", "cpu=2,memory=4000", r, 70},
		{"20 and 50 percent", "cpu=2,memory=5000", r, 67},
		{"50 and 50 percent", "cpu=5,memory=5000", r, 75},
		{"100 and 0 percent", "cpu=10,memory=0", r, 50},
		{"120 and 10 percent", "cpu=12,memory=1000", r, 52},
		{"first log line", "cpu=7850m,memory=6786383872", logged, 73},
		{"second log line", "cpu=6950m,memory=7627341824", logged, 74},
	}, func(t *testing.T, tc test) {
		require.Equal(t, tc.want, balance(t, pod(tc.requests), score.BalanceArgs{}, tc.rows).Raw(0))
	})
}

func TestBalanceImprovement(t *testing.T) {
	seedPod, seedRows := packing()
	three := score.BalanceArgs{Resources: weighted("cpu", 0, "memory", 1, foo, 1)}
	type test struct {
		name string
		why  string
		pod  *v1.Pod
		args score.BalanceArgs
		rows *rows
		want []int64
	}
	testkit.Run(t, []test{
		{"better", "balance 70 before, 100 after", pod("memory=6000"), score.BalanceArgs{}, newRows(node("n", "cpu=10,memory=10000")).run(0, pod("cpu=6")), []int64{90}},
		{"single resource", "one share has no deviation", pod("cpu=1"), score.BalanceArgs{Resources: weighted("cpu", 1)}, newRows(node("n", "cpu=2")).run(0, pod("cpu=1")), []int64{75}},
		{"node with one of two", "memory is not there", pod("cpu=1,memory=1"), score.BalanceArgs{}, newRows(node("n", "cpu=2")), []int64{75}},
		{"three resources", "standard deviation of three", seedPod, three, seedRows, []int64{70, 75}},
		{"only foo", "cpu and memory stay in", pod(foo + "=2"), three, seedRows, []int64{64, 79}},
		{"overhead counts", "10 percent of cpu and nothing of memory", withOverhead(pod(""), "cpu=1"), score.BalanceArgs{}, newRows(node("n", "cpu=10,memory=10000")), []int64{72}},
		{"pod level counts", "20 and 10 percent", withPodLevel(pod(""), "cpu=2,memory=1000"), score.BalanceArgs{}, newRows(node("n", "cpu=10,memory=10000")), []int64{72}},
		{"the node's own ratio", "unchanged balance is 75", pod("cpu=1,memory=1000"), score.BalanceArgs{}, newRows(node("n", "cpu=10,memory=10000")).run(0, pod("cpu=3,memory=3000")), []int64{75}},
		{"exact requests of running pods", "a best-effort pod counts nothing: 10 and 20 percent", pod("cpu=1,memory=2000"), score.BalanceArgs{}, newRows(node("n", "cpu=10,memory=10000")).run(0, pod("")), []int64{72}},
		{"free slot", "nothing to balance", pod("cpu=1"), score.BalanceArgs{}, newRows(nil), []int64{75}},
	}, func(t *testing.T, tc test) {
		s := balance(t, tc.pod, tc.args, tc.rows)
		require.Equal(t, tc.want, raws(tc.rows.Len(), s.Raw))
		with, without := s.Explain(0)
		require.Equal(t, tc.want[0], 50+(50+with-without)/2)
	})
}

func TestBalanceSkip(t *testing.T) {
	type test struct {
		name string
		pod  *v1.Pod
		args score.BalanceArgs
		skip bool
	}
	testkit.Run(t, []test{
		{"best effort", pod(""), score.BalanceArgs{}, true},
		{"nil", nil, score.BalanceArgs{}, true},
		{"explicit zero", pod("cpu=0"), score.BalanceArgs{}, true},
		{"only resources that are not listed", pod(foo + "=1"), score.BalanceArgs{}, true},
		{"one is enough", pod("memory=1"), score.BalanceArgs{}, false},
		{"overhead is a request", withOverhead(pod(""), "cpu=1m"), score.BalanceArgs{}, false},
	}, func(t *testing.T, tc test) {
		e, err := score.CompileBalance(tc.pod, tc.args)
		require.NoError(t, err)
		require.Equal(t, tc.skip, e.Skip())
	})
}

func TestBalanceDevices(t *testing.T) {
	r := newRows(node("n1", "cpu=4"))
	d := deviceRows{r, func(v1.ResourceName, int) (int64, int64) { return 4, 1 }}
	s := balance(t, pod(foo+"=1,cpu=2"), score.BalanceArgs{Resources: weighted("cpu", 1, foo, 1)}, d)
	with, without := s.Explain(0)
	require.Equal(t, []int64{100, 87}, []int64{with, without}, "2 of 4 cpu and 2 of 4 devices; before, 0 and 1 of 4")
}

// Rows that are shorter than two columns have no memory.
func TestBalanceOfShortRows(t *testing.T) {
	r := newRows(node("n", "cpu=4"))
	b := balance(t, pod("cpu=1,memory=1Gi"), score.BalanceArgs{}, r)
	require.Equal(t, b.Raw(0), b.(engine.Balance).RawOf(0, resources.Vector{4000}, nil))
}
