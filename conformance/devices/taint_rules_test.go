//go:build !k1_36

package devices

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices"
)

// TestRuleMatters changes DeviceTaintRules: kube-scheduler's tracker of slices, whose events wake pods, must tell of a changed slice exactly
// when podberth says that the change matters.
func TestRuleMatters(t *testing.T) {
	trial.Run(t, 500, 100, func(s *trial.Source) (err error) {
		synctest.Test(t, func(*testing.T) { err = changeRules(s) })
		return err
	}, "matters", "does not matter", "rule is new", "rule is gone")
}

func changeRules(s *trial.Source) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer synctest.Wait() // for everything to end
	defer cancel()
	//nolint:staticcheck // the tracker with managed fields is much slower
	client := fake.NewSimpleClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	objects := factory.Resource().V1()
	patched, err := tracker.StartTracker(ctx, tracker.Options{EnableDeviceTaintRules: true, SliceInformer: objects.ResourceSlices(), TaintInformer: objects.DeviceTaintRules(), KubeClient: client})
	if err != nil {
		return err
	}
	defer patched.Stop()
	factory.Start(ctx.Done())
	time.Sleep(time.Second) // the tracker waits for its informers
	list := map[string]*resourcev1.ResourceSlice{}
	for k := range 1 + s.N(3) {
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", k)}}
		slice.Spec.Driver = trial.Pick(s, "drv", "other")
		slice.Spec.Pool = resourcev1.ResourcePool{Name: trial.Pick(s, "p", "q"), Generation: int64(s.N(2)), ResourceSliceCount: 1}
		for d := range s.N(3) {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", d)})
		}
		list[slice.Name] = slice
		s.Note("slice %s of %s, pool %s, generation %d, %d devices", slice.Name, slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Pool.Generation, len(slice.Spec.Devices))
		if err := client.Tracker().Create(resourcev1.SchemeGroupVersion.WithResource("resourceslices"), slice.DeepCopy(), ""); err != nil {
			return err
		}
	}
	synctest.Wait()
	changes := 0
	if _, err := patched.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { changes++ }}); err != nil {
		return err
	}
	rules, resource := map[string]*resourcev1.DeviceTaintRule{}, resourcev1.SchemeGroupVersion.WithResource("devicetaintrules")
	for s.More() {
		name := trial.Pick(s, "a", "b")
		old, now := rules[name], (*resourcev1.DeviceTaintRule)(nil)
		switch {
		case old != nil && s.Once(4):
			s.Count("rule is gone")
			delete(rules, name)
			err = client.Tracker().Delete(resource, "", name)
		case old != nil:
			now = ruleOf(s, name)
			rules[name] = now
			err = client.Tracker().Update(resource, now.DeepCopy(), "")
		default:
			s.Count("rule is new")
			now = ruleOf(s, name)
			rules[name] = now
			err = client.Tracker().Create(resource, now.DeepCopy(), "")
		}
		if err != nil {
			return err
		}
		synctest.Wait()
		s.Note("rule %s was %v, is %v", name, show(old), show(now))
		mine := devices.RuleMatters(maps.Values(list), stored(old), stored(now))
		s.Count(map[bool]string{true: "matters", false: "does not matter"}[mine])
		// The taints of several rules have no fixed order in the tracker, and another order is a change for it.
		if anyOrder := !mine && len(rules) > 1; mine != (changes > 0) && !anyOrder {
			return fmt.Errorf("real: %d slices change; podberth: %v", changes, mine)
		}
		changes = 0
	}
	return nil
}

func ruleOf(s *trial.Source, name string) *resourcev1.DeviceTaintRule {
	r := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if s.N(6) < 5 || first {
		r.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{}
	}
	if sel := r.Spec.DeviceSelector; sel != nil {
		for _, f := range []struct {
			to    **string
			names []string
		}{{&sel.Driver, []string{"drv", "other"}}, {&sel.Pool, []string{"p", "q"}}, {&sel.Device, []string{"d0", "d1", "d9"}}} {
			if s.Once(3) {
				n := trial.Pick(s, f.names...)
				*f.to = &n
			}
		}
	}
	at := metav1.Unix(int64(s.N(2)), 0)
	r.Spec.Taint = resourcev1.DeviceTaint{Key: trial.Pick(s, "x", "x", "y"), Value: trial.Pick(s, "", "", "v"), Effect: trial.Pick(s, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone), TimeAdded: &at}
	if s.Once(4) {
		r.Labels = map[string]string{"l": fmt.Sprint(s.N(3))}
	}
	return r
}

// stored returns the rule in the version that podberth reads.
func stored(r *resourcev1.DeviceTaintRule) *resourcev1beta2.DeviceTaintRule {
	if r == nil {
		return nil
	}
	out := &resourcev1beta2.DeviceTaintRule{ObjectMeta: r.ObjectMeta}
	if s := r.Spec.DeviceSelector; s != nil {
		out.Spec.DeviceSelector = &resourcev1beta2.DeviceTaintSelector{Driver: s.Driver, Pool: s.Pool, Device: s.Device}
	}
	t := r.Spec.Taint
	out.Spec.Taint = resourcev1beta2.DeviceTaint{Key: t.Key, Value: t.Value, Effect: resourcev1beta2.DeviceTaintEffect(t.Effect), TimeAdded: t.TimeAdded}
	return out
}

func show(r *resourcev1.DeviceTaintRule) string {
	if r == nil {
		return "nothing"
	}
	return fmt.Sprintf("%v %v", r.Spec.DeviceSelector, r.Spec.Taint)
}
