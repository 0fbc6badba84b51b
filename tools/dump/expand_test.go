package dump

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The memory of -expand grows with the number of replicas, not with its square.
func TestExpandIsLinear(t *testing.T) {
	took := func(replicas int) uint64 {
		o, err := readText(fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: %d, template: {spec: {containers: [{name: c}]}}}\n", replicas), Options{})
		require.NoError(t, err)
		return memory(func() {
			made, err := o.Expand(true)
			require.NoError(t, err)
			require.Len(t, made.Pods, replicas)
			require.Equal(t, fmt.Sprintf("%s-%d", o.ReplicaSets[0].Name, replicas), made.Pods[replicas-1].Name)
		})
	}
	small, large := took(1000), took(8000)
	require.Less(t, large, 12*small, "bytes allocated for 8 times the replicas")
}

// -expand of a StatefulSet makes claims and, as OrderedReady asks, only the next pod. Existing replicas are not made again.
// A warning names the replicas that are not made yet.
func TestExpandIsWhatControllersMake(t *testing.T) {
	o, err := readText(`
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 3, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c}]}}, volumeClaimTemplates: [{metadata: {name: data}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db-0, labels: {app: db}}, spec: {nodeName: n1}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db-1, labels: {app: db}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, controller: true}]}, status: {phase: Failed}}
`, Options{})
	require.NoError(t, err)
	given, failed := o.Pods, o.Pods[1]
	made, err := o.Expand(true)
	require.NoError(t, err)
	require.Same(t, failed, given[1], "the list that the caller has stays")
	require.Len(t, made.Pods, 1)
	require.Equal(t, "db-1", made.Pods[0].Name)
	require.Equal(t, "data-db-1", o.PersistentVolumeClaims[0].Name)
	require.Len(t, o.Pods, 2, "the failed pod is gone")
	require.Equal(t, []string{"StatefulSet default/db makes no more pods: pod db-1 is not running and ready"}, o.Warnings.Lines())

	o, err = readText("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: -1}}", Options{})
	require.NoError(t, err)
	_, err = o.Expand(true)
	require.EqualError(t, err, "ReplicaSet default/web: spec.replicas: Invalid value: -1: must be greater than or equal to 0")
}

// Every kind of workload makes its pods. A ReplicaSet that a Deployment has already makes those of the Deployment.
func TestExpandMakesPodsOfEveryKind(t *testing.T) {
	shape := func(rest string) string {
		return "spec: {" + rest + "selector: {matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {restartPolicy: Always, containers: [{name: c, image: a}]}}}}"
	}
	text := nodeYAML + `---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d}, ` + shape("replicas: 3, ") + `
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-a, uid: r, labels: {app: w}, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}, ` + shape("replicas: 1, ") + `
---
{apiVersion: v1, kind: Pod, metadata: {name: web-a-x, labels: {app: w}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-a, uid: r, controller: true}]}, spec: {nodeName: n1, containers: [{name: c}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: new}, ` + shape("") + `
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: set}, ` + shape("replicas: 2, ") + `
---
{apiVersion: v1, kind: ReplicationController, metadata: {name: rc}, ` + strings.Replace(shape(""), "{matchLabels: {app: w}}", "{app: w}", 1) + `
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, ` + shape("podManagementPolicy: Parallel, replicas: 2, volumeClaimTemplates: [{metadata: {name: data}}], ") + `
---
{apiVersion: batch/v1, kind: Job, metadata: {name: once}, ` + strings.Replace(strings.Replace(shape("parallelism: 2, completions: 2, "), "selector: {matchLabels: {app: w}}, ", "", 1), "Always", "Never", 1) + `
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, ` + shape("") + `
`
	o, err := readText(text, Options{})
	require.NoError(t, err)
	made, err := o.Expand(true)
	require.NoError(t, err)
	var pods, sets, claims []string
	for _, p := range made.Pods {
		owner := metav1.GetControllerOf(p)
		pods = append(pods, owner.Kind+" "+owner.Name+" "+p.Name)
	}
	for _, r := range o.ReplicaSets {
		sets = append(sets, r.Name)
	}
	for _, c := range o.PersistentVolumeClaims {
		claims = append(claims, c.Name)
	}
	require.Equal(t, []string{
		"ReplicaSet set set-1", "ReplicaSet set set-2", "ReplicaSet web-a web-a-1", "ReplicaSet web-a web-a-2", "ReplicaSet new-55fd4454d new-55fd4454d-1",
		"ReplicationController rc rc-1", "StatefulSet db db-0", "StatefulSet db db-1", "Job once once-1", "Job once once-2", "DaemonSet agent agent-1",
	}, pods)
	require.Equal(t, []string{"web-a", "set", "new-55fd4454d"}, sets)
	require.Equal(t, []string{"data-db-0", "data-db-1"}, claims)
	require.Len(t, o.Pods, 1+len(made.Pods))
	require.Empty(t, o.Warnings.Lines())
}

// Expanding Deployments takes time in their number, not in its product with the number of ReplicaSets: 64 times the objects
// take far less than 4,096 times the time.
func TestDeploymentsAndReplicaSetsAreMatchedInLinearTime(t *testing.T) {
	took := func(n int) time.Duration {
		var all Objects
		for i := range n {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("w", i)}}
			r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: d.Name + "-a"}}
			r.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
			all.Deployments, all.ReplicaSets = append(all.Deployments, d), append(all.ReplicaSets, r)
		}
		best := time.Hour
		for range 4 {
			o := all
			begin := testkit.ProcessorTime(t)
			made, err := o.Expand(true)
			best = min(best, testkit.ProcessorTime(t)-begin)
			require.NoError(t, err)
			require.Len(t, made.Pods, n)
		}
		return best
	}
	small, large := took(100), took(6400)
	require.Less(t, large, 1000*small)
}
