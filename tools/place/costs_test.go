package place

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// What an explanation costs does not follow the size of one pod: the search ends earlier where each of its steps costs more, and says so.
func TestCostDoesNotFollowOnePod(t *testing.T) {
	var exprs, res strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&exprs, "{key: k%d, operator: In, values: [a]},", i)
	}
	for i := range 400 {
		fmt.Fprintf(&res, "example.com/r%d: 1,", i)
	}
	nodes := ""
	for i := range 10 {
		nodes += fmt.Sprintf("---\napiVersion: v1\nkind: Node\nmetadata: {name: n%d, labels: {a: b}}\nstatus: {allocatable: {cpu: 2, memory: 4Gi, pods: 10}}\n", i)
	}
	for name, spec := range map[string]string{
		"expressions": "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [" + exprs.String() + "]}]}}}, containers: [{name: c, image: i}]",
		"resources":   "containers: [{name: c, image: i, resources: {requests: {" + res.String() + "}, limits: {" + res.String() + "}}}]",
	} {
		t.Run(name, func(t *testing.T) {
			in := nodes + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\nspec: {" + spec + "}\n"
			var out, errs strings.Builder
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := testkit.ProcessorTime(t)
			require.Equal(t, 0, Run(t.Context(), []string{"-f", "-", "-explain", "default/p"}, strings.NewReader(in), &out, &errs), errs.String())
			took := testkit.ProcessorTime(t) - began
			runtime.ReadMemStats(&after)
			require.Less(t, took, 2*time.Second)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(300<<20), "of which most is free again")
			require.Equal(t, name == "expressions", strings.Contains(out.String(), "The search for what would help was cut"))
		})
	}
}
