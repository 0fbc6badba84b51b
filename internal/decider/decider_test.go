package decider

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/taints"
	volumetracker "github.com/podberth/podberth/volumes/tracker"
)

func TestProfile(t *testing.T) {
	names := func(p placement.Profile) (out []string) {
		for _, f := range p.Filters {
			out = append(out, f.Name)
		}
		for _, s := range p.Scores {
			out = append(out, s.Plugin.Name)
		}
		return out
	}
	whole := placement.DefaultProfile()
	filters, scores := placement.Profile{Filters: whole.Filters[:2]}, placement.Profile{Scores: whole.Scores[:1]}
	some := filter.Sampling{Global: 30}

	type test struct {
		name, why string
		in        placement.Profile
		names     []string
		sampling  filter.Sampling
		scheduler string
	}
	testkit.Run(t, []test{
		{"empty", "the default profile, every node", placement.Profile{}, names(whole), placement.AllNodes(), ""},
		{"a name", "stays", placement.Profile{SchedulerName: "mine"}, names(whole), placement.AllNodes(), "mine"},
		{"sampling", "stays", placement.Profile{Sampling: some}, names(whole), some, ""},
		{"filters alone", "are a profile", filters, names(filters), filter.Sampling{}, ""},
		{"scores alone", "are a profile", scores, names(scores), filter.Sampling{}, ""},
	}, func(t *testing.T, c test) {
		got, err := Profile("plan", "every plan", c.in)
		require.NoError(t, err)
		require.Equal(t, c.names, names(got))
		require.Equal(t, c.sampling, got.Sampling)
		require.Equal(t, c.scheduler, got.SchedulerName)
	})
}

func TestProfileErrors(t *testing.T) {
	_, err := Profile("plan", "every plan", placement.Profile{Volumes: &volumetracker.Tracker{}})
	require.EqualError(t, err, "plan: profile.Volumes: Forbidden: every plan has volumes of its own")
	_, err = Profile("plan", "every plan", placement.Profile{Scores: []placement.Weighted{{}}})
	require.Error(t, err, "those of Profile.Validate")
	_, err = Profile("plan", "every plan", placement.Profile{Devices: &tracker.Tracker{}})
	require.EqualError(t, err, "plan: profile.Devices: Forbidden: every plan has devices of its own")
}

// Of a planner's list the pods wait that have no node, are not terminating and have not finished. A name belongs to one pod.
func TestPending(t *testing.T) {
	pod := func(name string, change func(p *v1.Pod)) *v1.Pod {
		p := testkit.Pod(name).Obj()
		p.Spec.NodeName = ""
		if change != nil {
			change(p)
		}
		return p
	}
	on := func(node string) func(p *v1.Pod) { return func(p *v1.Pod) { p.Spec.NodeName = node } }
	terminating := func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: testkit.Epoch} }
	failed := func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }
	s, err := cluster.New(cluster.Objects{
		Nodes: []*v1.Node{testkit.Node("n1").Obj(), testkit.Node("gone").Obj(), testkit.Node("n2").Obj()},
		Pods:  []*v1.Pod{pod("first", on("n1")), pod("second", on("n1")), pod("third", on("n2")), pod("orphan", on("n9"))},
	})
	require.NoError(t, err)
	require.NoError(t, s.Remove(s.Node(1)))
	require.NoError(t, s.Assume(pod("assumed", nil), s.Slot("n2")))
	const own = "; a pod that waits must have a name of its own"
	type test struct {
		name, why string
		list      []*v1.Pod
		want      []string
		err       string
	}
	testkit.Run(t, []test{
		{"none", "nothing waits", nil, nil, ""},
		{"pods that wait", "keep their order", []*v1.Pod{pod("b", nil), pod("a", nil)}, []string{"b", "a"}, ""},
		{"pods that do not wait", "are left out, whatever their names", []*v1.Pod{
			pod("first", on("n1")), pod("second", terminating), pod("third", failed), pod("a", nil), pod("a", failed),
		}, []string{"a"}, ""},
		{"nil", "names no pod", []*v1.Pod{pod("a", nil), nil}, nil, "planner: pending[1]: Required value: must not be nil"},
		{"twice", "the first has the name", []*v1.Pod{pod("x", nil), pod("a", nil), pod("a", nil)}, nil, `planner: pending[2].metadata.name: Duplicate value: "default/a": pending[1] has the name` + own},
		{"name of the first pod of a node", "runs", []*v1.Pod{pod("first", nil)}, nil, `planner: pending[0].metadata.name: Duplicate value: "default/first": a pod on node n1 has the name` + own},
		{"name of the last pod of a node", "runs", []*v1.Pod{pod("a", nil), pod("third", nil)}, nil, `planner: pending[1].metadata.name: Duplicate value: "default/third": a pod on node n2 has the name` + own},
		{"name of an assumed pod", "has a node", []*v1.Pod{pod("assumed", nil)}, nil, `planner: pending[0].metadata.name: Duplicate value: "default/assumed": a pod on node n2 has the name` + own},
		{"name of an orphan", "its node is not in the snapshot", []*v1.Pod{pod("orphan", nil)}, nil, `planner: pending[0].metadata.name: Duplicate value: "default/orphan": a pod on node n9 has the name` + own},
		{"name in another namespace", "is another pod", []*v1.Pod{pod("first", func(p *v1.Pod) { p.Namespace = "other" })}, []string{"first"}, ""},
	}, func(t *testing.T, c test) {
		waiting, err := Pending("planner", s, c.list)
		var got []string
		for _, p := range waiting {
			got = append(got, p.Name)
		}
		require.Equal(t, c.want, got)
		if c.err == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.err)
		}
	})
}

// The arguments of a filter are those of the profile; a profile without the filter, or with a plugin of a caller in its place, has none.
func TestArgs(t *testing.T) {
	compares := taints.Options{ComparisonOperators: true}
	with := placement.PluginArgs{Taints: compares}.Profile()
	require.Equal(t, compares, Args[taints.Options](with, "TaintToleration"))
	require.Zero(t, Args[taints.Options](placement.DefaultProfile(), "TaintToleration"))
	require.Zero(t, Args[taints.Options](placement.Profile{}, "TaintToleration"))
	require.Zero(t, Args[taints.Options](placement.Profile{Filters: []*placement.Plugin{{Name: "TaintToleration", Args: "mine"}}}, "TaintToleration"))
}
