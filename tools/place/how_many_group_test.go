package place

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// -how-many of a pod of a group counts whole groups. With -admit quotas are charged with each pod of a copy.
func TestHowManyOfAGroup(t *testing.T) {
	cluster, err := os.ReadFile("testdata/gangs.yaml")
	require.NoError(t, err)
	const quota = "\n---\n{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: '%'}}}\n"
	ask := func(input string, args ...string) string {
		code, out, errs := simulate(t, input, append([]string{"-f", "-", "-how-many", "default/train-2"}, args...)...)
		require.Zero(t, code, errs)
		return out
	}
	require.Equal(t, `1 more group like podgroup/default/train fits, with 3 pods.
NODE   PODS
n1     3
Groups by rack: r1 1
One more does not: 1 of 3 pods of its group find nodes; default/train-1-2: 0/1 nodes are available: 1 Insufficient cpu.
`, ask(string(cluster)))

	single := oneNode + `---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
---
` + strings.Replace(onePod, "containers:", "schedulingGroup: {podGroupName: g}, containers:", 1)
	_, out, errs := simulate(t, single+strings.Replace(quota, "%", "5", 1), "-f", "-", "-how-many", "default/p", "-admit")
	require.Contains(t, out, "more groups like podgroup/default/g fit, each with 2 pods.\n", errs)
	require.Contains(t, out, "One more does not: pods \"p-3\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5\n")

	code, _, errs := simulate(t, strings.Replace(single, "minCount: 2", "minCount: 2147483647", 1), "-f", "-", "-how-many", "default/p")
	require.Equal(t, 2, code)
	require.Equal(t, "place: group default/g needs 2147483647 pods, and at most 100000 are placed to count\n", errs)
}
