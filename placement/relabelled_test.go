package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// When a node gets another value of a topology key, its pods count in the other domain, for kept work too.
func TestRelabelledNodes(t *testing.T) {
	web := func(name string) testkit.PodBuilder {
		return testkit.Pod(name).Labels("app=web").Request("cpu=100m")
	}
	type test struct {
		name, why string
		pod       testkit.PodBuilder
	}
	testkit.Run(t, []test{
		{"hard constraint", "counts by rack decide", web("p").Spread(1, "rack", v1.DoNotSchedule, "app=web")},
		{"soft constraint", "counts by rack score", web("p").Spread(1, "rack", v1.ScheduleAnyway, "app=web")},
		{"anti-affinity", "one pod a rack", web("p").RequireApart("rack", "app=web")},
		{"affinity", "where the others are", web("p").RequireWith("rack", "app=web")},
		{"preferred", "where the others are", web("p").PreferWith(10, "rack", "app=web")},
	}, func(t *testing.T, c test) {
		var o cluster.Objects
		for k := range 6 {
			name := fmt.Sprint("n", k)
			o.Nodes = append(o.Nodes, testkit.Node(name).Label("rack", fmt.Sprint(k/2)).Capacity("cpu=4,memory=8Gi").Obj())
		}
		for k, n := range []string{"n0", "n0", "n2"} {
			o.Pods = append(o.Pods, web(fmt.Sprint("r", k)).On(n).Obj())
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		p, err := New(s, DefaultProfile())
		require.NoError(t, err)
		pod := c.pod.Obj()
		for _, rack := range []string{"0", "2", "1", "9", "0"} {
			n := s.Node(0).DeepCopy()
			n.Labels["rack"] = rack
			require.NoError(t, s.Set(n))
			for range 3 {
				fresh, err := New(s, DefaultProfile())
				require.NoError(t, err)
				require.Equal(t, text(fresh.Decide(pod, Options{})), text(p.Decide(pod, Options{})), "rack %s", rack)
			}
		}
	})
}
