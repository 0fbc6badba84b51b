package place

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// The pods of a shipped cluster with bound, waiting, zonal and ReadWriteOncePod claims: each decision about volumes reaches
// the pods after it.
func TestVolumes(t *testing.T) {
	const cluster = "testdata/volumes.yaml"
	code, out, errs := simulate(t, "", "-f", cluster, "-o", "json")
	require.Zero(t, code, errs)
	require.Equal(t, "warning: the input has no PodDisruptionBudget; if the cluster has such objects, they could change the answer: kubectl get poddisruptionbudgets -A -o yaml\n", errs)
	var have struct{ Attempts []entry }
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	const all = "0/5 nodes are available: "
	for k, want := range []struct{ pod, node, message, reason string }{
		{"shop/orders-0", "a2", "", "its volume is in zone a, where a1 has no attachment left"},
		{"shop/archive-0", "c1", "", "its volume's label says zone c"},
		{"shop/search-1", "b2", "", "the free volume is on b2"},
		{"shop/search-2", "", all + "5 node(s) didn't find available persistent volumes to bind.", "the first took it"},
		{"shop/index-0", "c1", "", "40Gi are free in zone c only"},
		{"shop/ledger-0", "b2", "", "provisioned in zone b or c; b1 has no attachment left"},
		{"shop/ledger-1", "", all + "5 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.", "the first has the claim"},
		{"shop/report-0", "", all + "pod has unbound immediate PersistentVolumeClaims.", "nobody bound it"},
		{"shop/lost-0", "", all + `persistentvolumeclaim "nowhere" not found.`, "no such claim"},
	} {
		got := have.Attempts[k]
		require.Equal(t, want.pod, got.Pod)
		require.Equal(t, want.node, got.Node, "%s: %s; %s", want.pod, want.reason, got.Message)
		require.True(t, strings.HasPrefix(got.Message, want.message), "%s: %s", want.pod, got.Message)
		require.Equal(t, want.message == "", got.Message == "", got.Message)
	}
	type test struct {
		name, golden string
		args         []string
	}
	testkit.Run(t, []test{
		{"table", "testdata/volumes.table", nil},
		{"explain a rejected pod", "testdata/volumes-explain.txt", []string{"-explain", "shop/search-2"}},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, "", append([]string{"-f", cluster}, c.args...)...)
		require.Zero(t, code, errs)
		testkit.Golden(t, c.golden, out)
	})
}

// A held input answers twice alike: the run binds copies of its claims.
func TestHeldClaimsStay(t *testing.T) {
	o, err := dump.Read([]string{"testdata/volumes.yaml"}, nil, dump.Options{})
	require.NoError(t, err)
	in := dump.Hold(o)
	var answers [2]string
	for k := range answers {
		var out, errs bytes.Buffer
		require.Zero(t, Run(t.Context(), []string{"-f=-", "-o=json"}, in, &out, &errs), errs.String())
		answers[k] = out.String()
	}
	require.Equal(t, answers[0], answers[1])
}

// Every kind of storage object is read: without those of one kind the same pods are decided otherwise.
func TestVolumeKinds(t *testing.T) {
	data, err := os.ReadFile("testdata/volumes.yaml")
	require.NoError(t, err)
	text, err := yaml.ToJSON(data)
	require.NoError(t, err)
	var list struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}
	require.NoError(t, json.Unmarshal(text, &list))
	_, whole, _ := simulate(t, string(text), "-f", "-")
	for _, kind := range []string{"PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment"} {
		t.Run(kind, func(t *testing.T) {
			less := list
			less.Items = slices.DeleteFunc(slices.Clone(list.Items), func(o map[string]any) bool { return o["kind"] == kind })
			require.Less(t, len(less.Items), len(list.Items))
			text, err := json.Marshal(less)
			require.NoError(t, err)
			code, out, errs := simulate(t, string(text), "-f", "-")
			require.Zero(t, code, errs)
			require.NotEqual(t, whole, out)
		})
	}
}
