package lint

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
)

// Replicas for which the nodes have no room are counted, and none of them is made. The five nodes of the world have room for 5,000 pods each.
func TestCrowd(t *testing.T) {
	type test struct {
		name, why string
		replicas  int32
		change    func(w *world)
		made      bool
		found     string // of the rule unplaceable; "" is no finding
	}
	other := func(w *world, name, cpu string, priority int32) *v1.Pod {
		p := testkit.Pod(name).Labels("app=" + name).Request("cpu=" + cpu).On("n1").Obj()
		p.Spec.Priority = &priority
		w.objs.Pods = append(w.objs.Pods, p)
		return p
	}
	const all = "25000 of 25001 pods get a node: the nodes that they can use have no room for more"
	testkit.Run(t, []test{
		{"no crowd", "each replica is placed", 10_000, nil, true, ""},
		{"room for all", "10,000 are placed, and the others counted", 25_000, nil, true, ""},
		{"one too many", "the amounts say it", 25_001, nil, false, all},
		{"as many as an int32 holds", "the time does not follow the number", math.MaxInt32, nil, false, "25000 of 2147483647 pods get a node: the nodes that they can use have no room for more"},
		{"a pod takes room", "20 replicas ask for what it has", 25_000, func(w *world) { other(w, "db", "20m", 0) }, false, "24980 of 25000 pods get a node: the nodes that they can use have no room for more"},
		{"a pod takes a place", "a node holds a number of pods", 25_000, func(w *world) { other(w, "db", "0", 0) }, false, "24999 of 25000 pods get a node: the nodes that they can use have no room for more"},
		{"a pod that gives way", "its priority is lower", 25_000, func(w *world) { other(w, "db", "20m", -1) }, true, ""},
		{"a replica that runs", "it is one of them", 25_000, func(w *world) { other(w, "web", "1m", 0) }, true, ""},
		{"a pod that has finished", "it holds nothing", 25_000, func(w *world) { other(w, "db", "20m", 0).Status.Phase = v1.PodSucceeded }, true, ""},
		{"a pod that waits", "it holds nothing", 25_000, func(w *world) { other(w, "db", "20m", 0).Spec.NodeName = "" }, true, ""},
		{"a node that is cordoned", "nothing comes to it", 25_000, func(w *world) { w.objs.Nodes[0].Spec.Unschedulable = true }, false, "20000 of 25000 pods get a node: the nodes that they can use have no room for more"},
		{"beside another manifest", "the pods of all manifests are placed together, and those of a crowd without room are not made", 25_001, func(w *world) {
			more := newWorld().replicas(1)
			more.web.Name = "small"
			w.in.Deployments = append([]*appsv1.Deployment{more.web}, w.in.Deployments...)
		}, false, all},
		{"a Job", "its pods come in turns", 0, func(w *world) { w.job(30_000) }, false, ""},
	}, func(t *testing.T, x test) {
		w := newWorld().replicas(x.replicas)
		for _, n := range w.objs.Nodes {
			n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("5"), v1.ResourcePods: resource.MustParse("5000")}
		}
		w.pod.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1m")}
		if x.change != nil {
			x.change(w)
		}
		all := checkerOf(t, w)
		last := all.works[len(all.works)-1]
		require.Equal(t, x.made, all.tried(last).made != nil, x.why)
		found := of(t, w, "unplaceable")
		if x.found == "" {
			require.Empty(t, found)
			return
		}
		require.Len(t, found, 1)
		require.Equal(t, []any{Error, "spec", x.found}, []any{found[0].Severity, found[0].Path, found[0].Explanation})
	})
}
