package devices_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// DeviceTaintRules taint the devices that they select: in v1.37, and before by an option.
func TestTaintRules(t *testing.T) {
	rule := func(s *resourcev1beta2.DeviceTaintSelector, effect resourcev1beta2.DeviceTaintEffect) *resourcev1beta2.DeviceTaintRule {
		return &resourcev1beta2.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: resourcev1beta2.DeviceTaintRuleSpec{DeviceSelector: s, Taint: resourcev1beta2.DeviceTaint{Key: "maint", Effect: effect}}}
	}
	type selector = resourcev1beta2.DeviceTaintSelector
	type test struct {
		name, why string
		rule      *resourcev1beta2.DeviceTaintRule
		tolerates bool
		want      string // the device; "" for none
	}
	testkit.Run(t, []test{
		{"no selector", "matches nothing", rule(nil, "NoSchedule"), false, "gpu-0"},
		{"empty selector", "matches all devices", rule(&selector{}, "NoSchedule"), false, ""},
		{"NoExecute", "keeps new claims away too", rule(&selector{}, "NoExecute"), false, ""},
		{"None", "has no effect", rule(&selector{}, "None"), false, "gpu-0"},
		{"tolerated", "as a taint of the slice", rule(&selector{}, "NoSchedule"), true, "gpu-0"},
		{"driver", "all devices of the driver", rule(&selector{Driver: new("gpu.example.com")}, "NoSchedule"), false, ""},
		{"another driver", "does not match", rule(&selector{Driver: new("other")}, "NoSchedule"), false, "gpu-0"},
		{"device", "the first device alone", rule(&selector{Device: new("gpu-0")}, "NoSchedule"), false, "gpu-1"},
		{"pool and device", "both match", rule(&selector{Pool: new("n1"), Device: new("gpu-0")}, "NoSchedule"), false, "gpu-1"},
		{"another pool and the device", "all that are set must match", rule(&selector{Pool: new("n2"), Device: new("gpu-0")}, "NoSchedule"), false, "gpu-0"},
		{"empty driver", "is set, and no driver has that name", rule(&selector{Driver: new("")}, "NoSchedule"), false, "gpu-0"},
	}, func(t *testing.T, c test) {
		claim := gpuClaim("web", 1)
		if c.tolerates {
			claim.Spec.Devices.Requests[0].Exactly.Tolerations = []resourcev1.DeviceToleration{{Key: "maint", Operator: resourcev1.DeviceTolerationOpExists}}
		}
		for _, o := range []devices.Options{{Release: release.V1_36}, {Release: release.V1_36, TaintRules: true}, {Release: release.V1_37}} {
			want := c.want
			if o.Release == release.V1_36 && !o.TaintRules {
				want = "gpu-0"
			}
			ledger := devices.NewLedger(devices.NewInventory([]*resourcev1.ResourceSlice{gpus("n1")}, c.rule))
			s := devices.NewAllocator(ledger, class, nil, o).Compile(claim)
			node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
			results, ok, err := s.Allocate(node)
			require.NoError(t, err)
			require.Equal(t, want != "", ok)
			if ok {
				require.Equal(t, want, results[0].Devices.Results[0].Device)
				continue
			}
			tests := s.Explain(node).Requests[0].Refused
			require.Equal(t, "has no taint maint:"+string(c.rule.Spec.Taint.Effect)+" that the request does not tolerate", tests[len(tests)-1].Test)
		}
	})
}

// A changed rule matters when the taints of a device in some slice change, in any field.
func TestRuleMatters(t *testing.T) {
	type rule = resourcev1beta2.DeviceTaintRule
	of := func(device string, effect resourcev1beta2.DeviceTaintEffect, seconds int64) *rule {
		added := metav1.Unix(seconds, 0)
		return &rule{Spec: resourcev1beta2.DeviceTaintRuleSpec{DeviceSelector: &resourcev1beta2.DeviceTaintSelector{Device: &device}, Taint: resourcev1beta2.DeviceTaint{Key: "maint", Effect: effect, TimeAdded: &added}}}
	}
	all := of("gpu-0", "NoSchedule", 1)
	all.Spec.DeviceSelector = &resourcev1beta2.DeviceTaintSelector{Device: new("gpu-0"), Driver: new("gpu.example.com")}
	labelled := of("gpu-0", "NoSchedule", 1)
	labelled.Labels, labelled.Status.Conditions = map[string]string{"a": "b"}, []metav1.Condition{{Type: "EvictionInProgress"}}
	none := of("gpu-0", "NoSchedule", 1)
	none.Spec.DeviceSelector = nil
	type test struct {
		name, why string
		old, now  *rule
		want      bool
	}
	testkit.Run(t, []test{
		{"new", "a device gets a taint", nil, of("gpu-0", "NoSchedule", 1), true},
		{"gone", "a device loses a taint", of("gpu-0", "NoSchedule", 1), nil, true},
		{"new without a device", "no device has the name", nil, of("gpu-9", "NoSchedule", 1), false},
		{"gone without a device", "no device has the name", of("gpu-9", "NoSchedule", 1), nil, false},
		{"no selector", "it selects nothing", nil, none, false},
		{"selector goes", "a device loses a taint", of("gpu-0", "NoSchedule", 1), none, true},
		{"another device", "one loses the taint, one gets it", of("gpu-0", "NoSchedule", 1), of("gpu-1", "NoSchedule", 1), true},
		{"the same devices by another selector", "no taint changes", of("gpu-0", "NoSchedule", 1), all, false},
		{"labels and status", "no taint changes", of("gpu-0", "NoSchedule", 1), labelled, false},
		{"time", "the time is a part of the taint", of("gpu-0", "NoSchedule", 1), of("gpu-0", "NoSchedule", 2), true},
		{"effect", "None is a taint too", of("gpu-0", "NoSchedule", 1), of("gpu-0", "None", 1), true},
	}, func(t *testing.T, c test) {
		list := []*resourcev1.ResourceSlice{gpus("n1")}
		testkit.Unchanged(t, func() { require.Equal(t, c.want, devices.RuleMatters(slices.Values(list), c.old, c.now)) }, list...)
	})
}
