package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/score"
)

// The table of shares after the pod, of which 90, 90, 80 and 70 stand in the article on scoring.
func TestBalance(t *testing.T) {
	r := newRows(node("n", "cpu=10,memory=10000"))
	logged := newRows(node("n", "cpu=47800m,memory=66054406144"))
	for _, tc := range []struct {
		name                       string
		requests                   string
		rows                       *rows
		difference, absolute, v136 int64
	}{
		{"10 and 20 percent", "cpu=1,memory=2000", r, 90, 95, 72},
		{"20 and 10 percent", "cpu=2,memory=1000", r, 90, 95, 72},
		{"20 and 40 percent", "cpu=2,memory=4000", r, 80, 90, 70},
		{"20 and 50 percent", "cpu=2,memory=5000", r, 70, 85, 67},
		{"50 and 50 percent", "cpu=5,memory=5000", r, 100, 100, 75},
		{"100 and 0 percent", "cpu=10,memory=0", r, 0, 50, 50},
		{"120 and 10 percent", "cpu=12,memory=1000", r, 0, 55, 52},
		{"log line 93", "cpu=7850m,memory=6786383872", logged, 93, 96, 73},
		{"log line 97", "cpu=6950m,memory=7627341824", logged, 97, 98, 74},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := []int64{
				balance(t, pod(tc.requests), score.BalanceArgs{Mode: score.Difference}, score.Options{}, tc.rows).Raw(0),
				balance(t, pod(tc.requests), score.BalanceArgs{Mode: score.Absolute}, score.Options{}, tc.rows).Raw(0),
				balance(t, pod(tc.requests), score.BalanceArgs{}, score.Options{}, tc.rows).Raw(0),
			}
			require.Equal(t, []int64{tc.difference, tc.absolute, tc.v136}, got)
		})
	}
}

func TestBalanceImprovement(t *testing.T) {
	seedPod, seedRows := packing()
	three := score.BalanceArgs{Resources: weighted("cpu", 0, "memory", 1, foo, 1)}
	for _, tc := range []struct {
		name   string
		reason string
		pod    *v1.Pod
		args   score.BalanceArgs
		rows   *rows
		want   []int64
	}{
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
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := balance(t, tc.pod, tc.args, score.Options{}, tc.rows)
			require.Equal(t, tc.want, raws(tc.rows.Len(), s.Raw), tc.reason)
			require.False(t, s.Dynamic())
			require.Equal(t, []int32{7, int32(tc.want[0])}, s.AppendSignature([]int32{7}, 0))
			x := s.Explain(0)
			require.Equal(t, tc.want[0], 50+(50+x.With-x.Without)/2)
		})
	}
}

func TestBalanceSkip(t *testing.T) {
	for _, tc := range []struct {
		name string
		pod  *v1.Pod
		args score.BalanceArgs
		skip bool
	}{
		{"best effort", pod(""), score.BalanceArgs{}, true},
		{"nil", nil, score.BalanceArgs{}, true},
		{"explicit zero", pod("cpu=0"), score.BalanceArgs{}, true},
		{"only resources that are not listed", pod(foo + "=1"), score.BalanceArgs{}, true},
		{"one is enough", pod("memory=1"), score.BalanceArgs{}, false},
		{"overhead is a request", withOverhead(pod(""), "cpu=1m"), score.BalanceArgs{}, false},
		{"absolute skips too", pod(""), score.BalanceArgs{Mode: score.Absolute}, true},
		{"difference does not skip", pod(""), score.BalanceArgs{Mode: score.Difference}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := score.CompileBalance(tc.pod, tc.args, score.Options{})
			require.NoError(t, err)
			require.Equal(t, tc.skip, e.Skip())
		})
	}
}

// The formula before v1.22 and its variant with volumes.
func TestBalanceOld(t *testing.T) {
	r := newRows(node("n", "cpu=10,memory=10000Mi"))
	ten := score.Options{Arithmetic: score.ZeroToTen}
	for _, tc := range []struct {
		name   string
		reason string
		pod    *v1.Pod
		mode   score.BalanceMode
		o      score.Options
		rows   score.Rows
		want   int64
	}{
		{"defaults count", "100m of 10 and 200Mi of 10000Mi: 1 and 2 percent", pod(""), score.Difference, score.Options{}, r, 99},
		{"no cpu on the node", "its share is 1", pod(""), score.Difference, score.Options{}, newRows(node("n", "memory=10000Mi")), 0},
		{"before the scale of 100", "times 10", pod("cpu=2,memory=5000Mi"), score.Difference, ten, r, 7},
		{"volumes unknown", "difference", pod("cpu=2,memory=5000Mi"), score.VolumeVariance, score.Options{}, r, 70},
		{"volume limit unknown", "difference", pod("cpu=2,memory=5000Mi"), score.VolumeVariance, score.Options{}, volumeRows{r, 3, 0}, 70},
		{"variance of three", "shares .2 .5 .8: variance .06", pod("cpu=2,memory=5000Mi"), score.VolumeVariance, score.Options{}, volumeRows{r, 8, 10}, 94},
		{"variance before the scale of 100", "times 10", pod("cpu=2,memory=5000Mi"), score.VolumeVariance, ten, volumeRows{r, 8, 10}, 9},
		{"volumes used up", "never preferred", pod("cpu=2,memory=5000Mi"), score.VolumeVariance, score.Options{}, volumeRows{r, 10, 10}, 0},
		{"cpu used up", "never preferred", pod("cpu=10,memory=5000Mi"), score.VolumeVariance, score.Options{}, volumeRows{r, 1, 10}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, balance(t, tc.pod, score.BalanceArgs{Mode: tc.mode}, tc.o, tc.rows).Raw(0), tc.reason)
		})
	}
	_, err := score.CompileBalance(pod("cpu=1"), score.BalanceArgs{}, ten)
	require.EqualError(t, err, "scores of 0 to 10 are older than this balance formula: use mode Difference or VolumeVariance")
}

func TestBalanceDevices(t *testing.T) {
	r := newRows(node("n1", "cpu=4"))
	d := deviceRows{r, func(v1.ResourceName, int) (int64, int64) { return 4, 1 }}
	s := balance(t, pod(foo+"=1,cpu=2"), score.BalanceArgs{Resources: weighted("cpu", 1, foo, 1)}, score.Options{}, d)
	require.Equal(t, score.BalanceParts{With: 100, Without: 87}, s.Explain(0), "2 of 4 cpu and 2 of 4 devices; before, 0 and 1 of 4")
}
