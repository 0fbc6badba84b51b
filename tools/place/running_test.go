package place

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A running pod has what its kubelet has allocated while its resize waits, and no remedy is for it; a pod with spec.nodeName whose claim no scheduler
// binds does not run.
func TestRunningPods(t *testing.T) {
	resized := func(name, wants, has, reason string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {nodeName: n1, containers: [{name: c, image: i, resources: {requests: {cpu: "` + wants + `"}}}]}, status: {phase: Running, conditions: [{type: PodResizePending, status: "True", reason: ` + reason + `}], containerStatuses: [{name: c, allocatedResources: {cpu: ` + has + `}, resources: {requests: {cpu: ` + has + `}}}]}}`
	}
	input := nodeYAML("n1", "5", "") + "---\n" + documents(resized("inf", "100", "500m", "Infeasible"), resized("grow", "3", "1", "Deferred"), resized("same", "1", "1", "Deferred"),
		`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: lvm}, provisioner: example.com/lvm, volumeBindingMode: WaitForFirstConsumer}`,
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default}, spec: {accessModes: [ReadWriteOnce], storageClassName: lvm, resources: {requests: {storage: 1Gi}}}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: bypasses}, spec: {nodeName: n1, containers: [{name: c, image: i}], volumes: [{name: l, persistentVolumeClaim: {claimName: data}}]}, status: {phase: Pending}}`)
	for pod, want := range map[string]string{
		"inf":      "Pod default/inf runs on n1 with cpu 500m. Its resize to cpu 100 is Infeasible (n1 has cpu 5); the scheduler counts cpu 500m. If it came now, 1 of 1 nodes could take it, and it would go to n1 again.",
		"grow":     "Pod default/grow runs on n1 with cpu 1. Its resize to cpu 3 is Deferred (n1 has cpu 5); the scheduler counts cpu 3. If it came now, 1 of 1 nodes could take it, and it would go to n1 again.",
		"same":     "Pod default/same runs on n1. If it came now, 1 of 1 nodes could take it, and it would go to n1 again.",
		"bypasses": "Pod default/bypasses waits: it has spec.nodeName n1 and does not run: claim data (WaitForFirstConsumer) waits for a scheduler that never sees the pod.",
	} {
		code, out, errs := simulate(t, input, "-f", "-", "--explain", "default/"+pod)
		require.Equal(t, 0, code, errs)
		require.Contains(t, out, want)
		require.NotContains(t, errs, "would not admit")
		require.Contains(t, errs, "pod default/bypasses: it has spec.nodeName n1 and does not run")
	}
}

// A pod with spec.nodeName that its kubelet refuses does not run: what the kubelet says is the cause. One that has started runs.
func TestRefusedByItsKubelet(t *testing.T) {
	pod := func(name, cpu, status string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {name: ` + name + `}, spec: {nodeName: n1, containers: [{name: c, image: i, resources: {requests: {cpu: "` + cpu + `"}}}]}, status: {` + status + `}}`
	}
	input := nodeYAML("n1", "4", "") + "---\n" + documents(pod("big", "6", "phase: Pending"), pod("old", "6", `phase: Pending, startTime: "2026-01-01T00:00:00Z"`))
	e := explained(t, input, "default/big")
	require.Equal(t, "NodeName", e.Cause.Type)
	require.Equal(t, "Pending", e.State)
	_, out, _ := simulate(t, input, "-f", "-", "--explain", "default/big")
	require.Contains(t, out, "Pod default/big waits: it has spec.nodeName n1, and the kubelet there refuses it: OutOfcpu: ")
	require.Contains(t, out, "\nIf it came now, 0 of 1 nodes could take it.\n")
	_, out, _ = simulate(t, input, "-f", "-", "--explain", "default/old")
	require.Contains(t, out, "Pod default/old runs on n1. ")
}
