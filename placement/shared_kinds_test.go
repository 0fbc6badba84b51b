package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// Pods of several labels and namespaces share kept work until a running pod comes whose terms match some of them alone. Terms lose their pods and get
// others. Every decision is that of a plan that keeps nothing.
func TestSharedKinds(t *testing.T) {
	for seed := range uint64(testkit.Rounds(60)) {
		r := rand.New(rand.NewPCG(seed, 73))
		pick := func(list ...string) string { return list[r.IntN(len(list))] }
		var o cluster.Objects
		for k := range 6 {
			name := fmt.Sprint("n", k)
			o.Nodes = append(o.Nodes, testkit.Node(name).Label("host", name).Label("zone", fmt.Sprint("z", k%2)).Capacity(fmt.Sprintf("cpu=%d,pods=99", 60-k)).Obj())
		}
		for _, name := range []string{"a", "b", "c"} {
			o.Namespaces = append(o.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": pick("x", "y")}}})
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		plan, err := New(s, DefaultProfile())
		require.NoError(t, err)
		pod := func(name string, terms bool) *v1.Pod {
			b := testkit.Pod(name).Labels("app=" + pick("d", "e", "f")).Request("cpu=1")
			if terms {
				key, app := pick("host", "zone"), "app="+pick("d", "e", "f")
				switch r.IntN(3) {
				case 0:
					b = b.PreferWith(int32(1+r.IntN(50)), key, app)
				case 1:
					b = b.RequireApart("host", app)
				default:
					b = b.RequireApart(key, app)
				}
			}
			p := b.Obj()
			p.Namespace = pick("a", "b", "c")
			if f := p.Spec.Affinity; f != nil && f.PodAntiAffinity != nil && r.IntN(2) == 0 {
				f.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": pick("x", "y")}}
			}
			return p
		}
		var running []*v1.Pod
		for step := range 150 {
			switch r.IntN(8) {
			case 0:
				p := pod(fmt.Sprint("r", step), r.IntN(3) > 0)
				require.NoError(t, s.Assume(p, r.IntN(6)))
				running = append(running, p)
			case 1, 2:
				if k := len(running); k > 2 {
					k = r.IntN(k)
					require.NoError(t, s.Remove(running[k]))
					running = append(running[:k], running[k+1:]...)
				}
			}
			p := pod(fmt.Sprint("p", step), r.IntN(3) == 0)
			slow, err := New(s, DefaultProfile())
			require.NoError(t, err)
			slow.engine = nil
			require.Equal(t, text(slow.Decide(p, Options{})), text(plan.Decide(p, Options{})), "seed %d step %d", seed, step)
		}
	}
}
