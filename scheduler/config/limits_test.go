package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The least and the largest values that are allowed.
func TestAllowedValues(t *testing.T) {
	for _, document := range []string{
		head + "parallelism: 1\n", head + "podInitialBackoffSeconds: 10\n", head + "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 1\n",
		head + "percentageOfNodesToScore: 0\n", head + "percentageOfNodesToScore: 100\n", head + "leaderElection: {leaderElect: false, resourceLock: endpoints}\n",
		profileOf("pluginConfig: [{name: DynamicResources, args: {filterTimeout: 0s, bindingTimeout: 1s}}]"),
		profileOf("pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 0}}]"),
		head + "profiles: [{schedulerName: a}, {schedulerName: b}]\n",
	} {
		_, err := Load([]byte(document))
		require.NoError(t, err, document)
	}
	_, err := Load([]byte(head + "leaderElection: {leaderElect: true, resourceLock: endpoints}\n"))
	require.EqualError(t, err, `leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"`)
}

// All profiles order the queue alike, with the same arguments of that plugin; the arguments of other plugins may differ.
func TestArgumentsOfTheQueueOrder(t *testing.T) {
	raw := func(text string) configv1.PluginConfig {
		return configv1.PluginConfig{Name: "Q", Args: runtime.RawExtension{Raw: []byte(text)}}
	}
	other := configv1.PluginConfig{Name: "A", Args: runtime.RawExtension{Raw: []byte("9")}}
	decoded := func(weight int32) configv1.PluginConfig {
		return configv1.PluginConfig{Name: "Q", Args: runtime.RawExtension{Object: &configv1.InterPodAffinityArgs{HardPodAffinityWeight: &weight}}}
	}
	none := configv1.PluginConfig{Name: "Q"}
	list := func(entries ...configv1.PluginConfig) []configv1.PluginConfig { return entries }
	type test struct {
		name         string
		first, other []configv1.PluginConfig
		want         string
	}
	testkit.Run(t, []test{
		{"none", nil, nil, ""},
		{"equal bytes", list(raw("1")), list(raw("1")), ""},
		{"equal bytes before others", list(raw("1"), other), list(other, raw("1")), ""},
		{"other bytes", list(raw("1")), list(raw("2")), "2"},
		{"empty and missing bytes", list(none), list(raw("")), "null"},
		{"missing and empty bytes", list(raw("")), list(none), "null"},
		{"none in the first", list(other), list(raw("1")), "1"},
		{"none in the other", list(raw("1")), list(other), ""},
		{"no arguments in both", list(none), list(none), ""},
		{"equal objects", list(decoded(1)), list(decoded(1)), ""},
		{"other objects", list(decoded(1)), list(decoded(2)), `{"HardPodAffinityWeight":2,"IgnorePreferredTermsOfExistingPods":false}`},
		{"an object and none", list(decoded(1)), list(none), "null"},
		{"none and an object", list(none), list(decoded(1)), `{"HardPodAffinityWeight":1,"IgnorePreferredTermsOfExistingPods":false}`},
		{"the last of the first counts", list(raw("1"), raw("2")), list(raw("2")), ""},
	}, func(t *testing.T, c test) {
		queue := &configv1.Plugins{QueueSort: configv1.PluginSet{Enabled: []configv1.Plugin{{Name: "Q"}}}}
		conf := &configv1.KubeSchedulerConfiguration{Profiles: []configv1.KubeSchedulerProfile{{Plugins: queue, PluginConfig: c.first}, {Plugins: queue, PluginConfig: c.other}}}
		a, b := "a", "b"
		conf.Profiles[0].SchedulerName, conf.Profiles[1].SchedulerName = &a, &b
		SetDefaults(conf)
		var texts []string
		for _, e := range Validate(conf) {
			if strings.Contains(e.Field, "args") {
				texts = append(texts, e.Error())
			}
		}
		if c.want == "" {
			require.Empty(t, texts)
			return
		}
		require.Equal(t, []string{"profiles[1].pluginConfig.args: Invalid value: " + c.want + ": queueSort must be the same for all profiles"}, texts)
	})
	type sets struct {
		name string
		own  [3]string
		want []string
	}
	testkit.Run(t, []sets{
		{"none", [3]string{"{}", "{}", "{}"}, nil},
		{"alike", [3]string{"{enabled: [{name: A}]}", "{enabled: [{name: A}]}", "{enabled: [{name: A}]}"}, nil},
		{"one and three", [3]string{"{enabled: [{name: A}]}", "{}", "{enabled: [{name: A}]}"}, []string{"profiles[1].plugins.queueSort"}},
		{"weights", [3]string{"{enabled: [{name: A}]}", "{enabled: [{name: A, weight: 1}]}", "{enabled: [{name: A}], disabled: [{name: B}]}"}, []string{"profiles[1].plugins.queueSort", "profiles[2].plugins.queueSort"}},
		{"two in the first", [3]string{"{enabled: [{name: A}, {name: B}]}", "{}", "{enabled: [{name: A}, {name: B}]}"}, []string{"profiles[0].plugins.queueSort.Enabled", "profiles[1].plugins.queueSort"}},
		{"two in another", [3]string{"{}", "{enabled: [{name: A}, {name: B}]}", "{}"}, []string{"profiles[1].plugins.queueSort"}},
	}, func(t *testing.T, c sets) {
		text := head + "profiles:\n"
		for k, own := range c.own {
			text += "- {schedulerName: " + string(rune('a'+k)) + ", plugins: {queueSort: " + own + "}}\n"
		}
		conf, err := Decode([]byte(text))
		require.NoError(t, err)
		var fields []string
		for _, e := range Validate(conf) {
			fields = append(fields, e.Field)
		}
		require.Equal(t, c.want, fields)
	})
}

// Errors print arguments with Go's field names. What is missing is null.
func TestPrintedArguments(t *testing.T) {
	percent := int32(5)
	for want, args := range map[string]runtime.RawExtension{
		"null": {}, `{"a":1}`: {Raw: []byte(`{"a":1}`)},
		`{"MinCandidateNodesPercentage":5,"MinCandidateNodesAbsolute":null}`:                                                                                                     {Object: &configv1.DefaultPreemptionArgs{TypeMeta: metav1.TypeMeta{Kind: "x"}, MinCandidateNodesPercentage: &percent}},
		`{"IgnoredResources":["a"],"IgnoredResourceGroups":null,"ScoringStrategy":null}`:                                                                                         {Object: &configv1.NodeResourcesFitArgs{IgnoredResources: []string{"a"}}},
		`{"Resources":[{"Name":"cpu","Weight":2},{"Name":"","Weight":0}]}`:                                                                                                       {Object: &configv1.NodeResourcesBalancedAllocationArgs{Resources: []configv1.ResourceSpec{{Name: "cpu", Weight: 2}, {}}}},
		`{"DefaultConstraints":[{"maxSkew":1,"topologyKey":"","whenUnsatisfiable":""}],"DefaultingType":"List"}`:                                                                 {Object: &configv1.PodTopologySpreadArgs{DefaultingType: configv1.ListDefaulting, DefaultConstraints: []v1.TopologySpreadConstraint{{MaxSkew: 1}}}},
		`{"IgnoredResources":[],"IgnoredResourceGroups":null,"ScoringStrategy":{"Type":"","Resources":null,"RequestedToCapacityRatio":{"Shape":[{"Utilization":1,"Score":2}]}}}`: {Object: &configv1.NodeResourcesFitArgs{IgnoredResources: []string{}, ScoringStrategy: &configv1.ScoringStrategy{RequestedToCapacityRatio: &configv1.RequestedToCapacityRatioParam{Shape: []configv1.UtilizationShapePoint{{Utilization: 1, Score: 2}}}}}},
	} {
		out, err := json.Marshal(printed(args))
		require.NoError(t, err)
		require.Equal(t, want, string(out))
	}
	_, err := json.Marshal(ordered{{"a", func() {}}})
	require.ErrorContains(t, err, "unsupported type")
}

// unwritable are arguments that have no form in JSON.
type unwritable struct{ configv1.NodeAffinityArgs }

func (u *unwritable) DeepCopyObject() runtime.Object { return u }

func (unwritable) MarshalJSON() ([]byte, error) { return nil, errors.New("no form") }

// Encode names the arguments that it cannot write. A Policy that cannot be converted is an old document with the reason as its note.
func TestDocumentsWithoutEquivalent(t *testing.T) {
	object := func(o runtime.Object) configv1.PluginConfig {
		return configv1.PluginConfig{Name: "A", Args: runtime.RawExtension{Object: o}}
	}
	fine := object(&configv1.NodeAffinityArgs{})
	_, err := Encode(&configv1.KubeSchedulerConfiguration{Profiles: []configv1.KubeSchedulerProfile{{}, {PluginConfig: []configv1.PluginConfig{fine, {Name: "B"}, object(&unwritable{})}}}})
	require.ErrorContains(t, err, "profiles[1].pluginConfig[2].args: ")
	require.ErrorContains(t, err, "no form")
	var old *OldVersionError
	for _, policy := range []string{"{kind: Policy, apiVersion: v1, priorities: [{name: Nope, weight: 1}]}", "{kind: Policy, apiVersion: kubescheduler.config.k8s.io/v1, priorities: [{name: Nope, weight: 1}]}"} {
		_, err = Load([]byte(policy))
		require.ErrorAs(t, err, &old)
		require.Empty(t, old.Equivalent)
		require.Equal(t, []string{`priorities[0].name: Invalid value: "Nope": is no priority`}, old.Notes)
		require.Same(t, old.Err, errors.Unwrap(err))
	}
	_, err = Load([]byte("apiVersion: example.com/v1\nkind: Policy\n"))
	require.False(t, errors.As(err, &old), "a policy of something else")
	_, err = Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1beta9\nkind: KubeSchedulerConfiguration\n"))
	require.False(t, errors.As(err, &old), "a version that never was")
}

// Arguments are kept where a plugin uses them, and are missing where the document has none.
func TestArgumentsOfOtherPlugins(t *testing.T) {
	l := Loader{Plugins: map[string]Plugin{"Mine": {Points: []Point{Permit}}, "Bare": {Points: []Point{Permit}}, "Idle": {Points: []Point{Permit}}}}
	c, err := l.Load([]byte(profileOf("{plugins: {permit: {enabled: [{name: Mine}, {name: Bare}]}}, pluginConfig: [{name: Bare}, {name: Mine, args: {a: 1}}, {name: Idle, args: {b: 2}}]}")))
	require.NoError(t, err)
	p := c.Profiles[0]
	require.JSONEq(t, `{"a":1}`, string(p.Args["Mine"].(*runtime.Unknown).Raw))
	require.NotContains(t, p.Args, "Bare")
	require.NotContains(t, p.Args, "Idle")
	require.Empty(t, p.Warnings)
	require.Nil(t, p.Plugin("Mine"), "the caller has it")
	require.NotNil(t, p.Plugin("NodeAffinity"))
	require.NotNil(t, p.Plugin("ImageLocality"))
	require.Nil(t, p.Plugin("PrioritySort"), "nothing to place by")
	require.Nil(t, c.Profile("other"))
}

// What matches nothing is named in warnings, and so is a plugin without its own preparation.
func TestWarningsOfProfiles(t *testing.T) {
	c, err := Load([]byte(profileOf(`{plugins: {preFilter: {disabled: [{name: InterPodAffinity}, {name: Gone}]}, preScore: {disabled: [{name: TaintToleration}]}, score: {disabled: [{name: SelectorSpread}, {name: NodeAffinity}]}, multiPoint: {disabled: [{name: "Old"}, {name: ImageLocality}]}},
  pluginConfig: [{args: {a: 1}}, {name: Nope}, {name: NodeResourcesFit, args: {scoringStrategy: {type: LeastAllocated, resources: [{name: cpu}, {name: CPU}, {name: gpu}]}}}, {name: NodeResourcesBalancedAllocation, args: {resources: [{name: Memory}]}}, {name: NodeAffinity}]}`)))
	require.NoError(t, err)
	require.Equal(t, []string{
		"plugin InterPodAffinity runs at Filter but not at PreFilter, where it prepares: kube-scheduler may fail every pod",
		"plugin TaintToleration runs at Score but not at PreScore, where it prepares: kube-scheduler may fail every pod",
		`plugins.preFilter.disabled[1].name: Invalid value: "Gone": there is no such plugin, so nothing is disabled`,
		`plugins.score.disabled[0].name: Invalid value: "SelectorSpread": there is no such plugin, so nothing is disabled: removed in v1.29; ` + spreadNote,
		`plugins.multiPoint.disabled[0].name: Invalid value: "Old": there is no such plugin, so nothing is disabled`,
		"pluginConfig[0].name: Required value: without a name the arguments are no plugin's",
		`pluginConfig[1].name: Invalid value: "Nope": there is no such plugin, so the arguments count for nothing`,
		`pluginConfig[2].args.scoringStrategy.resources[1].name: Invalid value: "CPU": matches no resource: names are case-sensitive, use "cpu"`,
		`pluginConfig[2].args.scoringStrategy.resources[2].name: Invalid value: "gpu": matches no resource: must be cpu, memory, ephemeral-storage, an extended resource or hugepages-<size>`,
		`pluginConfig[3].args.resources[0].name: Invalid value: "Memory": matches no resource: names are case-sensitive, use "memory"`,
	}, c.Profiles[0].Warnings)
}
