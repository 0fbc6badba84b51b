package lint

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// bind binds the claim to a volume that every node reaches.
func (w *world) bind() {
	claim := w.in.Claims[0]
	claim.Spec.VolumeName, claim.Annotations = "pv", map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	w.objs.PersistentVolumes = []*v1.PersistentVolume{{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: v1.PersistentVolumeSpec{
		StorageClassName: *claim.Spec.StorageClassName, AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests, ClaimRef: &v1.ObjectReference{Namespace: "default", Name: "data"},
	}}}
}

// The rollout of one pod with a ReadWriteOnce claim hangs for certain when the new pod comes to another node, and may hang otherwise.
func TestRolloutWithOneNode(t *testing.T) {
	make := func(nodes int) *world {
		w := newWorld()
		w.replicas(1)
		w.objs.Nodes = w.objs.Nodes[:nodes]
		w.storage("disk", storagev1.VolumeBindingWaitForFirstConsumer)
		w.disk("disk")
		w.bind()
		return w
	}
	found := of(t, make(2), "rollout-rwo")
	require.Len(t, found, 1)
	require.Equal(t, Error, found[0].Severity, "two nodes: the new pod comes to the emptier one")
	require.Contains(t, found[0].Explanation, "comes to node n2 and waits there")
	require.Equal(t, Warning, of(t, make(1), "rollout-rwo")[0].Severity, "one node")

	w := make(2)
	w.objs.Nodes[1].Status.Allocatable["cpu"] = resource.MustParse("100m")
	require.Equal(t, Warning, of(t, w, "rollout-rwo")[0].Severity, "the other node has no room")

	w = make(2)
	pod := testkit.Pod("web-old").On("n1").Labels("app=web,pod-template-hash=x").Request("cpu=500m").Owner("apps/v1", "ReplicaSet", "web-x").Obj()
	pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	w.objs.Pods = append(w.objs.Pods, pod)
	found = of(t, w, "rollout-rwo")
	require.Equal(t, Error, found[0].Severity, "the pod runs already")
	require.Contains(t, found[0].Explanation, "in use on n1")
}

// A claim and a Job that the cluster has keep what nobody may change. What a manifest leaves out stays as it is.
func TestUpdatesOfClaimsAndJobs(t *testing.T) {
	claim := func(size, class string) *v1.PersistentVolumeClaim {
		c := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
		c.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}
		if class != "" {
			c.Spec.StorageClassName = &class
		}
		return c
	}
	live := claim("10Gi", "gp3")
	live.Spec.VolumeName, live.Status.Phase = "pv", v1.ClaimBound
	live.Status.Capacity = live.Spec.Resources.Requests
	for name, c := range map[string]struct {
		now  *v1.PersistentVolumeClaim
		want int
	}{"as it is": {claim("10Gi", ""), 0}, "larger": {claim("20Gi", "gp3"), 0}, "smaller": {claim("5Gi", "gp3"), 1}, "another class": {claim("10Gi", "gp2"), 1}} {
		w := newWorld()
		w.in.Claims, w.in.Live = []*v1.PersistentVolumeClaim{c.now}, []metav1.Object{live}
		require.Len(t, of(t, w, "immutable-field"), c.want, name)
	}
	w := newWorld()
	w.job(1)
	old := w.in.Jobs[0].DeepCopy()
	w.in.Live = []metav1.Object{old}
	require.Empty(t, of(t, w, "immutable-field"))
	old.Spec.Template.Spec.NodeSelector = map[string]string{zone: "a"}
	require.Equal(t, "spec.template", of(t, w, "immutable-field")[0].Path)
}

// Amounts of init containers are looked at too.
func TestSmallQuantityOfInitContainers(t *testing.T) {
	w := newWorld()
	w.pod.InitContainers = []v1.Container{{Name: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceMemory: resource.MustParse("64m")}, Limits: v1.ResourceList{v1.ResourceMemory: resource.MustParse("128m")}}}}
	found := of(t, w, "small-quantity")
	require.Len(t, found, 2)
	require.Equal(t, "spec.template.spec.initContainers[0].resources.requests[memory]", found[0].Path)
	require.Equal(t, "64Mi with limits 128Mi", found[0].Fix)
}
