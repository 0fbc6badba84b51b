package spread

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/podkey"
)

// Each field that a rule reads is in the key of the pod.
func TestKeyReadsEveryField(t *testing.T) {
	keys := map[string]string{}
	for name, change := range map[string]func(p *v1.Pod){
		"nothing":      func(*v1.Pod) {},
		"namespace":    func(p *v1.Pod) { p.Namespace = "other" },
		"labels":       func(p *v1.Pod) { p.Labels["foo"] = "baz" },
		"constraint":   func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].MaxSkew = 7 },
		"controller":   func(p *v1.Pod) { ownedBy(p, "apps/v1", "ReplicaSet", "rs", true) },
		"nodeSelector": func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} },
		"affinity":     func(p *v1.Pod) { requireNodes(p, "zone", v1.NodeSelectorOpExists) },
		"tolerations":  func(p *v1.Pod) { tolerating(p) },
	} {
		pod := constrained("foo=bar", by("zone", 1, hard))
		if name == "controller" {
			pod.Spec.TopologySpreadConstraints = nil
			keys[string(podkey.Spread([]byte("x"), pod))] = "no constraint"
		}
		change(pod)
		key := string(podkey.Spread([]byte("x"), pod))
		require.Equal(t, "x", key[:1])
		require.Empty(t, keys[key], name)
		keys[key] = name
	}
}

// A key of two constraints is read and listed once, and nodes are asked for what a policy that is honoured reads.
func TestReadsOnce(t *testing.T) {
	reads := func(pod *v1.Pod) string {
		h := mustHard(t, pod, Options{})
		return fmt.Sprint(h.Keys(nil), h.Reads(nil))
	}
	twice := func(change ...func(*v1.TopologySpreadConstraint)) *v1.Pod {
		return constrained("foo=bar", by("zone", 1, hard, change...), by("rack", 1, hard, change...), by("zone", 2, hard, change...))
	}
	ignore, honour := affinityPolicy(v1.NodeInclusionPolicyIgnore), affinityPolicy(v1.NodeInclusionPolicyHonor)
	for _, c := range []struct {
		pod  *v1.Pod
		want string
	}{
		{twice(), "[zone rack] [label:zone label:rack]"},
		{twice(honourTaints), "[zone rack] [label:zone label:rack taints]"},
		{requireNodes(twice(), "a", v1.NodeSelectorOpExists), "[zone rack] [label:zone label:rack label:a]"},
		{requireNodes(twice(honour), "a", v1.NodeSelectorOpExists), "[zone rack] [label:zone label:rack label:a]"},
		{requireNodes(twice(ignore), "a", v1.NodeSelectorOpExists), "[zone rack] [label:zone label:rack]"},
		{requireNodes(twice(ignore, honourTaints), "a", v1.NodeSelectorOpExists), "[zone rack] [label:zone label:rack taints]"},
		{requireNodes(twice(honourTaints), "a", v1.NodeSelectorOpExists), "[zone rack] [label:zone label:rack label:a taints]"},
	} {
		require.Equal(t, c.want, reads(c.pod))
	}
}

// Slots beside the cluster change nothing and have no numbers; so do pods that nothing counts and moves of no pod.
func TestSlotsBesideTheCluster(t *testing.T) {
	f := four().run("node1*2 node3", "foo=bar")
	f.addNode(nil)
	h := mustHard(t, constrained("foo=bar", by("zone", 1, hard)), Options{}).count(f)
	s := mustSoft(t, constrained("foo=bar", by("zone", 1, soft)), Options{}).count(f)
	other := podOf("q", "x=y")
	counts := func() string { return fmt.Sprint(h.cols[0].counts, h.cols[0].low, s.cols[0].counts) }
	before := counts()
	for _, i := range []int{-1, 4, 5, 6} {
		for _, pod := range []*v1.Pod{h.hard.pod, other} {
			h.Add(pod, i)
			s.Add(pod, i)
			h.Remove(pod, i)
			h.Add(pod, i)
		}
		require.Equal(t, before, counts(), "slot %d", i)
		require.Nil(t, h.Explain(i))
		require.Nil(t, s.explain(i))
	}
	h.Add(other, 0)
	s.Add(other, 0)
	h.apply(h.hard.effect(h.hard.pod), 0, 0)
	require.Equal(t, before, counts())
	none := mustSoft(t, constrained("foo=bar"), Options{}).count(f)
	none.apply(1, 0, 1)
	require.Nil(t, none.explain(0))
	trial := h.NewTrial()
	for _, i := range []int{-1, 4, 5, 6} {
		trial.Add(h.hard.pod, i)
		trial.Remove(h.hard.pod, i)
		trial.Remove(h.hard.pod, i)
		require.Equal(t, before, counts())
	}
	trial.Remove(h.hard.pod, 0)
	require.NotEqual(t, h.cols[0].counts[0], int32(0))
	trial.Reset()
	trial.Reset()
	require.Equal(t, before, counts())
}

// Absent domains have no influence on the minimum, whatever their count; without a domain the minimum is 0.
func TestMinimumOfPresentDomains(t *testing.T) {
	m := minimum{below: 1} // a scan
	for _, c := range []struct {
		counts []int32
		absent []bool
		want   int32
	}{
		{nil, nil, 0}, {[]int32{-2, 3}, nil, -2}, {[]int32{5, 4, 6}, nil, 4}, {[]int32{-2, 3}, []bool{true, false}, 3},
		{[]int32{7, 9, 8}, []bool{true, false, false}, 8}, {[]int32{7}, []bool{true}, 0}, {[]int32{7, 9}, []bool{false, false}, 7},
	} {
		require.Equal(t, c.want, m.of(c.counts, c.absent), "%v", c)
	}
	m = minimum{}
	for _, n := range []int32{histogramLimit, histogramLimit + 3} {
		m.enter(n)
	}
	require.Equal(t, int32(histogramLimit), m.of([]int32{histogramLimit + 3, histogramLimit}, nil))
	m.move(histogramLimit, -1)
	require.Equal(t, int32(-1), m.of([]int32{histogramLimit + 3, -1}, nil))
	m.move(-1, 2)
	require.Zero(t, m.below)
	require.Equal(t, int32(2), m.of(nil, nil), "the histogram answers without a scan")
}

// The text of a report names its numbers in order, and domains set a minimum only when there are enough of them.
func TestReportOfFewDomains(t *testing.T) {
	f := clusterOf("a{zone=a} b{zone=b}").run("a*2", "foo=bar")
	r := mustHard(t, constrained("foo=bar", by("zone", 2, hard, minDomains(3))), Options{}).count(f).Report()[0]
	require.True(t, r.TooFew)
	require.Nil(t, r.SetBy)
	require.Equal(t, "constraint 0: zone, maxSkew 2, minDomains 3, selector foo=bar\n  a: 2 pods on 1 nodes, room for 0\n  b: 0 pods on 1 nodes, room for 2\n"+
		"  minimum 0 (2 of 3 domains)\n", r.String())
	require.Empty(t, mustHard(t, constrained("foo=bar"), Options{}).count(f).Report())
}

// Place takes no more than a million replicas and then proves nothing; a million is proven.
func TestPlaceAMillion(t *testing.T) {
	s := mustHard(t, constrained("foo=bar"), Options{}).count(clusterOf("a{}"))
	for n, proven := range map[int]bool{1_000_000: true, 1_000_001: false, 2_000_000: false} {
		got, ok := s.Place(n, PlaceOptions{})
		require.Len(t, got, 1_000_000)
		require.Equal(t, proven, ok)
	}
}

// A selector that cannot be converted is an error of both compilers, also through matchLabelKeys; a pod takes 32 different selectors.
func TestSelectorErrors(t *testing.T) {
	bad := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bogus"}}}
	for _, change := range [][]func(*v1.TopologySpreadConstraint){
		{func(c *v1.TopologySpreadConstraint) { c.LabelSelector = bad }},
		{matchKeys("foo"), func(c *v1.TopologySpreadConstraint) { c.LabelSelector = bad }},
	} {
		_, err := CompileHard(constrained("foo=bar", by("zone", 1, hard, change...)), Options{})
		require.ErrorContains(t, err, `"Bogus" is not a valid label selector operator`)
		_, err = CompileSoft(constrained("foo=bar", by("zone", 1, soft, change...)), Options{})
		require.ErrorContains(t, err, `"Bogus" is not a valid label selector operator`)
	}
	pod := constrained("foo=bar")
	pod.Labels["not a value"] = "not a value!"
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{by("zone", 1, hard, matchKeys("not a value"))}
	_, err := CompileHard(pod, Options{})
	require.Error(t, err)

	many := func(n int) *v1.Pod {
		p := constrained("foo=bar")
		for k := range n {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, by("zone", 1, hard, func(c *v1.TopologySpreadConstraint) {
				c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"k": fmt.Sprint(k)}}
			}))
		}
		return p
	}
	_, err = CompileHard(many(maxSelectors), Options{})
	require.NoError(t, err)
	_, err = CompileHard(many(maxSelectors+1), Options{})
	require.Error(t, err)
}

// numbered has numbers of domains of which some are not in use.
type numbered struct{ Cluster }

func (numbered) Domains(string) (ids []int32, domains, have int) { return []int32{4, 0}, 5, 2 }

// The numbers of a cluster may have holes: two nodes in the domains 4 and 0 of five share no value.
func TestNumbersWithHoles(t *testing.T) {
	require.True(t, labelColumn(numbered{}, "zone").unique)
}
