package placement

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/release/plugins"
	"github.com/podberth/podberth/resources"
)

// Check returns the answer of the first filter that rejects. When no filter before the rows rejects, Without returns the answer of the rows
// for other requests. Some filters look at other pods. Filters that look at no other pods come before and after them.
func FuzzWhatIf(f *testing.F) {
	f.Add(testkit.RandomBytes(1, 400))
	all := DefaultProfile()
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		var o cluster.Objects
		for k := range 6 {
			n := testkit.Node(fmt.Sprint("n", k)).Capacity(fmt.Sprintf("cpu=%d", 1+b.Below(4)))
			if b.OneIn(2) {
				n = n.Unschedulable()
			}
			if b.OneIn(2) {
				n = n.Taint("a:NoSchedule")
			}
			o.Nodes = append(o.Nodes, n.Obj())
			if b.OneIn(2) {
				o.Pods = append(o.Pods, testkit.Pod(fmt.Sprint("r", k)).Request("cpu=1").HostPort("", v1.ProtocolTCP, 80).On(o.Nodes[k].Name).Obj())
			}
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		profile := Profile{Filters: []*Plugin{all.Filter(plugins.NodeUnschedulable), all.Filter(plugins.NodeResourcesFit), all.Filter(plugins.TaintToleration), all.Filter(plugins.NodePorts)}}
		for k := range 3 { // any order
			at := k + b.Below(4-k)
			profile.Filters[k], profile.Filters[at] = profile.Filters[at], profile.Filters[k]
		}
		p, err := New(s, profile)
		require.NoError(t, err)
		pod := testkit.Pod("p").Request("cpu=2").HostPort("", v1.ProtocolTCP, 80).Obj()
		a := p.Prepare(pod)
		x := a.whatIf(Options{})
		for k := 0; k < 200 && b.More(); k++ {
			if b.OneIn(2) {
				x = a.whatIf(Options{})
			}
			i, left := b.Below(6), resources.Vector{int64(b.Below(5)) * 1000, 0, 0, 1}
			require.Equal(t, preemption.Answer(a.Predicates.First(i)), x.Check(i))
			require.Equal(t, withoutPlainly(a, i, left), x.Without(i, left))
		}
	})
}

// withoutPlainly asks the filters up to the rows, if no filter over other pods stands before the rows.
func withoutPlainly(a *Attempt, i int, left resources.Vector) preemption.Answer {
	for k, p := range a.Predicates {
		if fit, ok := p.(fitPredicate); ok {
			v := fit.WithRequested(&hypothetical{a.plan.cluster, left}).Check(i)
			if v == 0 {
				return preemption.Answer{}
			}
			return preemption.Answer{Predicate: uint16(k), Verdict: v}
		}
		if _, ok := p.(Trialer); ok || p.Check(i) != 0 {
			return preemption.Answer{}
		}
	}
	return preemption.Answer{}
}
