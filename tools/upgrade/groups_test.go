package upgrade

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pending pods of groups are compared where groups do not count, or count alike in both versions: no other release has v1.37's rules.
func TestPodsOfGroups(t *testing.T) {
	const cluster = `{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 0, schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: r}, spec: {priority: 0, nodeName: n1, schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {priority: 0, containers: [{name: c, image: i}]}}
`
	type answer struct {
		Grouped []string
		Summary struct{ Pending, Running int }
	}
	ask := func(args ...string) (a answer, out string) {
		var data, errs bytes.Buffer
		require.Zero(t, Run(t.Context(), append([]string{"-f", "-", "-o", "json"}, args...), strings.NewReader(cluster), &data, &errs), errs.String())
		require.NoError(t, json.Unmarshal(data.Bytes(), &a))
		return a, errs.String()
	}
	for _, c := range []struct {
		args    []string
		grouped []string
		pending int
		note    bool
	}{
		{[]string{"-from", "1.36", "-to", "1.37"}, []string{"default/a"}, 1, true},
		{[]string{"-from", "1.37", "-to", "1.36"}, []string{"default/a"}, 1, true},
		{[]string{"-from", "1.35", "-to", "1.36"}, []string{"default/a"}, 1, true},
		{[]string{"-from", "1.37", "-to", "1.37"}, []string{}, 2, true},
		{[]string{"-from", "1.36", "-to", "1.37", "-feature-gates", "GenericWorkload=false"}, []string{}, 2, false},
		{[]string{"-from", "1.36", "-to", "1.37", "-feature-gates", "GenericWorkload=true"}, []string{"default/a"}, 1, false},
	} {
		a, errs := ask(c.args...)
		require.Equal(t, c.grouped, a.Grouped, "%v", c.args)
		require.Equal(t, c.pending, a.Summary.Pending, "%v", c.args)
		require.Equal(t, 1, a.Summary.Running, "%v", c.args)
		require.Equal(t, c.note, strings.Contains(errs, "the input has 1 group; feature gates that count as on: GenericWorkload"), errs)
	}
}
