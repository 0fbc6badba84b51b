package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// document returns a configuration file. Most files are right; a few have one part that a strict reader refuses.
func document(b *testkit.Bytes) string {
	var out strings.Builder
	out.WriteString(head)
	field := func(name string, values ...string) {
		if v := testkit.Pick(b, append([]string{""}, values...)...); v != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	field("parallelism", "1", "16", "300")
	field("percentageOfNodesToScore", "0", "40", "100")
	field("podInitialBackoffSeconds", "1", "3", "10")
	field("podMaxBackoffSeconds", "10", "100")
	field("leaderElection", "{leaderElect: false}", "{leaderElect: true, resourceName: x}")
	field("clientConnection", "{qps: 5}", "{burst: 7, contentType: application/json}")
	if b.OneIn(3) {
		fmt.Fprintf(&out, "extenders: [{urlPrefix: 'http://%s', filterVerb: f, %s}]\n", testkit.Pick(b, "a", "b/c"),
			testkit.Pick(b, "weight: 3, prioritizeVerb: p", "nodeCacheCapable: true", "managedResources: [{name: a.b/x, ignoredByScheduler: true}]", "ignorable: true"))
	}
	if profiles := b.Below(3); profiles > 0 {
		out.WriteString("profiles:\n")
		for k := range profiles {
			fmt.Fprintf(&out, "- schedulerName: s%d\n", k)
			profile(b, &out)
		}
	}
	text := out.String()
	if b.OneIn(8) { // one mistake
		text += testkit.Pick(b, "foo: 1\n", "parallelism: 0\nprofiles: []\n", "percentageOfNodesToScore: 101\n", "a: [\n", "extenders: [{}]\n", "podMaxBackoffSeconds: -1\n")
	}
	return text
}

// profile writes the plugins and arguments of a profile.
func profile(b *testkit.Bytes, out *strings.Builder) {
	if v := testkit.Pick(b, "", "5", "50"); v != "" {
		fmt.Fprintf(out, "  percentageOfNodesToScore: %s\n", v)
	}
	if v := testkit.Pick(b, "", "score: {disabled: [{name: ImageLocality}]}", "score: {enabled: [{name: ImageLocality, weight: 7}]}",
		"multiPoint: {disabled: [{name: InterPodAffinity}]}", "filter: {disabled: [{name: '*'}], enabled: [{name: NodeName}, {name: NodePorts}]}",
		"score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 2}]}"); v != "" {
		fmt.Fprintf(out, "  plugins: {%s}\n", v)
	}
	list := []string{
		"{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}]}}}",
		"{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}}",
		"{name: InterPodAffinity, args: {hardPodAffinityWeight: 5}}",
		"{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}}",
		"{name: DefaultPreemption, args: {minCandidateNodesAbsolute: 7}}",
		"{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}",
		"{name: VolumeBinding, args: {bindTimeoutSeconds: 9}}",
		"{name: NodeResourcesBalancedAllocation, args: {resources: [{name: memory, weight: 1}]}}",
	}
	from := b.Below(len(list))
	if n := b.Below(3); n > 0 {
		if from == 0 || from == len(list)-1 {
			n = 1 // one plugin has one entry
		}
		fmt.Fprintf(out, "  pluginConfig: [%s]\n", strings.Join(list[from:min(from+n, len(list))], ", "))
	}
}

func TestRandomDocuments(t *testing.T) {
	const inputs = 1000
	loaded := 0
	for seed := range uint64(inputs) {
		if check(t, []byte(document(testkit.NewBytes(testkit.RandomBytes(seed, 40))))) {
			loaded++
		}
	}
	t.Logf("%d of %d documents load", loaded, inputs)
	require.Greater(t, 2*loaded, inputs, "the fuzz target looks at the configuration of at least half of its inputs")
	require.Less(t, loaded, inputs, "some documents are refused")
}

// Structured documents. FuzzLoadText has any text.
func FuzzLoad(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(testkit.RandomBytes(seed, 40))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, []byte(document(testkit.NewBytes(data)))) })
}

// The seed corpus: every refused document and every document of the tests.
func FuzzLoadText(f *testing.F) {
	for _, c := range refusals {
		f.Add([]byte(c.document))
	}
	for _, document := range []string{addedAffinity, zoneDefaults, noDefaults, mostAllocated, capacityRatio, alpha, ratioPolicy, head, beta1} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data) })
}

// check tests the laws of every input: there is either an error or a usable configuration, and an accepted document is
// accepted again after Encode. It reports whether the document was accepted.
func check(t *testing.T, data []byte) bool {
	c, err := Load(data)
	if err != nil {
		require.Nil(t, c)
		require.NotEmpty(t, err.Error())
		var old *OldVersionError
		if errors.As(err, &old) && len(old.Equivalent) > 0 && len(old.Notes) == 0 {
			_, err = Load(old.Equivalent)
			require.NoError(t, err, "an equivalent without notes loads: %s", old.Equivalent)
		}
		return false
	}
	require.NotEmpty(t, c.Profiles)
	require.Positive(t, c.Parallelism)
	for _, p := range c.Profiles {
		require.NotEmpty(t, p.SchedulerName)
		require.Len(t, p.Plugins[QueueSort], 1)
		require.NotEmpty(t, p.Plugins[Bind])
		require.Same(t, c.Profile(p.SchedulerName), &c.Profiles[slices.IndexFunc(c.Profiles, func(q Profile) bool { return q.SchedulerName == p.SchedulerName })])
		for at, list := range p.Plugins {
			seen := map[string]bool{}
			for _, plugin := range list {
				require.False(t, seen[plugin.Name], "%v names %s twice", at, plugin.Name)
				seen[plugin.Name] = true
				require.Contains(t, inTree[plugin.Name], at)
			}
		}
		for _, f := range p.Placement.Filters {
			f.Filter(&v1.Pod{}, emptyCluster(t))
		}
	}
	out, err := Encode(c.Document)
	require.NoError(t, err)
	_, err = Load(out)
	require.NoError(t, err, "%s", out)
	return true
}
