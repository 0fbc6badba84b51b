package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// starting is the prefix of errors that kube-scheduler finds when it starts.
const starting = "initializing profiles: creating profile for scheduler name default-scheduler: "

// refusal is a document that v1.36 refuses, and the error that v1.36 gives.
type refusal struct{ name, why, document, err string }

var refusals = []refusal{
	{"no kind", "the version alone does not do", "apiVersion: kubescheduler.config.k8s.io/v1\n",
		"Object 'Kind' is missing in 'apiVersion: kubescheduler.config.k8s.io/v1\n'"},
	{"nothing", "an empty file", "", "Object 'Kind' is missing in ''"},
	{"arguments alone", "a registered kind, but not this one", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs\n",
		"couldn't decode as KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1, Kind=NodeAffinityArgs: "},
	{"unknown version", "versions to come", "apiVersion: kubescheduler.config.k8s.io/v9\nkind: KubeSchedulerConfiguration\n",
		`no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v9" in scheme "pkg/runtime/scheme.go:111"`},
	{"unknown fields", "decoding is strict", head + "foo: 1\nbar: 2\nprofiles:\n- baz: 1\n",
		`strict decoding error: unknown field "bar", unknown field "foo", unknown field "profiles[0].baz"`},
	{"other case", "field names have one case", head + "Parallelism: 3\n", `strict decoding error: unknown field "Parallelism"`},
	{"field twice", "the second would win", head + "parallelism: 1\nparallelism: 2\n",
		"strict decoding error: yaml: unmarshal errors:\n  line 4: key \"parallelism\" already set in map"},
	{"wrong type", "an integer field takes no string", head + "parallelism: x\n", "json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism of type int32"},
	{"not YAML", "the parser's own error", head + "a: [\n", "yaml: line 3: did not find expected node content"},
	{"unknown argument", "arguments are decoded strictly too", profileOf("pluginConfig: [{name: InterPodAffinity, args: {foo: 1}}]"),
		`strict decoding error: decoding .profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin InterPodAffinity: strict decoding error: unknown field "foo"`},
	{"other plugin's arguments", "the kind must be the plugin's", profileOf("pluginConfig: [{name: InterPodAffinity, args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeAffinityArgs}}]"),
		"decoding .profiles[0].pluginConfig[0]: args for plugin InterPodAffinity were not of type InterPodAffinityArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io"},

	{"no parallelism", "at least one worker", head + "parallelism: 0\n", "parallelism: Invalid value: 0: should be an integer value greater than zero"},
	{"percentage above 100", "documentation of older releases takes it for 100", head + "percentageOfNodesToScore: 101\n",
		"percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
	{"percentage below 0 in a profile", "a percentage is 0 to 100 in a profile too", profileOf("percentageOfNodesToScore: -1"),
		"profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"},
	{"no initial backoff", "a backoff of zero would never grow", head + "podInitialBackoffSeconds: 0\n", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"},
	{"initial backoff above the default maximum", "the maximum is 10 s", head + "podInitialBackoffSeconds: 20\n",
		"podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds"},
	{"no maximum backoff", "0 cannot be configured", head + "podMaxBackoffSeconds: 0\n",
		"podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to PodInitialBackoffSeconds"},
	{"second profile without a name", "the name is defaulted only for a single one", head + "profiles: [{schedulerName: a}, {}]\n",
		"profiles[1].schedulerName: Required value"},
	{"two profiles of one name", "v1.36 prints {} for the value", head + "profiles: [{schedulerName: a}, {schedulerName: a}]\n",
		"profiles[1].schedulerName: Duplicate value: {}"},
	{"everything at once", "all errors are collected, in this order", head + `clientConnection: {burst: -1}
leaderElection: {leaderElect: true, leaseDuration: 1s, renewDeadline: 5s}
parallelism: 0
percentageOfNodesToScore: 101
podInitialBackoffSeconds: 0
podMaxBackoffSeconds: -1
profiles: [{schedulerName: a, percentageOfNodesToScore: -1}, {schedulerName: a}]
extenders: [{prioritizeVerb: p}]
`, "[clientConnection.burst: Invalid value: -1: must be non-negative, " +
		"leaderElection.leaseDuration: Invalid value: \"5s\": must be greater than `RenewDeadline`, " +
		"parallelism: Invalid value: 0: should be an integer value greater than zero, " +
		"profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100], " +
		"profiles[1].schedulerName: Duplicate value: {}, " +
		"percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100], " +
		"podInitialBackoffSeconds: Invalid value: 0: must be greater than 0, " +
		"podMaxBackoffSeconds: Invalid value: -1: must be greater than or equal to PodInitialBackoffSeconds, " +
		"extenders[0].weight: Invalid value: 0: must have a positive weight applied to it]"},
	{"arguments twice", "the second would win", profileOf("pluginConfig: [{name: InterPodAffinity}, {name: InterPodAffinity}]"),
		`profiles[0].pluginConfig[1]: Duplicate value: "InterPodAffinity"`},
	{"removed plugin enabled", "v1.36 has no such plugin", profileOf("plugins: {filter: {enabled: [{name: EBSLimits}]}}"),
		`profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")`},
	{"removed plugin configured", "arguments of a plugin that v1.36 does not have", profileOf("pluginConfig: [{name: CinderLimits}]"),
		`profiles[0].pluginConfig[0]: Invalid value: "CinderLimits": was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")`},
	{"removed plugin in multiPoint", "found only when starting", profileOf("plugins: {multiPoint: {enabled: [{name: AzureDiskLimits}]}}"),
		starting + `PreFilterPlugin "AzureDiskLimits" does not exist`},
	{"two queue orders", "a queue has one order", profileOf("plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}"),
		"profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled"},
	{"queue order of one profile alone", "all pods wait in one queue", head + `profiles:
- schedulerName: a
- {schedulerName: b, plugins: {queueSort: {enabled: [{name: Other}], disabled: [{name: PrioritySort}]}}}
`, `profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"Other","Weight":0}],"Disabled":[{"Name":"PrioritySort","Weight":0}]}: must be the same for all profiles`},
	{"queue order with other arguments", "all profiles share one queue", head + `profiles:
- {schedulerName: a, plugins: {queueSort: {enabled: [{name: InterPodAffinity}]}}}
- schedulerName: b
  plugins: {queueSort: {enabled: [{name: InterPodAffinity}]}}
  pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 3}}]
`, `profiles[1].pluginConfig.args: Invalid value: {"HardPodAffinityWeight":3,"IgnorePreferredTermsOfExistingPods":false}: queueSort must be the same for all profiles`},

	{"added affinity", "the path leads to the operator", profileOf("pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Foo}]}]}}}}]"),
		`profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Foo": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"`},
	{"default constraints", "all of them", profileOf(`pluginConfig: [{name: PodTopologySpread, args: {defaultingType: Foo, defaultConstraints: [
  {maxSkew: 0, topologyKey: zone, whenUnsatisfiable: X, labelSelector: {}}, {maxSkew: 1}, {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: X}]}}]`),
		`[profiles[0].pluginConfig[0].args.defaultingType: Unsupported value: "Foo": supported values: "System", "List", ` +
			`profiles[0].pluginConfig[0].args.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), ` +
			`profiles[0].pluginConfig[0].args.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway", ` +
			`profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod, ` +
			`profiles[0].pluginConfig[0].args.defaultConstraints[1].topologyKey: Required value: can not be empty, ` +
			`profiles[0].pluginConfig[0].args.defaultConstraints[1].whenUnsatisfiable: Required value: can not be empty, ` +
			`profiles[0].pluginConfig[0].args.defaultConstraints[2].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway", ` +
			`profiles[0].pluginConfig[0].args.defaultConstraints[2]: Duplicate value: "{zone, X}"]`},
	{"System with constraints", "the system's defaults exclude a list", profileOf("pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}]"),
		`profiles[0].pluginConfig[0].args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty`},
	{"hard affinity weight", "a weight is 0 to 100", profileOf("pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]"),
		"profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"},
	{"no candidates for preemption", "a search needs candidates", profileOf("pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]"),
		"[profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute, " +
			"profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage]"},
	{"candidates out of range", "both bounds are checked", profileOf("pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1}}]"),
		"[profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100], " +
			"profiles[0].pluginConfig[0].args.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)]"},
	{"balanced resources", "weights are 1 and names are unique there", profileOf("pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu, weight: 2}, {name: cpu}]}}]"),
		`[profiles[0].pluginConfig[0].args.resources[0].weight: Invalid value: 2: must be 1, profiles[0].pluginConfig[0].args.resources[1].name: Duplicate value: "cpu"]`},
	{"volume binding", "a shape has scores from 0 to 10", profileOf("pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -3, shape: [{utilization: 0, score: 11}]}}]"),
		"[profiles[0].pluginConfig[0].args.bindTimeoutSeconds: Invalid value: -3: invalid BindTimeoutSeconds, should not be a negative value, " +
			"profiles[0].pluginConfig[0].args.shape[0].score: Invalid value: 11: not in valid range [0, 10]]"},
	{"dynamic resources", "timeouts have a least value", profileOf("pluginConfig: [{name: DynamicResources, args: {filterTimeout: -1s, bindingTimeout: 999ms}}]"),
		`[profiles[0].pluginConfig[0].args.filterTimeout: Invalid value: "-1s": must be zero or positive, profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: "999ms": must be at least 1 second]`},
	{"strategy without a type", "found only when the plugin is made; the type has no default once there is a strategy", profileOf("pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {}}}]"),
		starting + `initializing plugin "NodeResourcesFit": scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"`},
	{"fit arguments", "several come as a list", profileOf("pluginConfig: [{name: NodeResourcesFit, args: {ignoredResourceGroups: [example.com/y], scoringStrategy: {type: Foo, resources: [{name: cpu, weight: 101}]}}}]"),
		starting + `initializing plugin "NodeResourcesFit": [ignoredResourceGroups[0]: Invalid value: "example.com/y": resource group name can't contain '/', ` +
			`scoringStrategy.type: Unsupported value: "Foo": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", ` +
			`scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]]`},

	{"extender weight", "a score needs a weight", head + "extenders: [{prioritizeVerb: p}]\n", "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"},
	{"two binders", "one extender binds", head + "extenders: [{bindVerb: b}, {bindVerb: c}]\n",
		`extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind`},
	{"managed resources", "an extended resource belongs to one extender", head + "extenders: [{managedResources: [{name: cpu}, {name: a.b/x}]}, {managedResources: [{name: a.b/x}]}]\n",
		`[extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name, extenders[1].managedResources[0].name: Invalid value: "a.b/x": duplicate extender managed resource name]`},
	{"nobody fits what extenders ignore", "the ignored resources go into the arguments of NodeResourcesFit", head + `extenders: [{managedResources: [{name: a.b/x, ignoredByScheduler: true}]}]
profiles: [{plugins: {multiPoint: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}}}]
`, "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"},

	{"unknown plugin", "only registered plugins can run", profileOf("plugins: {filter: {enabled: [{name: Nope}]}}"), starting + `FilterPlugin "Nope" does not exist`},
	{"unknown plugin in multiPoint", "the first point of all", profileOf("plugins: {multiPoint: {enabled: [{name: Foo}]}}"), starting + `PreFilterPlugin "Foo" does not exist`},
	{"wrong point", "a plugin runs where it has the method", profileOf("plugins: {filter: {enabled: [{name: ImageLocality}]}}"), starting + `plugin "ImageLocality" does not extend FilterPlugin plugin`},
	{"twice at a point", "a plugin runs once at a point", profileOf("plugins: {filter: {enabled: [{name: NodePorts}, {name: NodePorts}]}}"), starting + `plugin "NodePorts" already registered as "FilterPlugin"`},
	{"twice in multiPoint", "the same there", profileOf("plugins: {multiPoint: {enabled: [{name: NodePorts}, {name: NodePorts}]}}"), starting + `plugin "NodePorts" already registered as "PreFilterPlugin"`},
	{"nothing binds", "a pod that is placed must be bound", profileOf("plugins: {bind: {disabled: [{name: '*'}]}}"), starting + `at least one bind plugin is needed for profile with scheduler name "default-scheduler"`},
	{"nothing binds by name", "the same with the name instead of *", profileOf("plugins: {bind: {disabled: [{name: DefaultBinder}]}}"), starting + `at least one bind plugin is needed for profile with scheduler name "default-scheduler"`},
	{"no queue order", "the queue needs an order", profileOf("plugins: {queueSort: {disabled: [{name: '*'}]}}"), starting + `only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0`},
	{"nothing at all", "no queue order is the first thing missed", profileOf("plugins: {multiPoint: {disabled: [{name: '*'}]}}"), starting + `only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0`},
	{"negative weight", "it counts as an overflow unless it comes last", profileOf("plugins: {score: {enabled: [{name: ImageLocality, weight: -3}]}}"), starting + "score plugins: total score of Score plugins could overflow"},
	{"order of what is found", "arguments, points, multiPoint, queue order, binding, weights", profileOf(`plugins: {multiPoint: {enabled: [{name: Nope}]}, score: {enabled: [{name: ImageLocality, weight: -1}, {name: NodeName}]}, bind: {disabled: [{name: '*'}]}}`),
		starting + `plugin "NodeName" does not extend ScorePlugin plugin`},
}

// profileOf returns a document with one profile, given as the text below "- ".
func profileOf(body string) string { return head + "profiles:\n- " + body + "\n" }

// Documents that are refused when they are read are refused when they are built, and with the same error when they are written and
// read again.
func TestRefusals(t *testing.T) {
	testkit.Run(t, refusals, func(t *testing.T, c refusal) {
		_, err := Load([]byte(c.document))
		require.EqualError(t, err, c.err)
		document, err := Decode([]byte(c.document))
		if err != nil {
			return // there is nothing to write
		}
		_, err = Loader{}.Build(document)
		require.Error(t, err)
		refused := err.Error()
		out, err := Encode(document)
		require.NoError(t, err)
		_, err = Load(out)
		require.EqualError(t, err, refused, "written as %s", out)
	})
}
