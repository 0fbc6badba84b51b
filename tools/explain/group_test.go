package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// The first pod that is rejected by itself stands for the group, beside how many find nodes.
func TestStuck(t *testing.T) {
	full := func(reason string) *placement.Failure {
		return &placement.Failure{Code: filter.Unschedulable, Message: filter.Message{Nodes: 1, Reasons: []filter.Count{{Reason: reason, Nodes: 1}}}}
	}
	pod := testkit.Pod("shop/web").Obj()
	members := []placement.MemberOutcome{{Pod: pod, Found: "n1"}, {Pod: pod}, {Pod: pod, Decision: placement.Decision{Failure: full("first")}}, {Pod: pod, Decision: placement.Decision{Failure: full("second")}}}
	require.Equal(t, "1 of 4 pods of its group find nodes; shop/web: 0/1 nodes are available: 1 first", Stuck(members))
	require.Empty(t, Stuck(members[:2]))
}
