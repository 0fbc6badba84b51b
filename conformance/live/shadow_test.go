package live

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/examples/config"
	"github.com/podberth/podberth/examples/live/daemon"
	"github.com/podberth/podberth/examples/live/shadow"
)

var shadowPods = flag.Int("shadow-pods", 20, "pods that kube-scheduler places under the eyes of the shadow")

// One pod at a time, the shadow agrees with kube-scheduler about every pod of a random workload, ties aside.
func TestShadow(t *testing.T) {
	w := newWorld(t)
	w.kube()
	c, err := config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"))
	require.NoError(t, err)
	var mu sync.Mutex
	got := map[string]shadow.Report{}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := daemon.NewShadow(ctx, daemon.Config{REST: w.link.config(), Configuration: c, Permissions: true}, func(r shadow.Report) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Pod] = r
	})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	rng := rand.New(rand.NewPCG(*faultsSeed, 7))
	for k := range 12 {
		w.node(fmt.Sprintf("n%d", k), []string{"2", "4", "8"}[rng.IntN(3)], func(n *v1.Node) {
			n.Labels[v1.LabelTopologyZone] = fmt.Sprintf("z%d", k%3)
			if rng.IntN(4) == 0 {
				n.Spec.Taints = []v1.Taint{{Key: "t", Effect: []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule}[rng.IntN(2)]}}
			}
		})
	}
	w.until("the first lists", func() bool { return s.Ready() == nil })
	verdicts := map[shadow.Verdict]int{}
	for k := range *shadowPods {
		name := fmt.Sprintf("p%d", k)
		w.pod(name, []string{"100m", "250m", "500m"}[rng.IntN(3)], func(p *v1.Pod) { decorate(p, rng) })
		w.until(name+" is placed or not", func() bool {
			p := w.get(name)
			return p.Spec.NodeName != "" || condition(p, v1.PodScheduled).Status == v1.ConditionFalse
		})
		if w.get(name).Spec.NodeName == "" {
			continue
		}
		var r shadow.Report
		w.until("the report about "+name, func() (ok bool) {
			mu.Lock()
			defer mu.Unlock()
			r, ok = got["default/"+name]
			return ok
		})
		verdicts[r.Verdict]++
		if r.Verdict != shadow.Same && r.Verdict != shadow.Tie {
			t.Errorf("%+v", r)
		}
	}
	t.Log(verdicts)
	require.NotZero(t, verdicts[shadow.Same])
	cancel()
	require.NoError(t, <-done)
}

// decorate gives a pod labels, and some of what filters and scores read.
func decorate(p *v1.Pod, rng *rand.Rand) {
	app := []string{"a", "b", "c"}[rng.IntN(3)]
	p.Labels = map[string]string{"app": app}
	same := &metav1.LabelSelector{MatchLabels: p.Labels}
	switch rng.IntN(5) {
	case 0:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: same}}
	case 1:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: same}}
	case 2:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{
			Weight: 10, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: same},
		}}}}
	case 3:
		p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	}
}
