//go:build !k1_36

package tainteviction_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"k8s.io/kubernetes/pkg/controller/devicetainteviction"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/devicetaint"
)

// TestDeviceTaints plays random changes of slices, rules, claims and pods: who is deleted when, and whose deletion is cancelled, must agree
// with the device taint eviction controller, which runs whole.
func TestDeviceTaints(t *testing.T) {
	trial.Run(t, 2000, 500, func(s *trial.Source) (err error) {
		var last *trial.Source
		for range plays {
			last = s.Again()
			synctest.Test(t, func(*testing.T) { err = playDevices(last) })
			if err == nil {
				break
			}
		}
		s.Become(last)
		return err
	}, "deleted at once", "deleted later", "cancelled", "moved", "by a rule", "by a slice", "tolerated", "slice is gone", "rule is gone", "claim is gone", "pod is gone", "terminating")
}

// deviceWorld holds both sides; objects have plain names.
type deviceWorld struct {
	world
	objects map[string]runtime.Object // by resource and name
	due     map[string]due            // of podberth, by pod
}

type due struct {
	uid types.UID
	at  time.Time
}

func playDevices(s *trial.Source) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer synctest.Wait() // for everything to end
	defer cancel()
	//nolint:staticcheck // the tracker with managed fields is much slower
	w := &deviceWorld{world: world{Source: s, client: fake.NewSimpleClientset(), names: map[string]*v1.Event{}, leaving: map[types.UID]bool{}}, objects: map[string]runtime.Object{}, due: map[string]due{}}
	w.client.PrependReactor("*", "*", w.record)
	factory := informers.NewSharedInformerFactory(w.client, 0)
	r := factory.Resource().V1()
	controller := devicetainteviction.New(w.client, factory.Core().V1().Pods(), r.ResourceClaims(), r.ResourceSlices(), r.DeviceTaintRules(), r.DeviceClasses(), "device-taint-eviction")
	factory.Start(ctx.Done())
	failed := make(chan error, 1)
	go func() { failed <- controller.Run(ctx, 8) }()
	time.Sleep(time.Second) // the controller waits for its informers
	synctest.Wait()
	w.start = time.Now()
	for w.More() {
		if err := w.change(); err != nil {
			return err
		}
		if err := w.agree(); err != nil {
			return err
		}
	}
	w.pass(time.Hour)
	if err := w.agree(); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return fmt.Errorf("the controller ended: %v", err)
	default:
		return nil
	}
}

func all[T runtime.Object](w *deviceWorld) (out []T) {
	for _, key := range slices.Sorted(maps.Keys(w.objects)) {
		if o, ok := w.objects[key].(T); ok {
			out = append(out, o)
		}
	}
	return out
}

// set writes an object, or deletes it when it is nil.
func (w *deviceWorld) set(resource schema.GroupVersionResource, namespace, name string, o runtime.Object) (err error) {
	key := resource.Resource + "/" + name
	old := w.objects[key]
	switch {
	case o == nil:
		delete(w.objects, key)
		err = w.client.Tracker().Delete(resource, namespace, name)
	case old == nil:
		w.objects[key] = o
		err = w.client.Tracker().Create(resource, o.DeepCopyObject(), namespace)
	default:
		w.objects[key] = o
		err = w.client.Tracker().Update(resource, o.DeepCopyObject(), namespace)
	}
	w.look()
	synctest.Wait()
	return err
}

// look asks podberth about every pod, and compares with what it said before.
func (w *deviceWorld) look() {
	var rules []*resourcev1beta2.DeviceTaintRule
	for _, r := range all[*resourcev1.DeviceTaintRule](w) {
		rules = append(rules, storedRule(r))
	}
	taints := devicetaint.New(all[*resourcev1.ResourceSlice](w), rules, w.start)
	known := map[string]bool{}
	for _, p := range all[*v1.Pod](w) {
		known[p.Name] = true
		was, waits := w.due[p.Name]
		if waits && was.uid != p.UID {
			waits = false // another pod of the name
		}
		e, ok := taints.Eviction(p, func(_, name string) *resourcev1.ResourceClaim {
			c, _ := w.objects["resourceclaims/"+name].(*resourcev1.ResourceClaim)
			return c
		})
		switch {
		case ok:
			w.Count(map[bool]string{true: "by a slice", false: "by a rule"}[e.Rule == ""])
			if e.Tolerated {
				w.Count("tolerated")
			}
			if waits && !was.at.Equal(e.At) {
				w.Count("moved")
			}
			w.due[p.Name] = due{p.UID, e.At}
		case waits:
			if p.DeletionTimestamp == nil {
				w.Count("cancelled")
				w.say(time.Now(), "%s %s", devicetaint.EventReason, devicetaint.Cancelling)
			}
			delete(w.due, p.Name)
		}
	}
	for name := range w.due {
		if !known[name] {
			delete(w.due, name)
		}
	}
	w.delete(time.Now(), "deleted at once")
}

func (w *deviceWorld) say(at time.Time, format string, args ...any) {
	w.mine = append(w.mine, fmt.Sprintf("%v "+format, append([]any{at.Sub(w.start)}, args...)...))
}

// delete carries out podberth's deletions that are due.
func (w *deviceWorld) delete(now time.Time, how string) {
	for name, d := range w.due {
		if d.at.After(now) {
			continue
		}
		w.Count(how)
		at := now
		if how == "deleted later" {
			at = d.at
		}
		c := devicetaint.Condition()
		w.say(at, "d/%s %s=%s %s %s", name, c.Type, c.Status, c.Reason, c.Message)
		w.say(at, "delete d/%s", name)
		w.say(at, "%s %s", devicetaint.EventReason, devicetaint.Marking)
		delete(w.due, name)
		delete(w.objects, "pods/"+name)
	}
}

func (w *deviceWorld) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	w.delete(time.Now(), "deleted later")
}

// agree leaves out what the controller writes into the status of rules.
func (w *deviceWorld) agree() error {
	w.lock.Lock()
	w.theirs = slices.DeleteFunc(w.theirs, func(s string) bool { return strings.Contains(s, "/rule") })
	w.lock.Unlock()
	return w.world.agree()
}

func (w *deviceWorld) change() error {
	in := resourcev1.SchemeGroupVersion.WithResource
	name := fmt.Sprint(w.N(3))
	gone := func(key, what string) bool {
		if w.objects[key] == nil || w.N(5) > 0 {
			return false
		}
		w.Count(what)
		w.note("%s: %s", key, what)
		return true
	}
	switch w.N(10) {
	case 0, 1:
		if gone("resourceslices/s"+name, "slice is gone") {
			return w.set(in("resourceslices"), "", "s"+name, nil)
		}
		return w.set(in("resourceslices"), "", "s"+name, w.slice("s"+name))
	case 2:
		if gone("devicetaintrules/rule"+name, "rule is gone") {
			return w.set(in("devicetaintrules"), "", "rule"+name, nil)
		}
		return w.set(in("devicetaintrules"), "", "rule"+name, w.rule("rule"+name))
	case 3, 4:
		if gone("resourceclaims/c"+name, "claim is gone") {
			return w.set(in("resourceclaims"), "d", "c"+name, nil)
		}
		return w.set(in("resourceclaims"), "d", "c"+name, w.claim("c"+name))
	case 5, 6:
		if gone("pods/p"+name, "pod is gone") {
			return w.set(podsResource, "d", "p"+name, nil)
		}
		return w.set(podsResource, "d", "p"+name, w.pod("p"+name))
	}
	w.pass(trial.Pick(w.Source, time.Second, 2*time.Second, 1500*time.Millisecond, 5*time.Second, time.Minute) + time.Millisecond)
	return nil
}

// taint is a taint that was added or will be added within some seconds of now; never within the millisecond of a change.
func (w *deviceWorld) taint() resourcev1.DeviceTaint {
	at := metav1.NewTime(time.Now().Add(time.Duration(w.N(9)-3) * time.Second).Truncate(time.Second))
	return resourcev1.DeviceTaint{Key: trial.Pick(w.Source, "x", "x", "y"), Value: trial.Pick(w.Source, "", "", "1"), TimeAdded: &at,
		Effect: trial.Pick(w.Source, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone)}
}

func (w *deviceWorld) slice(name string) *resourcev1.ResourceSlice {
	node := "n"
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{Driver: trial.Pick(w.Source, "drv", "drv", "drv2"), NodeName: &node}}
	s.Spec.Pool = resourcev1.ResourcePool{Name: trial.Pick(w.Source, "p", "p", "q"), Generation: int64(w.N(2)), ResourceSliceCount: int64(1 + w.N(2))}
	if old, ok := w.objects["resourceslices/"+name].(*resourcev1.ResourceSlice); ok { // the API server keeps driver and pool
		s.Spec.Driver, s.Spec.Pool.Name = old.Spec.Driver, old.Spec.Pool.Name
	}
	for d := range 1 + w.N(2) {
		// Two slices of one generation have no device in common: v1.37.2 would take the taints of either, at random.
		x := resourcev1.Device{Name: fmt.Sprint(string("de"[d]), (int64(name[1]-'0')+s.Spec.Pool.Generation)%3)}
		for range w.N(5) / 2 {
			x.Taints = append(x.Taints, w.taint())
		}
		s.Spec.Devices = append(s.Spec.Devices, x)
	}
	w.note("slice %s: %s/%s generation %d: %v", name, s.Spec.Driver, s.Spec.Pool.Name, s.Spec.Pool.Generation, devicesOf(s))
	return s
}

func (w *deviceWorld) rule(name string) *resourcev1.DeviceTaintRule {
	r := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	r.Spec.Taint = w.taint()
	if w.N(8) < 7 {
		r.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{}
		if w.N(3) > 0 {
			d := trial.Pick(w.Source, "d0", "d0", "d1", "e0")
			r.Spec.DeviceSelector.Device = &d
		}
		if w.Once(4) {
			p := trial.Pick(w.Source, "p", "q")
			r.Spec.DeviceSelector.Pool = &p
		}
		if w.Once(4) {
			d := trial.Pick(w.Source, "drv", "drv2")
			r.Spec.DeviceSelector.Driver = &d
		}
	}
	w.note("rule %s: %v %v", name, r.Spec.DeviceSelector, r.Spec.Taint)
	return r
}

func storedRule(r *resourcev1.DeviceTaintRule) *resourcev1beta2.DeviceTaintRule {
	out := &resourcev1beta2.DeviceTaintRule{ObjectMeta: r.ObjectMeta}
	if s := r.Spec.DeviceSelector; s != nil {
		out.Spec.DeviceSelector = &resourcev1beta2.DeviceTaintSelector{Driver: s.Driver, Pool: s.Pool, Device: s.Device}
	}
	t := r.Spec.Taint
	out.Spec.Taint = resourcev1beta2.DeviceTaint{Key: t.Key, Value: t.Value, Effect: resourcev1beta2.DeviceTaintEffect(t.Effect), TimeAdded: t.TimeAdded}
	return out
}

// claim is a new claim, or the old one with other reservations or without its allocation: the API server keeps an allocation as it is.
func (w *deviceWorld) claim(name string) *resourcev1.ResourceClaim {
	old, _ := w.objects["resourceclaims/"+name].(*resourcev1.ResourceClaim)
	w.uids++
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(fmt.Sprint("c", w.uids))}}
	if old != nil {
		c = old.DeepCopy()
	} else if w.N(3) > 0 {
		controls := w.N(4) > 0
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: w.uid(), Controller: &controls}}
	}
	switch {
	case c.Status.Allocation != nil && w.Once(3):
		c.Status.Allocation, c.Status.ReservedFor = nil, nil
	case c.Status.Allocation == nil && w.N(6) > 0:
		c.Status.Allocation = &resourcev1.AllocationResult{}
		for range 1 + w.N(2) {
			x := resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: trial.Pick(w.Source, "drv", "drv", "drv", "drv2"), Pool: trial.Pick(w.Source, "p", "p", "p", "q"), Device: trial.Pick(w.Source, "d0", "d0", "d0", "d1", "e0")}
			for range w.N(4) {
				x.Tolerations = append(x.Tolerations, w.deviceToleration())
			}
			c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results, x)
		}
	}
	c.Status.ReservedFor = nil
	for k := range 3 {
		if p, ok := w.objects[fmt.Sprint("pods/p", k)].(*v1.Pod); ok && c.Status.Allocation != nil && w.N(4) > 0 {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
		}
	}
	w.note("claim %s of %v: %v, reserved for %v", name, c.OwnerReferences, c.Status.Allocation, c.Status.ReservedFor)
	return c
}

// uid is the UID of a pod that is there.
func (w *deviceWorld) uid() types.UID {
	if p, ok := w.objects[fmt.Sprint("pods/p", w.N(3))].(*v1.Pod); ok {
		return p.UID
	}
	return "nobody"
}

func (w *deviceWorld) deviceToleration() resourcev1.DeviceToleration {
	t := resourcev1.DeviceToleration{Key: trial.Pick(w.Source, "x", "x", "", "y"),
		Operator: trial.Pick(w.Source, resourcev1.DeviceTolerationOpExists, resourcev1.DeviceTolerationOpExists, resourcev1.DeviceTolerationOpExists, resourcev1.DeviceTolerationOpEqual, "", "Other"),
		Effect:   trial.Pick(w.Source, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoExecute, "", resourcev1.DeviceTaintEffectNoSchedule)}
	if w.Once(4) {
		t.Value = "1"
	}
	if w.N(5) > 0 {
		seconds := trial.Pick(w.Source, int64(2), 3, 1, 5, 0, -5, 300, 1e9, 1e10)
		t.TolerationSeconds = &seconds
	}
	return t
}

// pod is a new pod, or the old one bound, ended or terminating.
func (w *deviceWorld) pod(name string) *v1.Pod {
	if old, ok := w.objects["pods/"+name].(*v1.Pod); ok {
		p := old.DeepCopy()
		switch w.N(4) {
		case 0:
			p.Spec.NodeName = "n"
		case 1:
			p.Status.Phase = trial.Pick(w.Source, v1.PodSucceeded, v1.PodFailed)
		case 2:
			if w.Once(2) {
				now := metav1.Now()
				p.DeletionTimestamp = &now
				w.Count("terminating")
				w.lock.Lock()
				w.leaving[p.UID] = true
				w.lock.Unlock()
			}
		default:
			p.Labels = map[string]string{"l": fmt.Sprint(w.N(3))}
		}
		w.note("pod %s on %q, %s, leaves %v", name, p.Spec.NodeName, p.Status.Phase, p.DeletionTimestamp)
		return p
	}
	w.uids++
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(fmt.Sprint(w.uids))}, Status: v1.PodStatus{Phase: v1.PodRunning}}
	if w.N(5) > 0 {
		p.Spec.NodeName = "n"
	}
	for k := range w.N(3) {
		entry := v1.PodResourceClaim{Name: fmt.Sprint("r", k)}
		claim := fmt.Sprint("c", w.N(6)/2)
		switch w.N(4) {
		case 0:
			template := "t"
			entry.ResourceClaimTemplateName = &template
			switch w.N(4) {
			case 0:
			case 1:
				p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry.Name})
			default:
				p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry.Name, ResourceClaimName: &claim})
			}
		default:
			entry.ResourceClaimName = &claim
		}
		p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, entry)
	}
	if w.Once(4) {
		p.Status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{ResourceClaimName: fmt.Sprint("c", w.N(3))}
	}
	w.note("pod %s (%s) on %q: %v %v %v", name, p.UID, p.Spec.NodeName, p.Spec.ResourceClaims, p.Status.ResourceClaimStatuses, p.Status.ExtendedResourceClaimStatus)
	return p
}

// devicesOf is the devices of a slice with their taints, for people.
func devicesOf(s *resourcev1.ResourceSlice) (out []string) {
	for _, d := range s.Spec.Devices {
		for _, t := range d.Taints {
			out = append(out, fmt.Sprintf("%s %v added %s", d.Name, t, t.TimeAdded.Format(time.TimeOnly)))
		}
		if len(d.Taints) == 0 {
			out = append(out, d.Name)
		}
	}
	return out
}
