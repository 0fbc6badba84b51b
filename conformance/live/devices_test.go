package live

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Names of the resource that the class gpu serves.
const explicitResource, implicitResource = "example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"

// gpus makes a class that serves an extended resource, and a node with devices of it.
func (w *world) gpus(node string, change ...func(*resourcev1.Device)) {
	w.t.Helper()
	w.node(node, "8")
	w.deviceClass("gpu", resourcev1.DeviceClassSpec{ExtendedResourceName: ptr.To(explicitResource)})
	slice := resourcev1.ResourceSliceSpec{Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}, NodeName: &node}
	for k := range 3 {
		d := resourcev1.Device{Name: fmt.Sprint("gpu-", k)}
		for _, f := range change {
			f(&d)
		}
		slice.Devices = append(slice.Devices, d)
	}
	w.slice(slice)
}

// deviceClass makes a class of devices.
func (w *world) deviceClass(name string, spec resourcev1.DeviceClassSpec) {
	w.t.Helper()
	c, err := w.api.ResourceV1().DeviceClasses().Create(w.ctx, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.objectSeen(deviceClassKind, c)
}

// slice makes devices.
func (w *world) slice(spec resourcev1.ResourceSliceSpec) {
	w.t.Helper()
	s, err := w.api.ResourceV1().ResourceSlices().Create(w.ctx, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.objectSeen(sliceKind, s)
}

// share makes the claim of the measurement, and a device that every node reaches.
func (w *world) share() {
	w.t.Helper()
	w.deviceClass("gpu", resourcev1.DeviceClassSpec{})
	w.slice(resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", Pool: resourcev1.ResourcePool{Name: "all", Generation: 1, ResourceSliceCount: 1}, AllNodes: ptr.To(true), Devices: []resourcev1.Device{{Name: "gpu-0"}},
	})
	w.gpuClaimIn(measured, "d1")
}

// wipeDevices removes the claims of a namespace, the slices and the classes.
func (w *world) wipeDevices(namespace string, now metav1.DeleteOptions) {
	w.t.Helper()
	list, err := w.api.ResourceV1().ResourceClaims(namespace).List(w.ctx, metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, c := range list.Items {
		_, err := w.api.ResourceV1().ResourceClaims(namespace).Patch(w.ctx, c.Name, types.MergePatchType, []byte(free), metav1.PatchOptions{})
		require.NoError(w.t, err)
	}
	all := metav1.ListOptions{}
	devices, err := w.api.ResourceV1().ResourceSlices().List(w.ctx, all)
	require.NoError(w.t, err)
	classes, err := w.api.ResourceV1().DeviceClasses().List(w.ctx, all)
	require.NoError(w.t, err)
	require.NoError(w.t, w.api.ResourceV1().ResourceClaims(namespace).DeleteCollection(w.ctx, now, all))
	require.NoError(w.t, w.api.ResourceV1().ResourceSlices().DeleteCollection(w.ctx, now, all))
	require.NoError(w.t, w.api.ResourceV1().DeviceClasses().DeleteCollection(w.ctx, now, all))
	for k := range list.Items {
		w.objectGone(deviceClaimKind, &list.Items[k])
	}
	for k := range devices.Items {
		w.objectGone(sliceKind, &devices.Items[k])
	}
	for k := range classes.Items {
		w.objectGone(deviceClassKind, &classes.Items[k])
	}
}

// gpuClaim makes a claim for one device.
func (w *world) gpuClaim(name string, owners ...metav1.OwnerReference) {
	w.t.Helper()
	w.gpuClaimIn("default", name, owners...)
}

func (w *world) gpuClaimIn(namespace, name string, owners ...metav1.OwnerReference) {
	w.t.Helper()
	c, err := w.api.ResourceV1().ResourceClaims(namespace).Create(w.ctx, &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}, Spec: resourcev1.ResourceClaimSpec{
		Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}},
	}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.objectSeen(deviceClaimKind, c)
}

// uses gives a pod a claim of devices.
func uses(claim string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, v1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	}
}

// asks lets the first container ask for extended resources.
func asks(name v1.ResourceName, count string) func(*v1.Pod) {
	return func(p *v1.Pod) { ask(&p.Spec.Containers[0], name, count) }
}

func ask(c *v1.Container, name v1.ResourceName, count string) {
	if c.Resources.Requests == nil {
		c.Resources.Requests = v1.ResourceList{}
	}
	c.Resources.Requests[name] = resource.MustParse(count)
	c.Resources.Limits = v1.ResourceList{name: resource.MustParse(count)}
}

// claimMade waits for the report that a claim of a pod's extended resources was made, or is gone.
func (w *world) claimMade(there bool) {
	w.t.Helper()
	w.until("the claim for extended resources", func() bool {
		list, err := w.api.ResourceV1().ResourceClaims("default").List(w.ctx, metav1.ListOptions{})
		require.NoError(w.t, err)
		return (len(list.Items) > 0) == there
	})
}

// afterCreation runs something when the first claim was created, before the scheduler gets the answer.
func (x *wire) afterCreation(do func()) {
	x.once(1, http.MethodPost, "/resourceclaims", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		answer, err := send()
		do()
		return answer, err
	})
}

// Both schedulers leave the same claims, volumes, pods and events where a pod has devices, or more of what is written before a binding than in
// TestScenarios. -every runs the scenarios of TestScenarios, not these.
func TestDevices(t *testing.T) {
	compare(t, slices.Concat(allocating, written), func(*world, *testing.T) string { return scenariosConfig })
}

// reservations are the writes of a scheduler that gives a reservation back, and of one that reserves again.
var reservations = []string{"write PATCH */resourceclaims/d1/status 200", "write PUT */resourceclaims/d1/status *"}

// retried is a write that kube-scheduler tries when it deletes a claim, or one that is gone; old is the reason.
const (
	retried = "write PUT /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/p1-extended-resources-NAME 4*"
	old     = "kube-scheduler takes the finalizer from an old version of the claim first"
)

// allocating are the scenarios with devices: every kind of write that comes before the binding.
var allocating = []scenario{
	{name: "an explicit extended resource", run: func(w *world, _ *wire) {
		w.gpus("n1")
		w.pod("p1", "1", asks(explicitResource, "2"))
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "an implicit extended resource", run: func(w *world, _ *wire) {
		w.gpus("n1")
		w.pod("p1", "1", asks(implicitResource, "1"))
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "extended resources of two containers", run: func(w *world, _ *wire) {
		w.gpus("n1")
		w.pod("p1", "1", asks(explicitResource, "1"), func(p *v1.Pod) {
			c := v1.Container{Name: "d", Image: "i"}
			ask(&c, implicitResource, "2")
			p.Spec.Containers = append(p.Spec.Containers, c)
		})
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "gone when the claim for extended resources is made", run: func(w *world, x *wire) {
		w.gpus("n1")
		x.afterCreation(func() { w.delete("p1") })
		w.pod("p1", "1", asks(explicitResource, "1"))
		w.event("FailedScheduling", "p1")
		w.claimMade(false)
	}, ours: late, theirs: slices.Concat([]string{retried, "write PATCH pods/p1/status 404"}, late), why: inStep + "; a pod that is gone is not patched; " + old},
	{name: "the status of the claim for extended resources is refused", run: func(w *world, x *wire) {
		w.gpus("n1")
		x.once(1, http.MethodPut, "/status", refuse(http.StatusForbidden, "Forbidden"))
		w.pod("p1", "1", asks(explicitResource, "1"))
		w.failsBeforeBinding("p1")
		w.boundAfterDeletion("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: slices.Concat([]string{retried}, late), why: inStep + "; " + old},
	{name: "the claim for extended resources is refused", run: func(w *world, x *wire) {
		w.gpus("n1")
		x.once(1, http.MethodPost, "/resourceclaims", refuse(http.StatusForbidden, "Forbidden"))
		w.pod("p1", "1", asks(explicitResource, "1"))
		w.failsBeforeBinding("p1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "the binding fails after the claim for extended resources", run: func(w *world, x *wire) {
		w.gpus("n1")
		x.once(tries, http.MethodPost, "/binding", refuse(http.StatusInternalServerError, "InternalError"))
		w.pod("p1", "1", asks(explicitResource, "1"))
		w.event("FailedScheduling", "p1")
		w.boundAfterDeletion("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: slices.Concat([]string{retried}, late), why: inStep + "; " + old},
	{name: "killed when the claim for extended resources is made", run: func(w *world, x *wire) {
		w.gpus("n1")
		made := make(chan struct{})
		x.afterCreation(func() { w.link.take(true); close(made) })
		w.pod("p1", "1", asks(explicitResource, "1"))
		<-made
		w.halt()
		w.relink() // what the old scheduler still wants to write does not arrive
		w.claimMade(true)
		w.again()
		w.unschedulable("p1", "deletion of ResourceClaim completed")
		w.claimMade(false)
		w.boundAfterDeletion("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: slices.Concat([]string{retried}, late), why: inStep + "; " + old},
	{name: "a shared device", run: func(w *world, _ *wire) {
		w.gpus("n1")
		w.gpuClaim("d1")
		w.pod("p1", "1", uses("d1"))
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
		w.pod("p2", "1", uses("d1")) // the claim has its device: only the reservation is written
		w.bound("p2", "n1")
		w.event("Scheduled", "p2")
	}, ours: late, theirs: late, why: inStep},
	{name: "a volume and two devices", run: func(w *world, _ *wire) {
		w.gpus("n1")
		w.gpuClaim("d1")
		w.gpuClaim("d2")
		w.volume("pv1")
		w.claim("c1")
		w.pod("p1", "1", claims("c1"), uses("d1"), uses("d2"), asks(explicitResource, "1"))
		w.completeClaim("c1", "pv1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "a claim of devices conflicts once", run: func(w *world, x *wire) {
		w.gpus("n1")
		w.gpuClaim("d1")
		x.once(1, http.MethodPut, "d1/status", refuse(http.StatusConflict, "Conflict"))
		w.pod("p1", "1", uses("d1"))
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "a claim of devices conflicts for long", run: func(w *world, x *wire) {
		w.gpus("n1")
		w.gpuClaim("d1")
		x.once(12, http.MethodPut, "d1/status", refuse(http.StatusConflict, "Conflict"))
		w.pod("p1", "1", uses("d1"))
		w.failsBeforeBinding("p1")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	// A scheduler that has seen the reservation gives it back; one that has not tries again with the allocation that it then sees.
	{name: "the answer to the reservation of a device is lost", run: func(w *world, x *wire) {
		w.gpus("n1")
		w.gpuClaim("d1")
		x.once(1, http.MethodPut, "d1/status", func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if answer, err := send(); err == nil {
				_ = answer.Body.Close()
			}
			return nil, io.ErrUnexpectedEOF
		})
		w.pod("p1", "1", uses("d1"))
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: slices.Concat(reservations, late), theirs: slices.Concat(reservations, late), why: inStep + ", and so may the reservation when it is to be given back"},
	{name: "a device is not attached in time", run: func(w *world, _ *wire) {
		w.gpus("n1", attachable)
		w.gpuClaim("d1")
		w.pod("p1", "1", uses("d1"), func(p *v1.Pod) { p.Spec.SchedulerName = "hasty" })
		w.until("the devices", func() bool { return w.gpuStatus("d1").Allocation != nil })
		first := w.gpuStatus("d1").Allocation.AllocationTimestamp
		w.unschedulable("p1", "device binding timeout")
		w.until("the next devices", func() bool { a := w.gpuStatus("d1").Allocation; return a != nil && !a.AllocationTimestamp.Equal(first) })
		w.attach("d1", "Attached")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "a device breaks", run: func(w *world, _ *wire) {
		w.gpus("n1", attachable)
		w.gpuClaim("d1")
		w.pod("p1", "1", uses("d1"))
		w.until("the devices", func() bool { return w.gpuStatus("d1").Allocation != nil })
		first := w.gpuStatus("d1").Allocation.AllocationTimestamp
		w.attach("d1", "Broken")
		w.unschedulable("p1", "device binding failed")
		w.until("the next devices", func() bool { a := w.gpuStatus("d1").Allocation; return a != nil && !a.AllocationTimestamp.Equal(first) })
		w.attach("d1", "Attached")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
	{name: "a device is attached in time", run: func(w *world, _ *wire) {
		w.gpus("n1", attachable)
		w.gpuClaim("d1")
		w.pod("p1", "1", uses("d1"))
		w.until("the devices", func() bool { return w.gpuStatus("d1").Allocation != nil })
		w.attach("d1", "Attached")
		w.bound("p1", "n1")
		w.event("Scheduled", "p1")
	}, ours: late, theirs: late, why: inStep},
}

// boundAfterDeletion waits until a pod is bound whose attempt before has left a claim, which a scheduler deletes. It may see the claim for longer
// than the pod's back-off, and then the pod waits. No scheduler tries the pod again because a claim is gone, so the slice of the devices changes.
func (w *world) boundAfterDeletion(name, node string) {
	w.t.Helper()
	generation, changed := 1, time.Time{}
	w.until(name+" is bound to "+node, func() bool {
		p := w.get(name)
		if condition(p, v1.PodScheduled).Reason == v1.PodReasonUnschedulable && time.Since(changed) > time.Second { // the claim may still be seen
			generation, changed = generation+1, time.Now()
			_, err := w.api.ResourceV1().ResourceSlices().Patch(w.ctx, "slice", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"pool":{"generation":%d}}}`, generation), metav1.PatchOptions{})
			require.NoError(w.t, err)
		}
		return p.Spec.NodeName == node
	})
}

// attachable makes a device that must be attached before a pod can use it.
func attachable(d *resourcev1.Device) {
	d.BindingConditions, d.BindingFailureConditions = []string{"example.com/Attached"}, []string{"example.com/Broken"}
}

func (w *world) gpuStatus(claim string) resourcev1.ResourceClaimStatus {
	w.t.Helper()
	c, err := w.api.ResourceV1().ResourceClaims("default").Get(w.ctx, claim, metav1.GetOptions{})
	require.NoError(w.t, err)
	return c.Status
}

// attach does what a driver does: it gives the devices of a claim a condition.
func (w *world) attach(claim, condition string) {
	w.t.Helper()
	w.until("the condition of "+claim, func() bool {
		c, err := w.api.ResourceV1().ResourceClaims("default").Get(w.ctx, claim, metav1.GetOptions{})
		require.NoError(w.t, err)
		if c.Status.Allocation == nil {
			return false // the scheduler has taken them back
		}
		for _, r := range c.Status.Allocation.Devices.Results {
			c.Status.Devices = append(c.Status.Devices, resourcev1.AllocatedDeviceStatus{Driver: r.Driver, Pool: r.Pool, Device: r.Device, Conditions: []metav1.Condition{
				{Type: "example.com/" + condition, Status: metav1.ConditionTrue, Reason: "Tested", Message: `the "driver" says so`, LastTransitionTime: metav1.Now()},
			}})
		}
		_, w.last = w.api.ResourceV1().ResourceClaims("default").UpdateStatus(w.ctx, c, metav1.UpdateOptions{})
		return w.last == nil
	})
}
