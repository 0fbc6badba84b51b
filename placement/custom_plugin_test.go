package placement

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/taints"
)

// tenant is a user's own plugin: a node with the label tenant takes only pods with the same label, and among the nodes
// that take a pod those with a larger label speed are better. AppendKey and AppendSignature allow the plan to keep its
// answers.
func tenant() *Plugin {
	p := plainTenant()
	p.Keep, p.AppendKey = KeepByNode, func(dst []byte, pod *v1.Pod) []byte {
		return append(append(dst, pod.Labels["tenant"]...), 0)
	}
	return p
}

// plainTenant has the same rule and allows no reuse.
func plainTenant() *Plugin { return &Plugin{Name: "Tenant", Filter: filterTenant, Score: scoreTenant} }

func filterTenant(pod *v1.Pod, c Cluster) PreFiltered {
	switch pod.Labels["tenant"] {
	case "":
		return PreFiltered{Code: filter.Skip}
	case "banned":
		return PreFiltered{Code: filter.UnschedulableAndUnresolvable, Reasons: []string{"the tenant is banned"}}
	case "broken":
		return PreFiltered{Code: filter.Error, Reasons: []string{"no tenants here"}}
	case "pinned":
		return PreFiltered{Nodes: []string{"n1"}}
	}
	return PreFiltered{Predicate: tenantNodes{c, pod.Labels["tenant"]}}
}

func scoreTenant(pod *v1.Pod, c Cluster) (Scorer, error) {
	switch pod.Labels["tenant"] {
	case "":
		return nil, nil
	case "unscored":
		return nil, errors.New("no speed known")
	}
	return tenantSpeed{c}, nil
}

type tenantNodes struct {
	c    Cluster
	name string
}

func (p tenantNodes) Name() string { return "Tenant" }
func (p tenantNodes) Check(i int) resources.Verdict {
	if owner := p.c.Node(i).Labels["tenant"]; owner != "" && owner != p.name {
		return 1 | resources.Unresolvable
	}
	return 0
}
func (p tenantNodes) Reasons(v resources.Verdict) []string {
	if v == 0 {
		return nil
	}
	return []string{"node(s) belonged to another tenant"}
}
func (p tenantNodes) Numbers(i int) []string {
	return []string{"the node belongs to " + p.c.Node(i).Labels["tenant"]}
}
func (p tenantNodes) AppendSignature(dst []int32, i int) []int32 {
	return append(dst, int32(p.Check(i)))
}

type tenantSpeed struct{ c Cluster }

func (s tenantSpeed) Raw(i int) int64 {
	n, _ := strconv.ParseInt(s.c.Node(i).Labels["speed"], 10, 64)
	return n
}
func (s tenantSpeed) Normalize(raw, lo, hi int64) int64 {
	if hi == lo {
		return 0
	}
	return 100 * (raw - lo) / (hi - lo)
}
func (s tenantSpeed) AppendSignature(dst []int32, i int) []int32 { return append(dst, int32(s.Raw(i))) }

func tenantProfile(p *Plugin) Profile {
	profile := DefaultProfile()
	profile.Filters = append(profile.Filters, p)
	profile.Scores = append(profile.Scores, Weighted{p, 5})
	return profile
}

// Messages, tables, rejecters and the choice of the node include a user's plugin.
func TestOwnPlugin(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{
		testkit.Node("n1").Label("tenant", "red").Label("speed", "10").Capacity("cpu=4").Obj(),
		testkit.Node("n2").Label("tenant", "blue").Capacity("cpu=4").Obj(),
		testkit.Node("n3").Label("speed", "30").Capacity("cpu=4").Obj(),
	}})
	require.NoError(t, err)
	p, err := New(s, tenantProfile(tenant()))
	require.NoError(t, err)
	pod := func(name, cpu string) *v1.Pod {
		return testkit.Pod("p").Labels("tenant=" + name).Request("cpu=" + cpu).Obj()
	}

	require.Equal(t, "n3", p.Decide(pod("red", "1"), Options{}).Node)
	table, err := p.Table(pod("red", "1"))
	require.NoError(t, err)
	require.Equal(t, NodeScore{"Tenant", 30, 100, 5, 500}, table[2].Scores[len(table[2].Scores)-1])
	require.Nil(t, table[2].Rejections)
	require.Equal(t, []Rejection{{Plugin: "Tenant", Code: "UnschedulableAndUnresolvable", Reasons: []string{"node(s) belonged to another tenant"}, Numbers: []string{"the node belongs to blue"}}}, table[1].Rejections)

	d := p.Decide(pod("green", "5"), Options{})
	require.Equal(t, "0/3 nodes are available: 3 Insufficient cpu.", d.Failure.Text(), "filters of the default profile come first")
	type test struct{ name, tenant, want string }
	testkit.Run(t, []test{
		{"whole pod", "banned", "0/3 nodes are available: the tenant is banned."},
		{"broken", "broken", `running PreFilter plugin "Tenant": no tenants here`},
	}, func(t *testing.T, c test) {
		d := p.Decide(pod(c.tenant, "1"), Options{})
		require.NotNil(t, d.Failure)
		require.Equal(t, c.want, d.Failure.Text())
	})
	unkept, err := New(s, tenantProfile(plainTenant()))
	require.NoError(t, err)
	require.Equal(t, "n1", unkept.Decide(pod("pinned", "1"), Options{}).Node)
	require.Equal(t, []string{"Tenant"}, p.Decide(pod("banned", "1"), Options{}).Failure.Rejecters)
	require.NoError(t, s.Assume(testkit.Pod("full").Request("cpu=4").Obj(), 2))
	require.NoError(t, s.Assume(testkit.Pod("full-1").Request("cpu=4").Obj(), 0))
	d = p.Decide(pod("red", "1"), Options{})
	require.Equal(t, "0/3 nodes are available: 1 node(s) belonged to another tenant, 2 Insufficient cpu.", d.Failure.Text())
	require.Equal(t, []string{"NodeResourcesFit", "Tenant"}, d.Failure.Rejecters)

	require.NotNil(t, p.Decide(pod("unscored", "1"), Options{}).Failure)
	err = s.Set(testkit.Node("n4").Capacity("cpu=4").Obj())
	require.NoError(t, err)
	require.Equal(t, "n4", p.Decide(pod("unscored", "1"), Options{}).Node, "a single node is not scored")
	err = s.Set(testkit.Node("n5").Capacity("cpu=4").Obj())
	require.NoError(t, err)
	require.EqualError(t, p.Decide(pod("unscored", "1"), Options{}).Failure.Err, `running PreScore plugin "Tenant": no speed known`)
}

// A plan with a user's plugin decides the same whether it keeps work or not, and whether the plugin's answers may be
// kept or not.
func TestReuseWithOwnPlugin(t *testing.T) {
	for _, plugin := range []*Plugin{tenant(), plainTenant()} {
		shared := 0
		for seed := range uint64(60) {
			w := &world{r: rand.New(rand.NewPCG(seed, 17))}
			s := w.snapshot(t, 4+w.r.IntN(6), w.r.IntN(12))
			label := func() {
				n := s.Node(w.r.IntN(s.Len())).DeepCopy()
				n.Labels["tenant"], n.Labels["speed"] = w.pick("", "red", "blue"), w.pick("1", "2", "3")
				require.NoError(t, s.Set(n))
			}
			for range s.Len() {
				label()
			}
			p, err := New(s, tenantProfile(plugin))
			require.NoError(t, err)
			base := w.r.IntN(30)
			for step := range 40 {
				if w.chance(6) {
					label()
				}
				pod := w.pod(base + w.r.IntN(3))
				pod.Labels["tenant"] = w.pick("", "red", "blue", "banned")
				fresh, err := New(s, tenantProfile(plugin))
				require.NoError(t, err)
				fresh.engine = nil
				d := p.Decide(pod, Options{})
				require.Equal(t, text(fresh.Decide(pod, Options{})), text(d), "group %d seed %d step %d", plugin.Keep, seed, step)
				if used(p, pod) {
					shared++
				}
				if d.Placed() {
					require.NoError(t, s.Assume(pod, d.Slot))
				}
			}
		}
		if plugin.Keep != KeepNothing {
			require.Greater(t, shared, 300, "decisions that used kept work")
		}
	}
}

// annotated is a plugin that reads a field of the pod that no other plugin reads, and that allows no reuse.
func annotated(pod *v1.Pod, _ Cluster) PreFiltered {
	if pod.Annotations["stay"] == "" {
		return PreFiltered{Code: filter.Skip}
	}
	return PreFiltered{Code: filter.Unschedulable, Reasons: []string{"the pod stays"}}
}

// The plan does not use the answer of a plugin that is not Reusable for another pod.
func TestPluginsThatMayNotBeKept(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
	require.NoError(t, err)
	profile := DefaultProfile()
	profile.Filters = append(profile.Filters, &Plugin{Name: "Annotated", Filter: annotated})
	p, err := New(s, profile)
	require.NoError(t, err)
	for range 4 {
		require.True(t, p.Decide(testkit.Pod("p").Obj(), Options{}).Placed())
		stays := testkit.Pod("p").Obj()
		stays.Annotations = map[string]string{"stay": "yes"}
		require.Equal(t, "0/5 nodes are available: the pod stays.", p.Decide(stays, Options{}).Failure.Text())
	}
}

// The error of an invalid profile names each wrong field.
func TestProfileValidate(t *testing.T) {
	percent := int32(101)
	type test struct {
		name, why string
		profile   Profile
		want      []string
	}
	testkit.Run(t, []test{
		{"default", "nothing", DefaultProfile(), nil},
		{"empty", "no plugins are allowed", Profile{}, nil},
		{"nil filter", "a filter that is none", Profile{Filters: []*Plugin{nil}}, []string{"filters[0]: Required value: a plugin"}},
		{"nil score", "a score that is none", Profile{Scores: []Weighted{{}}}, []string{"scores[0].plugin: Required value: a plugin"}},
		{"twice", "a plugin runs once at a point", Profile{Filters: []*Plugin{newNodeName(release.Current), newNodeName(release.Current)}, Scores: []Weighted{{newImageLocality(release.Current), 1}, {newImageLocality(release.Current), 2}}},
			[]string{`filters[1]: Duplicate value: "NodeName"`, `scores[1].plugin: Duplicate value: "ImageLocality"`}},
		{"at both points", "one plugin may filter and score", Profile{Filters: []*Plugin{newTaintToleration(taints.Options{})}, Scores: []Weighted{{newTaintToleration(taints.Options{}), 1}}}, nil},
		{"unnamed", "messages need names", Profile{Filters: []*Plugin{{Filter: newNodeName(release.Current).Filter}}}, []string{"filters[0]: Required value: a plugin has a name"}},
		{"unnamed at the wrong point", "one error for a plugin", Profile{Filters: []*Plugin{{Score: newImageLocality(release.Current).Score}}}, []string{"filters[0]: Required value: a plugin has a name"}},
		{"negative weight", "weights add up", Profile{Scores: []Weighted{{newImageLocality(release.Current), -1}}}, []string{"scores[0].weight: Invalid value: -1: must not be negative; 0 means 1"}},
		{"wrong point", "a score does not filter", Profile{Filters: []*Plugin{newImageLocality(release.Current)}}, []string{"filters[0]: Invalid value: \"ImageLocality\": does not serve at this point"}},
		{"no key", "answers are kept by what a plugin reads", Profile{Filters: []*Plugin{{Name: "x", Filter: newNodeName(release.Current).Filter, Keep: KeepByNode}}}, []string{"filters[0].appendKey: Required value"}},
		{"no states", "a plugin of the caller counts no pods", Profile{Filters: []*Plugin{{Name: "x", Filter: newNodeName(release.Current).Filter, Keep: keepByAllPods, AppendKey: podkey.Tolerations}}}, []string{"filters[0].keep: Invalid value: 3: no plugin of a caller counts the pods of all nodes"}},
		{"no skips", "the plugin must say which pods it skips", Profile{Filters: []*Plugin{{Name: "x", Filter: newNodeName(release.Current).Filter, Keep: KeepIfSkipped, AppendKey: podkey.Tolerations}}}, []string{"filters[0].skips: Required value"}},
		{"absent needs no states", "each group needs its own", Profile{Filters: []*Plugin{{Name: "x", Filter: newNodeName(release.Current).Filter, Keep: KeepIfSkipped, AppendKey: podkey.Tolerations, Skips: func(*v1.Pod) bool { return true }}}}, nil},
		{"percentage", "a share of nodes", Profile{Sampling: filter.Sampling{Percentage: &percent}}, []string{"sampling.percentage: Invalid value: 101"}},
	}, func(t *testing.T, c test) {
		var got []string
		for _, e := range c.profile.Validate(nil) {
			got = append(got, e.Error())
		}
		require.Len(t, got, len(c.want), "%s: %v", c.why, got)
		for k := range got {
			require.Contains(t, got[k], c.want[k])
		}
		s, err := cluster.New(cluster.Objects{})
		require.NoError(t, err)
		_, err = New(s, c.profile)
		require.Equal(t, len(c.want) > 0, err != nil, fmt.Sprint(err))
	})
}

// The default profile is v1.37's.
func TestDefaultProfile(t *testing.T) {
	var filters, scores []string
	for _, f := range DefaultProfile().Filters {
		filters = append(filters, f.Name)
	}
	for _, w := range DefaultProfile().Scores {
		scores = append(scores, fmt.Sprintf("%s %d", w.Plugin.Name, w.weight()))
	}
	require.Equal(t, []string{
		"NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
		"NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures",
	}, filters)
	require.Equal(t, []string{
		"TaintToleration 3", "NodeAffinity 2", "NodeResourcesFit 1", "VolumeBinding 1", "PodTopologySpread 2", "InterPodAffinity 2", "DynamicResources 2",
		"NodeResourcesBalancedAllocation 1", "ImageLocality 1",
	}, scores)
	require.Equal(t, "NodePorts", DefaultProfile().Filter("NodePorts").Name)
	require.Nil(t, DefaultProfile().Filter("nobody"))
}

// A plan calls a reusable plugin that only narrows the nodes.
func TestPluginThatOnlyNarrows(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{
		testkit.Node("n1").Capacity("cpu=2").Obj(), testkit.Node("n2").Capacity("cpu=8").Obj(),
	}})
	require.NoError(t, err)
	profile := DefaultProfile()
	profile.Filters = append([]*Plugin{tenant()}, profile.Filters...)
	p, err := New(s, profile)
	require.NoError(t, err)
	for n := range 3 {
		d := p.Decide(testkit.Pod(fmt.Sprintf("p%d", n)).Labels("tenant=pinned").Request("cpu=100m").Obj(), Options{})
		require.Equal(t, "n1", d.Node, "decision %d", n)
	}
}

// A score plugin that returns an error fails the attempt, also when it returns a scorer as well.
func TestScorerBesideAnError(t *testing.T) {
	for _, group := range []Keep{KeepNothing, KeepByNode} {
		plugin := &Plugin{Name: "Both", Keep: group, AppendKey: func(dst []byte, _ *v1.Pod) []byte { return dst },
			Score: func(_ *v1.Pod, c Cluster) (Scorer, error) { return tenantSpeed{c}, errors.New("both") }}
		profile := DefaultProfile()
		profile.Scores = append(profile.Scores, Weighted{plugin, 1})
		s, err := cluster.New(cluster.Objects{Nodes: threeZones()})
		require.NoError(t, err)
		p, err := New(s, profile)
		require.NoError(t, err)
		for range 3 {
			f := p.Decide(testkit.Pod("p").Obj(), Options{}).Failure
			require.NotNil(t, f)
			require.EqualError(t, f.Err, `running PreScore plugin "Both": both`)
		}
	}
}

// The normalised score of a node depends on the smallest and the largest raw score of the feasible nodes that the plugin does not
// ignore. It is the same whether the plan keeps work or not.
func TestScoresBetweenTheEnds(t *testing.T) {
	type test struct {
		name, why  string
		speeds     string // of n0, n1 and so on; "-" rejects the pod, and "~" is ignored
		normalised []int64
	}
	testkit.Run(t, []test{
		{"above zero", "the smallest is not 0", "10 30 20 40", []int64{0, 66, 33, 100}},
		{"below zero", "the largest is not 0", "-40 -10 -20", []int64{0, 100, 66}},
		{"around zero", "neither end is 0", "-10 0 30", []int64{0, 25, 100}},
		{"the smallest comes last", "the order of the nodes does not matter", "40 30 20", []int64{100, 50, 0}},
		{"the largest in the middle", "the order of the nodes does not matter", "1 3 2", []int64{0, 100, 50}},
		{"alike", "there is nothing between the ends", "7 7", []int64{0, 0}},
		{"rejected ends", "nodes that reject the pod have no part", "1- 10 20 15 99-", []int64{0, 100, 50}},
		{"ignored ends", "ignored nodes have no part and no score", "1~ 10 20 15 99~", []int64{0, 0, 100, 50, 0}},
	}, func(t *testing.T, c test) {
		var o cluster.Objects
		var feasible []string
		for k, speed := range strings.Fields(c.speeds) {
			name := fmt.Sprint("n", k)
			n := testkit.Node(name).Capacity("cpu=4").Label("speed", strings.TrimRight(speed, "-~"))
			if strings.HasSuffix(speed, "-") {
				n = n.Label("tenant", "blue")
			} else {
				feasible = append(feasible, name)
			}
			if strings.HasSuffix(speed, "~") {
				n = n.Label("ignored", "yes")
			}
			o.Nodes = append(o.Nodes, n.Obj())
		}
		s, err := cluster.New(o)
		require.NoError(t, err)
		for _, plugin := range []*Plugin{tenant(), plainTenant()} {
			score := plugin.Score
			plugin.Score = func(pod *v1.Pod, c Cluster) (Scorer, error) {
				x, err := score(pod, c)
				if x != nil {
					x = choosySpeed{x.(tenantSpeed)}
				}
				return x, err
			}
			profile := Profile{Filters: []*Plugin{plugin}, Scores: []Weighted{{plugin, 5}}, Sampling: AllNodes()}
			p, err := New(s, profile)
			require.NoError(t, err)
			pod := testkit.Pod("p").Labels("tenant=red").Obj()
			table, err := p.Table(pod)
			require.NoError(t, err)
			var got []int64
			totals := map[string]int64{}
			for _, n := range table {
				if !n.Feasible() {
					require.Empty(t, n.Scores)
					continue
				}
				x := n.Scores[0]
				require.Equal(t, NodeScore{"Tenant", x.Raw, x.Normalized, 5, 5 * x.Normalized}, x)
				require.Equal(t, s.Node(s.Slot(n.Node)).Labels["speed"], fmt.Sprint(x.Raw))
				got, totals[n.Node] = append(got, x.Normalized), n.Total
			}
			require.Equal(t, c.normalised, got)
			best := slices.Index(got, slices.Max(got))
			for range 3 {
				d := p.Decide(pod, Options{})
				require.Equal(t, feasible[best], d.Node)
				require.Equal(t, 5*got[best], d.Total)
				require.Equal(t, totals[d.Node], d.Total)
			}
		}
	})
}

// choosySpeed ignores nodes with the label ignored.
type choosySpeed struct{ tenantSpeed }

func (s choosySpeed) Ignored(i int) bool { return s.c.Node(i).Labels["ignored"] != "" }
func (s choosySpeed) AppendSignature(dst []int32, i int) []int32 {
	dst = s.tenantSpeed.AppendSignature(dst, i)
	if s.Ignored(i) {
		return append(dst, 1)
	}
	return append(dst, 0)
}
