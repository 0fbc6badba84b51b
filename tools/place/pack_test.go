package place

import (
	"testing"

	"github.com/stretchr/testify/require"
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
