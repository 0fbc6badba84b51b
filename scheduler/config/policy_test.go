package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/history"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// ratioPolicy is the policy of "Bin packing of extended resources" as printed, without the omitted lines.
const ratioPolicy = `{
    "kind" : "Policy",
    "apiVersion" : "v1",
    "priorities" : [
      {
        "name": "RequestedToCapacityRatioPriority",
        "weight": 2,
        "argument": {
          "requestedToCapacityRatioArguments": {
            "shape": [
              {"utilization": 0, "score": 0},
              {"utilization": 100, "score": 10}
            ],
            "resources": [
              {"name": "intel.com/foo", "weight": 3},
              {"name": "intel.com/bar", "weight": 5}
            ]
          }
        }
      }
    ],
  }`

func TestDocumentPolicy(t *testing.T) {
	c, notes, err := ConvertPolicy([]byte(ratioPolicy)) // the document has this superfluous comma
	require.NoError(t, err)
	require.Equal(t, []string{"priority RequestedToCapacityRatioPriority: utilization is requested*100/allocatable since v1.33"}, notes)
	out, err := Encode(c)
	require.NoError(t, err)
	require.Contains(t, string(out), "type: RequestedToCapacityRatio")
	loaded, err := Load(out)
	require.NoError(t, err)
	p := loaded.Profiles[0]
	require.Equal(t, "NodeResourcesFit=2", text(p.Plugins[Score]))
	require.Equal(t, defaultLists[Filter], text(p.Plugins[Filter]), "predicates are absent: the default ones")
	require.Equal(t, &score.Strategy{
		Type:                     score.RequestedToCapacityRatio,
		Resources:                []score.Resource{{Name: "intel.com/foo", Weight: 3}, {Name: "intel.com/bar", Weight: 5}},
		RequestedToCapacityRatio: &score.Ratio{Shape: []score.Point{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}}},
	}, p.Placement.Filter("NodeResourcesFit").Args.(placement.FitOptions).Args.ScoringStrategy)

	_, err = Load([]byte(strings.Replace(ratioPolicy, "],\n  }", "]\n  }", 1)))
	var old *OldVersionError
	require.True(t, errors.As(err, &old))
	require.EqualError(t, old.Err, `no kind "Policy" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"`)
	require.Equal(t, string(out), string(old.Equivalent))
}

func TestConvertPolicy(t *testing.T) {
	type test struct {
		name, why, policy     string
		filters, scores       string // "": the default ones, with the weights of policies
		noScores              bool
		notes                 []string
		hardPodAffinityWeight int32
	}
	testkit.Run(t, []test{
		{name: "empty", why: "absent lists are the default sets", policy: `{kind: Policy}`},
		{name: "empty lists", why: "mandatory and younger filters stay", policy: `{kind: Policy, predicates: [], priorities: []}`,
			filters: "NodeUnschedulable TaintToleration DynamicResources NodeDeclaredFeatures", noScores: true},
		{name: "general predicates", why: "several plugins for one name", policy: `{kind: Policy, predicates: [{name: GeneralPredicates}]}`,
			filters: "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit DynamicResources NodeDeclaredFeatures"},
		{name: "gone predicates", why: "they are named in notes", policy: `{kind: Policy, predicates: [
			{name: Mine, argument: {serviceAffinity: {labels: [region]}}}, {name: Zones, argument: {labelsPresence: {labels: [zone], presence: true}}}, {name: CheckServiceAffinity}]}`,
			filters: "NodeUnschedulable TaintToleration DynamicResources NodeDeclaredFeatures",
			notes: []string{
				"predicate Mine: removed in v1.23 without a successor; node affinity or a plugin of one's own does it",
				"predicate Zones: removed in v1.23 without a successor; node affinity or a plugin of one's own does it",
				"predicate CheckServiceAffinity: removed in v1.23 without a successor; node affinity or a plugin of one's own does it",
			}},
		{name: "priorities", why: "in their order with their weights", policy: `{kind: Policy, priorities: [{name: ImageLocalityPriority, weight: 4}, {name: LeastRequestedPriority, weight: 1}, {name: EqualPriority, weight: 1}]}`,
			scores: "ImageLocality=4 NodeResourcesFit=1", notes: []string{"priority EqualPriority: all nodes are equal when nothing scores them"}},
		{name: "two for one plugin", why: "their weights add up", policy: `{kind: Policy, priorities: [{name: EvenPodsSpreadPriority, weight: 2}, {name: SelectorSpreadPriority, weight: 3}]}`,
			scores: "PodTopologySpread=5", notes: []string{
				"priority SelectorSpreadPriority: " + spreadNote, "priority SelectorSpreadPriority: adds its weight to that of PodTopologySpread"}},
		{name: "two strategies", why: "a profile has one", policy: `{kind: Policy, priorities: [{name: MostRequestedPriority, weight: 2}, {name: LeastRequestedPriority, weight: 3}]}`,
			scores: "NodeResourcesFit=2", notes: []string{"priority LeastRequestedPriority: left out, NodeResourcesFit has one strategy and it is MostAllocated already; another profile can have another"}},
		{name: "ratio without arguments", why: "it had no default", policy: `{kind: Policy, priorities: [{name: RequestedToCapacityRatioPriority, weight: 2}]}`,
			noScores: true, notes: []string{
				"priority RequestedToCapacityRatioPriority: utilization is requested*100/allocatable since v1.33",
				"priority RequestedToCapacityRatioPriority: left out, it needs requestedToCapacityRatioArguments"}},
		{name: "ratio under another name", why: "the argument says what it is; CPU names no resource", policy: `{kind: Policy, priorities: [{name: Packing, weight: 1, argument: {requestedToCapacityRatioArguments: {shape: [{utilization: 0, score: 0}], resources: [{name: CPU, weight: 1}]}}}]}`,
			scores: "NodeResourcesFit=1", notes: []string{
				"priority Packing: utilization is requested*100/allocatable since v1.33",
				`priority Packing: resources[0].name: Invalid value: "CPU": matches no resource: names are case-sensitive, use "cpu"`}},
		{name: "service anti-affinity", why: "gone", policy: `{kind: Policy, priorities: [{name: Racks, weight: 1, argument: {serviceAntiAffinity: {label: rack}}}, {name: Labels, weight: 1, argument: {labelPreference: {label: ssd, presence: true}}}]}`,
			noScores: true, notes: []string{"priority Racks: " + goneNote, "priority Labels: " + goneNote}},
		{name: "weights of affinity", why: "the weight becomes an argument of InterPodAffinity; a field without effect gets a note", policy: `{kind: Policy, hardPodAffinitySymmetricWeight: 10, alwaysCheckAllPredicates: true}`, hardPodAffinityWeight: 10,
			notes: []string{"alwaysCheckAllPredicates has no equivalent: the first plugin that rejects a node ends its checks"}},
	}, func(t *testing.T, c test) {
		document, notes, err := ConvertPolicy([]byte(c.policy))
		require.NoError(t, err)
		require.Equal(t, c.notes, notes, c.why)
		out, err := Encode(document)
		require.NoError(t, err)
		conf, err := Load(out)
		require.NoError(t, err, string(out))
		plugins := conf.Profiles[0].Plugins
		want := c.filters
		if want == "" {
			want = defaultLists[Filter]
		}
		require.Equal(t, want, text(plugins[Filter]))
		want = c.scores
		if want == "" && !c.noScores {
			want = "InterPodAffinity=1 NodeAffinity=1 TaintToleration=1 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1"
		}
		require.Equal(t, want, text(plugins[Score]))
		weight := *conf.Profiles[0].Args["InterPodAffinity"].(*configv1.InterPodAffinityArgs).HardPodAffinityWeight
		require.Equal(t, max(c.hardPodAffinityWeight, 1), weight)
	})
}

func TestPolicyExtenders(t *testing.T) {
	document, notes, err := ConvertPolicy([]byte(`{"kind": "Policy", "apiVersion": "v1", "extenders": [{
		"urlPrefix": "http://127.0.0.1:12346/scheduler", "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 5, "bindVerb": "bind",
		"enableHttps": true, "httpTimeout": 2000000000, "nodeCacheCapable": true, "ignorable": true,
		"managedResources": [{"name": "example.com/foo", "ignoredByScheduler": true}]}]}`))
	require.NoError(t, err)
	require.Empty(t, notes)
	x := document.Extenders[0]
	require.Equal(t, "http://127.0.0.1:12346/scheduler 5 2s true true true",
		fmt.Sprint(x.URLPrefix, " ", x.Weight, " ", x.HTTPTimeout.Duration, " ", x.EnableHTTPS, x.NodeCacheCapable, x.Ignorable))
	require.Equal(t, []configv1.ExtenderManagedResource{{Name: "example.com/foo", IgnoredByScheduler: true}}, x.ManagedResources)
}

func TestPolicyErrors(t *testing.T) {
	type test struct{ name, policy, err string }
	testkit.Run(t, []test{
		{"not a policy", `{kind: Pod}`, `kind: Unsupported value: "Pod": supported values: "Policy"`},
		{"unknown names", `{kind: Policy, predicates: [{name: Nope}], priorities: [{name: Nada, weight: 1}]}`,
			`[predicates[0].name: Invalid value: "Nope": is no predicate, priorities[0].name: Invalid value: "Nada": is no priority]`},
		{"weights", `{kind: Policy, priorities: [{name: EqualPriority}, {name: EqualPriority, weight: -1}, {name: EqualPriority, weight: 2147483648}]}`,
			"[priorities[0].weight: Invalid value: 0: must be positive and fit 32 bits, priorities[1].weight: Invalid value: -1: must be positive and fit 32 bits, priorities[2].weight: Invalid value: 2147483648: must be positive and fit 32 bits]"},
	}, func(t *testing.T, c test) {
		_, _, err := ConvertPolicy([]byte(c.policy))
		require.EqualError(t, err, c.err)
	})
	_, _, err := ConvertPolicy([]byte(`[1]`))
	require.ErrorContains(t, err, "not a policy: ")
}

// Every predicate and priority of policies has an entry whose plugins exist, and converts to a document that loads.
func TestPolicyNames(t *testing.T) {
	predicates := strings.Fields(`CheckNodeCondition CheckNodeDiskPressure CheckNodeLabelPresence CheckNodeMemoryPressure
		CheckNodePIDPressure CheckNodeUnschedulable CheckServiceAffinity CheckVolumeBinding EvenPodsSpread GeneralPredicates HostName
		MatchInterPodAffinity MatchNodeSelector MaxAzureDiskVolumeCount MaxCSIVolumeCountPred MaxCinderVolumeCount MaxEBSVolumeCount
		MaxGCEPDVolumeCount NoDiskConflict NoVolumeZoneConflict PodFitsHostPorts PodFitsPorts PodFitsResources
		PodToleratesNodeNoExecuteTaints PodToleratesNodeTaints`)
	for _, name := range predicates {
		old, ok := history.FindOldFilter(name)
		require.True(t, ok, name)
		for _, p := range old.Plugins {
			require.Contains(t, inTree[p], Filter, name)
		}
		require.True(t, len(old.Plugins) > 0 || old.Note != "", name)
		loads(t, fmt.Sprintf(`{kind: Policy, predicates: [{name: %s}]}`, name))
	}
	priorities := strings.Fields(`BalancedResourceAllocation EqualPriority EvenPodsSpreadPriority ImageLocalityPriority
		InterPodAffinityPriority LeastRequestedPriority MostRequestedPriority NodeAffinityPriority NodeLabelPriority
		NodePreferAvoidPodsPriority RequestedToCapacityRatioPriority ResourceLimitsPriority SelectorSpreadPriority
		ServiceAntiAffinityPriority ServiceSpreadingPriority TaintTolerationPriority`)
	for _, name := range priorities {
		old, ok := ModernPriority(name)
		require.True(t, ok, name)
		if old.Plugin != "" {
			require.Contains(t, inTree[old.Plugin], Score, name)
		}
		require.True(t, old.Plugin != "" || old.Note != "", name)
		loads(t, fmt.Sprintf(`{kind: Policy, priorities: [{name: %s, weight: 1}]}`, name))
	}
	clear(OldPriorities()) // a new slice
	table := OldPriorities()
	require.True(t, slices.IsSortedFunc(table, func(a, b OldPriority) int { return strings.Compare(a.Old, b.Old) }))
	for _, p := range history.Profile118(score.MaxScore).Scores {
		_, now := inTree[p.Name]
		_, old := ModernPriority(p.Name)
		require.True(t, now || old, "%s of v1.18", p.Name)
	}
}

func loads(t *testing.T, policy string) {
	t.Helper()
	document, _, err := ConvertPolicy([]byte(policy))
	require.NoError(t, err, policy)
	_, err = Loader{}.Build(document)
	require.NoError(t, err, policy)
}
