package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/spread"
)

// This file has the configurations of Kubernetes' documentation and of articles about it, word for word. It checks that
// they do what the surrounding text says.

const v1beta3Head = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"

const addedAffinity = v1beta3Head + `
profiles:
  - schedulerName: default-scheduler
  - schedulerName: foo-scheduler
    pluginConfig:
      - name: NodeAffinity
        args:
          addedAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
              - matchExpressions:
                - key: scheduler-profile
                  operator: In
                  values:
                  - foo
`

const zoneDefaults = v1beta3Head + `
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: PodTopologySpread
        args:
          defaultConstraints:
            - maxSkew: 1
              topologyKey: topology.kubernetes.io/zone
              whenUnsatisfiable: ScheduleAnyway
          defaultingType: List
`

const noDefaults = v1beta3Head + `
profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: PodTopologySpread
        args:
          defaultConstraints: []
          defaultingType: List
`

const mostAllocated = v1beta3Head + `profiles:
- pluginConfig:
  - args:
      scoringStrategy:
        resources:
        - name: cpu
          weight: 1
        - name: memory
          weight: 1
        - name: intel.com/foo
          weight: 3
        - name: intel.com/bar
          weight: 3
        type: MostAllocated
    name: NodeResourcesFit
`

const capacityRatio = v1beta3Head + `profiles:
- pluginConfig:
  - args:
      scoringStrategy:
        resources:
        - name: intel.com/foo
          weight: 3
        - name: intel.com/bar
          weight: 3
        requestedToCapacityRatio:
          shape:
          - utilization: 0
            score: 0
          - utilization: 100
            score: 10
        type: RequestedToCapacityRatio
    name: NodeResourcesFit
`

const alpha = `apiVersion: kubescheduler.config.k8s.io/v1alpha1
kind: KubeSchedulerConfiguration
algorithmSource:
  provider: DefaultProvider

...

percentageOfNodesToScore: 50
`

func node(name string, labels map[string]string) *v1.Node {
	list := v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("10")}
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Status: v1.NodeStatus{Allocatable: list, Capacity: list}}
}

func pod(name string, requests ...string) *v1.Pod {
	list := v1.ResourceList{}
	for _, r := range requests {
		name, quantity, _ := strings.Cut(r, "=")
		list[v1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid-" + "0"},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: list}}}},
	}
}

// decide makes the decision of one profile for one pod.
func decide(t *testing.T, p placement.Profile, pod *v1.Pod, nodes ...*v1.Node) placement.Decision {
	t.Helper()
	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes})
	require.NoError(t, err)
	plan, err := placement.New(snapshot, p)
	require.NoError(t, err)
	return plan.Decide(pod, placement.Options{})
}

// "Node affinity per scheduling profile": pods of foo-scheduler must match the added terms and their own.
func TestDocumentAddedAffinity(t *testing.T) {
	c, err := Load([]byte(addedAffinity))
	require.NoError(t, err)
	require.Nil(t, c.Profile("other"))
	nodes := []*v1.Node{node("a", nil), node("b", map[string]string{"scheduler-profile": "foo"})}
	require.Equal(t, 2, decide(t, c.Profile("default-scheduler").Placement, pod("p"), nodes...).Feasible)
	d := decide(t, c.Profile("foo-scheduler").Placement, pod("p"), nodes...)
	require.Equal(t, "b", d.Node)
	require.Equal(t, 1, d.Feasible)
	own := pod("p")
	own.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	require.False(t, decide(t, c.Profile("foo-scheduler").Placement, own, nodes...).Placed(), "the pod's own affinity must hold as well")
}

// "Cluster-level default constraints": the list replaces the built-in constraints.
func TestDocumentDefaultConstraints(t *testing.T) {
	c, err := Load([]byte(zoneDefaults))
	require.NoError(t, err)
	require.Equal(t, spread.Defaults{Type: spread.ListDefaulting, Constraints: []v1.TopologySpreadConstraint{
		{MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: v1.ScheduleAnyway},
	}}, c.Profiles[0].Placement.Filter("PodTopologySpread").Args.(spread.Options).Defaults)
}

// "Built-in default constraints" and how they are disabled.
func TestDocumentNoDefaultConstraints(t *testing.T) {
	c, err := Load([]byte(noDefaults))
	require.NoError(t, err)
	d := c.Profiles[0].Placement.Filter("PodTopologySpread").Args.(spread.Options).Defaults
	require.Equal(t, spread.ListDefaulting, d.Type)
	require.Empty(t, d.Constraints)
	c, err = Load([]byte(head))
	require.NoError(t, err)
	d = c.Profiles[0].Placement.Filter("PodTopologySpread").Args.(spread.Options).Defaults
	require.Equal(t, spread.Defaults{Type: "System"}, d, "without a configuration there are some")
}

// "Enabling bin packing using the MostAllocated strategy": the fuller node wins.
func TestDocumentMostAllocated(t *testing.T) {
	c, err := Load([]byte(mostAllocated))
	require.NoError(t, err)
	fit := c.Profiles[0].Placement.Filter("NodeResourcesFit").Args.(placement.FitOptions)
	require.Equal(t, &score.Strategy{Type: score.MostAllocated, Resources: []score.Resource{
		{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}, {Name: "intel.com/foo", Weight: 3}, {Name: "intel.com/bar", Weight: 3},
	}}, fit.Args.ScoringStrategy)
	require.Equal(t, "default-scheduler", c.Profiles[0].SchedulerName, "a single profile needs no name")
	require.Equal(t, "big", packed(t, `{}`), "by default the emptier node wins")
	require.Equal(t, "small", packed(t, `{scoringStrategy: {type: MostAllocated}}`))
}

// packed returns the node of a pod that would fill half of one node and a quarter of the other.
func packed(t *testing.T, args string) string {
	t.Helper()
	c, err := Load([]byte(profileOf("{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}}, pluginConfig: [{name: NodeResourcesFit, args: " + args + "}]}")))
	require.NoError(t, err)
	big := node("big", nil)
	big.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("10")}
	return decide(t, c.Profiles[0].Placement, pod("p", "cpu=2", "memory=4Gi"), big, node("small", nil)).Node
}

// "Enabling bin packing using RequestedToCapacityRatio".
func TestDocumentRequestedToCapacityRatio(t *testing.T) {
	c, err := Load([]byte(capacityRatio))
	require.NoError(t, err)
	fit := c.Profiles[0].Placement.Filter("NodeResourcesFit").Args.(placement.FitOptions)
	require.Equal(t, &score.Strategy{
		Type:                     score.RequestedToCapacityRatio,
		Resources:                []score.Resource{{Name: "intel.com/foo", Weight: 3}, {Name: "intel.com/bar", Weight: 3}},
		RequestedToCapacityRatio: &score.Ratio{Shape: []score.Point{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}}},
	}, fit.Args.ScoringStrategy)
	require.Equal(t, "small", packed(t, `{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}`))
	require.Equal(t, "big", packed(t, `{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]}}}`),
		"the reversed shape spreads")
}

// "The score of the reversed shape": 100 is out of range in every release.
func TestDocumentReversedShape(t *testing.T) {
	_, err := Load([]byte(profileOf(`pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 100}, {utilization: 100, score: 0}]}}}}]`)))
	require.EqualError(t, err, starting+`initializing plugin "NodeResourcesFit": scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 100: not in valid range [0, 10]`)
}

// Documents of v1beta3 mean the same as documents of v1.
func TestDocumentsAsV1(t *testing.T) {
	for _, document := range []string{addedAffinity, zoneDefaults, noDefaults, mostAllocated, capacityRatio} {
		old, err := Load([]byte(document))
		require.NoError(t, err)
		now, err := Load([]byte(strings.Replace(document, "/v1beta3", "/v1", 1)))
		require.NoError(t, err)
		require.Len(t, old.Profiles[0].Warnings, 1, "that it is v1beta3")
		old.Profiles[0].Warnings = nil
		argsOnly(now)
		argsOnly(old)
		require.Equal(t, now, old)
	}
	old, err := Load([]byte(v1beta3Head + "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {apiVersion: kubescheduler.config.k8s.io/v1beta3, kind: InterPodAffinityArgs, hardPodAffinityWeight: 7}}]}]"))
	require.NoError(t, err)
	require.EqualValues(t, 7, *old.Profiles[0].Args["InterPodAffinity"].(*configv1.InterPodAffinityArgs).HardPodAffinityWeight)
	_, err = Load([]byte(profileOf("pluginConfig: [{name: InterPodAffinity, args: {apiVersion: kubescheduler.config.k8s.io/v1beta3, kind: InterPodAffinityArgs}}]")))
	require.EqualError(t, err, `decoding .profiles[0].pluginConfig[0]: decoding args for plugin InterPodAffinity: no kind "InterPodAffinityArgs" is registered for version "kubescheduler.config.k8s.io/v1beta3" in scheme "pkg/runtime/scheme.go:111"`,
		"in a v1 document they are refused")
}

// "Scheduler performance tuning", the example with 50 %: v1alpha1 is not read any more.
func TestDocumentPercentage(t *testing.T) {
	_, err := Load([]byte(alpha))
	var old *OldVersionError
	require.True(t, errors.As(err, &old))
	require.EqualError(t, old.Err, `no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1alpha1" in scheme "pkg/runtime/scheme.go:111"`)
	require.Equal(t, head+"percentageOfNodesToScore: 50\n"+weighed, string(old.Equivalent))
	require.Empty(t, old.Notes)
	require.EqualError(t, err, old.Err.Error()+"\nIn kubescheduler.config.k8s.io/v1 it is:\n"+strings.TrimSpace(head+"percentageOfNodesToScore: 50\n"+weighed))
	require.ErrorIs(t, err, old.Err)
	c, err := Load(old.Equivalent)
	require.NoError(t, err)
	require.EqualValues(t, 50, c.PercentageOfNodesToScore)
	require.EqualValues(t, 50, c.Profiles[0].Placement.Sampling.Global)
}

// "podInitialBackoffSeconds" and "podMaxBackoffSeconds": null means the default.
func TestDocumentBackoff(t *testing.T) {
	c, err := Load([]byte(head + "podInitialBackoffSeconds: null\npodMaxBackoffSeconds: null\n"))
	require.NoError(t, err)
	require.Equal(t, "1s 10s", c.PodInitialBackoff.String()+" "+c.PodMaxBackoff.String())
	c, err = Load([]byte(head + "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 9223372036854775807\n"))
	require.NoError(t, err)
	require.Equal(t, "2s", c.PodInitialBackoff.String())
	require.Positive(t, c.PodMaxBackoff, "too large for a duration: for ever")
}

// argsOnly keeps only name and arguments of every plugin, so that profiles can be compared.
func argsOnly(c *Configuration) {
	only := func(p *placement.Plugin) *placement.Plugin { return &placement.Plugin{Name: p.Name, Args: p.Args} }
	for k := range c.Profiles {
		p := &c.Profiles[k]
		for i, f := range p.Placement.Filters {
			p.Placement.Filters[i] = only(f)
		}
		for i, w := range p.Placement.Scores {
			p.Placement.Scores[i].Plugin = only(w.Plugin)
		}
		for name, made := range p.made {
			p.made[name] = only(made.(*placement.Plugin))
		}
	}
}

// printedPolicy is the policy of "Bin packing of extended resources" to the letter: lines that leave something out, and a
// comma too many.
const printedPolicy = `{
    "kind" : "Policy",
    "apiVersion" : "v1",

    ...

    "priorities" : [

       ...

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

// asV1 loads the document of v1 that an old document becomes, and returns the notes.
func asV1(t *testing.T, document string) (*Configuration, *OldVersionError) {
	t.Helper()
	_, err := Load([]byte(document))
	var old *OldVersionError
	require.ErrorAs(t, err, &old)
	c, err := Load(old.Equivalent)
	require.NoError(t, err, string(old.Equivalent))
	return c, old
}

func TestDocumentPolicyAsPrinted(t *testing.T) {
	c, old := asV1(t, printedPolicy)
	require.Equal(t, []string{"priority RequestedToCapacityRatioPriority: utilization is requested*100/allocatable since v1.33"}, old.Notes)
	require.Equal(t, "NodeResourcesFit=2", text(c.Profiles[0].Plugins[Score]))
}

// The document reverses the shape with scores up to 100. Its own shape goes to 10.
func TestDocumentReversedPolicy(t *testing.T) {
	reversed := strings.NewReplacer(`"utilization": 0, "score": 0`, `"utilization": 0, "score": 100`, `"utilization": 100, "score": 10`, `"utilization": 100, "score": 0`).Replace(printedPolicy)
	c, old := asV1(t, reversed)
	require.Equal(t, []string{
		"priority RequestedToCapacityRatioPriority: utilization is requested*100/allocatable since v1.33",
		"priority RequestedToCapacityRatioPriority: the scores of its shape are divided by 10: they go from 0 to 10, not to 100",
	}, old.Notes)
	shape := c.Profiles[0].Placement.Filter("NodeResourcesFit").Args.(placement.FitOptions).Args.ScoringStrategy.RequestedToCapacityRatio.Shape
	require.Equal(t, []score.Point{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}}, shape)
}

// The document calls CPU and Memory the default resources. Both names match nothing.
func TestDocumentCPUAndMemory(t *testing.T) {
	c, old := asV1(t, strings.NewReplacer("intel.com/foo", "CPU", "intel.com/bar", "Memory").Replace(printedPolicy))
	require.Contains(t, old.Notes, `priority RequestedToCapacityRatioPriority: resources[0].name: Invalid value: "CPU": matches no resource: names are case-sensitive, use "cpu"`)
	want := []string{
		`pluginConfig[0].args.scoringStrategy.resources[0].name: Invalid value: "CPU": matches no resource: names are case-sensitive, use "cpu"`,
		`pluginConfig[0].args.scoringStrategy.resources[1].name: Invalid value: "Memory": matches no resource: names are case-sensitive, use "memory"`,
	}
	require.Equal(t, want, c.Profiles[0].Warnings)

	c, err := Load([]byte(profileOf("pluginConfig: [{args: {}}, {name: Nope, args: {}}, {name: NodeResourcesBalancedAllocation, args: {resources: [{name: CPU, weight: 1}]}}]")))
	require.NoError(t, err)
	require.Equal(t, []string{
		"pluginConfig[0].name: Required value: without a name the arguments are no plugin's",
		`pluginConfig[1].name: Invalid value: "Nope": there is no such plugin, so the arguments count for nothing`,
		`pluginConfig[2].args.resources[0].name: Invalid value: "CPU": matches no resource: names are case-sensitive, use "cpu"`,
	}, c.Profiles[0].Warnings)
}

// The test has the v1.28 plugins of the queue article in a document of that time: each plugin is explained, and the file is
// not taken for v1.
func TestDocumentEBSLimits(t *testing.T) {
	c, old := asV1(t, v1beta3Head+"profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}, score: {enabled: [{name: SelectorSpread, weight: 1}]}}}]")
	require.EqualError(t, old.Err, `no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3" in scheme "pkg/runtime/scheme.go:111"`)
	require.Equal(t, []string{
		"plugins.filter.enabled: EBSLimits: NodeVolumeLimits does it; limits come from the node's CSINode; volumes of the in-tree kind count as those of its CSI driver",
		"plugins.score.enabled: SelectorSpread: removed in v1.29; " + spreadNote,
	}, old.Notes)
	require.True(t, c.Profiles[0].Plugins.Has(Filter, "NodeVolumeLimits"))
	require.True(t, c.Profiles[0].Plugins.Has(Score, "PodTopologySpread"))

	loaded, err := Load([]byte(mostAllocated))
	require.NoError(t, err)
	require.Equal(t, []string{"kubescheduler.config.k8s.io/v1beta3 is read as kubescheduler.config.k8s.io/v1, where it means the same; kube-scheduler refuses it since v1.29"}, loaded.Profiles[0].Warnings)
}

// A document of the time of SelectorSpread disables it: there is nothing to disable any more.
func TestDocumentDisabledSelectorSpread(t *testing.T) {
	c, err := Load([]byte(v1beta3Head + "profiles: [{plugins: {score: {disabled: [{name: SelectorSpread}, {name: ImageLocality}]}, multiPoint: {disabled: [{name: Nope}]}}}]"))
	require.NoError(t, err)
	require.Equal(t, []string{
		`plugins.score.disabled[0].name: Invalid value: "SelectorSpread": there is no such plugin, so nothing is disabled: removed in v1.29; ` + spreadNote,
		`plugins.multiPoint.disabled[0].name: Invalid value: "Nope": there is no such plugin, so nothing is disabled`,
	}, c.Profiles[0].Warnings[1:])
	require.False(t, c.Profiles[0].Plugins.Has(Score, "ImageLocality"))
}
