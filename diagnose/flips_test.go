package diagnose

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// flipsOf returns the flips of one kind in favour of a node.
func flipsOf(t *testing.T, o cluster.Objects, pod *v1.Pod, other, kind string) (texts []string) {
	s, err := cluster.New(o)
	require.NoError(t, err)
	c, err := Compare(Input{Snapshot: s}, pod, other)
	require.NoError(t, err)
	for _, f := range c.Flips {
		if f.Kind == kind {
			texts = append(texts, f.Text)
			require.Equal(t, other, flipped(t, s, pod, f, f.Weight), f.Text)
		}
	}
	return texts
}

// The images that flip are those of the pod that the chosen node has and the other node lacks. Each comes with its own size.
func TestImageFlips(t *testing.T) {
	node := func(name string) testkit.NodeBuilder {
		return testkit.Node(name).Capacity("cpu=4,memory=8Gi").Image(1<<20, "unrelated:v1")
	}
	pod := testkit.Pod("web").Request("cpu=1").Image("small:v1").Obj()
	pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "second", Image: "large:v1"}, v1.Container{Name: "third", Image: "nowhere:v1"})
	chosen := node("n1").Image(25<<20, "small:v1").Image(900<<20, "large:v1", "large:latest").Obj()
	require.Equal(t, []string{"pull the image large:v1"}, flipsOf(t, cluster.Objects{Nodes: []*v1.Node{chosen, node("n2").Label("a", "b").Obj()}, Pods: []*v1.Pod{
		testkit.Pod("a").On("n1").Request("cpu=100m,memory=200Mi").Obj()}}, pod, "n2", "image"), "with the small image n2 is behind")
	require.Empty(t, flipsOf(t, cluster.Objects{Nodes: []*v1.Node{chosen, node("n2").Image(900<<20, "large:v1").Obj()}}, pod, "n2", "image"), "n2 has the large image")
}

// The labels that flip are the first values of preferred terms with In that the other node does not meet.
func TestLabelFlips(t *testing.T) {
	prefer := func(weight int32, op v1.NodeSelectorOperator, values ...string) v1.PreferredSchedulingTerm {
		return v1.PreferredSchedulingTerm{Weight: weight, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: op, Values: values}}}}
	}
	type test struct {
		name, why string
		terms     []v1.PreferredSchedulingTerm
		want      []string
	}
	in, notIn := v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn
	testkit.Run(t, []test{
		{"one term", "n1 meets it", []v1.PreferredSchedulingTerm{prefer(10, in, "ssd", "nvme")}, []string{"label disk=ssd"}},
		{"a term that n2 meets", "no label for this term", []v1.PreferredSchedulingTerm{prefer(1, in, "ssd", "hdd"), prefer(10, in, "ssd")}, []string{"label disk=ssd"}},
		{"a term without In", "no label for this term", []v1.PreferredSchedulingTerm{prefer(1, notIn, "ssd"), prefer(10, in, "ssd")}, []string{"label disk=ssd"}},
		{"no term with In", "no label", []v1.PreferredSchedulingTerm{prefer(10, notIn, "hdd")}, nil},
	}, func(t *testing.T, c test) {
		pod := testkit.Pod("web").Request("cpu=1").Obj()
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: c.terms}}
		nodes := []*v1.Node{testkit.Node("n1").Label("disk", "ssd").Capacity("cpu=4,memory=8Gi").Obj(), testkit.Node("n2").Label("disk", "hdd").Capacity("cpu=8,memory=16Gi").Obj(),
			testkit.Node("n3").Label("disk", "ssd").Capacity("cpu=8,memory=16Gi").Unschedulable().Obj()}
		require.Equal(t, c.want, flipsOf(t, cluster.Objects{Nodes: nodes}, pod, "n2", "label"))
	})
}

// A term with In and no value has no label that meets it. A profile without the score of node affinity takes such a pod.
func TestLabelWithoutValue(t *testing.T) {
	pod := testkit.Pod("web").Request("cpu=1").Obj()
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
		Weight: 1, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn}}},
	}}}}
	profile := placement.DefaultProfile()
	profile.Scores = slices.DeleteFunc(slices.Clone(profile.Scores), func(w placement.Weighted) bool { return w.Name == "NodeAffinity" })
	s, err := cluster.New(cluster.Objects{Nodes: five()[:2]})
	require.NoError(t, err)
	c, err := Compare(Input{Snapshot: s, Profile: profile}, pod, "n2")
	require.NoError(t, err)
	require.Equal(t, "n1", c.Chosen)
}

// Of the pods of the other node, the first 20 are tried. Pods that come back on the same node count, and are no flip.
func TestMostTried(t *testing.T) {
	for n, want := range map[int]int{19: 18, 20: 19, 21: 19, 25: 19} {
		nodes := []*v1.Node{testkit.Node("n1").Capacity("cpu=60,memory=60Gi").Obj(), testkit.Node("n2").Capacity("cpu=60,memory=60Gi").Obj()}
		o := cluster.Objects{Nodes: nodes}
		for i := range n {
			for _, node := range nodes {
				p := testkit.Pod(fmt.Sprint("p", i, node.Name)).On(node.Name).Request("cpu=1,memory=1Gi")
				if i == 0 {
					p = p.Owner("apps/v1", "DaemonSet", "ds")
				}
				o.Pods = append(o.Pods, p.Obj())
			}
		}
		require.Len(t, flipsOf(t, o, testkit.Pod("web").Request("cpu=1,memory=1Gi").Obj(), "n2", "pod"), want, "%d pods", n)
	}
}

// A pod whose request goes down asks for the new amount, if its overhead and its init containers ask for no more. All containers keep
// their shares, but for rounding. Pod-level requests stay above those of the containers.
func TestShrink(t *testing.T) {
	const foo = "example.com/foo"
	for seed := range uint64(3000) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+5e6, 60))
		name := v1.ResourceName(testkit.Pick(b, "cpu", "memory", foo))
		p := testkit.Pod("p").Obj()
		p.Spec.Containers = nil
		list := func(n int) v1.ResourceList { return v1.ResourceList{name: quantity(name, int64(n))} }
		container := func() (c v1.Container) {
			switch n := b.Below(40); {
			case b.OneIn(4):
			case name == foo:
				c.Resources.Requests, c.Resources.Limits = list(n), list(n)
			case b.OneIn(4):
				c.Resources.Requests = list(n)
			case b.OneIn(4):
				c.Resources.Limits = list(n)
			default:
				c.Resources.Requests, c.Resources.Limits = list(n), list(n+b.Below(3))
			}
			return c
		}
		asked := int64(0)
		for range 1 + b.Below(4) {
			p.Spec.Containers = append(p.Spec.Containers, container())
		}
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i].Resources
			asked += resources.Value(name, c.Requests[name])
		}
		init := b.OneIn(4)
		if init {
			p.Spec.InitContainers = append(p.Spec.InitContainers, container())
		}
		over := 0
		if b.OneIn(4) {
			over = b.Below(9)
			p.Spec.Overhead = list(over)
		}
		podLevel := name != foo && b.OneIn(4)
		if podLevel {
			p.Spec.Resources = &v1.ResourceRequirements{Requests: list(int(asked) + b.Below(9))}
		}
		total := func(p *v1.Pod) (sum int64) {
			overhead.Each(p, overhead.Options{}, func(n v1.ResourceName, v int64) {
				if n == name {
					sum = v
				}
			})
			return sum
		}
		was := total(p)
		if was < 2 {
			continue
		}
		v := 1 + int64(b.Below(int(was)))
		q := p.DeepCopy()
		shrink(q, name, was, v)
		asks := asked > 0 || podLevel
		switch now := total(q); {
		case !init && asks:
			require.Equal(t, max(v, int64(over)), now, "seed %d: %s from %d to %d, overhead %d", seed, name, was, v, over)
		default:
			require.LessOrEqual(t, now, max(v, int64(over)), "seed %d", seed)
		}
		rest, sum := v-int64(over), int64(0)
		for i := range q.Spec.Containers {
			before, after := &p.Spec.Containers[i].Resources, &q.Spec.Containers[i].Resources
			n, ok := after.Requests[name]
			sum += resources.Value(name, n)
			_, asks := before.Requests[name]
			require.Equal(t, asks, ok, "seed %d: a container asks for what it asked for", seed)
			if ok && name == foo {
				require.True(t, n.Equal(after.Limits[name]), "seed %d: requests and limits are equal", seed)
			} else {
				require.Equal(t, before.Limits, after.Limits)
			}
		}
		if podLevel {
			require.LessOrEqual(t, sum, max(rest, 0), "seed %d", seed)
		}
	}
}
