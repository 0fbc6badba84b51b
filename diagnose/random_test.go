package diagnose

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// All that is said about pods of random clusters: relaxations, conflicts, comparisons and what wakes the pod. Of the changes that were
// considered the file has a hash. Limits of the work are part of the input, so that a search that needs more of it says less.
func TestRandom(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(70) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+9e6, 200))
		objects, pod := random(b)
		objects.PodDisruptionBudgets = randomBudgets(b)
		if b.OneIn(3) {
			randomDevices(b, &objects, pod)
		}
		if b.OneIn(2) {
			pod.Spec.Containers[0].Image = "app:v1"
			for _, n := range objects.Nodes {
				if b.OneIn(2) {
					n.Status.Images = []v1.ContainerImage{{Names: []string{"app:v1"}, SizeBytes: 500 << 20}}
				}
			}
			pod.Spec.Affinity = addPreference(pod.Spec.Affinity, "disk", testkit.Pick(b, "ssd", "hdd"))
		}
		for _, p := range objects.Pods {
			switch b.Below(4) {
			case 0:
				gone := metav1.NewTime(testkit.Epoch.Add(time.Duration(b.Below(100)) * time.Second))
				p.DeletionTimestamp = &gone
			case 1:
				started, most := metav1.NewTime(testkit.Epoch), int64(30+b.Below(60))
				p.Status.StartTime, p.Spec.ActiveDeadlineSeconds = &started, &most
			}
		}
		o := Options{Size: b.Below(4), Nodes: testkit.Pick(b, 0, 2, 5, -1), Steps: testkit.Pick(b, 0, 0, 60, 600)}
		if b.OneIn(4) {
			o.Where = func(n *v1.Node) bool { return n.Name != "n0" }
		}
		fmt.Fprintf(&out, "%d: %s", seed, answers(t, objects, pod, o, WakeOptions{}))
	}
	testkit.Golden(t, "testdata/random.txt", out.String())
}

// answers writes all that is said about a pod. Of the changes that were considered it writes a hash.
func answers(t *testing.T, objects cluster.Objects, pod *v1.Pod, o Options, wake WakeOptions) string {
	var out strings.Builder
	s, err := cluster.New(objects)
	require.NoError(t, err)
	in := Input{Snapshot: s}
	d, err := Relax(in, pod, o)
	require.NoError(t, err)
	h := fnv.New32a()
	for _, c := range d.Changes {
		fmt.Fprintln(h, DefaultCost(c), c.Text())
	}
	fmt.Fprintf(&out, "%q %s, preempts %q %v, %d changes %08x, conflicts %v, cut %q\n", d.Node, d.Message, d.Preempts, d.Victims, len(d.Changes), h.Sum32(), d.Conflicts, d.Cut)
	for _, r := range d.Relaxations {
		fmt.Fprintf(&out, "    %d %s %s\n", r.Cost, r.Node, r.Text())
	}
	for _, n := range objects.Nodes {
		c, err := Compare(in, pod, n.Name)
		if err != nil {
			continue
		}
		fmt.Fprintf(&out, "    %s and not %s: %v", c.Chosen, c.Other, c.Parts)
		for _, f := range c.Flips {
			fmt.Fprintf(&out, "; %s %s: %s", f.Kind, f.Object, f.Text)
		}
		out.WriteByte('\n')
	}
	w, err := Wake(in, pod, wake)
	require.NoError(t, err)
	fmt.Fprintf(&out, "    waits for %v:", w.Events)
	for _, e := range w.Ends {
		fmt.Fprintf(&out, " %s leaves %s after %s (%s, %t);", e.Pod, e.Node, e.At.Sub(testkit.Epoch), e.Why, e.Wakes)
	}
	fmt.Fprintf(&out, " %s\n", w.Node)
	return out.String()
}

// addPreference adds a preferred node label.
func addPreference(a *v1.Affinity, key, value string) *v1.Affinity {
	if a == nil {
		a = &v1.Affinity{}
	}
	if a.NodeAffinity == nil {
		a.NodeAffinity = &v1.NodeAffinity{}
	}
	a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []v1.PreferredSchedulingTerm{{Weight: 3, Preference: v1.NodeSelectorTerm{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}
	return a
}
