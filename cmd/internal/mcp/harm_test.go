package mcp

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// No tool advises to tolerate or to remove the taint of an agent, of a cloud or of the cluster itself, where the only node with room has it.
func TestNoForbiddenEdit(t *testing.T) {
	keys := testkit.AgentTaints
	if testing.Short() {
		keys = keys[:6]
	}
	for k, key := range keys {
		o := &dump.Objects{}
		node := func(name string) testkit.NodeBuilder {
			return testkit.Node(name).Label(v1.LabelHostname, name).Capacity("cpu=8,memory=8Gi,pods=10")
		}
		only, pod := node("only").Taint(key+"=v:NoSchedule"), testkit.Pod("web").Request("cpu=4")
		if k%2 == 0 {
			only, pod = only.Label("disk", "ssd"), pod.NodeSelector("disk=ssd")
		}
		o.Nodes = []*v1.Node{node("full").Obj(), only.Obj()}
		o.Nodes[1].Spec.Unschedulable = key == v1.TaintNodeUnschedulable
		o.Pods = []*v1.Pod{testkit.Pod("busy").On("full").Priority(9).Request("cpu=8").Obj(), pod.Priority(0).Obj()}
		c := connect(t, Options{Namespace: "default", Read: func(context.Context) (*dump.Objects, []string, error) { return o, nil, nil }})
		for tool, a := range map[string]args{"why_pod": {"pod": "default/web"}, "overview": {}, "drain": {"nodes": []string{"full"}}, "fit": {"pod": "default/web"}, "what_if": {"changes": []any{args{"do": "removeNode", "on": "full"}}}} {
			s := ask(t, c, tool, a)
			require.False(t, s.bad, "%s: %s: %s", key, tool, s.text)
			require.Empty(t, testkit.Harms(s.text), "%s: %s", key, tool)
			data, err := json.Marshal(s.data)
			require.NoError(t, err)
			require.Empty(t, testkit.Harms(string(data)), "%s: %s", key, tool)
		}
	}
}
