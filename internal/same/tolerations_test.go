package same_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/same"
	"github.com/podberth/podberth/internal/testkit"
)

func seconds(n int64) *int64 { return &n }

// A toleration takes the place of every equal one, whatever their seconds, and is added at the end otherwise.
func TestAdd(t *testing.T) {
	base := v1.Toleration{Key: "k", Operator: v1.TolerationOpEqual, Value: "v", Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds(5)}
	changed := func(change func(*v1.Toleration)) v1.Toleration {
		c := base
		change(&c)
		return c
	}
	forever := changed(func(c *v1.Toleration) { c.TolerationSeconds = nil })
	list := []v1.Toleration{base, forever}
	require.Equal(t, []v1.Toleration{forever, forever}, same.AddToleration(list, forever))
	require.Equal(t, []v1.Toleration{base, forever}, list, "the argument stays")
	for name, other := range map[string]v1.Toleration{
		"key":      changed(func(c *v1.Toleration) { c.Key = "x" }),
		"operator": changed(func(c *v1.Toleration) { c.Operator = v1.TolerationOpExists }),
		"value":    changed(func(c *v1.Toleration) { c.Value = "x" }),
		"effect":   changed(func(c *v1.Toleration) { c.Effect = v1.TaintEffectNoSchedule }),
	} {
		require.False(t, same.SameToleration(&base, &other), name)
		require.Equal(t, []v1.Toleration{base, other}, same.AddToleration([]v1.Toleration{base}, other), name)
	}
}

func TestCovers(t *testing.T) {
	const exists, equal, execute = v1.TolerationOpExists, v1.TolerationOpEqual, v1.TaintEffectNoExecute
	type test struct {
		name, why string
		a, b      v1.Toleration
		want      bool
	}
	testkit.Run(t, []test{
		{"equal", "a toleration covers itself, with an unknown operator too", v1.Toleration{Key: "k", Operator: "?"}, v1.Toleration{Key: "k", Operator: "?"}, true},
		{"another unknown operator", "nobody knows what it tolerates", v1.Toleration{Key: "k", Operator: "?"}, v1.Toleration{Key: "k", Operator: exists}, false},
		{"every key", "Exists without a key tolerates all", v1.Toleration{Operator: exists}, v1.Toleration{Key: "k", Operator: equal, Value: "v"}, true},
		{"no key, Equal", "an empty key is another key", v1.Toleration{Operator: equal}, v1.Toleration{Key: "k", Operator: equal}, false},
		{"other key", "it tolerates other taints", v1.Toleration{Key: "a", Operator: exists}, v1.Toleration{Key: "b", Operator: exists}, false},
		{"every effect", "an empty effect is all effects", v1.Toleration{Key: "k", Operator: exists}, v1.Toleration{Key: "k", Operator: exists, Effect: execute}, true},
		{"other effect", "it tolerates other taints", v1.Toleration{Key: "k", Operator: exists, Effect: v1.TaintEffectNoSchedule}, v1.Toleration{Key: "k", Operator: exists, Effect: execute}, false},
		{"Exists and Equal", "Exists tolerates every value", v1.Toleration{Key: "k", Operator: exists}, v1.Toleration{Key: "k", Operator: equal, Value: "v"}, true},
		{"Equal and Exists", "Equal tolerates one value", v1.Toleration{Key: "k", Operator: equal, Value: "v"}, v1.Toleration{Key: "k", Operator: exists, Value: "v"}, false},
		{"no operator", "it means Equal", v1.Toleration{Key: "k", Value: "v"}, v1.Toleration{Key: "k", Operator: equal, Value: "v"}, true},
		{"other value", "Equal tolerates one value", v1.Toleration{Key: "k", Value: "v"}, v1.Toleration{Key: "k", Operator: equal, Value: "w"}, false},
		{"fewer seconds", "it ends earlier", v1.Toleration{Key: "k", Operator: exists, Effect: execute, TolerationSeconds: seconds(4)}, v1.Toleration{Key: "k", Operator: exists, Effect: execute, TolerationSeconds: seconds(5)}, false},
		{"as many seconds", "it ends at the same time", v1.Toleration{Key: "k", Operator: exists, Effect: execute, TolerationSeconds: seconds(5)}, v1.Toleration{Key: "k", Operator: equal, Effect: execute, TolerationSeconds: seconds(5)}, true},
		{"more seconds", "it ends later", v1.Toleration{Key: "k", Operator: exists, Effect: execute, TolerationSeconds: seconds(6)}, v1.Toleration{Key: "k", Operator: exists, Effect: execute, TolerationSeconds: seconds(5)}, true},
		{"seconds and none", "none never ends", v1.Toleration{Key: "k", Operator: exists, Effect: execute, TolerationSeconds: seconds(6)}, v1.Toleration{Key: "k", Operator: exists, Effect: execute}, false},
		{"none and seconds", "none never ends", v1.Toleration{Key: "k", Operator: exists, Effect: execute}, v1.Toleration{Key: "k", Operator: exists, Effect: execute, TolerationSeconds: seconds(6)}, true},
		{"seconds of another effect", "they count for NoExecute alone", v1.Toleration{Key: "k", Operator: exists, TolerationSeconds: seconds(4)}, v1.Toleration{Key: "k", Operator: exists, Effect: execute, TolerationSeconds: seconds(5)}, true},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, same.CoversToleration(&c.a, &c.b))
	})
}

// Rule of the DaemonSet controller: two tolerations of NoExecute and four of NoSchedule, five on the host's network.
func TestDaemonSet(t *testing.T) {
	pod := &v1.Pod{Spec: v1.PodSpec{Tolerations: []v1.Toleration{{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: seconds(5)}}}}
	keys := func() (out []string) {
		for _, x := range same.DaemonSetTolerations(pod) {
			require.Equal(t, v1.TolerationOpExists, x.Operator)
			require.Nil(t, x.TolerationSeconds)
			out = append(out, x.Key+":"+string(x.Effect))
		}
		return out
	}
	want := []string{v1.TaintNodeNotReady + ":NoExecute", v1.TaintNodeUnreachable + ":NoExecute", v1.TaintNodeDiskPressure + ":NoSchedule",
		v1.TaintNodeMemoryPressure + ":NoSchedule", v1.TaintNodePIDPressure + ":NoSchedule", v1.TaintNodeUnschedulable + ":NoSchedule"}
	require.Equal(t, want, keys())
	pod.Spec.HostNetwork = true
	require.Equal(t, append(want, v1.TaintNodeNetworkUnavailable+":NoSchedule"), keys())
}
