package spread

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/resources"
)

func TestExplain(t *testing.T) {
	f := threePods().addNode(nodeOf("node5", "zone-typo=zoneC")).addNode(nil)
	s := mustHard(t, constrained("foo=bar", by("zone", 1, hard), by("node", 1, hard)), Options{}).count(f)
	got := s.Explain(0)
	require.Len(t, got, 2)
	assert.Equal(t, Skew{Constraint: 0, Key: "zone", Value: "zoneA", Counted: true, Pods: 2, Self: 1, Minimum: 1, MaxSkew: 1}, got[0])
	assert.Equal(t, "zone=zoneA: 2 + 1 - 1 = 2 > 1", got[0].String())
	assert.Equal(t, "node=node1: 1 + 1 - 0 = 2 > 1", got[1].String())
	assert.Equal(t, "node=node4: 0 + 1 - 0 = 1 <= 1", s.Explain(3)[1].String())
	assert.Equal(t, "no label zone", s.Explain(4)[0].String())
	assert.Nil(t, s.Explain(5), "a free slot")
	assert.Nil(t, s.Explain(-1))
	assert.Nil(t, s.Explain(6))
	assert.Nil(t, mustHard(t, podOf("p", ""), Options{}).count(f).Explain(0), "no constraints")
	assert.Equal(t, missingLabel, s.Check(5))
	assert.Equal(t, missingLabel, s.Check(99), "no such slot")
}

// TestExplainAgreesWithCheck: Check rejects with the first constraint that does not allow the node according to Explain.
func TestExplainAgreesWithCheck(t *testing.T) { forWorlds(t, checkExplain) }

func checkExplain(t testing.TB, w world) {
	s := mustHard(t, w.pod, w.options).count(w.fake)
	for _, i := range w.all() {
		var want resources.Verdict
		for _, x := range s.Explain(i) {
			if !x.Allows {
				if want = skewExceeded; x.Missing {
					want = missingLabel
				}
				break
			}
		}
		if got := s.Check(i); got != want {
			t.Errorf("slot %d: Check %x, Explain %x", i, got, want)
		}
	}
	q := mustSoft(t, w.pod, w.options).count(w.fake)
	raw, _ := pass(q, w.all())
	for j, i := range w.all() {
		sum := 0.0
		for _, x := range q.explain(i) {
			sum += x.score
		}
		if d := sum - float64(raw[j]); d > 0.5 || d < -0.5 {
			t.Errorf("slot %d: raw %d, parts sum to %v", i, raw[j], sum)
		}
	}
}

func TestExplainScore(t *testing.T) {
	f := withQ().run("a*2 b y*4", "foo=bar")
	s := mustSoft(t, constrained("foo=bar"), Options{Owners: service("foo=bar")}).count(f)
	pass(s, f.all())
	got := s.explain(4)
	require.Len(t, got, 2)
	assert.Equal(t, 2.0, got[0].score)
	assert.True(t, got[1].missing)
	assert.Equal(t, int64(3), got[1].size, "q adds the domain of nodes without the key")
	assert.Equal(t, 3, s.explain(0)[1].pods)
	own := mustSoft(t, constrained("foo=bar", by(zoneKey, 1, soft)), Options{}).count(f)
	assert.Nil(t, own.explain(4), "an ignored node")
	assert.Nil(t, own.explain(f.Len()), "no such slot")
	assert.Nil(t, own.explain(9))
}

func TestReport(t *testing.T) {
	pod := requireNodes(constrained("foo=bar", by("zone", 1, hard, honourTaints)), "zone", v1.NodeSelectorOpNotIn, "zoneC")
	f := tainted("k=v:NoSchedule", withZoneC()).addNode(nodeOf("node6", "zone-typo=zoneC"))
	s := mustHard(t, pod, Options{}).count(f)
	reports := s.Report()
	require.Len(t, reports, 1)
	r := reports[0]
	assert.Equal(t, []Domain{{"zoneA", 2, 2, 0}, {"zoneB", 1, 2, 2}}, r.Domains)
	assert.Equal(t, []string{"zoneB"}, r.SetBy)
	assert.Equal(t, 1, r.Minimum)
	assert.Equal(t, 1, r.Self, "the pod matches its own selector")
	assert.Equal(t, []Exclusion{{Slot: 4, Node: "node5", Affinity: true, Taints: true}, {Slot: 5, Node: "node6", Missing: []string{"zone"}, Taints: false}}, r.Excluded)
	assert.Equal(t, `constraint 0: zone, maxSkew 1, minDomains 1, selector foo=bar
  zoneA: 2 pods on 2 nodes, room for 0
  zoneB: 1 pods on 2 nodes, room for 2
  minimum 1 (set by zoneB)
  without node5: node affinity; taints
  without node6: no label zone
`, r.String())

	few := mustHard(t, constrained("foo=bar", by("zone", 3, hard, minDomains(3))), Options{}).count(threePods()).Report()[0]
	assert.Equal(t, []Domain{{"zoneA", 2, 2, 1}, {"zoneB", 1, 2, 2}}, few.Domains)
	assert.True(t, few.TooFew)
	assert.Nil(t, few.SetBy)
	assert.Contains(t, few.String(), "minimum 0 (2 of 3 domains)")

	one := mustHard(t, constrained("foo=bar", by("zone", 1, hard)), Options{}).count(clusterOf("a{zone=z}").run("a*5", "foo=bar")).Report()[0]
	assert.Equal(t, []Domain{{"z", 5, 1, unlimited}}, one.Domains, "the only domain is its own minimum")
	assert.Contains(t, one.String(), "room for any number")

	none := mustHard(t, constrained("foo=bar", by("zone", 1, hard, noSelector)), Options{}).count(clusterOf("a{}")).Report()[0]
	assert.Contains(t, none.String(), "selector <none>\n  minimum 0 (no domain)")
	assert.Contains(t, mustHard(t, constrained("", by("zone", 1, hard, emptySelector)), Options{}).count(f).Report()[0].String(), "selector <empty>")
	assert.Empty(t, mustHard(t, podOf("p", ""), Options{}).count(f).Report())
}

// TestSoftReport: the report of soft constraints. For the system defaults a node counts for each key that it has.
func TestSoftReport(t *testing.T) {
	f := withQ().run("a*2 q", "foo=bar")
	own := mustSoft(t, constrained("foo=bar", by(zoneKey, 1, soft), by(host, 2, soft)), Options{}).Report(f)
	require.Len(t, own, 2)
	assert.Equal(t, []Domain{{"z1", 2, 2, 0}, {"z2", 0, 2, 3}}, own[0].Domains)
	assert.Len(t, own[1].Domains, 4)
	assert.Equal(t, []Exclusion{{Slot: 4, Node: "q", Missing: []string{zoneKey}}}, own[1].Excluded)
	system := mustSoft(t, constrained("foo=bar"), Options{Owners: service("foo=bar")}).Report(f)
	require.Len(t, system, 2)
	assert.Equal(t, Domain{"q", 1, 1, 2}, system[0].Domains[2])
	assert.Empty(t, system[0].Excluded)
	assert.Len(t, system[1].Excluded, 1)
	assert.Empty(t, mustSoft(t, podOf("p", ""), Options{}).Report(f))
}

// TestRoomIsExact places pods in one domain until the domain is full.
func TestRoomIsExact(t *testing.T) { forWorlds(t, checkRoom) }

func checkRoom(t testing.TB, w world) {
	h := mustHard(t, w.pod, w.options)
	if len(h.constraints) != 1 {
		return
	}
	s := h.count(w.fake)
	for _, d := range s.Report()[0].Domains {
		if d.Nodes == 0 {
			continue
		}
		slot := -1
		for _, i := range w.all() {
			if s.Explain(i)[0].Counted && s.Explain(i)[0].Value == d.Value {
				slot = i
			}
		}
		if slot < 0 {
			t.Fatalf("no node of %q", d.Value)
		}
		c, n := s.clone(), 0
		for ; n < 50 && c.Check(slot) == 0; n++ {
			c.Add(w.pod, slot)
		}
		if want := min(d.Room, 50); n != want {
			t.Errorf("domain %q: placed %d, room %d", d.Value, n, want)
		}
	}
}

// TestPlannedNodes: a zone whose pool is scaled to zero is a domain when the caller passes its template.
func TestPlannedNodes(t *testing.T) {
	pod := constrained("foo=bar", by("zone", 1, hard))
	o := Options{PlannedNodes: []*v1.Node{nodeOf("pool", "zone=zoneC"), nodeOf("known", "zone=zoneA"), nodeOf("bare", "")}}
	f := threePods()
	pass, _, _ := verdicts(f, mustHard(t, pod, Options{}).count(f).Check)
	assert.Equal(t, "node3 node4", pass, "by default only existing nodes have domains")
	s := mustHard(t, pod, o).count(f)
	pass, _, _ = verdicts(f, s.Check)
	assert.Equal(t, "", pass, "zoneC counts 0: the pod waits for its node")
	r := s.Report()[0]
	assert.Equal(t, []Domain{{"zoneA", 2, 2, 0}, {"zoneB", 1, 2, 0}, {"zoneC", 0, 0, 2}}, r.Domains)
	assert.Equal(t, []string{"zoneC"}, r.SetBy)
	pass, _, _ = verdicts(f, mustHard(t, requireNodes(pod.DeepCopy(), "zone", v1.NodeSelectorOpNotIn, "zoneC"), o).count(f).Check)
	assert.Equal(t, "node3 node4", pass, "policies apply to planned nodes")
	full := mustHard(t, constrained("foo=bar", by("zone", 1, hard, minDomains(3))), o).count(f)
	assert.False(t, full.Report()[0].TooFew, "planned domains count for minDomains")
	// a planned node adds a value whose existing nodes are all excluded
	x := tainted("k=v:NoSchedule", withZoneC())
	r = mustHard(t, constrained("foo=bar", by("zone", 1, hard, honourTaints)), o).count(x).Report()[0]
	assert.Equal(t, Domain{"zoneC", 0, 0, 2}, r.Domains[2])
	assert.Equal(t, 1, strings.Count(r.String(), "without node5: taints"))
}
