package failures

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// FuzzRun holds laws over random clusters: the objects do not change, every pod of a lost node has one outcome, the counts agree
// with the outcomes, no lost node takes a pod, the sums of resources agree, and a second run gives the same.
func FuzzRun(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(testkit.RandomBytes(seed, 80))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		w := random(b)
		p := w.planner(t)
		var lose []string
		for _, n := range w.objects.Nodes {
			if b.Below(3) == 0 {
				lose = append(lose, n.Name)
			}
		}
		s := []Scenario{{"fuzz", lose}}
		var results []Result
		testkit.Unchanged(t, func() {
			var err error
			results, err = p.Run(s, Options{Orders: 1})
			require.NoError(t, err)
		}, w.objects.Pods...)
		again, err := p.Run(s, Options{Orders: 1})
		require.NoError(t, err)
		require.Equal(t, lines(results[0]), lines(again[0]))
		lawful(t, w, results[0])
	})
}

func lawful(t *testing.T, w *world, r Result) {
	t.Helper()
	lost := map[string]bool{}
	for _, n := range r.Nodes {
		lost[n] = true
	}
	onLost, seen := 0, map[*v1.Pod]bool{}
	for _, p := range w.objects.Pods {
		if lost[p.Spec.NodeName] && !cluster.Finished(p) {
			onLost++
		}
	}
	counts := map[Fate]int{}
	displaced, fromLost := 0, 0
	for _, o := range r.Pods {
		require.False(t, seen[o.Pod], "%s has two outcomes", o.Pod.Name)
		seen[o.Pod] = true
		counts[o.Fate]++
		if o.DisplacedBy != "" {
			displaced++
		}
		if lost[o.From] {
			fromLost++
		}
		require.False(t, lost[o.Node], "%s is on a lost node", o.Pod.Name)
		require.Equal(t, o.Fate == Placed, o.Node != "")
		require.Equal(t, o.Fate == Pending || o.Fate == Waiting, o.Group >= 0)
		if o.Group >= 0 {
			require.Contains(t, r.Groups[o.Group].Pods, o.Pod.Namespace+"/"+o.Pod.Name)
		}
	}
	require.Equal(t, onLost, fromLost)
	require.Equal(t, map[Fate]int{}, minus(counts, map[Fate]int{
		Placed: r.Placed, Pending: r.Pending, Waiting: r.Waiting, Gone: r.Gone, Tied: r.Tied, Foreign: r.Foreign,
	}))
	require.Equal(t, displaced, r.Displaced)
	for _, x := range r.Left {
		if x.Name == v1.ResourcePods {
			running := int64(0)
			for _, p := range w.objects.Pods {
				if !lost[p.Spec.NodeName] && p.Spec.NodeName != "" && !seen[p] {
					running++
				}
			}
			require.Equal(t, running+int64(r.Placed+r.Released), x.Requested)
		}
	}
}

func minus(a, b map[Fate]int) map[Fate]int {
	out := map[Fate]int{}
	for _, f := range []Fate{Placed, Pending, Waiting, Gone, Tied, Foreign} {
		if n := a[f] - b[f]; n != 0 {
			out[f] = n
		}
	}
	return out
}

// random makes five small nodes with workloads of all kinds, priorities and constraints.
func random(b *testkit.Bytes) *world {
	w := five(testkit.Pick(b, "cpu=2", "cpu=3", "cpu=5"))
	w.class("high", 100)
	w.class("low", -5)
	all := []string{"n1", "n2", "n3", "n4", "n5"}
	nodes := func() string {
		var out []string
		for range b.Below(5) {
			out = append(out, all[b.Below(5)])
		}
		return strings.Join(out, " ")
	}
	for i := range b.Below(5) {
		name := fmt.Sprintf("app%d", i)
		change := testkit.Pick(b, nil, classed("high"), classed("low"), apart(name, v1.LabelHostname), beside("app0", zoneKey),
			spreadOver(name, zoneKey, nil), spreadOver(name, v1.LabelHostname, ptr(int32(2))))
		r := w.app(name, testkit.Pick(b, "cpu=1", "cpu=500m", "cpu=2"), nodes(), change)
		if b.Below(3) == 0 {
			w.budget(name, name, b.Below(3))
		}
		if b.Below(6) == 0 {
			r.Spec.Replicas = ptr(int32(b.Below(6)))
		}
	}
	if b.Below(3) == 0 {
		w.stateful("db", nodes(), testkit.Pick(b, appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement))
	}
	for i := range b.Below(4) {
		p := w.pod(testkit.Pick(b, "", "DaemonSet", "Rollout"), "x", fmt.Sprintf("x-%d", i), all[b.Below(5)], v1.PodTemplateSpec{})
		if b.Below(3) == 0 {
			p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
		}
	}
	return w
}
