package shadow

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler/config"
)

func load(t *testing.T, profiles string) *config.Configuration {
	t.Helper()
	c, err := config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n" + profiles))
	require.NoError(t, err)
	return c
}

// A pod is judged by the profile of its name.
func TestProfiles(t *testing.T) {
	c := load(t, "- schedulerName: strict\n- schedulerName: lax\n  plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}\n")
	var reports []Report
	s, err := New(c, nil, nil, func(r Report) { reports = append(reports, r) }, func(err error) { t.Error(err) })
	require.NoError(t, err)
	s.AddNode(node("n1", "1"))
	for _, x := range []struct {
		scheduler string
		want      Verdict
	}{{"strict", Unschedulable}, {"lax", Same}, {"other", Unschedulable}} {
		p := pod("p", "2")
		p.Spec.SchedulerName = x.scheduler
		s.AddPod(p)
		s.UpdatePod(p, on(p, "n1"))
		s.DeletePod(on(p, "n1"))
		require.Equal(t, x.want, reports[len(reports)-1].Verdict, x.scheduler)
	}
}

// Nodes of one total are a tie, also when their plugins differ: then nothing is said of the plugins.
func TestTieOfDifferentScores(t *testing.T) {
	c := load(t, "- schedulerName: a\n  plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: NodeAffinity, weight: 1}, {name: TaintToleration, weight: 1}]}}\n")
	var reports []Report
	s, err := New(c, nil, nil, func(r Report) { reports = append(reports, r) }, func(err error) { t.Error(err) })
	require.NoError(t, err)
	tainted := node("n1", "1")
	tainted.Spec.Taints = []v1.Taint{{Key: "a", Effect: v1.TaintEffectPreferNoSchedule}}
	s.AddNode(tainted)
	s.AddNode(node("n2", "1"))
	p := pod("p", "1")
	p.Spec.SchedulerName = "a"
	p.Spec.Affinity = prefers("n1")
	s.AddPod(p)
	s.UpdatePod(p, on(p, "n2"))
	require.Equal(t, []Report{{Pod: "default/p", UID: "p", Scheduler: "a", Verdict: Tie, Node: "n2", Would: "n1"}}, reports)
}

// While no pod that waits is nominated, decisions ask for no nominations.
func TestNominated(t *testing.T) {
	s, _ := start(t, map[string]string{"n1": "1", "n2": "1"})
	require.Nil(t, s.nominated())
	s.AddPod(pod("a", "1"))
	require.Nil(t, s.nominated())
	b := pod("b", "1")
	b.Status.NominatedNodeName = "n2"
	s.AddPod(b)
	require.Empty(t, s.nominated()(0))
	require.Equal(t, []*v1.Pod{b}, s.nominated()(1))
}

// What the snapshot refuses is reported, and the shadow goes on.
func TestRefusals(t *testing.T) {
	type test struct {
		name   string
		change func(s *Shadow)
		want   string
	}
	testkit.Run(t, []test{
		{"object of an unknown kind", func(s *Shadow) { s.Set(nil, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x"}}) }, "Secret"},
		{"object that is not known", func(s *Shadow) { s.Remove(node("n9", "1")) }, "n9"},
		{"node that is not known", func(s *Shadow) { s.DeleteNode(node("n9", "1")) }, "n9"},
		{"node without a name", func(s *Shadow) { s.AddNode(&v1.Node{}) }, "name"},
		{"changed node without a name", func(s *Shadow) { s.UpdateNode(nil, &v1.Node{}) }, "name"},
		{"pod without a name", func(s *Shadow) { s.AddPod(on(&v1.Pod{}, "n1")) }, "name"},
		{"bound pod without a name", func(s *Shadow) { s.UpdatePod(&v1.Pod{}, on(&v1.Pod{}, "n1")) }, "name"},
		{"pod that is not known", func(s *Shadow) { s.DeletePod(on(pod("p", "1"), "n1")) }, "p"},
	}, func(t *testing.T, x test) {
		var errs []string
		s, err := New(load(t, "- schedulerName: a\n"), nil, nil, func(Report) {}, func(err error) { errs = append(errs, err.Error()) })
		require.NoError(t, err)
		s.AddNode(node("n1", "1"))
		require.Empty(t, errs)
		x.change(s)
		require.Len(t, errs, 1)
		require.Contains(t, errs[0], x.want)
		s.DeleteNode(node("n1", "1"))
		require.Len(t, errs, 1)
	})
}

// A profile that cannot be used is named.
func TestNewErrors(t *testing.T) {
	c := load(t, "- schedulerName: a\n- schedulerName: b\n")
	c.Profiles[1].Placement.Sampling.Percentage = ptr.To[int32](101)
	_, err := New(c, nil, nil, func(Report) {}, func(error) {})
	require.ErrorContains(t, err, "profile b: sampling.percentage: Invalid value: 101")
}
