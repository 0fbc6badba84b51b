package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/score"
)

// Every missing field has v1.36's default.
func TestDefaults(t *testing.T) {
	c, err := Load([]byte(head))
	require.NoError(t, err)
	require.Equal(t, 16, c.Parallelism)
	require.Zero(t, c.PercentageOfNodesToScore)
	require.Equal(t, "1s 10s", fmt.Sprint(c.PodInitialBackoff, " ", c.PodMaxBackoff))
	require.Empty(t, c.Extenders)
	require.Len(t, c.Profiles, 1)
	p := c.Profile("default-scheduler")
	require.NotNil(t, p)
	require.Nil(t, p.Placement.Sampling.Percentage)
	require.Empty(t, p.Warnings)
	got, err := json.Marshal(p.Args)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"DefaultPreemption": {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100},
		"DynamicResources": {"filterTimeout": "10s", "bindingTimeout": "10m0s"},
		"InterPodAffinity": {"hardPodAffinityWeight": 1, "ignorePreferredTermsOfExistingPods": false},
		"NodeAffinity": {},
		"NodeResourcesBalancedAllocation": {"resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]},
		"NodeResourcesFit": {"scoringStrategy": {"type": "LeastAllocated", "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}},
		"PodTopologySpread": {"defaultingType": "System"},
		"VolumeBinding": {"bindTimeoutSeconds": 600, "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]}}`, string(got))
	ten, hundred := int32(10), int32(100)
	require.Equal(t, &preemption.CandidateArgs{MinPercentage: &ten, MinAbsolute: &hundred}, p.Candidates)
	d := c.Document
	require.Equal(t, "true leases kube-system kube-scheduler 15s 10s 2s", fmt.Sprint(*d.LeaderElection.LeaderElect, " ", d.LeaderElection.ResourceLock, " ",
		d.LeaderElection.ResourceNamespace, " ", d.LeaderElection.ResourceName, " ", d.LeaderElection.LeaseDuration.Duration, " ", d.LeaderElection.RenewDeadline.Duration, " ", d.LeaderElection.RetryPeriod.Duration))
	require.Equal(t, "50 100 application/vnd.kubernetes.protobuf", fmt.Sprint(d.ClientConnection.QPS, " ", d.ClientConnection.Burst, " ", d.ClientConnection.ContentType))
	require.True(t, *d.EnableProfiling)
	require.False(t, d.DelayCacheUntilActive)
}

// An empty list of profiles means the default profile, and so does a list with one null profile. Resources without weight
// have weight 1.
func TestSmallDefaults(t *testing.T) {
	for _, document := range []string{head + "profiles: []\n", head + "profiles: null\n", head + "profiles: [null]\n", head + "---\nignored: 1\n"} {
		c, err := Load([]byte(document))
		require.NoError(t, err)
		require.Equal(t, "default-scheduler", c.Profiles[0].SchedulerName)
	}
	c, err := Load([]byte(profileOf("pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu}, {name: cpu, weight: 0}]}}}, {name: InterPodAffinity, args: null}, {name: '', args: {}}]")))
	require.NoError(t, err, "resources may repeat")
	require.Equal(t, []score.Resource{{Name: "cpu", Weight: 1}, {Name: "cpu", Weight: 1}},
		c.Profiles[0].Placement.Filter("NodeResourcesFit").Args.(placement.FitOptions).Args.ScoringStrategy.Resources)
	require.EqualValues(t, 1, *c.Profiles[0].Args["InterPodAffinity"].(*configv1.InterPodAffinityArgs).HardPodAffinityWeight)
}

// percentageOfNodesToScore: an explicit 0 in a profile asks for the adaptive share, whatever the document says.
func TestPercentages(t *testing.T) {
	c, err := Load([]byte(head + "percentageOfNodesToScore: 70\nprofiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 0}, {schedulerName: c, percentageOfNodesToScore: 30}]\n"))
	require.NoError(t, err)
	zero, thirty := int32(0), int32(30)
	for k, want := range []*int32{nil, &zero, &thirty} {
		require.Equal(t, want, c.Profiles[k].Placement.Sampling.Percentage)
		require.EqualValues(t, 70, c.Profiles[k].Placement.Sampling.Global)
	}
}

// The resources that extenders manage replace the ignored resources of every profile.
func TestIgnoredByScheduler(t *testing.T) {
	c, err := Load([]byte(head + `extenders:
- {urlPrefix: "http://x", managedResources: [{name: example.com/x, ignoredByScheduler: true}, {name: example.com/y}]}
profiles: [{schedulerName: a, pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [a.b/c], ignoredResourceGroups: [d.e]}}]}, {schedulerName: b}]
`))
	require.NoError(t, err)
	require.Len(t, c.Extenders, 1)
	for k, groups := range [][]string{{"d.e"}, nil} {
		fit := c.Profiles[k].Placement.Filter("NodeResourcesFit").Args.(placement.FitOptions)
		require.Equal(t, []string{"example.com/x"}, fit.Fit.IgnoredResources)
		require.Equal(t, groups, fit.Fit.IgnoredResourceGroups)
	}
}

// A profile whose postFilter lacks DefaultPreemption does not preempt. Of the arguments of plugins that do not run, only
// the form is checked.
func TestPluginsThatDoNotRun(t *testing.T) {
	c, err := Load([]byte(profileOf("{plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}, multiPoint: {disabled: [{name: NodeResourcesFit}]}}, pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {}}}, {name: DefaultBinder, args: {a: 4}}]}")))
	require.NoError(t, err)
	require.Nil(t, c.Profiles[0].Candidates)
	require.Nil(t, c.Profiles[0].Placement.Filter("NodeResourcesFit"))
	require.NotContains(t, c.Profiles[0].Args, "NodeResourcesFit")
	require.Equal(t, `{"a":4}`, string(c.Profiles[0].Args["DefaultBinder"].(*runtime.Unknown).Raw))
}

// refuse is a user's plugin that rejects nodes.
func refuse() *placement.Plugin {
	return &placement.Plugin{Name: "Refuse", Filter: placement.DefaultProfile().Filter("NodeName").Filter}
}

func TestOwnPlugins(t *testing.T) {
	var seen []string
	images := placement.DefaultProfile().Scores[8].Plugin
	require.Equal(t, "ImageLocality", images.Name)
	l := Loader{Plugins: map[string]Plugin{
		"Refuse": {
			Points: []Point{PreFilter, Filter, Score, QueueSort},
			Filter: func(args []byte) (*placement.Plugin, error) {
				seen = append(seen, string(args))
				if string(args) == `{"fail":true}` {
					return nil, errors.New("by the plugin's arguments")
				}
				return refuse(), nil
			},
			Score: func([]byte) (*placement.Plugin, error) { return images, nil },
		},
		"Silent": {Points: []Point{Permit, Filter, Score}},
	}}
	c, err := l.Load([]byte(profileOf("{plugins: {multiPoint: {enabled: [{name: Silent}]}, filter: {enabled: [{name: Refuse}]}, score: {enabled: [{name: Refuse, weight: 4}]}}, pluginConfig: [{name: Refuse, args: {max: 3}}]}")))
	require.NoError(t, err)
	p := c.Profiles[0]
	require.Equal(t, defaultLists[Filter]+" Silent Refuse", text(p.Plugins[Filter]))
	require.Equal(t, defaultLists[Score]+" Silent=1 Refuse=4", text(p.Plugins[Score]))
	require.Equal(t, "Silent", text(p.Plugins[Permit]))
	require.Equal(t, "Refuse", p.Placement.Filters[len(p.Placement.Filters)-1].Name, "the caller runs Silent")
	last := p.Placement.Scores[len(p.Placement.Scores)-1]
	require.Same(t, images, last.Plugin)
	require.EqualValues(t, 4, last.Weight)
	require.Equal(t, []string{`{"max":3}`}, seen)

	_, err = l.Load([]byte(profileOf("{plugins: {filter: {enabled: [{name: Refuse}]}}, pluginConfig: [{name: Refuse, args: {fail: true}}]}")))
	require.EqualError(t, err, starting+`initializing plugin "Refuse": by the plugin's arguments`)
	_, err = l.Load([]byte(head + `profiles:
- schedulerName: a
- {schedulerName: b, plugins: {multiPoint: {disabled: [{name: "*"}], enabled: [{name: Refuse}, {name: DefaultBinder}]}}}
`))
	require.EqualError(t, err, `initializing profiles: different queue sort plugins for profile "b": "Refuse", first: "PrioritySort"`)
}

// Build does not change its argument, and its result shares no memory with the argument.
func TestBuildIsPure(t *testing.T) {
	document, err := Decode([]byte(head + `extenders: [{managedResources: [{name: a.b/x, ignoredByScheduler: true}]}]
profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 3}]}}, pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]`))
	require.NoError(t, err)
	before := document.DeepCopy()
	a, err := Loader{}.Build(document)
	require.NoError(t, err)
	require.Equal(t, before, document)
	again := document.DeepCopy()
	SetDefaults(again)
	require.Equal(t, before, again, "the document has its defaults")
	document.Profiles[0].PluginConfig[0].Args.Object.(*configv1.NodeResourcesFitArgs).ScoringStrategy.Type = "Foo"
	*document.Profiles[0].Plugins.Score.Enabled[0].Weight = 9
	b, err := Loader{}.Build(before)
	require.NoError(t, err)
	argsOnly(a)
	argsOnly(b)
	require.Equal(t, b, a)
}

// The time-outs of DynamicResources come from its arguments, by default v1.37's. A search takes a tenth of a long filterTimeout.
func TestTimeoutsOfDevices(t *testing.T) {
	for text, want := range map[string]tracker.Options{
		"{}": {FilterTimeout: time.Second, BindingTimeout: 10 * time.Minute},
		"{pluginConfig: [{name: DynamicResources, args: {filterTimeout: 1m, bindingTimeout: 9s}}]}":    {FilterTimeout: 6 * time.Second, BindingTimeout: 9 * time.Second},
		"{pluginConfig: [{name: DynamicResources, args: {filterTimeout: 3s, bindingTimeout: 9s}}]}":    {FilterTimeout: time.Second, BindingTimeout: 9 * time.Second},
		"{pluginConfig: [{name: DynamicResources, args: {filterTimeout: 300ms, bindingTimeout: 9s}}]}": {FilterTimeout: 300 * time.Millisecond, BindingTimeout: 9 * time.Second},
		"{pluginConfig: [{name: DynamicResources, args: {filterTimeout: 0s, bindingTimeout: 9s}}]}":    {BindingTimeout: 9 * time.Second},
	} {
		c, err := Load([]byte(profileOf(text)))
		require.NoError(t, err)
		require.Equal(t, want, c.Profiles[0].Placement.Filter("DynamicResources").Args, text)
	}
}

// Load reads what Encode writes and gets the same configuration.
func TestEncode(t *testing.T) {
	c, err := Load([]byte(profileOf("{pluginConfig: [{name: Custom, args: {a: 1}}, {name: DynamicResources, args: {filterTimeout: 3s}}]}")))
	require.NoError(t, err)
	before := c.Document.DeepCopy()
	out, err := Encode(c.Document)
	require.NoError(t, err)
	require.Equal(t, before, c.Document)
	again, err := Load(out)
	require.NoError(t, err, string(out))
	twice, err := Encode(again.Document)
	require.NoError(t, err)
	require.Equal(t, string(out), string(twice))
	_, err = Encode(nil)
	require.EqualError(t, err, "no configuration")
}
