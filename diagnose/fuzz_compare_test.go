package diagnose

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// FuzzCompare holds that the parts add up to the totals, that the weights lie in their ranges, and that a comparison is the same twice.
// Compare refuses every node exactly if the decision has no node, or the node is the decision's or rejects the pod.
func FuzzCompare(f *testing.F) {
	for seed := range uint64(25) {
		f.Add(testkit.RandomBytes(seed, 60))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, pod := random(testkit.NewBytes(data))
		s, err := cluster.New(objects)
		require.NoError(t, err)
		plan, err := placement.New(s, placement.DefaultProfile())
		require.NoError(t, err)
		chosen := plan.Decide(pod, placement.Options{}).Node
		for _, n := range objects.Nodes {
			var c *Comparison
			testkit.Unchanged(t, func() { c, err = Compare(Input{Snapshot: s}, pod, n.Name) }, append(objects.Pods, pod)...)
			refused := chosen == "" || n.Name == chosen || len(plan.Rejections(pod, s.Slot(n.Name))) > 0
			require.Equal(t, refused, err != nil, "%s: %v", n.Name, err)
			if refused {
				continue
			}
			require.Equal(t, chosen, c.Chosen)
			a, b := int64(0), int64(0)
			for _, p := range c.Parts {
				a, b = a+p.Weight*p.Chosen, b+p.Weight*p.Other
				require.True(t, p.Least <= p.Weight && (p.Most < 0 || p.Weight <= p.Most), "%+v", p)
			}
			require.Equal(t, [2]int64{c.ChosenTotal, c.OtherTotal}, [2]int64{a, b})
			for _, flip := range c.Flips {
				require.Equal(t, n.Name, flipped(t, s, pod, flip, flip.Weight), flip.Text)
			}
			for _, p := range c.Parts {
				for w := max(1, p.Weight-5); w <= p.Weight+5; w++ { // a weight that flips is found, and none is nearer
					if f := (Flip{Object: "Plugin " + p.Plugin, Weight: w}); flipped(t, s, pod, f, w) == n.Name {
						require.True(t, slices.ContainsFunc(c.Flips, func(x Flip) bool {
							return x.Object == f.Object && (p.Weight < x.Weight && x.Weight <= w || w <= x.Weight && x.Weight < p.Weight)
						}), "%s %d", p.Plugin, w)
					}
				}
			}
			again, err := Compare(Input{Snapshot: s}, pod, n.Name)
			require.NoError(t, err)
			require.Equal(t, flipTexts(c), flipTexts(again))
			c.Flips, again.Flips = nil, nil
			require.Equal(t, c, again)
		}
	})
}

// flipped returns the node of the decision with a flip.
func flipped(t *testing.T, s *cluster.Snapshot, pod *v1.Pod, f Flip, weight int64) string {
	fork := s.Fork()
	p, err := ApplyFlip(fork, pod, f)
	require.NoError(t, err)
	profile := placement.DefaultProfile()
	for k := range profile.Scores {
		if weight > 0 && "Plugin "+profile.Scores[k].Name == f.Object {
			profile.Scores[k].Weight = weight
		}
	}
	plan, err := placement.New(fork, profile)
	require.NoError(t, err)
	return plan.Decide(p, placement.Options{}).Node
}

// FuzzWake holds that a pod with a node waits for no event, that ends are in order, and that the pod gets its node at one of them.
func FuzzWake(f *testing.F) {
	for seed := range uint64(25) {
		f.Add(testkit.RandomBytes(seed, 60))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := testkit.NewBytes(data)
		objects, pod := random(b)
		for _, p := range objects.Pods {
			if b.OneIn(2) {
				gone := metav1.NewTime(testkit.Epoch.Add(time.Duration(b.Below(100)) * time.Second))
				p.DeletionTimestamp = &gone
			}
		}
		s, err := cluster.New(objects)
		require.NoError(t, err)
		plan, err := placement.New(s, placement.DefaultProfile())
		require.NoError(t, err)
		d := plan.Decide(pod, placement.Options{})
		var o *Outlook
		testkit.Unchanged(t, func() { o, err = Wake(Input{Snapshot: s}, pod, WakeOptions{}) }, append(objects.Pods, pod)...)
		require.NoError(t, err)
		if d.Placed() {
			require.Empty(t, o.Events)
			return
		}
		require.Equal(t, o.At != nil, o.Node != "")
		for k, e := range o.Ends {
			require.True(t, k == 0 || !e.At.Before(o.Ends[k-1].At))
		}
		if o.At == nil {
			return
		}
		require.Equal(t, *o.At, o.Ends[len(o.Ends)-1].At)
		for _, e := range o.Ends {
			for _, p := range objects.Pods {
				if p.Namespace+"/"+p.Name == e.Pod {
					require.NoError(t, s.Remove(p))
				}
			}
		}
		require.Equal(t, o.Node, plan.Decide(pod, placement.Options{}).Node)
	})
}
