package place

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// pieces has room for the pod big in two pieces: one move joins them.
const pieces = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, uid: web}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db, uid: db}, spec: {nodeName: n2, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: big, uid: big}, spec: {containers: [{name: c, resources: {requests: {cpu: "4"}}}]}}
`

func TestPack(t *testing.T) {
	code, out, errs := simulate(t, pieces, "-f", "-", "-pack")
	require.Zero(t, code, errs)
	require.Equal(t, `PRIORITY   PODS   PLACED NOW   BY KUBE-SCHEDULER   BY THE PLAN   AT MOST
0          3      2            2                   3             3

POD           PRIORITY   FROM     TO
default/db    0          n2       n1
default/big   0          <none>   n2

No better plan exists.
`, out)
	code, out, errs = simulate(t, oneNode+"---\n"+onePod, "-f", "-", "-pack", "-fail-unschedulable")
	require.Zero(t, code, errs)
	require.Contains(t, out, "kube-scheduler's places are the best: nothing has to move.")
}

// Nodes of eight devices with pods of high and low priority, and a pod of high priority that wants all eight: the high pods of one node go to
// the places of low pods elsewhere.
func TestPackFragments(t *testing.T) {
	for _, name := range []string{"gpu-fragments", "gpu-fragments-small"} {
		code, out, errs := simulate(t, "", "-f", "testdata/"+name+".yaml", "-pack")
		require.Zero(t, code, errs)
		testkit.Golden(t, "testdata/"+name+".txt", out)
	}
}

// The bounds of lower priorities hold only if the plan reaches those above: without that they are not printed.
func TestPackGap(t *testing.T) {
	const two = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, uid: a, labels: {app: a}}, spec: {priority: 5, containers: [{name: c, resources: {requests: {cpu: "1"}}}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, uid: b, labels: {app: a}}, spec: {priority: 5, containers: [{name: c, resources: {requests: {cpu: "1"}}}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, uid: c, labels: {app: a}}, spec: {priority: 5, containers: [{name: c, resources: {requests: {cpu: "1"}}}], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: d, uid: d, labels: {app: a}}, spec: {priority: 1, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}}
`
	code, out, errs := simulate(t, two, "-f", "-", "-pack", "-steps", "50")
	require.Zero(t, code, errs)
	require.Equal(t, `PRIORITY   PODS   PLACED NOW   BY KUBE-SCHEDULER   BY THE PLAN   AT MOST
5          3      0            2                   2             3
1          1      0            0                   0             -

No plan was found that is better than kube-scheduler: at most 3 of 3 pods of priority 5 have room, and 50 steps were searched.
`, out)
}
