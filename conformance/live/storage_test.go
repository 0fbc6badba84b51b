package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// late are the lines of a pod that a scheduler has seen before it has seen the pod's volumes or devices: informers of different kinds
// are not in step.
var late = []string{"event p1 Warning FailedScheduling Scheduling *: 0/1 nodes are available: *",
	"event p1 Warning FailedScheduling Scheduling *: waiting for *", "event p1 Warning FailedScheduling Scheduling *: persistentvolumeclaim *",
	"event p1 Warning FailedScheduling Scheduling *: storageclass*", "event p1 Warning FailedScheduling Scheduling *: resourceclaim *",
	"event p1 Warning FailedScheduling Scheduling *: running PreBind plugin *"} // an event after one of these joins its series and loses its text

const inStep = "a pod may be seen before its volumes or devices"

// storage are the scenarios with volumes and devices, whose writes come before the binding.
var storage = []scenario{
	{name: "a volume", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.volume("pv1")
		w.claim("c1")
		w.pod("p1", "1", claims("c1"))
		w.completeClaim("c1", "pv1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "provisioning fails once", run: func(w *world, _ *wire) { provisioned(w, map[string]string{"example.com/a": "b"}) }, ours: late, theirs: late, why: inStep},
	{name: "the chosen node is taken back", run: func(w *world, _ *wire) { provisioned(w, nil) }, ours: late, theirs: late, why: inStep},
	{name: "a device", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.devices("n1")
		w.pod("p1", "1", func(p *v1.Pod) {
			p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "d", ResourceClaimName: ptr.To("d1")}}
		})
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
}

// waiting are scenarios in which a volume takes its time or changes.
var waiting = []scenario{
	{name: "the volume has changed meanwhile", run: func(w *world, x *wire) {
		w.node("n1", "2")
		w.volume("pv1")
		w.claim("c1")
		x.once(1, http.MethodPut, "persistentvolumes/pv1", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
			return status(r, http.StatusConflict, "Conflict", "the object has been modified"), nil
		})
		w.pod("p1", "1", claims("c1"))
		w.completeClaim("c1", "pv1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "deleted while it waits for its volume", alone: true, run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.volume("pv1")
		w.claim("c1")
		w.pod("p1", "1", claims("c1"))
		w.claimed("c1", "pv1")
		w.delete("p1")
		w.failsBeforeBinding("p1")
	}, why: "kube-scheduler was seen to leave the event out on a busy machine", ours: append([]string{
		"claim c1 annotations=map[] volume=", "volume pv1 annotations=map[pv.kubernetes.io/bound-by-controller:yes] claim=v1/PersistentVolumeClaim/default/c1/UID",
		`event p1 Warning FailedScheduling Scheduling default-scheduler: running PreBind plugin "VolumeBinding": binding volumes: pod does not exist any more: pod "p1" not found`,
		"write PATCH pods/p1/status 200", "write PUT persistentvolumes/pv1 200",
	}, late...)},
	{name: "a volume takes too long", run: func(w *world, _ *wire) {
		w.node("n1", "2")
		w.volume("pv1")
		w.claim("c1")
		w.pod("p1", "1", claims("c1"), func(p *v1.Pod) { p.Spec.SchedulerName = "hasty" })
		w.unschedulable("p1", "context deadline exceeded")
		w.completeClaim("c1", "pv1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "a victim waits for its volume", run: func(w *world, _ *wire) {
		w.node("n1", "1")
		w.volume("pv1")
		w.claim("c1")
		w.pod("p1", "1", claims("c1"))
		w.claimed("c1", "pv1")
		w.pod("hi", "1", high)
		w.bound("hi", "n1")
		w.event("Scheduled", "hi")
		w.event("Preempted", "p1")
		w.until("the next attempt", func() bool { return condition(w.get("p1"), v1.PodScheduled).Reason == v1.PodReasonUnschedulable })
	}, ours: late, theirs: late, why: inStep},
}

// provisioned lets a provisioner give the chosen node back, and provide the volume when the scheduler has chosen again. annotations are
// those of the claim before.
func provisioned(w *world, annotations map[string]string) {
	w.t.Helper()
	w.node("n1", "2")
	w.storageClass("slow", "example.com/p")
	w.claim("c1", func(c *v1.PersistentVolumeClaim) { c.Annotations = annotations })
	w.pod("p1", "1", claims("c1"))
	w.selected("c1", "n1")
	w.patchClaim("c1", `{"metadata":{"annotations":{"volume.kubernetes.io/selected-node":null}}}`)
	w.failsBeforeBinding("p1")
	w.selected("c1", "n1")
	w.provision("c1", "pv1")
	w.bound("p1", "n1")
	w.event("Scheduled", "p1")
}

// failsBeforeBinding waits until an event says that a PreBind plugin has failed. When the pod had failed before, the event joins the series of
// the first event, whose text stays.
func (w *world) failsBeforeBinding(pod string) {
	w.t.Helper()
	w.until(pod+" fails before its binding", func() bool {
		list, err := w.api.EventsV1().Events("default").List(w.ctx, metav1.ListOptions{})
		require.NoError(w.t, err)
		return slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool {
			return e.Reason == "FailedScheduling" && e.Regarding.Name == pod && (e.Series != nil || strings.Contains(e.Note, "PreBind"))
		})
	})
}

// claims gives a pod the volume of a claim.
func claims(name string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
}

// selected waits until the scheduler has chosen a node for a claim.
func (w *world) selected(claim, node string) {
	w.t.Helper()
	w.until("the node of "+claim, func() bool {
		c, err := w.api.CoreV1().PersistentVolumeClaims("default").Get(w.ctx, claim, metav1.GetOptions{})
		return err == nil && c.Annotations["volume.kubernetes.io/selected-node"] == node
	})
}

func (w *world) patchClaim(name, patch string) {
	w.t.Helper()
	_, err := w.api.CoreV1().PersistentVolumeClaims("default").Patch(w.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

// provision does what a provisioner and the volume controller do: it makes a volume for the claim and binds both.
func (w *world) provision(claim, volume string) {
	w.t.Helper()
	c, err := w.api.CoreV1().PersistentVolumeClaims("default").Get(w.ctx, claim, metav1.GetOptions{})
	require.NoError(w.t, err)
	v, err := w.api.CoreV1().PersistentVolumes().Create(w.ctx, &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}, Spec: v1.PersistentVolumeSpec{
		Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: c.Spec.AccessModes, StorageClassName: *c.Spec.StorageClassName,
		ClaimRef:               &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID},
		PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}},
	}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.objectSeen(volumeKind, v)
	w.patchClaim(claim, fmt.Sprintf(`{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":%q}}`, volume))
}

// claimed waits until the scheduler has written a claim into a volume.
func (w *world) claimed(name, pv string) {
	w.t.Helper()
	w.until("the claim is in the volume", func() bool {
		v, err := w.api.CoreV1().PersistentVolumes().Get(w.ctx, pv, metav1.GetOptions{})
		return err == nil && v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Name == name
	})
}

// stored returns a line for each volume and claim.
func (w *world) stored() (out []string) {
	w.t.Helper()
	volumes, err := w.api.CoreV1().PersistentVolumes().List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, v := range volumes.Items {
		line := fmt.Sprintf("volume %s annotations=%v", v.Name, v.Annotations)
		if ref := v.Spec.ClaimRef; ref != nil {
			line += fmt.Sprintf(" claim=%s/%s/%s/%s/%s", ref.APIVersion, ref.Kind, ref.Namespace, ref.Name, ref.UID)
		}
		out = append(out, line)
	}
	list, err := w.api.CoreV1().PersistentVolumeClaims("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, c := range list.Items {
		out = append(out, fmt.Sprintf("claim %s annotations=%v volume=%s", c.Name, c.Annotations, c.Spec.VolumeName))
	}
	devices, err := w.api.ResourceV1().ResourceClaims("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, c := range devices.Items {
		if a := c.Status.Allocation; a != nil && a.AllocationTimestamp != nil {
			a.AllocationTimestamp = &metav1.Time{}
		}
		for k := range c.Status.Devices {
			for j := range c.Status.Devices[k].Conditions {
				c.Status.Devices[k].Conditions[j].LastTransitionTime = metav1.Time{}
			}
		}
		kept := metav1.ObjectMeta{GenerateName: c.GenerateName, Labels: c.Labels, Annotations: c.Annotations, OwnerReferences: c.OwnerReferences, Finalizers: c.Finalizers}
		line, err := json.Marshal([]any{kept, c.Spec, c.Status})
		require.NoError(w.t, err)
		out = append(out, fmt.Sprintf("device claim %s %s", c.Name, line))
	}
	return out
}

// free takes the finalizers away.
const free = `{"metadata":{"finalizers":null}}`

// wipeStorage removes claims, volumes, classes and devices, which controllers would let go of first.
func (w *world) wipeStorage(now metav1.DeleteOptions) {
	w.t.Helper()
	list, err := w.api.CoreV1().PersistentVolumeClaims("default").List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, c := range list.Items {
		w.patchClaim(c.Name, free)
	}
	volumes, err := w.api.CoreV1().PersistentVolumes().List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, v := range volumes.Items {
		_, err := w.api.CoreV1().PersistentVolumes().Patch(w.ctx, v.Name, types.MergePatchType, []byte(free), metav1.PatchOptions{})
		require.NoError(w.t, err)
	}
	all := metav1.ListOptions{}
	classes, err := w.api.StorageV1().StorageClasses().List(w.ctx, all)
	require.NoError(w.t, err)
	require.NoError(w.t, w.api.CoreV1().PersistentVolumeClaims("default").DeleteCollection(w.ctx, now, all))
	require.NoError(w.t, w.api.CoreV1().PersistentVolumes().DeleteCollection(w.ctx, now, all))
	require.NoError(w.t, w.api.StorageV1().StorageClasses().DeleteCollection(w.ctx, now, all))
	for k := range list.Items {
		w.objectGone(volumeClaimKind, &list.Items[k])
	}
	for k := range volumes.Items {
		w.objectGone(volumeKind, &volumes.Items[k])
	}
	for k := range classes.Items {
		w.objectGone(storageClassKind, &classes.Items[k])
	}
	w.wipeDevices("default", now)
}
