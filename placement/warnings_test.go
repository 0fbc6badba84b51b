package placement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/affinity"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release/plugins"
)

// Warnings names exactly the plugins and settings that prevent the sharing of work. Without a warning the second pod of
// a kind uses kept work; with a warning it does not.
func TestWarnings(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	var many []*v1.Node
	for k := range 200 {
		many = append(many, testkit.Node(fmt.Sprint("n", k)).Capacity("cpu=4").Obj())
	}
	large, err := cluster.New(cluster.Objects{Nodes: many})
	require.NoError(t, err)
	with := func(change func(p *Profile)) Profile {
		p := DefaultProfile()
		change(&p)
		return p
	}
	unsigned := func(*v1.Pod, Cluster) (Scorer, error) { return constant{}, nil }
	key := func(dst []byte, _ *v1.Pod) []byte { return dst }
	type test struct {
		name, why string
		cluster   Cluster
		profile   Profile
		want      []string
	}
	testkit.Run(t, []test{
		{"default", "every plugin of v1.36 has a group", s, DefaultProfile(), nil},
		{"signed", "a plugin of the caller may say so too", s, tenantProfile(tenant()), nil},
		{"never", "a plugin that does not say on what it depends, at both points", s, tenantProfile(plainTenant()),
			[]string{"plugin Tenant: its Keep is KeepNothing; any other Keep needs AppendKey"}},
		{"unsigned", "a scorer without a signature cannot be asked once for equal nodes", s, with(func(p *Profile) {
			p.Scores = append(p.Scores, Weighted{&Plugin{Name: "Constant", Keep: KeepByNode, AppendKey: key, Score: unsigned}, 1})
		}), []string{"plugin Constant: its Keep is KeepByNode, and its predicate or scorer has neither AppendSignature nor Reads"}},
		{"two filters over rows", "rejections by rows have one place in the order", s, with(func(p *Profile) {
			second := *p.Filter(plugins.NodeResourcesFit)
			second.Name = "Second"
			p.Filters = append(p.Filters, &second)
		}), []string{"plugins NodeResourcesFit, Second: at most one filter may be of KeepByNodeAndPods"}},
		{"states first", "rejections are counted by group in plugin order", s, with(func(p *Profile) {
			slices.Reverse(p.Filters)
		}), []string{"plugins DynamicResources, InterPodAffinity, PodTopologySpread, NodeVolumeLimits: a filter that counts running pods must come after NodeResourcesFit, which is of KeepByNodeAndPods"}},
		{"one state first", "one filter is enough", s, with(func(p *Profile) {
			p.Filters = []*Plugin{p.Filter(plugins.InterPodAffinity), p.Filter(plugins.NodeResourcesFit)}
		}), []string{"plugins InterPodAffinity: a filter that counts running pods must come after NodeResourcesFit, which is of KeepByNodeAndPods"}},
		{"states alone", "there is no filter over rows that could come later", s, Profile{Filters: []*Plugin{newInterPodAffinity(affinity.PodOptions{})}, Scores: DefaultProfile().Scores}, nil},
		{"no scores", "the first feasible node ends a search", s, with(func(p *Profile) { p.Scores = nil }), nil},
		{"sampling", "100 feasible nodes of 200 end a search", large, DefaultProfile(), nil},
		{"all nodes", "every node is looked at", large, with(func(p *Profile) { p.Sampling = AllNodes() }), nil},
		{"no change log", "nothing says what changed", Rows(testkit.NewCluster(threeZones(), nil)), DefaultProfile(),
			[]string{"the cluster, a *placement.counted, has no change log, so equal pods share no work"}},
	}, func(t *testing.T, c test) {
		p, err := New(c.cluster, c.profile)
		require.NoError(t, err)
		pod := testkit.Pod("p").Request("cpu=1").RequireApart(v1.LabelHostname, "app=db").Spread(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=p").Obj()
		for range 3 {
			p.Decide(pod, Options{})
		}
		require.Equal(t, c.want, p.Warnings())
		shared := used(p, pod)
		require.Equal(t, c.want == nil, shared, "work is shared")
	})
}

// constant gives every node the same score and has no signature.
type constant struct{}

func (constant) Raw(int) int64 { return 7 }
