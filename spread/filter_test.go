package spread

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

const fourNodes = "node1{zone=zoneA,node=node1} node2{zone=zoneA,node=node2} node3{zone=zoneB,node=node3} node4{zone=zoneB,node=node4}"

func four() *fake      { return clusterOf(fourNodes) }
func threePods() *fake { return four().run("node1 node2 node3", "foo=bar") }
func withZoneC() *fake { return threePods().addNode(nodeOf("node5", "zone=zoneC,node=node5")) }
func tainted(t string, f *fake) *fake {
	f.nodes[4].Spec.Taints = testkit.Node("x").Taint(t).Obj().Spec.Taints
	return f
}

func terminating(f *fake) *fake {
	for i := range f.pods {
		for _, p := range f.pods[i] {
			p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch}
		}
	}
	return f
}

func elsewhere(f *fake) *fake {
	for i := range f.pods {
		for _, p := range f.pods[i] {
			p.Namespace = "other"
		}
	}
	return f
}

func TestFilter(t *testing.T) {
	zone, node := by("zone", 1, hard), by("node", 1, hard)
	foo := func(c ...v1.TopologySpreadConstraint) *v1.Pod { return constrained("foo=bar", c...) }
	type test struct {
		name    string
		why     string
		cluster *fake
		pod     *v1.Pod
		pass    string
		missing string // the nodes that lack the label; all others exceed the skew
	}
	tests := []test{
		{"S-1 one constraint", "zones of 2 and 1 pods: one more pod in zoneA makes 2+1-1 = 2", threePods(), foo(zone), "node3 node4", ""},
		{"S-2 by node", "only node4 has no pod", threePods(), foo(node), "node4", ""},
		{"S-3 larger skew", "maxSkew 2 allows 3 and 1", threePods(), foo(by("zone", 2, hard)), "node1 node2 node3 node4", ""},
		{"S-4 two constraints", "both must hold", threePods(), foo(zone, node), "node4", ""},
		{"S-5 conflict", "the zone wants zoneB, the node constraint wants node2: mypod stays pending",
			clusterOf("node1{zone=zoneA,node=node1} node2{zone=zoneA,node=node2} node3{zone=zoneB,node=node3}").run("node1*2 node2 node3*2", "foo=bar"), foo(zone, node), "", ""},
		{"S-6 third zone", "an empty zone brings the minimum to 0", withZoneC(), foo(zone), "node5", ""},
		{"S-6b affinity excludes zoneC", "an excluded node is no domain; the node itself has 0 pods and passes",
			withZoneC(), requireNodes(foo(zone), "zone", v1.NodeSelectorOpNotIn, "zoneC"), "node3 node4 node5", ""},
		{"S-6c affinity policy Ignore", "zoneC counts although the pod cannot go there",
			withZoneC(), requireNodes(foo(by("zone", 1, hard, affinityPolicy(v1.NodeInclusionPolicyIgnore))), "zone", v1.NodeSelectorOpNotIn, "zoneC"), "node5", ""},
		{"S-7 node without the label", "its 2 pods vanish from the count: zoneA 0, zoneB 1",
			clusterOf("node1{node=node1} node2{zone=zoneA,node=node2} node3{zone=zoneB,node=node3} node4{zone=zoneB,node=node4}").run("node1*2 node3", "foo=bar"), foo(zone), "node2", "node1"},
		{"S-8 pod does not match itself", "2+0-1 = 1 is within maxSkew in zoneA too", threePods(), constrained("", zone), "node1 node2 node3 node4", ""},
		{"S-9 too few domains", "2 domains < minDomains 3: minimum 0", four().run("node1 node3", "foo=bar"), foo(by("zone", 1, hard, minDomains(3))), "", ""},
		{"S-9 enough domains", "minDomains 2 changes nothing", four().run("node1 node3", "foo=bar"), foo(by("zone", 1, hard, minDomains(2))), "node1 node2 node3 node4", ""},
		{"S-10 seed table", "zones 3 and 4, nodes 2 1 0 4", seedTable(), constrained("foo=", fooExists(zone), fooExists(node)), "", ""},
		{"S-11 terminating pods", "pods being deleted do not count", terminating(four().run("node1*3", "foo=bar")), foo(zone), "node1 node2 node3 node4", ""},
		{"S-12 other namespace", "only pods of the pod's namespace count", elsewhere(threePods()), foo(zone), "node1 node2 node3 node4", ""},
		{"S-13 nil selector", "matches nothing", four().run("node1*3", "foo=bar"), foo(by("zone", 1, hard, noSelector)), "node1 node2 node3 node4", ""},
		{"S-13 empty selector", "counts nothing", four().run("node1*3", "foo=bar"), foo(by("zone", 1, hard, emptySelector)), "node1 node2 node3 node4", ""},
		{"S-14 matchLabelKeys", "another revision counts 0", four().run("node1*2", "foo=bar,rev=1"), constrained("foo=bar,rev=2", by("zone", 1, hard, matchKeys("rev", "missing"))), "node1 node2 node3 node4", ""},
		{"S-14 same revision", "the key's value is the pod's", four().run("node1*2", "foo=bar,rev=2"), constrained("foo=bar,rev=2", by("zone", 1, hard, matchKeys("rev"))), "node3 node4", ""},
		{"S-14 keys missing from the pod", "absent keys are ignored", four().run("node1*2", "foo=bar,rev=1"), foo(by("zone", 1, hard, matchKeys("rev"))), "node3 node4", ""},
		{"S-15 empty selector and a key", "only the added requirement, no longer empty", four().run("node1*2", "rev=2"), constrained("rev=2", by("zone", 1, hard, emptySelector, matchKeys("rev"))), "node3 node4", ""},
		{"S-15 nil selector and a key", "still matches nothing", four().run("node1*2", "rev=2"), constrained("rev=2", by("zone", 1, hard, noSelector, matchKeys("rev"))), "node1 node2 node3 node4", ""},
		{"S-16 taints ignored", "a tainted node is a domain", tainted("k=v:NoSchedule", withZoneC()), foo(zone), "node5", ""},
		{"S-16 taints honoured", "zoneC is not counted", tainted("k=v:NoSchedule", withZoneC()), foo(by("zone", 1, hard, honourTaints)), "node3 node4 node5", ""},
		{"S-16 tolerated taint", "a tolerated taint does not exclude", tainted("k=v:NoSchedule", withZoneC()), tolerating(foo(by("zone", 1, hard, honourTaints))), "node5", ""},
		{"S-17 PreferNoSchedule", "does not exclude", tainted("k=v:PreferNoSchedule", withZoneC()), foo(by("zone", 1, hard, honourTaints)), "node5", ""},
		{"S-17 cordoned without taint", "spec.unschedulable does not exclude", cordoned(withZoneC()), foo(by("zone", 1, hard, honourTaints)), "node5", ""},
		{"S-18 no domain", "minimum and counts are 0", threePods(), selecting(foo(zone), "zone=zzz"), "node1 node2 node3 node4", ""},
		{"S-19 empty label value", "\"\" is a domain", clusterOf("a{zone=} b{zone=x}").run("a*2", "foo=bar"), foo(zone), "b", ""},
		{"S-20 addedAffinity", "the profile's affinity has no part in inclusion: z2 stays a domain", clusterOf("a{zone=z1} b{zone=z2}").run("a", "foo=bar"), foo(zone), "b", ""},
		{"S-21 shared hostname", "counts are by value, not by node", clusterOf("a{kubernetes.io/hostname=same} b{kubernetes.io/hostname=same} c{kubernetes.io/hostname=c}").run("a*2", "foo=bar"), foo(by(v1.LabelHostname, 1, hard)), "c", ""},
		{"S-22 minDomains without self-match", "minimum 0: 3 > 2, 2 <= 2", clusterOf("z1{zone=1} z2{zone=2}").run("z1*3 z2*2", "foo=bar"), constrained("", by("zone", 2, hard, minDomains(5))), "z2", ""},
		{"S-23 skew first", "c fails the zone before the rack is looked at", racks(), foo(zone, by("rack", 3, hard)), "b", ""},
		{"S-23 rack first", "c lacks the first key", racks(), foo(by("rack", 3, hard), zone), "b", "c"},
		{"S-24 soft key missing", "a counts for the hard constraint although it lacks the soft key",
			clusterOf("a{zone=A} b{zone=B,rack=2} c{zone=A,rack=1}").run("a*2", "foo=bar"), foo(zone, by("rack", 1, soft)), "b", ""},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		for kind, c := range map[string]Cluster{"plain": tc.cluster, "indexed": index(tc.cluster, 0), "spare": index(tc.cluster, 2)} {
			s := mustHard(t, tc.pod, Options{}).count(c)
			pass, _, missing := verdicts(tc.cluster, s.Check)
			assert.Equal(t, tc.pass, pass, "%s: pass", kind)
			assert.Equal(t, tc.missing, missing, "%s: missing label", kind)
		}
	})
}

func seedTable() *fake {
	return clusterOf("node-a{zone=zone1,node=node-a} node-b{zone=zone1,node=node-b} node-x{zone=zone2,node=node-x} node-y{zone=zone2,node=node-y}").
		run("node-a*2 node-b node-y*4", "foo=")
}

func fooExists(c v1.TopologySpreadConstraint) v1.TopologySpreadConstraint {
	c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "foo", Operator: metav1.LabelSelectorOpExists}}}
	return c
}

func racks() *fake {
	return clusterOf("a{zone=A,rack=1} b{zone=B,rack=2} c{zone=A}").run("a*2", "foo=bar")
}

func tolerating(p *v1.Pod) *v1.Pod {
	p.Spec.Tolerations = []v1.Toleration{{Key: "k", Operator: v1.TolerationOpExists}}
	return p
}

// A node whose taint is tolerated by a comparison is a domain when the operators that compare are on.
func TestComparedTolerations(t *testing.T) {
	p := constrained("foo=bar", by("zone", 1, hard, honourTaints))
	p.Spec.Tolerations = []v1.Toleration{{Key: "k", Operator: v1.TolerationOpGt, Value: "4"}}
	c := tainted("k=5:NoSchedule", withZoneC())
	for on, want := range map[bool]string{false: "node3 node4 node5", true: "node5"} {
		pass, _, _ := verdicts(c, mustHard(t, p, Options{Matching: taints.Options{ComparisonOperators: on}}).count(c).Check)
		assert.Equal(t, want, pass, "on: %t", on)
	}
}

func selecting(p *v1.Pod, labels string) *v1.Pod {
	p.Spec.NodeSelector = testkit.Pairs(labels)
	return p
}

func cordoned(f *fake) *fake {
	f.nodes[len(f.nodes)-1].Spec.Unschedulable = true
	return f
}

func TestWhatIf(t *testing.T) {
	zone := by("zone", 1, hard)
	empty := by("zone", 1, hard, emptySelector)
	type test struct {
		name, why    string
		cluster      *fake
		pod          *v1.Pod
		move         func(f *fake, t mover)
		trial, state string // the nodes that pass in the trial, and in a state with the same changes
	}
	tests := []test{
		{"S-50 empty selector removed", "the trial subtracts a pod that was never counted: zoneA -1", four().run("node1", "x=y"), constrained("foo=bar", empty),
			func(f *fake, t mover) { t.Remove(f.pods[0][0], 0) }, "node1 node2", "node1 node2 node3 node4"},
		{"S-51 empty selector added", "the empty selector matches in the trial", four(), constrained("foo=bar", empty),
			func(f *fake, t mover) { t.Add(podOf("p", "x=y"), 0) }, "node3 node4", "node1 node2 node3 node4"},
		{"S-52 terminating pod removed", "subtracted though never counted", terminating(four().run("node1", "foo=bar")), constrained("foo=bar", zone),
			func(f *fake, t mover) { t.Remove(f.pods[0][0], 0) }, "node1 node2", "node1 node2 node3 node4"},
		{"S-53 several domains", "counts 3 4 2 3: the minimum is 2, not 3", clusterOf("a{zone=a} b{zone=b} c{zone=c} d{zone=d}").run("b c*2 d*3", "foo=bar"), constrained("foo=bar", zone),
			func(f *fake, t mover) {
				for _, i := range []int{0, 0, 0, 1, 1, 1} {
					t.Add(podOf("p", "foo=bar"), i)
				}
			}, "c", "c"},
		{"S-54 remove one", "1 and 1", threePods(), constrained("foo=bar", zone),
			func(f *fake, t mover) { t.Remove(f.pods[0][0], 0) }, "node1 node2 node3 node4", "node1 node2 node3 node4"},
		{"S-54 other namespace", "changes nothing", threePods(), constrained("foo=bar", zone),
			func(f *fake, t mover) {
				p := podOf("p", "foo=bar")
				p.Namespace = "other"
				t.Remove(p, 0)
			}, "node3 node4", "node3 node4"},
		{"node without the key", "is left alone", threePods().addNode(nodeOf("bare", "")), constrained("foo=bar", zone),
			func(f *fake, t mover) { t.Add(podOf("p", "foo=bar"), 4) }, "node3 node4", "node3 node4"},
		{"excluded node", "is left alone", withZoneC(), requireNodes(constrained("foo=bar", zone), "zone", v1.NodeSelectorOpNotIn, "zoneC"),
			func(f *fake, t mover) { t.Add(podOf("p", "foo=bar"), 4) }, "node3 node4 node5", "node3 node4 node5"},
		{"no constraints", "the filter is skipped and updates are ignored", threePods(), constrained("foo=bar"),
			func(f *fake, t mover) { t.Remove(f.pods[0][0], 0) }, "node1 node2 node3 node4", "node1 node2 node3 node4"},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		s := mustHard(t, tc.pod, Options{}).count(tc.cluster)
		before, _, _ := verdicts(tc.cluster, s.Check)
		trial := s.NewTrial()
		tc.move(tc.cluster, trial)
		got, _, _ := verdicts(tc.cluster, trial.Check)
		assert.Equal(t, tc.trial, got, "trial")
		after, _, _ := verdicts(tc.cluster, s.Check)
		assert.Equal(t, before, after, "the state does not change")
		trial.Reset()
		got, _, _ = verdicts(tc.cluster, trial.Check)
		assert.Equal(t, before, got, "after Reset")
		tc.move(tc.cluster, s)
		got, _, _ = verdicts(tc.cluster, s.Check)
		assert.Equal(t, tc.state, got, "state")
	})
}

// mover has the common methods of a state and a trial.
type mover interface {
	Add(pod *v1.Pod, i int)
	Remove(pod *v1.Pod, i int)
}

func TestCompileErrors(t *testing.T) {
	bad := func(action v1.UnsatisfiableConstraintAction) *v1.Pod {
		return constrained("foo=bar", by("zone", 1, action, func(c *v1.TopologySpreadConstraint) {
			c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Bogus"}}}
		}))
	}
	_, err := CompileHard(bad(hard), Options{})
	assert.EqualError(t, err, `get constraints from pod: obtaining pod's hard topology spread constraints: "Bogus" is not a valid label selector operator`)
	_, err = CompileSoft(bad(soft), Options{})
	assert.EqualError(t, err, `calculating preScoreState: obtaining pod's soft topology spread constraints: "Bogus" is not a valid label selector operator`)
	_, err = CompileHard(bad(soft), Options{})
	assert.NoError(t, err, "a constraint with the other action is not converted")
	_, err = Check(bad(hard), four(), 0, Options{})
	assert.Error(t, err)
	_, err = Scores(bad(soft), four(), []int{0}, Options{})
	assert.Error(t, err)
}

func TestEffective(t *testing.T) {
	pod := constrained("foo=bar", by("zone", 1, soft), by("node", 1, hard), by("rack", 2, "Sometimes"), by("host", 2, ""))
	h, s := mustHard(t, pod, Options{}), mustSoft(t, pod, Options{})
	assert.Equal(t, []string{"node"}, h.Keys(nil), "unknown actions are dropped silently")
	assert.Equal(t, []string{"zone"}, s.Keys(nil))
	assert.True(t, mustSoft(t, constrained("foo=bar", by("zone", 1, hard)), Options{Owners: service("foo=bar")}).Skip(), "with constraints of the pod there are no defaults")
	bogus := v1.NodeInclusionPolicy("Bogus")
	c := by("zone", 1, hard, affinityPolicy(bogus), func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = &bogus })
	assert.Zero(t, mustHard(t, constrained("", c), Options{}).constraints[0].honours, "an unknown policy is Ignore")
	assert.Equal(t, excludedByAffinity, mustHard(t, constrained("", by("zone", 1, hard)), Options{}).constraints[0].honours, "Honor and Ignore are the defaults")
}

func TestReasons(t *testing.T) {
	assert.Equal(t, []string{"node(s) didn't match pod topology spread constraints (missing required label)"}, new(hardState).Reasons(missingLabel))
	assert.Equal(t, []string{"node(s) didn't match pod topology spread constraints"}, new(hardState).Reasons(skewExceeded))
	assert.Nil(t, new(hardState).Reasons(0))
	assert.NotZero(t, missingLabel&0x8000)
	assert.Zero(t, skewExceeded&0x8000)
}

// TestGlobalMinimum has the documentation's numbers: zones with 2, 2 and 1 pods have the minimum 1, zones with 2, 4 and 5
// pods the minimum 2.
func TestGlobalMinimum(t *testing.T) {
	type test struct {
		name, why, where string
		low              int32
		pass             string
	}
	tests := []test{
		{"2 2 1", "seed 000", "a*2 b*2 c", 1, "c"},
		{"2 4 5", "seed 002", "a*2 b*4 c*5", 2, "a"},
	}
	testkit.Run(t, tests, func(t *testing.T, tc test) {
		f := clusterOf("a{zone=a} b{zone=b} c{zone=c}").run(tc.where, "foo=bar")
		s := mustHard(t, constrained("foo=bar", by("zone", 1, hard)), Options{}).count(f)
		assert.Equal(t, tc.low, s.cols[0].low)
		pass, _, _ := verdicts(f, s.Check)
		assert.Equal(t, tc.pass, pass)
	})
}

// TestRepeatedKey: two constraints with one key and action, which the API forbids, are independent (rule S1.7).
func TestRepeatedKey(t *testing.T) {
	f := threePods()
	other := by("zone", 1, hard)
	other.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"foo": "none"}}
	s := mustHard(t, constrained("foo=bar", by("zone", 1, hard), other), Options{}).count(f)
	assert.Equal(t, [][]int32{{2, 1}, {0, 0}}, [][]int32{s.cols[0].counts, s.cols[1].counts})
}

func TestTooManySelectors(t *testing.T) {
	var list []v1.TopologySpreadConstraint
	for i := range 33 {
		list = append(list, by(fmt.Sprint("key", i), 1, hard, func(c *v1.TopologySpreadConstraint) {
			c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"n": fmt.Sprint(i)}}
		}))
	}
	_, err := CompileHard(constrained("", list...), Options{})
	assert.ErrorIs(t, err, errSelectors)
	for i := range list {
		list[i].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"n": "same"}}
	}
	assert.Equal(t, 33, len(mustHard(t, constrained("", list...), Options{}).constraints), "the number of constraints has no limit, the number of different selectors has")
}
