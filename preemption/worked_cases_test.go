package preemption_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
)

const (
	none      = "Unschedulable, clear: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	never     = "Unschedulable, keep: not eligible due to preemptionPolicy=Never."
	waiting   = "Unschedulable, keep: not eligible due to a terminating pod on the nominated node."
	zoneKey   = v1.LabelTopologyZone
	hostKey   = v1.LabelHostname
	tooMuch   = "Unschedulable, clear: 0/1 nodes are available: 1 Insufficient cpu."
	unhelpful = "Unschedulable, clear: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)

// TestWorkedExamples answers the scenarios on a cluster with indexes and on a cluster without.
func TestWorkedExamples(t *testing.T) {
	testkit.RunScenarios(t, "testdata/worked.txt", func(t *testing.T, c testkit.Scenario) string {
		s := situation{nodes: c.Nodes, budgets: c.Budgets, nominated: map[string][]*v1.Pod{}}
		for _, p := range c.Pods {
			if n := p.Status.NominatedNodeName; n != "" {
				s.nominated[n] = append(s.nominated[n], p)
			} else {
				s.pods = append(s.pods, p)
			}
		}
		answer := shown(s.preempt(t, c.Asked[0]))
		s.bare = true
		require.Equal(t, answer, shown(s.preempt(t, c.Asked[0])), "without indexes")
		return answer
	})
}

func crossNode(cpuOfM string) situation {
	return parts(testkit.Node("n").Zone("a").Capacity("cpu=4").Obj(), testkit.Node("m").Zone("a").Capacity("cpu="+cpuOfM).Obj(), pod("q", 1, "1", "m").Labels("app=q").Obj())
}

func crossNodePod() *v1.Pod { return pod("p", 10, "3", "").RequireApart(zoneKey, "app=q").Obj() }

// seventeenth has zone z1 with n1 (and n1b), zone z2 with a full n2; w1 and w2 are on the node named.
func seventeenth(on string) situation {
	s := parts(testkit.Node("n1").Zone("z1").Capacity("cpu=4").Obj(), testkit.Node("n2").Zone("z2").Capacity("cpu=4").Obj(), pod("full", 100, "4", "n2").Obj(),
		pod("w1", 1, "10m", on).Labels("app=w").Obj(), pod("w2", 1, "10m", on).Labels("app=w").Obj())
	if on != "n1" {
		s.nodes = append(s.nodes, testkit.Node(on).Zone("z1").Capacity("cpu=20m").Obj())
	}
	return s
}

func spreadPod() *v1.Pod {
	return pod("p", 10, "2", "").Labels("app=w").Spread(1, zoneKey, v1.DoNotSchedule, "app=w").Obj()
}

// Example P-13: with one percent-free candidate wanted, two violating nodes do not stop the search, the first clean one does.
func TestEarlyStop(t *testing.T) {
	zero, one := int32(0), int32(1)
	s := parts(node("n1", "4"), node("n2", "4"), node("n3", "4"), node("n4", "4"),
		pod("a", 1, "4", "n1").Labels("app=x").Obj(), pod("b", 1, "4", "n2").Labels("app=x").Obj(), pod("c", 50, "4", "n3").Obj(), pod("d", 1, "4", "n4").Obj(),
		budget("x", "app=x", 0)).with(preemption.Options{Candidates: preemption.CandidateArgs{MinPercentage: &zero, MinAbsolute: &one}})
	r := s.preempt(t, pod("p", 100, "2", "").Obj())
	var found []string
	for _, c := range r.Candidates {
		found = append(found, c.Node)
	}
	require.Equal(t, []string{"n3", "n1"}, found)
	require.Equal(t, "n3: c", shown(r), "n4 is never seen")
	require.Equal(t, 3, r.Tried)
	s.options.Offset = 3
	require.Equal(t, "n4: d", shown(s.preempt(t, pod("p", 100, "2", "").Obj())), "the round begins at n4")
	s.options.Offset = -1
	require.Equal(t, "n4: d", shown(s.preempt(t, pod("p", 100, "2", "").Obj())))
}

// Example P-18.
func TestNumberOfCandidates(t *testing.T) {
	number := func(n int, percentage, absolute int32) int {
		return preemption.CandidateArgs{MinPercentage: &percentage, MinAbsolute: &absolute}.Number(n)
	}
	require.Equal(t, 2, number(20, 10, 0))
	require.Equal(t, 3, number(20, 0, 3))
	require.Equal(t, 0, number(20, 4, 0))
	require.Equal(t, 20, preemption.CandidateArgs{}.Number(20))
	require.Equal(t, 500, preemption.CandidateArgs{}.Number(5000))
	require.Equal(t, 0, preemption.CandidateArgs{}.Number(0))
	require.Equal(t, 5, number(5, 100, 1000), "never more than there are")
}
