package upgrade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

// mixed is a cluster with a pod for each kind of verdict.
const mixed = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "4", memory: 10Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}, spec: {unschedulable: true}, status: {allocatable: {cpu: "4", memory: 10Gi, pods: "110"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: default, uid: c}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gated, namespace: default}, spec: {schedulingGates: [{name: wait}], containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: fits, namespace: default}, spec: {containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: large, namespace: default}, spec: {containers: [{name: c, resources: {requests: {cpu: "9"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: urgent, namespace: default}, spec: {priority: 9, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: stores, namespace: default}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: none}}], containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: computes, namespace: default, uid: computes}, spec: {resourceClaims: [{name: c, resourceClaimName: c}], containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: nowhere, namespace: default}, spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n9]}]}]}}}, containers: [{name: c}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: stays, namespace: default}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: "3"}}}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: cordoned, namespace: default}, spec: {nodeName: n2, containers: [{name: c}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: unbound, namespace: default}, spec: {nodeName: n1, volumes: [{name: v, persistentVolumeClaim: {claimName: none}}], containers: [{name: c}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: pinned, namespace: default}, spec: {nodeName: n1, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n2]}]}]}}}, containers: [{name: c}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: lost, namespace: default}, spec: {nodeName: n9, containers: [{name: c}]}, status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: unreadable, namespace: default}, spec: {nodeName: n1, topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: app, operator: In}]}}], containers: [{name: c}]}, status: {phase: Running}}
`

// Every pending pod has a verdict, and every running pod the reasons why its node would not take it.
func TestVerdicts(t *testing.T) {
	m, err := dump.Read([]string{"-"}, strings.NewReader(mixed), dump.Options{})
	require.NoError(t, err)
	var out strings.Builder
	for _, v := range []release.Version{release.V1_36, release.V1_37} {
		s := newScheduler(m, placement.PluginArgs{}, all(v))
		for _, p := range m.Pods {
			if p.Spec.NodeName == "" {
				is := s.ask(p)
				fmt.Fprintf(&out, "%v: %s: %s on %q, nominated %q: %s\n", v, p.Name, is.Outcome, is.Node, is.NominatedNode, is.Message)
				continue
			}
			fmt.Fprintf(&out, "%v: %s runs: %q\n", v, p.Name, s.readmit(p))
		}
	}
	testkit.Golden(t, "testdata/verdicts.txt", out.String())
}

// A version is not empty, and the configuration is a document.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{shipped("", "1.36"), `upgrade: invalid value "" for flag -from: must be a release such as 1.36; see upgrade -h`},
		{shipped("1.36", "1.37", "-config", "testdata/1.36-1.37.table"), "upgrade: testdata/1.36-1.37.table: error converting YAML to JSON: "},
		{shipped("1.36", "1.37", "-no-headers", "-o", "json"), "upgrade: -no-headers: Invalid value: true: goes with tables"},
	} {
		code, out, errs := run(c.args...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.True(t, strings.HasPrefix(errs, c.want), errs)
	}
}
