package descheduler_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	deschedulerapp "sigs.k8s.io/descheduler/pkg/descheduler"

	"github.com/podberth/podberth/adapters/descheduler"
	"github.com/podberth/podberth/internal/testkit"
)

const spreadPolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: spread
  pluginConfig:
  - {name: DefaultEvictor, args: {}}
  - name: RemovePodsViolatingTopologySpreadConstraint
    args: {constraints: [DoNotSchedule, ScheduleAnyway], topologyBalanceNodeFit: true}
  plugins:
    balance: {enabled: [RemovePodsViolatingTopologySpreadConstraint]}
`

// spreading returns a world whose pods have a hard constraint over zones and a soft one over nodes, each with a skew of at most 1.
func spreading(t *testing.T, nodes, pods []string) *world {
	w := &world{t: t, pods: map[string]*v1.Pod{}, serial: len(pods)}
	for _, name := range nodes {
		w.nodes = append(w.nodes, node(name, name[:1], 8))
	}
	for i, on := range pods {
		p := pod("web", i, on, "1")
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector("web")},
			{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: selector("web")}}
		w.put(p)
	}
	return w
}

// Three cycles of the descheduler's own strategy, alone and with the check that RegisterSpread gives it.
func TestRegisterSpread(t *testing.T) {
	klog.LogToStderr(false)
	klog.SetOutput(nowhere{})
	type test struct {
		name, why    string
		nodes, pods  []string
		keeper       string // a node with a pod that keeps the others off
		mode         descheduler.Mode
		alone, fixed [3]int // evicted in each cycle
	}
	testkit.Run(t, []test{
		{"nodes that the zones forbid", "descheduler issue 1918: a3 and a4 are empty, but zone a is full, so that an eviction from b0 is repeated in every cycle",
			[]string{"a0", "a1", "a2", "a3", "a4", "b0", "b1", "c0", "c1"}, []string{"a0", "a1", "a2", "b0", "b0", "b1", "c0", "c1"}, "", descheduler.Fits, [3]int{1, 1, 1}, [3]int{}},
		{"the same, by scores", "no best node is below the average",
			[]string{"a0", "a1", "a2", "a3", "a4", "b0", "b1", "c0", "c1"}, []string{"a0", "a1", "a2", "b0", "b0", "b1", "c0", "c1"}, "", descheduler.Moves, [3]int{1, 1, 1}, [3]int{}},
		{"a pod that keeps them off", "zone b is below the average, but a pod there has anti-affinity, which the descheduler's check does not ask about; with descheduler issues 1219 and 1067, whose " +
			"clusters are not known here, a strategy evicts for nothing, too: here the pod that comes waits", []string{"a0", "a1", "b0"}, []string{"a0", "a1"}, "b0", descheduler.Fits, [3]int{1}, [3]int{}},
		{"an empty node of the zone", "the pod goes there, and the nodes are balanced",
			[]string{"a0", "a1", "b0", "b1"}, []string{"a0", "a0", "b0", "b1"}, "", descheduler.Moves, [3]int{1}, [3]int{1}},
		{"zones out of balance", "b has none: two of four leave a; then one of the two that are left on a0 goes to a1",
			[]string{"a0", "a1", "b0", "b1"}, []string{"a0", "a0", "a0", "a0"}, "", descheduler.Moves, [3]int{3}, [3]int{3}},
		{"balanced", "nobody leaves", []string{"a0", "b0"}, []string{"a0", "b0"}, "", descheduler.Fits, [3]int{}, [3]int{}},
	}, func(t *testing.T, c test) {
		cycles := func(fix bool) (evicted [3]int) {
			registry := setup()
			if fix {
				descheduler.RegisterSpread(registry, descheduler.Args{Mode: c.mode})
			}
			path := filepath.Join(t.TempDir(), "policy.yaml")
			require.NoError(t, os.WriteFile(path, []byte(spreadPolicy), 0o644))
			w := spreading(t, c.nodes, c.pods)
			if c.keeper != "" {
				w.put(apart(pod("db", 0, c.keeper, "1"), "web", v1.LabelHostname))
			}
			for i := range evicted {
				policy, err := deschedulerapp.LoadPolicyConfig(path, fake.NewClientset(), registry)
				require.NoError(t, err)
				w.deschedule(context.Background(), policy, func() *descheduler.Plugin { return nil })
				evicted[i] = len(w.evicted)
				_, _, waiting := w.schedule()
				if fix {
					require.Zero(t, waiting, "a pod was left without a node")
				}
			}
			return evicted
		}
		require.Equal(t, c.alone, cycles(false), "the descheduler alone: %s", c.why)
		require.Equal(t, c.fixed, cycles(true), c.why)
	})
}
