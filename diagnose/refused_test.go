package diagnose

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// The texts of the API server about pods that it refuses, and what is made of them.
func TestRefused(t *testing.T) {
	s, err := cluster.New(cluster.Objects{
		Nodes:           []*v1.Node{testkit.Node("n").Capacity("cpu=4,pods=10").Obj()},
		PriorityClasses: []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7}, {ObjectMeta: metav1.ObjectMeta{Name: "low"}}},
	})
	require.NoError(t, err)
	type test struct {
		name, why, text string
		want            Cause
		do              string
	}
	testkit.Run(t, []test{
		{"quota", "the quota is used up", `pods "p" is forbidden: exceeded quota: team, requested: requests.cpu=4, used: requests.cpu=8, limited: requests.cpu=10`,
			Cause{Type: "Refused", Object: "ResourceQuota default/team", Field: "spec.hard[requests.cpu]", Wanted: "4", Found: "8 of 10 used", Text: "quota team: requests.cpu 8 of 10 used, asks for 4"},
			"ResourceQuota default/team: spec.hard[requests.cpu] from 10 to 12: then it goes to n"},
		{"two amounts", "the remedy mends both", `pods "p" is forbidden: exceeded quota: team, requested: pods=1,requests.cpu=4, used: pods=3,requests.cpu=8, limited: pods=3,requests.cpu=10`,
			Cause{Type: "Refused", Object: "ResourceQuota default/team", Field: "spec.hard[pods]", Wanted: "1", Found: "3 of 3 used", Text: "quota team: pods 3 of 3 used, asks for 1; requests.cpu 8 of 10 used, asks for 4"},
			"ResourceQuota default/team: spec.hard[pods] from 3 to 4; spec.hard[requests.cpu] from 10 to 12: then it goes to n"},
		{"amounts that are no pairs", "nothing is made of them", `pods "p" is forbidden: exceeded quota: team, requested: pods=1,requests.cpu=4, used: pods=3, limited: pods=3`,
			Cause{Type: "Refused", Object: "Pod default/p", Text: "the API server refuses it: exceeded quota: team, requested: pods=1,requests.cpu=4, used: pods=3, limited: pods=3"}, ""},
		{"an amount must be there", "the quota counts it", `pods "p" is forbidden: failed quota: team: must specify limits.cpu for: c`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.containers", Wanted: "limits.cpu for: c", Text: "quota team refuses pods without limits.cpu of container c"}, ""},
		{"near class", "the name looks alike", `pods "p" is forbidden: no PriorityClass with name higj was found`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.priorityClassName", Wanted: "higj", Found: "high", Text: "there is no PriorityClass higj; near: high"},
			"Pod default/p, made again: did you mean high? (spec.priorityClassName has higj): then it goes to n"},
		{"no class", "the names that exist", `pods "p" is forbidden: no PriorityClass with name production was found`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.priorityClassName", Wanted: "production", Found: "high and low", Text: "there is no PriorityClass production (high and low exist)"}, ""},
		{"runtime class", "which names exist is not known", `pods "p" is forbidden: pod rejected: RuntimeClass "gvisr" not found`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.runtimeClassName", Wanted: "gvisr", Text: "there is no RuntimeClass gvisr"}, ""},
		{"another text", "it is said as it is", `Pod "p" is invalid: spec.containers: Required value`,
			Cause{Type: "Refused", Object: "Pod default/p", Text: `the API server refuses it: Pod "p" is invalid: spec.containers: Required value`}, ""},
	}, func(t *testing.T, c test) {
		cause, r, err := Refused(Input{Snapshot: s}, testkit.Pod("p").Request("cpu=4").Obj(), c.text)
		require.NoError(t, err)
		require.Equal(t, &c.want, cause)
		text := ""
		if r != nil {
			text = r.Text
		}
		require.Equal(t, c.do, text)
	})
	_, _, err = Refused(Input{}, testkit.Pod("p").Obj(), "")
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
	_, r, err := Refused(Input{Snapshot: s}, testkit.Pod("p").Request("cpu=5").Obj(), `pods "p" is forbidden: no PriorityClass with name higj was found`)
	require.NoError(t, err)
	require.Nil(t, r, "the class alone does not help")
}

// The remedy counts all pods of the owner: those that the API server refuses with the same text, those that wait, and those that run. A pod that
// is more important takes its room first.
func TestRefusedSiblings(t *testing.T) {
	web := func(name string) testkit.PodBuilder {
		return testkit.Pod(name).Owner("apps/v1", "ReplicaSet", "web").Request("cpu=1")
	}
	const quota = `pods "web-1" is forbidden: exceeded quota: team, requested: requests.cpu=1, used: requests.cpu=2, limited: requests.cpu=2`
	const class = `pods "web-1" is forbidden: no PriorityClass with name higj was found`
	refused := func(n int) (out []*v1.Pod) {
		for i := range n {
			p := web(fmt.Sprintf("web-%d", i+1)).Obj()
			p.Spec.PriorityClassName = "higj"
			out = append(out, p)
		}
		return out
	}
	gated := testkit.Pod("first").Priority(9).Request("cpu=1").Obj()
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	type test struct {
		name, why string
		cpu       string
		pods      []*v1.Pod
		pending   []*v1.Pod
		more      int
		text, do  string
	}
	testkit.Run(t, []test{
		{"all", "one runs and two come", "8", refused(2), nil, 0, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 4: then 3 of 3 run"},
		{"counted pods", "three more are like the first", "8", refused(1), nil, 3, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 6: then 2 of 5 run"},
		{"no room for all", "the node takes two of three", "3", refused(3), nil, 0, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 5: then 3 of 4 run"},
		{"one that waits", "it is the owner's too", "8", refused(1), []*v1.Pod{web("web-9").Obj(), nil, web("web-1").Obj()}, 0, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 3: then 3 of 3 run"},
		{"a more important one", "it takes the room", "2", refused(1), []*v1.Pod{testkit.Pod("first").Priority(9).Request("cpu=1").Obj()}, 0, quota, ""},
		{"a less important one", "the class makes the pods more important", "3", refused(2), []*v1.Pod{testkit.Pod("last").Request("cpu=2").Obj()}, 0, class,
			"ReplicaSet default/web: did you mean high? (spec.template.spec.priorityClassName has higj): then 3 of 3 run"},
		{"gates", "a gated pod takes no room", "2", refused(1), []*v1.Pod{gated}, 0, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 3: then 2 of 2 run"},
	}, func(t *testing.T, c test) {
		s, err := cluster.New(cluster.Objects{
			Nodes:           []*v1.Node{testkit.Node("n").Capacity("cpu=" + c.cpu + ",pods=10").Obj()},
			Pods:            []*v1.Pod{web("web-0").On("n").Obj()},
			PriorityClasses: []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7}},
		})
		require.NoError(t, err)
		in := Input{Snapshot: s, Pending: c.pending, More: func(p *v1.Pod) int {
			if p == c.pods[0] {
				return c.more
			}
			return 0
		}}
		_, r, err := Refused(in, c.pods[0], c.text, c.pods[1:]...)
		require.NoError(t, err)
		text := ""
		if r != nil {
			text = r.Text
		}
		require.Equal(t, c.do, text)
		require.Nil(t, s.Pod("default", "web-1"), "the snapshot stays")
	})
}
