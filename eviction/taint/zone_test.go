package taint

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
)

// ready returns a node of a zone with this status of Ready; "" leaves the condition out.
func ready(name, zone string, status v1.ConditionStatus) *v1.Node {
	n := nodeWith(name, nil)
	if zone != "" {
		n.Labels = map[string]string{v1.LabelTopologyZone: zone}
	}
	if status != "" {
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
	}
	return n
}

func TestZoneKey(t *testing.T) {
	const oldZone, oldRegion = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
	type test struct {
		name   string
		labels map[string]string
		want   string
		why    string
	}
	cases := []test{
		{"none", nil, "", "one common zone"},
		{"both", map[string]string{v1.LabelTopologyZone: "a", v1.LabelTopologyRegion: "r"}, "r/a", "region and zone"},
		{"zone only", map[string]string{v1.LabelTopologyZone: "a"}, "/a", "a key of its own"},
		{"region only", map[string]string{v1.LabelTopologyRegion: "r"}, "r/", "a key of its own"},
		{"deprecated first", map[string]string{v1.LabelTopologyZone: "a", oldZone: "b", oldRegion: "q"}, "q/b", "the deprecated labels take precedence"},
		{"mixed", map[string]string{v1.LabelTopologyZone: "a", oldRegion: "q"}, "q/a", "each by itself"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		n := nodeWith("n", nil)
		n.Labels = c.labels
		require.Equal(t, c.want, zoneKey(n))
	})
}

func TestStateOf(t *testing.T) {
	cases := []struct {
		ready, notReady int
		want            zoneState
		why             string
	}{
		{0, 0, zoneNormal, "an empty zone"},
		{0, 1, zoneFull, "none ready"},
		{1, 2, zoneNormal, "two thirds but only two"},
		{1, 3, zonePartial, "three of four"},
		{3, 3, zoneNormal, "half"},
		{9, 11, zonePartial, "exactly 0.55"},
		{10, 11, zoneNormal, "0.52"},
		{45, 55, zonePartial, "exactly 0.55"},
		{46, 54, zoneNormal, "0.54"},
		{4, 6, zonePartial, "T-71: 6 of 10"},
		{1, 2, zoneNormal, "T-72: not more than two"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, stateOf(c.ready, c.notReady, Config{}), "%d ready, %d not: %s", c.ready, c.notReady, c.why)
	}
	nodes := []*v1.Node{ready("a", "", "True"), ready("b", "", ""), ready("c", "", "Unknown"), ready("d", "", "False")}
	excluded := ready("e", "", "False")
	excluded.Labels = map[string]string{excludeLabel: ""}
	r, not := countReady(append(nodes, excluded))
	require.Equal(t, []int{1, 3}, []int{r, not}, "a missing condition is not ready, excluded nodes are not counted")
	require.Equal(t, zonePartial, stateOf(r, not, Config{}))
	require.Equal(t, "Initial Normal PartialDisruption FullDisruption ZoneState(9)",
		fmt.Sprint(zoneInitial, zoneNormal, zonePartial, zoneFull, zoneState(9)))
}

func TestRateOf(t *testing.T) {
	half := float32(0.5)
	own := Config{FullDisruptionRate: &half}
	cases := []struct {
		state zoneState
		size  int
		c     Config
		want  float32
		why   string
	}{
		{zoneInitial, 5, Config{}, 0.1, "behaves as Normal"},
		{zoneNormal, 5, Config{}, 0.1, "the normal rate"},
		{zonePartial, 10, Config{}, 0, "T-71: a small zone stops"},
		{zonePartial, 50, Config{}, 0, "50 is not large"},
		{zonePartial, 51, Config{}, 0.01, "51 is large"},
		{zoneFull, 10, Config{}, 0.1, "the normal rate, not a slower one"},
		{zoneFull, 10, own, 0.5, "by option"},
		{zoneNormal, 10, own, 0.1, "the option is for full disruption only"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, rateOf(c.state, c.size, c.c), "%v %d: %s", c.state, c.size, c.why)
	}
}

func TestLimiter(t *testing.T) {
	accepted := func(l tokenBucket, from, to float64) (list []float64) {
		for ms := int(from * 1000); ms <= int(to*1000); ms += 10 {
			if s := float64(ms) / 1000; l.Accept(at(s)) {
				list = append(list, s)
			}
		}
		return list
	}
	require.Equal(t, []float64{0, 0.5, 1}, accepted(newTokenBucket(2, start), 0, 1.2), "a full bucket, then 2 a second")
	require.Equal(t, []float64{0, 10, 20}, accepted(newTokenBucket(0.1, start), 0, 25), "the default rate")
	require.Equal(t, []float64{7, 17}, accepted(newTokenBucket(0.1, start), 7, 20), "a bucket holds at most one token")
	require.Empty(t, accepted(newTokenBucket(0, start), 0, 25), "never")
	require.Empty(t, accepted(newTokenBucket(float32(math.NaN()), start), 0, 25), "not a number is never")
	require.Empty(t, accepted(tokenBucket{}, 0, 25), "the zero value never accepts")

	t.Run("swap", func(t *testing.T) {
		l := newTokenBucket(0.1, start)
		require.True(t, l.Accept(start))
		kept := l
		kept.Swap(0.1, at(5))
		require.Equal(t, l, kept, "the same rate keeps the bucket")
		l.Swap(1, at(5))
		require.Equal(t, []float64{6, 7}, accepted(l, 5, 7.5), "the old bucket would refuse: the new one starts empty")
		full := newTokenBucket(0.1, start)
		full.Swap(1, at(5))
		require.Equal(t, []float64{5, 6}, accepted(full, 5, 6.5), "the old bucket would accept: the new one starts full")
		full.Swap(0, at(7))
		require.Empty(t, accepted(full, 7, 30))
		full.Swap(5, at(8))
		require.Equal(t, []float64{8.2, 8.4}, accepted(full, 8, 8.5), "from 0: starts empty")
		never := tokenBucket{}
		never.Swap(1, start)
		require.Equal(t, []float64{1, 2}, accepted(never, 0, 2.5), "from 0 to exactly 1")
	})
	t.Run("next", func(t *testing.T) {
		l := newTokenBucket(0.5, start)
		next, ok := l.Next(start)
		require.True(t, ok)
		require.Equal(t, start, next)
		l.Accept(start)
		next, _ = l.Next(at(0.5))
		require.Equal(t, at(2), next)
		_, ok = tokenBucket{}.Next(start)
		require.False(t, ok)
	})
	t.Run("clock back", func(t *testing.T) {
		l := newTokenBucket(1, start)
		require.True(t, l.Accept(at(10)))
		require.False(t, l.Accept(at(5)))
		require.True(t, l.Accept(at(11)))
	})
}

func TestQueue(t *testing.T) {
	var q taintQueue
	require.True(t, q.Add("n2", at(1)))
	require.True(t, q.Add("n1", at(1)))
	require.True(t, q.Add("n0", at(0)))
	require.False(t, q.Add("n1", at(5)), "unique")
	require.Equal(t, []string{"n0", "n2", "n1"}, q.Names(), "by time, then insertion")

	l := newTokenBucket(2, start)
	var got []string
	handle := func(name string) { got = append(got, name) }
	for ms := 0; ms <= 2000; ms += 100 {
		before := len(got)
		q.Serve(&l, at(1+float64(ms)/1000), handle)
		for _, name := range got[before:] {
			got[before] = fmt.Sprint(name, "@", float64(ms)/1000)
		}
	}
	require.Equal(t, []string{"n0@0", "n2@0.5", "n1@1"}, got, "2 a second, the first at once")
	require.False(t, q.Add("n1", at(9)), "the names are handled but known")
	require.True(t, q.Remove("n1"))
	require.False(t, q.Remove("n1"))
	require.True(t, q.Add("n1", at(9)), "forgotten")

	t.Run("token of one not due", func(t *testing.T) {
		var q taintQueue
		q.Add("later", at(1))
		l := newTokenBucket(1, start)
		q.Serve(&l, at(0.5), func(string) { t.Fatal("not due") })
		require.False(t, l.Would(at(1)), "the token is used up")
		require.True(t, l.Would(at(1.5)))
	})
	t.Run("empty queue takes no token", func(t *testing.T) {
		var q taintQueue
		l := newTokenBucket(1, start)
		q.Serve(&l, start, nil)
		require.True(t, l.Would(start))
	})
}

func TestConfigValidate(t *testing.T) {
	nan, negative, two, one, zero := float32(math.NaN()), float32(-1), float32(2), float32(1), float32(0)
	less := -1
	bad := Config{
		MonitorPeriod: -1, GracePeriod: -time.Second, StartupGrace: -1, EvictionRate: &nan, SecondaryRate: &negative,
		LargeCluster: &less, UnhealthyThreshold: &two, FullDisruptionRate: &negative,
	}
	var got []string
	for _, e := range bad.Validate(field.NewPath("config")) {
		got = append(got, e.Field)
	}
	require.Equal(t, []string{"config.monitorPeriod", "config.gracePeriod", "config.startupGrace", "config.evictionRate",
		"config.secondaryRate", "config.largeCluster", "config.unhealthyThreshold", "config.fullDisruptionRate"}, got)
	require.Len(t, Config{UnhealthyThreshold: &two}.Validate(nil), 1, "a share")
	require.Len(t, Config{FullDisruptionRate: &negative}.Validate(nil), 1)
	require.Empty(t, Config{EvictionRate: &zero, UnhealthyThreshold: &zero}.Validate(nil))
	require.Empty(t, Config{EvictionRate: &two, UnhealthyThreshold: &one, MonitorPeriod: 1, GracePeriod: 1, StartupGrace: 1, LargeCluster: new(int)}.Validate(nil))
	require.Equal(t, []time.Duration{1, 2, 3}, []time.Duration{Config{MonitorPeriod: 1}.monitorPeriod(), Config{GracePeriod: 2}.gracePeriod(), Config{StartupGrace: 3}.startupGrace()})
	require.ErrorContains(t, Config{EvictionRate: &nan}.Validate(nil).ToAggregate(), "must be a number not less than 0")
	require.ErrorContains(t, bad.Validate(nil).ToAggregate(), "must be a number from 0 to 1")
}
