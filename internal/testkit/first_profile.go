package testkit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// profiled is a cluster in which pod p of scheduler own, on node n1, can go to n2, which is empty, and to n3.
const profiled = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n3}, status: {allocatable: {cpu: 4, memory: 4Gi, pods: 10}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, ownerReferences: [{apiVersion: example.com/v1, kind: Rollout, name: r, uid: r, controller: true}]}
spec: {nodeName: n1, schedulerName: own, containers: [{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: q, namespace: default, ownerReferences: [{apiVersion: example.com/v1, kind: Rollout, name: r, uid: r, controller: true}]}
spec: {nodeName: n3, containers: [{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}
`

// FirstProfile tests -config of a program: the first profile decides about its pods, and everything else that the document asks for is
// a warning. node runs the program about the input with a configuration file. It returns the node to which pod p goes when n1 is
// empty, and what the program printed to standard error. foreign is what node returns for a pod of another scheduler.
func FirstProfile(t *testing.T, node func(input, config string) (node, errs string), foreign string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	with := func(config string) (to, errs string) {
		require.NoError(t, os.WriteFile(file, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+config), 0o600))
		return node(profiled, file)
	}
	least, errs := with("profiles: [{schedulerName: own, percentageOfNodesToScore: 1}]\n")
	require.Equal(t, "n2", least)
	require.NotContains(t, errs, "profile")
	most, _ := with(`profiles:
- schedulerName: own
  pluginConfig:
  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}}}
`)
	require.Equal(t, "n3", most)
	other, errs := with("profiles: [{schedulerName: other}, {schedulerName: own}]\nextenders: [{urlPrefix: 'http://127.0.0.1:1', filterVerb: filter}]\n")
	require.Equal(t, foreign, other, "another scheduler decides about the pod")
	require.Contains(t, errs, "profile own: is left out: the first profile decides")
	require.Contains(t, errs, "1 extenders of "+file+" are not asked")
}
