package embed_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/examples/embed"
	"github.com/podberth/podberth/placement"
)

// start returns a controller.
func start(t *testing.T, write func(string, embed.Condition) error) *embed.Controller {
	t.Helper()
	c, err := embed.New(write)
	require.NoError(t, err)
	return c
}

// fresh returns the condition of a workload over a new snapshot of nodes and pods.
func fresh(t *testing.T, nodes []*v1.Node, pods []*v1.Pod, w embed.Workload) (out embed.Condition) {
	t.Helper()
	known := func(name string) bool {
		return slices.ContainsFunc(nodes, func(n *v1.Node) bool { return n.Name == name })
	}
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *v1.Pod) bool { return !known(p.Spec.NodeName) })
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: pods})
	require.NoError(t, err)
	placer, err := placement.NewPlacer(snapshot, placement.DefaultProfile())
	require.NoError(t, err)
	for k := range w.Replicas {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: fmt.Sprint("replica-", k), Labels: w.Template.Labels}, Spec: w.Template.Spec}
		d := placer.Decide(pod, placement.Options{})
		if !d.Placed() {
			out.Message = d.Failure.Text()
			if out.Count > 0 {
				return out
			}
			plan, err := placement.New(snapshot, placement.DefaultProfile())
			require.NoError(t, err)
			table, err := plan.Table(pod)
			require.NoError(t, err)
			for _, n := range table {
				for _, r := range n.Rejections {
					out.Details = append(out.Details, n.Node+": "+r.Plugin+": "+strings.Join(slices.Concat(r.Reasons, r.Numbers), "; "))
				}
			}
			return out
		}
		require.NoError(t, placer.Assume(pod, d))
		out.Count, out.Nodes = out.Count+1, append(out.Nodes, d.Node)
	}
	out.Ready = true
	return out
}

// Whatever comes and goes, the conditions are those of a new snapshot, in the order of the names. Only what is new is written, and what could
// not be written is tried again.
func TestConditionsOfFreshClusters(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	for range 30 {
		var nodes []*v1.Node
		var pods []*v1.Pod
		var calls []string
		workloads, written := map[string]embed.Workload{}, map[string]embed.Condition{}
		said := map[string]embed.Condition{}
		busy := map[string]bool{}
		c := start(t, func(workload string, c embed.Condition) error {
			calls = append(calls, workload)
			said[workload] = c
			if busy[workload] {
				return errors.New("busy")
			}
			return nil
		})
		named := func(name string) int {
			return slices.IndexFunc(nodes, func(n *v1.Node) bool { return n.Name == name })
		}
		for range 40 {
			for range 1 + random.IntN(2) {
				switch name := pick("n1", "n2", "n3", "n4"); random.IntN(6) {
				case 0, 1:
					n := node(name, pick("2", "4", "8"))
					n.Spec.Unschedulable = random.IntN(4) == 0
					if i := named(name); i >= 0 {
						nodes[i] = n
					} else {
						nodes = append(nodes, n)
					}
					require.NoError(t, c.Set(n))
				case 2:
					nodes = slices.DeleteFunc(nodes, func(n *v1.Node) bool { return n.Name == name })
					require.NoError(t, c.Remove(node(name, "1")))
				case 3, 4:
					pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pick("shop", "data"), Name: pick("a", "b", "c"), Labels: map[string]string{"app": pick("web", "api")}}, Spec: spec(pick("1", "2"))}
					pods = slices.DeleteFunc(pods, func(p *v1.Pod) bool { return p.Namespace == pod.Namespace && p.Name == pod.Name })
					if random.IntN(3) == 0 {
						require.NoError(t, c.Remove(pod))
						break
					}
					pod.Spec.NodeName = pick(name, name, name, "")
					pod.Status.Phase = v1.PodPhase(pick("", "Running", "Running", "Succeeded", "Failed"))
					if pod.Spec.NodeName != "" && (pod.Status.Phase == "" || pod.Status.Phase == v1.PodRunning) {
						pods = append(pods, pod)
					}
					if pod.Spec.NodeName == "" { // another pod of that name: no pod loses its node
						require.NoError(t, c.Remove(pod))
					}
					require.NoError(t, c.Set(pod))
				case 5:
					w := embed.Workload{Namespace: pick("shop", "data"), Name: pick("web", "api"), Replicas: random.IntN(5), Template: v1.PodTemplateSpec{Spec: spec(pick("1", "2", "3", "9"))}}
					if random.IntN(3) == 0 { // at most one on each node
						w.Template.Labels = map[string]string{"app": w.Name}
						w.Template.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
							{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: w.Template.Labels}}}}}
					}
					workloads[w.Namespace+"/"+w.Name] = w
					c.SetWorkload(w)
				}
			}
			busy = map[string]bool{pick("shop/web", "shop/api", "data/web", "none"): true}
			calls = nil
			err := c.Reconcile()
			var want, errs []string
			for _, key := range []string{"data/api", "data/web", "shop/api", "shop/web"} {
				w, there := workloads[key]
				if !there {
					continue
				}
				condition := fresh(t, nodes, pods, w)
				if last, is := written[key]; is && fmt.Sprintf("%+v", last) == fmt.Sprintf("%+v", condition) {
					continue
				}
				want = append(want, key)
				require.Equal(t, condition, said[key], key)
				if busy[key] {
					errs = append(errs, "workload "+key+": busy")
					continue
				}
				written[key] = condition
			}
			require.Equal(t, want, calls)
			if len(errs) > 0 {
				require.EqualError(t, err, strings.Join(errs, "\n"))
			} else {
				require.NoError(t, err)
			}
		}
	}
}

// A tick of a controller of a large cluster: a pod changes, and the conditions of ten workloads of 30 replicas are made again.
func BenchmarkReconcile5000(b *testing.B) {
	c, err := embed.New(func(string, embed.Condition) error { return nil })
	require.NoError(b, err)
	for i := range 5000 {
		name := fmt.Sprint("n", i)
		require.NoError(b, c.Set(node(name, "16")))
		for k := range 10 {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint(name, "-", k)}, Spec: spec("1")}
			pod.Spec.NodeName = name
			require.NoError(b, c.Set(pod))
		}
	}
	for i := range 10 {
		c.SetWorkload(embed.Workload{Namespace: "shop", Name: fmt.Sprint("w", i), Replicas: 30, Template: v1.PodTemplateSpec{Spec: spec(fmt.Sprint(1 + i%5))}})
	}
	require.NoError(b, c.Reconcile())
	for b.Loop() {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "n7-3"}, Spec: spec("2")}
		pod.Spec.NodeName = "n7"
		require.NoError(b, c.Set(pod))
		require.NoError(b, c.Reconcile())
	}
}
