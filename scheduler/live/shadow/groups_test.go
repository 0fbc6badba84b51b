package shadow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler/config"
)

// Pods of groups are judged as members of what waits of their group: by the gates of the other scheduler.
func TestGroups(t *testing.T) {
	type test struct {
		name, why string
		off       bool
		group     *podgroup.Group // nil: none
		bind      []string        // "pod node", in the order of the bindings of pods a and b of 2 cores
		want      []Report
	}
	gang := func(minimum int32, keys ...string) *podgroup.Group {
		g := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g", UID: "g"}}
		g.Minimum = &minimum
		if len(keys) > 0 {
			g.Constraints = &podgroup.Constraints{Topology: keys}
		}
		return g
	}
	const text = "pod group is unschedulable, minCount (3) cannot be satisfied: 0 scheduled, 2 remaining"
	testkit.Run(t, []test{
		{"same", "the other decides as the shadow", false, gang(2), []string{"a n1", "b n2"}, []Report{{Pod: "default/a", Verdict: Same, Node: "n1", Would: "n1", Pending: 1}, {Pod: "default/b", Verdict: Same, Node: "n2", Would: "n2"}}},
		{"the later member comes first", "the earlier one holds its node in the decision", false, gang(2), []string{"b n1", "a n2"},
			[]Report{{Pod: "default/b", Verdict: Rejected, Node: "n1", Would: "n2", Pending: 1}, {Pod: "default/a", Verdict: Same, Node: "n2", Would: "n2"}}},
		{"too few", "the group would not be bound", false, gang(3), []string{"a n1"}, []Report{{Pod: "default/a", Verdict: Unschedulable, Node: "n1", Message: text, Pending: 1}}},
		{"off", "pods like others", true, gang(3), []string{"a n1"}, []Report{{Pod: "default/a", Verdict: Same, Node: "n1", Would: "n1", Pending: 1}}},
		{"no group", "pods of it would wait", false, nil, []string{"a n1"}, []Report{{Pod: "default/a", Verdict: Failed, Node: "n1", Pending: 1}}},
	}, func(t *testing.T, c test) {
		configuration, err := config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"))
		require.NoError(t, err)
		var reports []Report
		gates := &podgroup.Gates{}
		if c.off {
			gates = nil
		}
		s, err := New(configuration, nil, gates, func(r Report) { reports = append(reports, r) }, func(err error) { t.Error(err) })
		require.NoError(t, err)
		s.AddNode(node("n1", "2"))
		s.AddNode(node("n2", "2"))
		if c.group != nil {
			s.Set(nil, c.group)
		}
		pods := map[string]*v1.Pod{}
		for k, name := range []string{"a", "b"} {
			p := pod(name, "2")
			p.CreationTimestamp = metav1.NewTime(time.Unix(int64(k), 0))
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: new("g")}
			pods[name] = p
			s.AddPod(p)
		}
		for _, b := range c.bind {
			s.UpdatePod(pods[b[:1]], on(pods[b[:1]], b[2:]))
		}
		for k := range reports {
			r := &reports[k]
			require.Equal(t, "default-scheduler", r.Scheduler)
			r.UID, r.Scheduler = "", ""
			if r.Verdict == Failed {
				require.NotEmpty(t, r.Message)
				r.Message = ""
			}
			if r.Verdict != Same {
				r.Rejections = nil
			}
		}
		require.Equal(t, c.want, reports)
	})
}
