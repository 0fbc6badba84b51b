package dump

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The memory of -expand grows with the number of replicas, not with its square.
func TestExpandIsLinear(t *testing.T) {
	took := func(replicas int) uint64 {
		o, err := readText(fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: %d, template: {spec: {containers: [{name: c}]}}}\n", replicas), Options{})
		require.NoError(t, err)
		return memory(func() {
			made, err := o.Expand()
			require.NoError(t, err)
			require.Len(t, made, replicas)
			require.Equal(t, fmt.Sprintf("%s-%d", o.ReplicaSets[0].Name, replicas), made[replicas-1].Name)
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
	made, err := o.Expand()
	require.NoError(t, err)
	require.Len(t, made, 1)
	require.Equal(t, "db-1", made[0].Name)
	require.Equal(t, "data-db-1", o.PersistentVolumeClaims[0].Name)
	require.Len(t, o.Pods, 2, "the failed pod is gone")
	require.Equal(t, []string{"StatefulSet default/db makes no more pods: pod db-1 is not running and ready"}, o.Warnings.Lines())

	o, err = readText("{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: -1}}", Options{})
	require.NoError(t, err)
	_, err = o.Expand()
	require.EqualError(t, err, "ReplicaSet default/web: spec.replicas: Invalid value: -1: must be greater than or equal to 0")
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
			begin := time.Now()
			made, err := o.Expand()
			best = min(best, time.Since(begin))
			require.NoError(t, err)
			require.Len(t, made, n)
		}
		return best
	}
	small, large := took(100), took(6400)
	require.Less(t, large, 1000*small)
}
