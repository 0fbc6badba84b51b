package diagnose

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// Every long call ends when the caller stops: after the answer "stop" it asks filters for one decision more at most, and Cut says so. The calls
// without a stop function make one decision.
func TestEveryLongCallStops(t *testing.T) {
	var o cluster.Objects
	for k := range 40 {
		n := testkit.Node(fmt.Sprint("n", k)).Label("zone", fmt.Sprint("z", k%3)).Label("disktype", "ssd").Capacity("cpu=4,pods=20")
		if k%4 == 0 {
			n = n.Taint("team=x:PreferNoSchedule")
		}
		o.Nodes = append(o.Nodes, n.Obj())
		for i := range 3 {
			p := testkit.Pod(fmt.Sprintf("r%d-%d", k, i)).Request("cpu=1").Obj()
			p.Spec.NodeName = fmt.Sprint("n", k)
			p.Spec.ActiveDeadlineSeconds = new(int64(100 + 3*k + i))
			p.Status.StartTime = &metav1.Time{Time: testkit.Epoch}
			o.Pods = append(o.Pods, p)
		}
	}
	s, err := cluster.New(o)
	require.NoError(t, err)
	large := testkit.Pod("p").NodeSelector("disktype=SSD").Request("cpu=9").Obj()
	small := testkit.Pod("s").Request("cpu=1").Obj()
	var many []*v1.Pod
	for k := range 12 {
		many = append(many, testkit.Pod(fmt.Sprint("w", k)).NodeSelector("disktype=SSD").Request(fmt.Sprintf("cpu=%d", k+5)).Obj())
	}
	placed, prepared := "", 0 // how often a filter was prepared
	profile := placement.DefaultProfile()
	profile.Filters = append(profile.Filters, &placement.Plugin{Name: "Counts", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		prepared++
		return placement.PreFiltered{}
	}})
	type test struct {
		name, why string
		cut       func(in Input) string
	}
	tests := []test{
		{"Relax", "sets of changes", func(in Input) string {
			d, err := Relax(in, large, Options{})
			require.NoError(t, err)
			return d.Cut
		}},
		{"All", "pods, and their sets of changes", func(in Input) string {
			in.Pending = many
			groups, err := All(in, Options{})
			require.NoError(t, err)
			n := 0
			for _, g := range groups {
				n += len(g.Pods)
			}
			require.Equal(t, len(many), n, "no pod is lost")
			return groups[len(groups)-1].Cut
		}},
		{"Compare", "flips", func(in Input) string {
			c, err := Compare(in, small, placed)
			require.NoError(t, err)
			return c.Cut
		}},
		{"Wake", "pods that end", func(in Input) string {
			w, err := Wake(in, large, WakeOptions{})
			require.NoError(t, err)
			return w.Cut
		}},
	}
	_, err = Compare(Input{Snapshot: s}, small, "n1")
	if placed = "n1"; err != nil {
		placed = "n2"
	}
	testkit.Run(t, tests, func(t *testing.T, c test) {
		asks := 0
		require.NotEqual(t, "stop", c.cut(Input{Snapshot: s, Profile: profile, Stop: func() bool { asks++; return false }}))
		require.Greater(t, asks, 2, "the call asks before each decision")
		points := []int{asks / 2, asks * 3 / 4, asks - 1}
		for at := range min(asks, 20) {
			points = append(points, at)
		}
		for _, at := range points {
			n, then := 0, 0
			cut := c.cut(Input{Snapshot: s, Profile: profile, Stop: func() bool {
				if n++; n == at+1 {
					then = prepared
				}
				return n > at
			}})
			require.Equal(t, "stop", cut, "stopped at the question %d of %d", at, asks)
			require.LessOrEqual(t, prepared-then, mostAfterStop, "filters prepared after the stop at question %d of %d", at, asks)
		}
	})
}

// mostAfterStop is how often a filter is prepared for what a call has begun before the stop.
const mostAfterStop = 4
