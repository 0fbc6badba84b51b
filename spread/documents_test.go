package spread

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The examples of the documentation of pod topology spread constraints, and of an article on the scheduler's plugins.
// Names, nodes and pods are those of the documents.

func allowed(t *testing.T, f *fake, pod *v1.Pod) string {
	t.Helper()
	pass, _, _ := verdicts(f, mustHard(t, pod, Options{}).count(f).Check)
	return pass
}

// TestDocumentOneConstraint: three pods run on node1, node2 and node3. maxSkew 1 by zone places mypod in zoneB, because [3,
// 1] would be a skew of 2.
func TestDocumentOneConstraint(t *testing.T) {
	f, mypod := threePods(), constrained("foo=bar", by("zone", 1, hard))
	assert.Equal(t, "node3 node4", allowed(t, f, mypod))
	assert.Equal(t, 2, mustHard(t, mypod, Options{}).count(f).Explain(0)[0].value())
	assert.Equal(t, "node1 node2 node3 node4", allowed(t, f, constrained("foo=bar", by("zone", 2, hard))), "maxSkew 2 allows zoneA too")
	assert.Equal(t, "node4", allowed(t, f, constrained("foo=bar", by("node", 1, hard))), "topologyKey node leaves node4")
	anyway := constrained("foo=bar", by("zone", 1, soft))
	assert.Equal(t, "node1 node2 node3 node4", allowed(t, f, anyway), "ScheduleAnyway always allows")
	scores, err := Scores(anyway, f, f.all(), Options{})
	assert.NoError(t, err)
	assert.Equal(t, ints(33, 33, 100, 100), scores, "and prefers the emptier zone")
}

// TestDocumentTwoConstraints: zone and node together allow only node4.
func TestDocumentTwoConstraints(t *testing.T) {
	assert.Equal(t, "node4", allowed(t, threePods(), constrained("foo=bar", by("zone", 1, hard), by("node", 1, hard))))
}

// The order of the nodes changes nothing, a larger maxSkew allows more, and an empty zone takes room from the others.
func TestLawsOfZones(t *testing.T) {
	const nodes, turned, wider = "n1{zone=a,node=n1} n2{zone=a,node=n2} n3{zone=b,node=n3}", "n3{zone=b,node=n3} n2{zone=a,node=n2} n1{zone=a,node=n1}", " n4{zone=c,node=n4}"
	ask := func(nodes string, maxSkew int32) string {
		names := strings.Fields(allowed(t, clusterOf(nodes).run("n1*2 n3", "foo=bar"), constrained("foo=bar", by("zone", maxSkew, hard))))
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	for _, nodes := range []string{nodes, turned} {
		assert.Equal(t, "n3", ask(nodes, 1), "a has two pods and b has one")
		assert.Equal(t, "n1 n2 n3", ask(nodes, 2))
		assert.Equal(t, "n4", ask(nodes+wider, 1), "c has none")
		assert.Equal(t, "n3 n4", ask(nodes+wider, 2))
	}
}

// TestDocumentConflict: the zone constraint allows only zoneB, the node constraint only node2, and mypod stays pending. A
// larger maxSkew or ScheduleAnyway for one of them helps.
func TestDocumentConflict(t *testing.T) {
	f := clusterOf("node1{zone=zoneA,node=node1} node2{zone=zoneA,node=node2} node3{zone=zoneB,node=node3}").run("node1*2 node2 node3*2", "foo=bar")
	assert.Equal(t, "", allowed(t, f, constrained("foo=bar", by("zone", 1, hard), by("node", 1, hard))))
	assert.Equal(t, "node3", allowed(t, f, constrained("foo=bar", by("zone", 1, hard))))
	assert.Equal(t, "node2", allowed(t, f, constrained("foo=bar", by("node", 1, hard))))
	assert.Equal(t, "node2", allowed(t, f, constrained("foo=bar", by("zone", 2, hard), by("node", 1, hard))))
	assert.Equal(t, "node2", allowed(t, f, constrained("foo=bar", by("zone", 1, soft), by("node", 1, hard))))
}

// TestDocumentNodeAffinity: node affinity excludes zoneC, which does not enter the skew, so that mypod is placed in zoneB.
func TestDocumentNodeAffinity(t *testing.T) {
	f := withZoneC()
	mypod := requireNodes(constrained("foo=bar", by("zone", 1, hard)), "zone", v1.NodeSelectorOpNotIn, "zoneC")
	s := mustHard(t, mypod, Options{}).count(f)
	assert.Equal(t, []string{"zoneB"}, s.Report()[0].SetBy)
	assert.Equal(t, "node3 node4 node5", allowed(t, f, mypod), "node5 is left to node affinity")
	assert.Equal(t, "node5: node affinity", s.Report()[0].Excluded[0].text())
}

// TestDocumentZoneTypo: node5 has the label zone-typo instead of zone. The node is bypassed, and its pods do not count.
func TestDocumentZoneTypo(t *testing.T) {
	f := threePods().addNode(nodeOf("node5", "zone-typo=zoneC")).run("node5*4", "foo=bar")
	pass, skew, missing := verdicts(f, mustHard(t, constrained("foo=bar", by("zone", 1, hard)), Options{}).count(f).Check)
	assert.Equal(t, [3]string{"node3 node4", "node1 node2", "node5"}, [3]string{pass, skew, missing})
}

// TestDocumentMissingZoneLabel: node1 has no zone label. Its two pods are ignored, and mypod is placed in zoneA.
func TestDocumentMissingZoneLabel(t *testing.T) {
	f := clusterOf("node1{node=node1} node2{zone=zoneA,node=node2} node3{zone=zoneB,node=node3} node4{zone=zoneB,node=node4}").run("node1*2 node3", "foo=bar")
	assert.Equal(t, "node2", allowed(t, f, constrained("foo=bar", by("zone", 1, hard))))
}

// TestDocumentKeyAndSelector: the constraint has topologyKey zone and the selector foo: bar. A node with the label foo: bar and no zone is
// bypassed; nodes with any zone count, and the pods with foo: bar are counted there.
func TestDocumentKeyAndSelector(t *testing.T) {
	f := clusterOf("node1{foo=bar} node2{zone=any} node3{zone=other}").run("node2", "foo=bar").run("node3", "foo=baz")
	pass, skew, missing := verdicts(f, mustHard(t, constrained("foo=bar", by("zone", 1, hard)), Options{}).count(f).Check)
	assert.Equal(t, [3]string{"node3", "node2", "node1"}, [3]string{pass, skew, missing})
}

// TestDocumentOwnLabels: without the label, mypod can be placed in zoneB (and in zoneA), and the imbalance of 2 and 1
// stays.
func TestDocumentOwnLabels(t *testing.T) {
	f, mypod := threePods(), constrained("", by("zone", 1, hard))
	assert.Equal(t, "node1 node2 node3 node4", allowed(t, f, mypod))
	s := mustHard(t, mypod, Options{}).count(f)
	s.Add(mypod, f.slot("node4"))
	assert.Equal(t, []int{2, 1}, []int{s.Report()[0].Domains[0].Pods, s.Report()[0].Domains[1].Pods})
	assert.Equal(t, foundSelectorMissesPod, CheckGroup([]*v1.Pod{mypod}, f)[0].Kind)
}

// TestDocumentMotivation: on 20 nodes, 2 replicas do not share a node, and 15 replicas are on 15 nodes, evenly over the
// zones.
func TestDocumentMotivation(t *testing.T) {
	f := &fake{}
	zones := []string{"z1", "z2", "z3"}
	for i := range 20 {
		name := string(rune('a' + i))
		f.addNode(nodeOf(name, "kubernetes.io/hostname="+name+",topology.kubernetes.io/zone="+zones[i%3]))
	}
	pod := constrained("foo=bar", by(host, 1, hard), by(zoneKey, 1, hard))
	for _, n := range []int{2, 15} {
		s := mustHard(t, pod, Options{}).count(f)
		got, _ := s.Place(n, PlaceOptions{})
		assert.Len(t, got, n)
		byNode, byZone := map[int]int{}, map[string]int{}
		for _, i := range got {
			byNode[i]++
			byZone[f.nodes[i].Labels[zoneKey]]++
		}
		assert.Len(t, byNode, n, "each on its own node")
		if n == 15 {
			assert.Equal(t, map[string]int{"z1": 5, "z2": 5, "z3": 5}, byZone)
		}
	}
}

// TestDocumentThreeNodesOfFive: 15 replicas on three nodes are 5 per node.
func TestDocumentThreeNodesOfFive(t *testing.T) {
	f := clusterOf("a{kubernetes.io/hostname=a} b{kubernetes.io/hostname=b} c{kubernetes.io/hostname=c}")
	got, _ := mustHard(t, constrained("foo=bar", by(host, 1, hard)), Options{}).count(f).Place(15, PlaceOptions{})
	n := map[int]int{}
	for _, i := range got {
		n[i]++
	}
	assert.Equal(t, map[int]int{0: 5, 1: 5, 2: 5}, n)
}

// TestDocumentTable: the article's table of two constraints with zone1 3, zone2 4; node-a 2, node-b 1, node-x 0, node-y 4.
func TestDocumentTable(t *testing.T) {
	reports := mustHard(t, constrained("foo=", fooExists(by("zone", 1, hard)), fooExists(by("node", 1, hard))), Options{}).count(seedTable()).Report()
	counts := func(r Report) map[string]int {
		out := map[string]int{}
		for _, d := range r.Domains {
			out[d.Value] = d.Pods
		}
		return out
	}
	assert.Equal(t, map[string]int{"zone1": 3, "zone2": 4}, counts(reports[0]))
	assert.Equal(t, map[string]int{"node-a": 2, "node-b": 1, "node-x": 0, "node-y": 4}, counts(reports[1]))
	assert.Equal(t, []string{"zone1"}, reports[0].SetBy)
	assert.Equal(t, []string{"node-x"}, reports[1].SetBy)
}

// TestDocumentScaleDown: careless scaling down may leave a skew (known limitations); ScaleDownOrder does not.
func TestDocumentScaleDown(t *testing.T) {
	f := four().run("node1*2 node3*2", "foo=bar")
	s := mustHard(t, constrained("foo=bar", by("zone", 1, hard)), Options{}).count(f)
	steps := s.ScaleDownOrder(replicasOf(f), 2)
	assert.NotEqual(t, steps[0].Slot, steps[1].Slot, "one of each zone")
	s.Remove(f.pods[0][0], 0)
	s.Remove(f.pods[0][1], 0)
	assert.Equal(t, 1, excessOf(s), "two of one zone")
}

// TestDocumentScaledToZero: a zone whose node pool is scaled to zero is unknown (known limitations), unless the caller
// passes its template.
func TestDocumentScaledToZero(t *testing.T) {
	f := threePods()
	mypod := constrained("foo=bar", by("zone", 1, hard))
	assert.Equal(t, "node3 node4", allowed(t, f, mypod))
	s := mustHard(t, mypod, Options{PlannedNodes: []*v1.Node{nodeOf("pool", "zone=zoneC")}}).count(f)
	assert.Equal(t, []string{"zoneC"}, s.Report()[0].SetBy)
}

// TestDocumentMatchLabelKeys: the document's snippet has matchLabelKeys app and pod-template-hash and no labelSelector. It counts
// no pod, so each node is allowed whatever runs there, and CheckGroup warns. With a selector the keys tell revisions apart.
func TestDocumentMatchLabelKeys(t *testing.T) {
	snippet := constrained("app=web,pod-template-hash=new", by(host, 1, hard, matchKeys("app", "pod-template-hash"), noSelector))
	f := clusterOf("node1{"+host+"=node1} node2{"+host+"=node2}").run("node1*3", "app=web,pod-template-hash=new").run("node2", "app=web,pod-template-hash=old")
	assert.Equal(t, "node1 node2", allowed(t, f, snippet))
	assert.Equal(t, []Finding{{
		Kind: foundNoSelector, Pods: []string{"default/mypod"},
		Message: "matchLabelKeys adds nothing to an absent labelSelector: no pod is counted, and the API server refuses the pod",
	}}, CheckGroup([]*v1.Pod{snippet}, f))

	meant := snippet.DeepCopy()
	meant.Spec.TopologySpreadConstraints[0].LabelSelector = &metav1.LabelSelector{}
	assert.Equal(t, "node2", allowed(t, f, meant))
	assert.Empty(t, CheckGroup([]*v1.Pod{meant}, f))
}

// TestDocumentWithoutWhenUnsatisfiable: the documentation's first example has no whenUnsatisfiable. By default both compilers
// ignore the constraint, as v1.36 does. With Strict both refuse it.
func TestDocumentWithoutWhenUnsatisfiable(t *testing.T) {
	mypod := constrained("foo=bar", by("zone", 1, hard))
	mypod.Namespace, mypod.Name = "default", "mypod"
	mypod.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = ""
	assert.True(t, mustHard(t, mypod, Options{}).Skip())

	const want = `pod default/mypod: spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"`
	_, err := CompileHard(mypod, Options{Strict: true})
	assert.ErrorContains(t, err, want)
	_, err = CompileSoft(mypod, Options{Strict: true})
	assert.ErrorContains(t, err, want)

	mypod.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = soft
	_, err = CompileHard(mypod, Options{Strict: true})
	assert.NoError(t, err, "ScheduleAnyway is allowed")
}
