package placement

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/testkit"
)

// Controllers rely on the stored form: these bytes do not change.
func TestStoredForm(t *testing.T) {
	p, _ := planOf(t, cluster.Objects{
		Nodes: []*v1.Node{
			testkit.Node("a1").Zone("a").Capacity("cpu=4,memory=8Gi").Obj(), testkit.Node("a2").Zone("a").Capacity("cpu=4,memory=8Gi").Obj(),
			testkit.Node("b1").Zone("b").Capacity("cpu=4,memory=8Gi").Taint("team=a:NoSchedule").Obj(),
		},
		StorageClasses:    []*storagev1.StorageClass{storageClass("local", "kubernetes.io/no-provisioner"), storageClass("fast", "csi.example.com")},
		PersistentVolumes: []*v1.PersistentVolume{disk("disk-a", "local", "a", "10Gi")},
		Claims:            []*v1.PersistentVolumeClaim{waiting("data", "local", "5Gi"), waiting("scratch", "fast", "5Gi")},
	})
	type test struct {
		name, why, want string
		pod             *v1.Pod
	}
	testkit.Run(t, []test{
		{"placed", "a node, and what it was chosen with", `{"node":"a1","total":452,"nodes":3,"evaluated":3,"feasible":2}`,
			testkit.Pod("p").Request("cpu=1,memory=1Gi").Obj()},
		{"with volumes", "claims by name", `{"node":"a1","total":447,"nodes":3,"evaluated":3,"feasible":2,"volumes":{"bind":[{"claim":"default/data","volume":"disk-a"}],"provision":["default/scratch"]}}`,
			mounting(testkit.Pod("p").Obj(), "data", "scratch")},
		{"rejected by nodes", "each reason with the number of nodes", `{"total":0,"nodes":3,"evaluated":3,"feasible":0,"failure":{"code":"Unschedulable","message":"0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.","nodes":3,"reasons":[{"reason":"Insufficient cpu","nodes":2},{"reason":"node(s) had untolerated taint(s)","nodes":1}],"rejecters":["TaintToleration","NodeResourcesFit"]}}`,
			testkit.Pod("p").Request("cpu=16").Obj()},
		{"rejected before any node", "the plugin's text", `{"total":0,"nodes":3,"evaluated":0,"feasible":0,"failure":{"code":"UnschedulableAndUnresolvable","message":"0/3 nodes are available: persistentvolumeclaim \"gone\" not found.","nodes":3,"preFilter":"persistentvolumeclaim \"gone\" not found","rejecters":["VolumeRestrictions"]}}`,
			mounting(testkit.Pod("p").Obj(), "gone")},
		{"narrowed", "nodes that were left out", `{"total":0,"nodes":3,"evaluated":1,"feasible":0,"failure":{"code":"Unschedulable","message":"0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 node(s) didn't satisfy plugin(s) [NodeAffinity].","nodes":3,"reasons":[{"reason":"node(s) had untolerated taint(s)","nodes":1}],"absent":["node(s) didn't satisfy plugin(s) [NodeAffinity]"],"absentNodes":2,"rejecters":["TaintToleration","NodeAffinity"]}}`,
			testkit.Pod("p").RequireNodes(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"b1"}}}}).Obj()},
	}, func(t *testing.T, c test) {
		d := p.Decide(c.pod, Options{})
		data, err := json.Marshal(d)
		require.NoError(t, err)
		require.Equal(t, c.want, string(data))
		if d.Failure != nil {
			require.NoError(t, json.Unmarshal(data, &d))
			require.Contains(t, c.want, `"message":`+string(must.Get(json.Marshal(d.Failure.Text()))))
		}
	})
	failed := Failure{Code: filter.Error, Err: errors.New(`running PreScore plugin "X": boom`)}
	data, err := json.Marshal(failed)
	require.NoError(t, err)
	require.JSONEq(t, `{"code":"Error","message":"running PreScore plugin \"X\": boom","error":"running PreScore plugin \"X\": boom"}`, string(data))
	require.EqualError(t, json.Unmarshal([]byte(`{"code":"Perhaps"}`), &failed), `code: Unsupported value: "Perhaps"`)
	require.Error(t, json.Unmarshal([]byte(`{"nodes":"many"}`), &Decision{}))
}

// Reading returns what was written.
func TestStoredFormReadBack(t *testing.T) {
	w := &world{r: rand.New(rand.NewPCG(1, 13))}
	failures := 0
	for range 300 {
		p, err := New(w.snapshot(t, 1+w.r.IntN(5), w.r.IntN(12)), DefaultProfile())
		require.NoError(t, err)
		d := p.Decide(w.pod(w.r.IntN(30)), Options{})
		data, err := json.Marshal(d)
		require.NoError(t, err)
		var back Decision
		require.NoError(t, json.Unmarshal(data, &back))
		d.Next = 0
		if d.Failure != nil {
			failures++
			require.Equal(t, d.Failure.Text(), back.Failure.Text())
		}
		d.Slot = -1
		require.Equal(t, d, back)
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
	}
	require.Greater(t, failures, 20)
}
