package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// A DeviceTaintRule keeps pods from devices, and wakes the pods that wait for devices when it changes or goes. Up to v1.36 it does neither.
func TestTaintRules(t *testing.T) {
	rule := func(driver string) *resourcev1beta2.DeviceTaintRule {
		return &resourcev1beta2.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Spec: resourcev1beta2.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1beta2.DeviceTaintSelector{Driver: &driver},
			Taint:          resourcev1beta2.DeviceTaint{Key: "broken", Effect: resourcev1beta2.DeviceTaintEffectNoSchedule},
		}}
	}
	for name, wake := range map[string]func(r *rig){
		"changes": func(r *rig) { r.s.Set(rule("gpu.example.com"), rule("other.example.com")) },
		"goes":    func(r *rig) { r.s.Remove(rule("gpu.example.com")) },
	} {
		t.Run(name, func(t *testing.T) {
			r := deviceRig(t, Options{}, "a")
			r.s.Set(nil, rule("gpu.example.com"))
			r.add(withClaim(testkit.Pod("p").Obj(), "a")).step()
			require.Equal(t, Rejected, r.last().Outcome)
			r.clock.advance(time.Minute)
			require.False(t, r.step(), "nothing has changed")
			wake(r)
			require.True(t, r.step())
			require.Equal(t, Scheduled, r.last().Outcome)
		})
	}
	for name, change := range map[string]func(r *rig){
		"none of the devices": func(r *rig) { r.s.Set(nil, rule("other.example.com")) },
		"no device any more":  func(r *rig) { r.s.Remove(rule("other.example.com")) },
		"the same taint":      func(r *rig) { r.s.Set(rule("gpu.example.com"), rule("gpu.example.com")) },
	} {
		t.Run(name, func(t *testing.T) {
			r := deviceRig(t, Options{}, "a")
			r.s.Set(nil, rule("gpu.example.com"))
			r.add(withClaim(testkit.Pod("p").Obj(), "a")).step()
			require.Equal(t, Rejected, r.last().Outcome)
			r.clock.advance(time.Minute)
			change(r)
			require.False(t, r.step(), "no taint of a device has changed")
		})
	}
	r := deviceRig(t, Options{Release: release.V1_36}, "a")
	r.s.Set(nil, rule("gpu.example.com"))
	r.add(withClaim(testkit.Pod("p").Obj(), "a")).step()
	require.Equal(t, Scheduled, r.last().Outcome, "up to v1.36")
	r.s.Remove(rule("gpu.example.com"))
}
