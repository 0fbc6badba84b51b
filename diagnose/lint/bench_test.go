package lint

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// 20 Deployments with spread constraints and anti-affinity on 5,000 nodes with 10,000 pods.
func BenchmarkCheck5000(b *testing.B) {
	w := newWorld()
	w.objs.Nodes = nil
	for i := range 5000 {
		w.objs.Nodes = append(w.objs.Nodes, testkit.Node(fmt.Sprintf("n%d", i)).Zone(fmt.Sprintf("z%d", i%5)).Capacity("cpu=32,memory=128Gi").Obj())
		for k := range 2 {
			w.objs.Pods = append(w.objs.Pods, testkit.Pod(fmt.Sprintf("p%d-%d", i, k)).On(fmt.Sprintf("n%d", i)).Labels("app=p").Request("cpu=1").Obj())
		}
	}
	w.spread(1, zone, v1.DoNotSchedule, "web")
	w.spread(1, host, v1.DoNotSchedule, "web")
	w.apart(host, "web")
	for i := range 19 {
		d := w.app(fmt.Sprintf("app%d", i), 10)
		d.Spec.Template.Spec = *w.pod.DeepCopy()
	}
	for b.Loop() {
		_, err := Check(w.in)
		require.NoError(b, err)
	}
}
