package whatif

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// One node of 5,000 goes and one comes; 50,000 pods run.
func BenchmarkWhatIf5000(b *testing.B) {
	o := &dump.Objects{}
	for k := range 5000 {
		n := fmt.Sprintf("n%d", k)
		o.Nodes = append(o.Nodes, testkit.Node(n).Zone(fmt.Sprint("z", k%3)).Capacity("cpu=16,memory=64Gi,pods=110").Obj())
		for i := range 10 {
			p := testkit.Pod(fmt.Sprintf("p%d-%d", k, i)).Labels("app=web").Owner("apps/v1", "ReplicaSet", fmt.Sprint("r", k%500)).Request("cpu=1,memory=2Gi").On(n).Obj()
			p.Spec.Priority, p.Status.Phase = new(int32(0)), v1.PodRunning
			o.Pods = append(o.Pods, p)
		}
	}
	in := dump.Hold(o)
	for b.Loop() {
		var out, errs bytes.Buffer
		code := Run(b.Context(), []string{"-f=-", "-o=json", "-remove-node=n7", "-add-node-like=n8"}, in, &out, &errs)
		require.Zero(b, code, errs.String())
	}
}
