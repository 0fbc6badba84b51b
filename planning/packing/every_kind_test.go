package packing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/packing"
)

// mixed makes a cluster with pods that stay, pods that few nodes take, a third resource and nodes that hold more than they offer.
func mixed(b *testkit.Bytes) *world {
	w := chance(b, 24, b.OneIn(2))
	for i := range b.Below(3) {
		w.nodes = append(w.nodes, node(fmt.Sprint("m", i), testkit.Pick(b, "a", "c"), testkit.Pick(b, "cpu=4,memory=2Gi", "cpu=1,memory=8Gi", "cpu=3")))
	}
	for _, n := range w.nodes {
		if b.OneIn(3) {
			n.Status.Allocatable["example.com/gpu"] = testkit.Resources(testkit.Pick(b, "a=1", "a=3"))["a"]
		}
		if b.OneIn(5) {
			n.Spec.Taints = testkit.Taints("team=x:NoSchedule")
		}
		if b.OneIn(8) {
			n.Spec.Unschedulable = true
		}
		if b.OneIn(8) {
			n.Status.Allocatable[v1.ResourceCPU] = testkit.Resources("cpu=1")["cpu"]
		}
	}
	yes := true
	for _, p := range w.pods {
		switch b.Below(12) {
		case 0:
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: testkit.Pick(b, "DaemonSet", "ReplicaSet"), Name: "x", Controller: &yes}}
		case 1:
			p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
		case 2:
			p.Annotations = map[string]string{testkit.Pick(b, "kubernetes.io/config.source", "kubernetes.io/config.mirror"): "file"}
		}
	}
	for _, p := range slices.Concat(w.pods, w.pending) {
		switch b.Below(10) {
		case 0:
			p.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: testkit.Pick(b, "a", "b", "c")}
		case 1:
			p.Spec.Tolerations = []v1.Toleration{{Key: "team", Operator: v1.TolerationOpExists}}
		case 2:
			n := testkit.Resources(testkit.Pick(b, "example.com/gpu=1", "example.com/gpu=2"))
			p.Spec.Containers[0].Resources.Limits = n
			p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = n["example.com/gpu"]
		case 3:
			p.Spec.Priority = new(int32)
			*p.Spec.Priority = int32(b.Below(5)) - 2
		case 4:
			never := v1.PreemptNever
			p.Spec.PreemptionPolicy = &never
		case 5:
			delete(p.Spec.Containers[0].Resources.Requests, v1.ResourceCPU)
		}
		p.CreationTimestamp = metav1.NewTime(testkit.Epoch.Add(time.Duration(b.Below(4)) * time.Minute))
	}
	for _, p := range w.pending {
		switch b.Below(20) {
		case 0:
			p.Status.Phase = v1.PodFailed
		case 1:
			p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
		case 2:
			p.Spec.NodeName = "elsewhere"
		}
	}
	if b.OneIn(3) {
		all := budget("all", int32(b.Below(4)))
		all.Spec.Selector = &metav1.LabelSelector{}
		w.budgets = append(w.budgets, all)
	}
	return w
}

// counted returns the default profile with a filter that counts the pods it is asked about: every time, or once for pods that are equal
// to it, which it thinks are those of one app.
func counted(n *int, kept bool) placement.Profile {
	p := placement.DefaultProfile()
	p.Sampling = placement.AllNodes()
	plugin := &placement.Plugin{Name: "Counted", Filter: func(*v1.Pod, placement.Cluster) placement.PreFiltered {
		*n++
		return placement.PreFiltered{Code: filter.Skip}
	}}
	if kept {
		plugin.Keep, plugin.AppendKey = placement.KeepByNode, func(dst []byte, pod *v1.Pod) []byte { return append(dst, pod.Labels["app"]...) }
	}
	p.Filters = append(slices.Clone(p.Filters), plugin)
	return p
}

// The plans for mixed clusters, in short: the vectors of the tiers, the steps, and a hash of the whole plan.
func TestEveryKind(t *testing.T) {
	var out strings.Builder
	changed, open := 0, 0
	for seed := range uint64(400) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+6e6, 500))
		w := mixed(b)
		in := w.input(t)
		if b.OneIn(4) {
			in.Movable = func(p *v1.Pod) bool { return p.Name[len(p.Name)-1]%3 != 0 }
		}
		asked, looks := 0, 0
		if seed%2 == 0 {
			in.Profile = counted(&looks, seed%4 == 0)
		}
		o := packing.Options{Seed: seed, Steps: 100 + 100*b.Below(5), Stop: func() bool { asked++; return asked > 4 }}
		p, err := packing.Pack(in, o)
		require.NoError(t, err)
		require.GreaterOrEqual(t, slices.Compare(vector(p.Tiers, bound), vector(p.Tiers, placed)), 0, "seed %d: more pods than the bound", seed)
		h := testkit.Hash32(t, seed)
		fmt.Fprintf(h, "%v %v %t %t %t %t %d\n", p.Tiers, p.Pending, p.Optimal, p.DefaultOptimal, p.LeaveIt, p.DefaultBreaks, p.Refused)
		for _, a := range p.Actions {
			fmt.Fprintln(h, a.Pod, a.Priority, a.From, a.To, a.Placed != nil && a.Placed.Spec.NodeName == "")
		}
		if len(p.Actions) > 0 {
			changed++
		}
		if !p.Optimal {
			open++
		}
		fmt.Fprintf(&out, "%d: %d steps, placed %v, bound %v, %d actions, asked %d times, filters %d times, %08x\n", seed, p.Steps, vector(p.Tiers, placed), vector(p.Tiers, bound), len(p.Actions), asked, looks, h.Sum32())
	}
	require.Greater(t, min(changed, open), 80)
	testkit.Golden(t, "testdata/every_kind.txt", out.String())
}
