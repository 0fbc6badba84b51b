package place

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// spreadInput is example S-35: nodes a and b in zone z1 with two pods and one, x and y in z2 with none and four, and a
// replica that waits. objects are the workload objects beside them.
func spreadInput(objects ...string) string {
	var b strings.Builder
	for _, node := range [][2]string{{"a", "z1"}, {"b", "z1"}, {"x", "z2"}, {"y", "z2"}} {
		fmt.Fprintf(&b, `apiVersion: v1
kind: Node
metadata: {name: %[1]q, labels: {kubernetes.io/hostname: %[1]q, topology.kubernetes.io/zone: %[2]s}}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
---
`, node[0], node[1])
	}
	replica := func(name, node string) {
		if node != "" {
			node = fmt.Sprintf("nodeName: %q, ", node)
		}
		fmt.Fprintf(&b, `apiVersion: v1
kind: Pod
metadata:
  name: %s
  labels: {foo: bar}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: u-web, controller: true}]
spec: {%spriority: 0, containers: [{name: c}]}
---
`, name, node)
	}
	for k, node := range []string{"a", "a", "b", "y", "y", "y", "y"} {
		replica(fmt.Sprintf("web-%d", k), node)
	}
	replica("web-new", "")
	return b.String() + strings.Join(objects, "---\n")
}

const (
	spreadService    = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {foo: bar}}\n"
	spreadReplicaSet = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web, uid: u-web}\nspec: {replicas: 8, selector: {matchLabels: {foo: bar}}, template: {metadata: {labels: {foo: bar}}, spec: {containers: [{name: c}]}}}\n"
)

// The default constraints of a pod without any of its own need the selectors of the cluster's services and controllers: the
// same score from either, and none without both.
func TestSpreadDefaults(t *testing.T) {
	type scores struct{ raw, normalized [4]int64 }
	s35 := scores{[4]int64{14, 12, 12, 19}, [4]int64{89, 100, 100, 63}}
	type test struct {
		name, why string
		objects   []string
		want      *scores
	}
	testkit.Run(t, []test{
		{"S-35 service and ReplicaSet", "hostname maxSkew 3 and zone maxSkew 5, counted by foo=bar", []string{spreadService, spreadReplicaSet}, &s35},
		{"S-35 ReplicaSet", "the controller's selector alone", []string{spreadReplicaSet}, &s35},
		{"S-61 service", "the service's selector alone", []string{spreadService}, &s35},
		{"S-60 neither", "nothing to count by: the plugin does not score", nil, nil},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, spreadInput(c.objects...), "-f", "-", "-o", "json", "-detail")
		require.Zero(t, code, errs)
		require.Empty(t, errs)
		var have struct {
			Attempts []struct {
				Pod, Node string
				Nodes     []struct {
					Node   string
					Scores []struct {
						Plugin                    string
						Raw, Normalized, Weighted int64
					}
				}
			}
		}
		require.NoError(t, json.Unmarshal([]byte(out), &have))
		require.Len(t, have.Attempts, 1)
		require.Equal(t, "default/web-new", have.Attempts[0].Pod)
		var got scores
		found := 0
		for k, node := range have.Attempts[0].Nodes {
			require.Equal(t, []string{"a", "b", "x", "y"}[k], node.Node)
			for _, s := range node.Scores {
				if s.Plugin == "PodTopologySpread" {
					found++
					got.raw[k], got.normalized[k] = s.Raw, s.Normalized
					require.Equal(t, 2*s.Normalized, s.Weighted)
				}
			}
		}
		if c.want == nil {
			require.Zero(t, found, c.why)
			return
		}
		require.Equal(t, 4, found, c.why)
		require.Equal(t, *c.want, got, c.why)
	})
}
