package taints_test

import (
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// forever means a toleration without tolerationSeconds.
const forever = math.MinInt64

// stays returns tolerations {key Exists NoExecute seconds}.
func stay(key string, seconds int64) v1.Toleration {
	if seconds == forever {
		return tol(key + " Exists _ NoExecute")
	}
	return tol(key+" Exists _ NoExecute", seconds)
}

func TestDeadline(t *testing.T) {
	hourAgo := taint("a:NoExecute")
	hourAgo.TimeAdded = &metav1.Time{Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	type test struct {
		name        string
		taints      []v1.Taint
		tolerations []v1.Toleration
		stay        taints.Stay
		seconds     int64
		why         string
	}
	cases := []test{
		{"T-50", taintList("a:NoExecute"), nil, taints.Leave, 0, "nothing tolerates"},
		{"T-51", taintList("a:NoExecute"), tols(stay("a", 3600)), taints.Limited, 3600, "an hour"},
		{"T-52", taintList("node.kubernetes.io/unreachable:NoExecute"), tols(stay("node.kubernetes.io/unreachable", 6000)), taints.Limited, 6000, "100 minutes"},
		{"T-53", taintList("a:NoExecute"), tols(stay("a", forever)), taints.Forever, 0, "no limit"},
		{"T-54 zero", taintList("a:NoExecute"), tols(stay("a", 0)), taints.Limited, 0, "0 is at once"},
		{"T-54 negative", taintList("a:NoExecute"), tols(stay("a", -5)), taints.Limited, 0, "negative is 0"},
		{"T-55", taintList("a:NoExecute", "b:NoExecute"), tols(stay("a", 5), stay("b", 2)), taints.Limited, 2, "the minimum over taints"},
		{"T-55 the other order", taintList("b:NoExecute", "a:NoExecute"), tols(stay("a", 5), stay("b", 2)), taints.Limited, 2, "the order of taints does not matter"},
		{"T-56", taintList("a:NoExecute", "b:NoExecute"), tols(stay("a", forever), stay("b", 2)), taints.Limited, 2, "no limit does not count"},
		{"T-57", taintList("a:NoExecute"), tols(stay("a", forever), stay("a", 1)), taints.Forever, 0, "the first toleration represents the taint"},
		{"T-58", taintList("a:NoExecute"), tols(stay("a", 3), stay("a", 1)), taints.Limited, 3, "not the shortest"},
		{"T-59", taintList("a:NoExecute"), tols(stay("a", 1), stay("a", forever)), taints.Limited, 1, "not the longest"},
		{"T-66", []v1.Taint{hourAgo}, tols(stay("a", 2)), taints.Limited, 2, "TimeAdded does not matter"},
		{"other effects", taintList("a:NoSchedule", "b:PreferNoSchedule", "c"), nil, taints.NoTaint, 0, "only NoExecute counts"},
		{"T-20 running", taintList("key1=value1:NoSchedule", "key1=value1:NoExecute", "key2=value2:NoSchedule"),
			tols(tol("key1 Equal value1 NoSchedule"), tol("key1 Equal value1 NoExecute")), taints.Forever, 0, "the third taint does not evict"},
		{"one untolerated", taintList("a:NoExecute", "z:NoExecute"), tols(stay("a", 3)), taints.Leave, 0, "one taint without toleration is enough"},
		{"zero wins over one", taintList("a:NoExecute", "b:NoExecute"), tols(stay("a", 1), stay("b", 0)), taints.Limited, 0, "0 is smaller"},
		{"zero wins", taintList("a:NoExecute", "b:NoExecute"), tols(stay("a", 7), stay("b", 0)), taints.Limited, 0, "0 is the smallest"},
		{"largest", taintList("a:NoExecute"), tols(stay("a", 9223372036)), taints.Limited, 9223372036, "the last whole second of a Duration"},
		{"wrap", taintList("a:NoExecute"), tols(stay("a", 9223372037)), taints.Forever, 0, "beyond a Duration: for ever, not negative"},
		{"second wrap", taintList("a:NoExecute"), tols(stay("a", 18446744074)), taints.Forever, 0, "beyond a Duration: for ever, not 0.29 s"},
		{"maximum", taintList("a:NoExecute"), tols(stay("a", math.MaxInt64)), taints.Forever, 0, "for ever"},
		{"huge beside small", taintList("a:NoExecute", "b:NoExecute"), tols(stay("a", math.MaxInt64), stay("b", 2)), taints.Limited, 2, "the huge number of seconds does not count"},
		{"T-8.6", taintList("x:NoExecute", "y:NoExecute", "z:NoExecute"), tols(stay("x", 3), stay("y", 1), stay("z", forever)), taints.Limited, 1, "minimum of three"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		n := &v1.Node{Spec: v1.NodeSpec{Taints: c.taints}}
		d := taints.Compile(c.tolerations, taints.Options{}).Deadline(n.Spec.Taints)
		require.Equal(t, c.stay, d.Stay)
		require.Equal(t, time.Duration(c.seconds)*time.Second, d.After)
		require.Equal(t, c.stay == taints.Leave || c.stay == taints.Limited, d.Taint >= 0)
		require.Equal(t, c.stay == taints.Limited, d.Toleration >= 0)
	})
}

// oracleDeadline applies the rule slowly: collect the first toleration of each taint, then take the minimum.
func oracleDeadline(list []v1.Taint, ts []v1.Toleration) (stay taints.Stay, after time.Duration) {
	stay = taints.NoTaint
	var limits []int64
	for _, tn := range list {
		if tn.Effect != "NoExecute" {
			continue
		}
		if stay == taints.NoTaint {
			stay = taints.Forever
		}
		found := false
		for _, tl := range ts {
			if toleratesTaint((*v1.Toleration).ToleratesTaint, &tl, &tn, false) {
				found = true
				if tl.TolerationSeconds != nil {
					limits = append(limits, *tl.TolerationSeconds)
				}
				break
			}
		}
		if !found {
			return taints.Leave, 0
		}
	}
	least := int64(math.MaxInt64)
	for _, l := range limits {
		least = min(least, max(l, 0))
	}
	if least > 9223372036 {
		return stay, 0
	}
	return taints.Limited, time.Duration(least) * time.Second
}

func TestDeadlineAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	seen := map[taints.Stay]int{}
	for range 20000 {
		list, ts := randomTaints(r), randomTolerations(r)
		d := taints.Compile(ts, taints.Options{}).Deadline(list)
		stay, after := oracleDeadline(list, ts)
		require.Equal(t, stay, d.Stay, "%v %v", list, ts)
		require.Equal(t, after, d.After, "%v %v", list, ts)
		seen[stay]++
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		again := taints.Compile(ts, taints.Options{}).Deadline(list)
		require.Equal(t, []any{d.Stay, d.After}, []any{again.Stay, again.After}, "the order of taints does not matter")
	}
	require.Len(t, seen, 4)
}

// The places of the taint and toleration that decide are -1 where none does.
func TestDeadlinePlaces(t *testing.T) {
	type test struct {
		name        string
		taints      []v1.Taint
		tolerations []v1.Toleration
		want        taints.Deadline
		why         string
	}
	testkit.Run(t, []test{
		{"no taint", taintList("a:NoSchedule"), nil, taints.Deadline{Stay: taints.NoTaint, Taint: -1, Toleration: -1}, "nothing decides"},
		{"leave", taintList("a:NoSchedule", "a:NoExecute"), nil, taints.Deadline{Stay: taints.Leave, Taint: 1, Toleration: -1}, "no toleration decides"},
		{"forever", taintList("a:NoExecute"), tols(stay("a", forever)), taints.Deadline{Stay: taints.Forever, Taint: -1, Toleration: -1}, "nothing limits the stay"},
		{"limited", taintList("a:NoExecute", "b:NoExecute"), tols(stay("a", 5), stay("x", 1), stay("b", 2)),
			taints.Deadline{Stay: taints.Limited, After: 2 * time.Second, Taint: 1, Toleration: 2}, "the smaller one decides"},
		{"equal limits", taintList("a:NoExecute", "b:NoExecute"), tols(stay("a", 2), stay("b", 2)),
			taints.Deadline{Stay: taints.Limited, After: 2 * time.Second, Taint: 0, Toleration: 0}, "the first one decides"},
		{"zero and negative", taintList("a:NoExecute", "b:NoExecute"), tols(stay("a", 0), stay("b", -5)),
			taints.Deadline{Stay: taints.Limited, Taint: 0, Toleration: 0}, "both are 0: the first one decides"},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, taints.Compile(c.tolerations, taints.Options{}).Deadline(c.taints))
	})
}
