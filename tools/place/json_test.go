package place

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

// The outputs have the form of the schemas, and the schemas that of the types.
func TestSchema(t *testing.T) {
	const busy = "testdata/busy.yaml"
	const apart = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {disk: ssd}}, status: {allocatable: {cpu: 1, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 1, pods: 10}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, uid: web}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priority: %d, nodeSelector: {disk: ssd}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-0, uid: web-0, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: web, controller: true}]%s}, spec: {nodeName: n1, priority: 0, containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
`
	const racks = `
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {rack: a}}, status: {allocatable: {cpu: 1, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {rack: b}}, status: {allocatable: {cpu: 1, pods: 10}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: m}, spec: {schedulingPolicy: {gang: {minCount: 2}}, schedulingConstraints: {topology: [{key: rack}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: m-0}, spec: {schedulingGroup: {podGroupName: m}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: m-1}, spec: {schedulingGroup: {podGroupName: m}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
`
	running := strings.ReplaceAll(racks, "rack: b", "rack: a")
	running = strings.Replace(strings.ReplaceAll(running, "spec: {schedulingGroup", "spec: {nodeName: n1, schedulingGroup"), "nodeName: n1", "nodeName: n2", 1)
	var outs []string
	type test struct {
		name, input string
		args        []string
	}
	testkit.Run(t, []test{
		{"simulation", "", []string{"-f", shop}},
		{"detail", "", []string{"-f", shop, "-detail"}},
		{"refused", documents(oneNode, noClass), []string{"-f", "-"}},
		{"preempted", crowd(), []string{"-f", "-"}},
		{"explained, placed", "", []string{"-f", shop, "-explain", "shop/web-6d4b75cb6d-q6kxd"}},
		{"explained, rejected", "", []string{"-f", shop, "-explain", "data/postgres-3"}},
		{"explained, devices", "", []string{"-f", "testdata/devices.yaml", "-explain", "ml/train-0"}},
		{"explained, elsewhere", "", []string{"-f", shop, "-explain", "shop/web-6d4b75cb6d-q6kxd", "-where", "topology.kubernetes.io/zone=eu-1b"}},
		{"explained, gated", "", []string{"-f", shop, "-explain", "shop/cart-canary"}},
		{"how many", "", []string{"-f", shop, "-how-many", "shop/web-6d4b75cb6d-q6kxd"}},
		{"how many, none", "", []string{"-f", shop, "-how-many", "data/postgres-3"}},
		{"packed", pieces, []string{"-f", "-", "-pack"}},
		{"packed, shop", "", []string{"-f", shop, "-pack"}},
		{"two configurations", "", []string{"-f", shop, "-against", "testdata/most-allocated.yaml"}},
		{"how many, claims", "", []string{"-f", "testdata/volumes.yaml", "-how-many", "shop/lost-0"}},
		{"how many, quota", oneNode + "---\n{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: '3'}}}\n---\n" + onePod, []string{"-f", "-", "-how-many", "default/p", "-admit"}},
		{"how many, one node", nodeYAML("n1", "1", "") + nodeYAML("n2", "4", "") + "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}\n", []string{"-f", "-", "-how-many", "default/p"}},
		{"how many gangs", "", []string{"-f", "testdata/gangs.yaml", "-how-many", "default/train-0"}},
		{"how many of a running gang", running, []string{"-f", "-", "-how-many", "default/m-0"}},
		{"counted", nodeYAML("n1", "1", "") + "---\n{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: w, uid: w}, spec: {replicas: 5000, selector: {matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}}}}\n", []string{"-f", "-", "-expand"}},
		{"explained, gang", "", []string{"-f", "testdata/gang_trap.yaml", "-explain", "default/trap-1"}},
		{"groups of groups", "", []string{"-f", "testdata/gang_trees.yaml"}},
		{"explained, not enough of a gang", "", []string{"-f", "testdata/gangs.yaml", "-explain", "default/few-0"}},
		{"explained, a gang in one rack", racks, []string{"-f", "-", "-explain", "default/m-0"}},
		{"explained, weights", "", []string{"-f", "testdata/calm.yaml", "-explain", "default/with-small"}},
		{"explained, cut", "", []string{"-f", shop, "-explain", "data/postgres-3", "-steps", "1"}},
		{"explained, a pod moves", fmt.Sprintf(apart, 0, ""), []string{"-f", "-", "-explain", "default/p"}},
		{"explained, a victim moves", fmt.Sprintf(apart, 5, ""), []string{"-f", "-", "-explain", "default/p", "-preemption", "optimal"}},
		{"explained, a pod ends", fmt.Sprintf(apart, 0, ", deletionTimestamp: '2026-03-02T08:00:30Z', deletionGracePeriodSeconds: 30"), []string{"-f", "-", "-explain", "default/p"}},
		{"explained, owner", "", []string{"-f", busy, "-explain", "data/gpu", "-preemption", "optimal"}},
		{"explained, moves", "", []string{"-f", busy, "-explain", "shop/gated", "-preemption", "optimal"}},
		{"explained, restarts", "", []string{"-f", busy, "-explain", "shop/vip", "-preemption", "optimal"}},
		{"explained, kept", "", []string{"-f", busy, "-explain", "data/plain"}},
		{"explained, nodes alike", "", []string{"-f", "../../diagnose/testdata/advice/48-anti-affinity-of-others.yaml", "-explain", "default/pod3"}},
		{"explained, a larger node", "", []string{"-f", "../../diagnose/testdata/advice/larger-than-a-node-beside-daemons.yaml", "-explain", "default/p"}},
		{"explained, a node without a taint", "", []string{"-f", "../../diagnose/testdata/advice/one-reserved-node.yaml", "-explain", "default/p"}},
		{"explained, a node with a label", "", []string{"-f", "../../diagnose/testdata/advice/zone-without-nodes.yaml", "-explain", "default/p"}},
		{"explained, advice that does harm", "", []string{"-f", "testdata/calm.yaml", "-explain", "default/again-big"}},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, c.input, append(c.args, "-o", "json")...)
		require.Zero(t, code, errs)
		outs = append(outs, out)
	})
	schema.Check(t, testkit.Golden, map[string]any{
		"Simulation": answer{}, "Explanation": explanation{}, "HowMany": roomFor{}, "PackingPlan": packed{}, "ConfigurationDifference": comparison{},
	}, outs, map[string]string{
		"Amount":               "the members of a gang that ask for much are counted apart: planning/gang tests such proofs",
		"Room.of":              "the same",
		"Room.key":             "the same of members that must be apart",
		"Domain.children":      "the same of groups of groups",
		"Domain.exhausted":     "the same of a gang that no count keeps out",
		"Difference.untried":   "the search for help for these gangs ends by itself: planning/gang tests the others",
		"Help.pool":            "no node of these gangs has the label of a pool: planning/gang tests pools",
		"Change.note":          "no change of the other outputs has a risk: package diagnose tests notes",
		"failure.error":        "no filter fails with an error on these clusters",
		"Outlook.cut":          "few pods of these clusters end: diagnose.TestWake has a search that is ended",
		"Comparison.cut":       "no run of this test is interrupted: diagnose.TestEveryLongCallStops",
		"preemptionAnswer.cut": "the search for victims of these pods is short",
	})
}

// -detail of one pod does not print the nodes of all.
func TestDetailOfOnePod(t *testing.T) {
	code, out, errs := simulate(t, "", "-f", shop, "-o", "json", "-detail=data/postgres-3", "-detail=shop/web-6d4b75cb6d-q6kxd")
	require.Zero(t, code, errs)
	var have struct {
		Attempts []struct {
			Pod   string
			Nodes []any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	var with []string
	for _, e := range have.Attempts {
		if len(e.Nodes) > 0 {
			require.Len(t, e.Nodes, 12)
			with = append(with, e.Pod)
		}
	}
	require.Equal(t, []string{"shop/web-6d4b75cb6d-q6kxd", "data/postgres-3"}, with)
	code, _, errs = simulate(t, "", "-f", shop, "-o", "json", "-detail=data/postgres-4")
	require.Equal(t, program.BadInput, code)
	require.True(t, strings.HasPrefix(errs, `place: -detail: Not found: "data/postgres-4": no pod of that namespace and name; near: data/postgres-`), errs)
}
