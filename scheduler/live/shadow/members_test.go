package shadow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// A member that is being deleted, one for which there is no decision, and one whose room waits for a pod that is nominated.
func TestMembersThatAreNotDecided(t *testing.T) {
	type test struct {
		name, why string
		change    func(p *v1.Pod)
		others    []*v1.Pod
		verdict   Verdict
		message   string
	}
	nominated := pod("first", "2")
	nominated.Status.NominatedNodeName = "n1"
	nominated.Spec.Priority = new(int32(9))
	testkit.Run(t, []test{
		{"plain", "the same node", func(*v1.Pod) {}, nil, Same, ""},
		{"deleted", "the other scheduler was quicker", func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, nil, Failed, "the pod is being deleted"},
		{"no decision", "its constraint is no constraint", func(p *v1.Pod) {
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}}
		}, nil, Failed, "Near"},
		{"nominated", "the pod before it has the room", func(*v1.Pod) {}, []*v1.Pod{nominated}, Unschedulable, "0/1 nodes are available"},
	}, func(t *testing.T, c test) {
		var reports []Report
		s, err := New(load(t, "- schedulerName: default-scheduler\n"), nil, &podgroup.Gates{}, func(r Report) { reports = append(reports, r) }, func(err error) { t.Error(err) })
		require.NoError(t, err)
		s.AddNode(node("n1", "2"))
		g := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g"}}
		g.Minimum = new(int32(1))
		s.Set(nil, g)
		p := pod("p", "2")
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("g")}
		c.change(p)
		for _, x := range append(c.others, p) {
			s.AddPod(x)
		}
		s.UpdatePod(p, on(p, "n1"))
		require.Len(t, reports, 1)
		require.Equal(t, c.verdict, reports[0].Verdict, "%s: %+v", c.why, reports[0])
		require.Contains(t, reports[0].Message, c.message)
	})
}
