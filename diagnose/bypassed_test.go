package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// A pod with spec.nodeName waits for ever when a claim waits for its first consumer, and goes to the node by affinity. Pods that have started, and
// claims that somebody binds, are no such case.
func TestBypassed(t *testing.T) {
	input := func(phase v1.PodPhase, mode storagev1.VolumeBindingMode, edit func(c *v1.PersistentVolumeClaim, p *v1.Pod)) (Input, *v1.Pod) {
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", Annotations: map[string]string{}}, Spec: v1.PersistentVolumeClaimSpec{StorageClassName: new("lvm")}}
		pod := testkit.Pod("p").On("n1").Obj()
		pod.Status.Phase = phase
		pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		edit(claim, pod)
		s, err := cluster.New(cluster.Objects{Nodes: five(), Pods: []*v1.Pod{pod}, Claims: []*v1.PersistentVolumeClaim{claim},
			StorageClasses: []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "lvm"}, Provisioner: "example.com/lvm", VolumeBindingMode: &mode}}})
		require.NoError(t, err)
		return Input{Snapshot: s}, pod
	}
	keep := func(*v1.PersistentVolumeClaim, *v1.Pod) {}
	in, pod := input(v1.PodPending, storagev1.VolumeBindingWaitForFirstConsumer, keep)
	before := pod.DeepCopy()
	cause, r, err := Bypassed(in, pod)
	require.NoError(t, err)
	require.Equal(t, before, pod, "the edit was tried on a copy")
	require.Equal(t, "it has spec.nodeName n1 and does not run: claim data (WaitForFirstConsumer) waits for a scheduler that never sees the pod", cause.Text)
	require.Equal(t, "Pod default/p, made again: node affinity with metadata.name in place of spec.nodeName: then it goes to n1", r.Text)
	changed, err := Apply(in.Snapshot.Fork(), pod, r.Changes...)
	require.NoError(t, err)
	require.Empty(t, changed.Spec.NodeName)

	in, pod = input(v1.PodPending, storagev1.VolumeBindingWaitForFirstConsumer, func(_ *v1.PersistentVolumeClaim, p *v1.Pod) {
		p.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=64")
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{}}}}}
	})
	cause, r, err = Bypassed(in, pod)
	require.NoError(t, err)
	require.NotNil(t, cause)
	require.Nil(t, r, "it would not fit there either")

	for name, c := range map[string]struct {
		phase v1.PodPhase
		mode  storagev1.VolumeBindingMode
		edit  func(c *v1.PersistentVolumeClaim, p *v1.Pod)
	}{
		"it runs":       {v1.PodRunning, storagev1.VolumeBindingWaitForFirstConsumer, keep},
		"it has ended":  {v1.PodSucceeded, storagev1.VolumeBindingWaitForFirstConsumer, keep},
		"binds at once": {v1.PodPending, storagev1.VolumeBindingImmediate, keep},
		"bound":         {v1.PodPending, storagev1.VolumeBindingWaitForFirstConsumer, func(c *v1.PersistentVolumeClaim, _ *v1.Pod) { c.Spec.VolumeName = "pv" }},
		"a scheduler saw it": {v1.PodPending, storagev1.VolumeBindingWaitForFirstConsumer, func(c *v1.PersistentVolumeClaim, _ *v1.Pod) {
			c.Annotations["volume.kubernetes.io/selected-node"] = "n1"
		}},
		"no class":         {v1.PodPending, storagev1.VolumeBindingWaitForFirstConsumer, func(c *v1.PersistentVolumeClaim, _ *v1.Pod) { c.Spec.StorageClassName = nil }},
		"no claim":         {v1.PodPending, storagev1.VolumeBindingWaitForFirstConsumer, func(_ *v1.PersistentVolumeClaim, p *v1.Pod) { p.Spec.Volumes = []v1.Volume{{Name: "e"}} }},
		"another claim":    {v1.PodPending, storagev1.VolumeBindingWaitForFirstConsumer, func(c *v1.PersistentVolumeClaim, _ *v1.Pod) { c.Name = "other" }},
		"no spec.nodeName": {v1.PodPending, storagev1.VolumeBindingWaitForFirstConsumer, func(_ *v1.PersistentVolumeClaim, p *v1.Pod) { p.Spec.NodeName = "" }},
		"the ephemeral claim": {v1.PodPending, storagev1.VolumeBindingWaitForFirstConsumer, func(_ *v1.PersistentVolumeClaim, p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
		}},
	} {
		in, pod := input(c.phase, c.mode, c.edit)
		cause, r, err := Bypassed(in, pod)
		require.NoError(t, err, name)
		require.Nil(t, cause, name)
		require.Nil(t, r, name)
	}
	_, _, err = Bypassed(Input{}, pod)
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
}
