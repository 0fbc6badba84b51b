//go:build unix

package rollout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/program"
)

// crowded writes a cluster of nodes in five zones with so many pods on each. Workloads have up to 30 pods and a budget: a third is plain, a
// third is spread over zones, a third keeps apart by node. A workload of two pods for every twenty nodes hangs: its budget allows nothing, or
// its pods have local data, or nobody makes them again.
func crowded(nodes, perNode int) string {
	var b strings.Builder
	for i := range nodes {
		fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n%d","labels":{"kubernetes.io/hostname":"n%[1]d","topology.kubernetes.io/zone":"z%d"}},"status":{"allocatable":{"cpu":"32","memory":"128Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}}`+"\n", i, i%5)
	}
	pods := nodes * perNode
	for a, made := 0, 0; made < pods; a++ {
		labels := fmt.Sprintf(`{"app":"a%d"}`, a)
		owner, allows := fmt.Sprintf(`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a%d","uid":"a%[1]d","controller":true}],`, a), `"10%"`
		size, rules := min(30, pods-made), ""
		switch hangs := a < nodes/20; {
		case hangs && a%3 == 0:
			size, allows = 2, "0"
		case hangs && a%3 == 1:
			size, rules = 2, `"volumes":[{"name":"e","emptyDir":{}}],`
		case hangs:
			size, owner = 2, ""
		case a%3 == 1:
			rules = `"topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":` + labels + `}}],`
		case a%3 == 2:
			rules = `"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":` + labels + `}}]}},`
		}
		spec := fmt.Sprintf(`%s"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"%dm","memory":"%dMi"}}}]`, rules, 200+a%7*50, 512+a%5*256)
		fmt.Fprintf(&b, `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"a%d","namespace":"default","uid":"a%[1]d"},"spec":{"replicas":%d,"selector":{"matchLabels":%s},"template":{"metadata":{"labels":%[3]s},"spec":{%s}}}}`+"\n", a, size, labels, spec)
		fmt.Fprintf(&b, `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"a%d","namespace":"default","generation":1},"spec":{"maxUnavailable":%s,"selector":{"matchLabels":%s}}}`+"\n", a, allows, labels)
		for k := range size {
			fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a%d-%d","namespace":"default","uid":"a%[1]d-%[2]d",%s"labels":%s},"spec":{"nodeName":"n%d",%s},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`+"\n",
				a, k, owner, labels, (made+k)%nodes, spec)
		}
		made += size
	}
	return b.String()
}

// Rollouts of whole clusters in which pods hang, with the search for remedies, and the processor time that each may take.
//
//	go test ./tools/rollout -run NONE -bench Rollout -benchtime 1x
func BenchmarkRollout(b *testing.B) {
	for _, c := range []struct {
		nodes, perNode int
		args           string
		most           time.Duration
	}{
		{200, 15, "", 20 * time.Second},
		{1000, 20, "-remedies 0", time.Minute},
		{1000, 20, "", time.Minute},
	} {
		b.Run(fmt.Sprintf("nodes %d pods %d %s", c.nodes, c.nodes*c.perNode, c.args), func(b *testing.B) {
			text := crowded(c.nodes, c.perNode)
			before := used(b)
			for b.Loop() {
				var out, errs bytes.Buffer
				code := Run(b.Context(), append(strings.Fields(c.args), "-f", "-", "-o", "json"), strings.NewReader(text), &out, &errs)
				require.Equal(b, program.OK, code, errs.String())
				var plan rolloutPlan
				require.NoError(b, json.Unmarshal(out.Bytes(), &plan))
				require.Equal(b, c.nodes*c.perNode, plan.Summary.Pods)
				require.NotEmpty(b, plan.Blocked)
				b.ReportMetric(float64(plan.Summary.Replaced), "replaced")
				b.ReportMetric(float64(len(plan.Blocked)), "deadlocks")
				remedies := 0
				for _, d := range plan.Blocked {
					remedies += len(d.Remedies)
				}
				b.ReportMetric(float64(remedies), "remedies")
				b.ReportMetric(float64(plan.Untried), "untried")
			}
			spent := (used(b) - before) / time.Duration(b.N)
			b.ReportMetric(spent.Seconds(), "cpu-s/op")
			require.LessOrEqual(b, spent, c.most)
		})
	}
}

// used returns the processor time of this process.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
