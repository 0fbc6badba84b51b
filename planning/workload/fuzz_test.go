package workload

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// FuzzMake holds laws over random workloads: the input does not change, names are unique, owners exist, a second call adds
// nothing but what waited, and no controller has more pods than it asks for because of Make.
func FuzzMake(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(testkit.RandomBytes(seed, 120))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := random(testkit.NewBytes(data))
		var made *Made
		testkit.Unchanged(t, func() {
			var err error
			made, err = Make(o, Options{Limit: 1000})
			require.NoError(t, err)
		}, objects(o)...)
		names := map[string]bool{}
		left := map[*v1.Pod]bool{}
		for _, p := range made.Finished {
			left[p] = true
		}
		next := o
		next.Pods = nil
		for _, p := range append(o.Pods[:len(o.Pods):len(o.Pods)], made.Pods...) {
			if !left[p] {
				require.False(t, names[p.Name], "two pods %s", p.Name)
				names[p.Name] = true
				next.Pods = append(next.Pods, p)
			}
		}
		for _, p := range made.Pods {
			require.NotNil(t, metav1.GetControllerOf(p))
			require.NotEmpty(t, p.GenerateName)
		}
		next.ReplicaSets = append(o.ReplicaSets[:len(o.ReplicaSets):len(o.ReplicaSets)], made.ReplicaSets...)
		next.Claims = append(o.Claims[:len(o.Claims):len(o.Claims)], made.Claims...)
		again, err := Make(next, Options{Limit: 1000})
		require.NoError(t, err)
		require.Empty(t, again.Pods, "made again")
		require.Empty(t, again.ReplicaSets, "made again")
	})
}

// random makes workloads of up to four replicas and pods of them in all states.
func random(b *testkit.Bytes) (o Objects) {
	n := func() *int32 { return ptr(int32(b.Below(5))) }
	for i := range b.Below(3) {
		d := deployment(fmt.Sprintf("d%d", i), *n())
		o.Deployments = append(o.Deployments, d)
		if b.Below(2) == 0 {
			o.ReplicaSets = append(o.ReplicaSets, setOf(d, *n()))
		}
	}
	for i := range b.Below(3) {
		o.ReplicaSets = append(o.ReplicaSets, replicaSet(fmt.Sprintf("r%d", i), *n()))
	}
	for i := range b.Below(3) {
		s := statefulSet(fmt.Sprintf("s%d", i), *n(), appsv1.OrderedReadyPodManagement)
		if b.Below(2) == 0 {
			s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}
		o.StatefulSets = append(o.StatefulSets, s)
	}
	for i := range b.Below(3) {
		j := job(fmt.Sprintf("j%d", i), n(), n())
		if b.Below(2) == 0 {
			indexed(j)
		}
		o.Jobs = append(o.Jobs, j)
	}
	for i := range b.Below(2) {
		o.DaemonSets = append(o.DaemonSets, daemonSet(fmt.Sprintf("a%d", i)))
	}
	o.Nodes = nodes("n1", "n2", "n3")[:b.Below(4)]
	kinds := []string{"", "ReplicaSet", "StatefulSet", "Job", "DaemonSet"}
	names := map[string]bool{}
	for range b.Below(12) {
		kind := kinds[b.Below(len(kinds))]
		of := fmt.Sprintf("%c%d", "drsja"[b.Below(5)], b.Below(3))
		p := pod(kind, of, fmt.Sprintf("%s-%d", of, b.Below(4)), on([]string{"", "n1", "n2", "n3"}[b.Below(4)]))
		p.Status.Phase = []v1.PodPhase{v1.PodRunning, v1.PodPending, v1.PodFailed, v1.PodSucceeded}[b.Below(4)]
		if b.Below(5) == 0 {
			terminating(p)
		}
		if kind == "Job" && b.Below(2) == 0 {
			p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(b.Below(5))}
		}
		if !names[p.Name] {
			names[p.Name] = true
			o.Pods = append(o.Pods, p)
		}
	}
	return o
}
