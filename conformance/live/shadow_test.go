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

	"github.com/podberth/podberth/scheduler/live/daemon"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

var shadowPods = flag.Int("shadow-pods", 20, "pods that kube-scheduler places under the eyes of the shadow")

// A shadow beside kube-scheduler.
func TestShadow(t *testing.T) {
	w := newWorld(t)
	for name, run := range map[string]func(*world){"one pod at a time": oneAtATime, "free running": freeRunning} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			t.Cleanup(w.wipe) // after the schedulers have ended
			run(w)
		})
	}
}

// One pod at a time, the shadow agrees with kube-scheduler about every pod of a random workload, ties aside.
func oneAtATime(w *world) {
	t := w.t
	w.kube()
	rng := rand.New(rand.NewPCG(*faultsSeed, 7))
	w.randomNodes(rng)
	reported := w.shadow()
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
		r := reported(w.get(name))
		verdicts[r.Verdict]++
		if r.Verdict != shadow.Same && r.Verdict != shadow.Tie {
			t.Errorf("%+v", r)
		}
	}
	t.Log(verdicts)
	require.NotZero(t, verdicts[shadow.Same])
}

// shadow starts a shadow, and returns a function that waits for its report about a bound pod.
func (w *world) shadow() (reported func(*v1.Pod) shadow.Report) {
	w.t.Helper()
	var mu sync.Mutex
	got := map[string]shadow.Report{} // by UID
	ctx, cancel := context.WithCancel(context.Background())
	s, err := daemon.NewShadow(ctx, daemon.Config{REST: w.link.config(), Configuration: load(w.t, plainConfig), Permissions: true}, func(r shadow.Report) {
		mu.Lock()
		defer mu.Unlock()
		got[r.UID] = r
	})
	require.NoError(w.t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		require.NoError(w.t, <-done)
	})
	w.until("the first lists", func() bool { return s.Ready() == nil })
	return func(p *v1.Pod) (r shadow.Report) {
		w.t.Helper()
		w.until("the report about "+p.Name, func() (ok bool) {
			mu.Lock()
			defer mu.Unlock()
			r, ok = got[string(p.UID)]
			return ok
		})
		return r
	}
}

// randomNodes makes twelve nodes in three zones, some of them tainted.
func (w *world) randomNodes(rng *rand.Rand) {
	w.t.Helper()
	for k := range 12 {
		n := newNode(fmt.Sprintf("n%d", k), []string{"2", "4", "8"}[rng.IntN(3)], func(n *v1.Node) {
			n.Labels[v1.LabelTopologyZone] = fmt.Sprintf("z%d", k%3)
			if rng.IntN(4) == 0 {
				n.Spec.Taints = []v1.Taint{{Key: "t", Effect: []v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule}[rng.IntN(2)]}}
			}
		})
		made, err := w.api.CoreV1().Nodes().Create(w.ctx, n, metav1.CreateOptions{})
		require.NoError(w.t, err)
		w.nodeSeen(made)
	}
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
