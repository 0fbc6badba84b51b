package diagnose

import (
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
		{"two amounts", "one of them is named, and no remedy mends one alone", `pods "p" is forbidden: exceeded quota: team, requested: pods=1,requests.cpu=4, used: pods=3,requests.cpu=8, limited: pods=3,requests.cpu=10`,
			Cause{Type: "Refused", Object: "ResourceQuota default/team", Field: "spec.hard[pods]", Wanted: "1", Found: "3 of 3 used", Text: "quota team: pods 3 of 3 used, asks for 1"}, ""},
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
	require.Equal(t, ErrNoSnapshot, err)
	_, r, err := Refused(Input{Snapshot: s}, testkit.Pod("p").Request("cpu=5").Obj(), `pods "p" is forbidden: no PriorityClass with name higj was found`)
	require.NoError(t, err)
	require.Nil(t, r, "the class alone does not help")
}
