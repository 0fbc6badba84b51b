package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Why a member of a gang waits is said of its group, with the words of the command why: a trap, a gang without room, one with too few pods, and a
// pod whose group has no object. A pod of a gang that is placed goes with it.
func TestWhyPodOfAGroup(t *testing.T) {
	c := connect(t, fileOptions("../../../tools/place/testdata/gang_trap.yaml"))
	s := ask(t, c, "why_pod", args{"pod": "trap-1"})
	require.Equal(t, `Pod default/trap-1 waits with its group default/trap: 2 pods needed, 2 exist, 0 have nodes.
1 of 2 members fit, 2 needed: trap-1 asks for cpu 4, and both open nodes are too full: big is nearest with 2 of 4 free
a placement exists: kube-scheduler misses it because it puts trap-0 on big first, then trap-1 fits nowhere, and it takes no member back
Fix (none): nominate trap-0 to small (status.nominatedNodeName)
Fix (restart): make the pods again in the order trap-1, trap-0`, s.text)
	group := s.data["group"].(map[string]any)
	require.Equal(t, []any{
		map[string]any{"pod": "default/trap-0", "state": "would fit but the group fails", "node": "big"},
		map[string]any{"pod": "default/trap-1", "state": "rejected itself", "cause": "0/2 nodes are available: 2 Insufficient cpu."},
	}, group["states"])
	require.Len(t, s.list("fixes"), 3)

	c = connect(t, fileOptions("../command/testdata/gangs.yaml"))
	for pod, want := range map[string]string{
		"large-0": "Pod default/large-0 waits with its group default/large: 3 pods needed, 3 exist, 0 have nodes.\n" +
			"0 of 3 members fit, 3 needed: large-0 asks for cpu 4, and all 4 open nodes are too full: n2 is nearest with 3 of 4 free\nno placement exists: the cluster has a node for 0 of 3 members that must come\nNo fix without a risk was found.",
		"few-0":  "Pod default/few-0 waits with its group default/few: 4 pods needed, 2 exist, 0 have nodes.\n2 of 4 members exist, 4 needed\nFix (fewer): PodGroup default/few: spec.schedulingPolicy.gang.minCount 2",
		"lost-0": "Pod default/lost-0: Gated: pod group default/lost: no object of the group",
		"east-0": "Pod default/east-0 goes to n3: 4 of 4 nodes can take it.",
	} {
		require.Equal(t, want, ask(t, c, "why_pod", args{"pod": pod}).text)
	}
}

// How many more fit of a pod of a group is said of whole groups, and of pods of the group itself.
func TestFitOfAGroup(t *testing.T) {
	c := connect(t, fileOptions("../command/testdata/gangs.yaml"))
	s := ask(t, c, "fit", args{"pod": "train-0", "count": 9})
	require.Equal(t, `3 more groups like podgroup/default/train fit, each with 3 pods, on 4 nodes.
9 fit.
One more does not: 2 of 3 pods of its group find nodes; default/train-2-4: 0/2 nodes are available: 2 Insufficient cpu`, s.text)
	require.Equal(t, []any{9.0, true}, []any{s.data["count"], s.data["enough"]})
	require.Equal(t, 5.0, s.data["group"].(map[string]any)["members"].(map[string]any)["count"])
	s = ask(t, c, "fit", args{"pod": "single", "leader": "large-0"})
	require.Equal(t, "n3", s.data["leader"], "the leader goes alone")
}
