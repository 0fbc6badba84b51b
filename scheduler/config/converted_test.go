package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/internal/testkit"
)

// fields returns some of these fields in random order, as they stand between the braces of a YAML mapping.
func fields(b *testkit.Bytes, list ...string) string {
	var out []string
	for _, f := range list {
		if b.OneIn(2) {
			out = slices.Insert(out, b.Below(len(out)+1), f)
		}
	}
	return strings.Join(out, ", ")
}

// oldDocumentText returns a document of a version before v1 that uses what the versions since changed.
func oldDocumentText(b *testkit.Bytes) string {
	names := []string{
		"{name: NodeResourcesMostAllocated, weight: 2}", "{name: NodeResourcesLeastAllocated}", "{name: RequestedToCapacityRatio, weight: 3}", "{name: SelectorSpread}", "{name: PodTopologySpread}",
		"{name: DefaultPodTopologySpread}", "{name: NodeLabel}", "{name: '*'}", "{name: Mine}", "{name: NodeAffinity}", "{name: ServiceAffinity}", "7",
	}
	set := func(names ...string) string {
		return "{" + fields(b, "enabled: ["+fields(b, names...)+"]", "disabled: ["+fields(b, names...)+"]", "enabled2: 1") + "}"
	}
	plugins := func() string {
		return fields(b, "score: "+set(names...), "filter: "+set("{name: EBSLimits}", "{name: AzureDiskLimits}", "{name: GCEPDLimits}", "{name: NodePorts}", "{name: '*'}"), "unreserve: "+set("{name: VolumeBinding}"), "reserve: "+set("{name: Mine}"),
			"postFilter: "+set("{name: InterPodAffinity}"), "preScore: "+set("{name: NodeAffinity}"), "bind: 3")
	}
	args := func() string {
		return fields(b, "{name: RequestedToCapacityRatio, args: {shape: [{utilization: 0, score: 0}], resources: [{name: cpu, weight: 2}]}}", "{name: RequestedToCapacityRatio, args: {functionShape: [{utilization: 1, score: 1}]}}",
			"{name: NodeResourcesMostAllocated, args: {resources: [{name: memory, weight: 1}], shape: 3}}", "{name: NodeResourcesFit, args: {apiVersion: x, kind: y, scoringStrategy: {type: LeastAllocated}}}", "{name: NodeResourcesFit}",
			"{name: ServiceAffinity, args: {affinityLabels: [a]}}", "{name: EBSLimits}", "{name: Mine, args: {apiVersion: x, a: 1}}", "{args: {a: 1}}", "8")
	}
	version := testkit.Pick(b, "v1alpha1", "v1alpha1", "v1alpha2", "v1beta1", "v1beta2")
	common := []string{
		"healthzBindAddress: a", "metricsBindAddress: b", "failureDomains: zone", "leaderElection: {" + fields(b, "lockObjectName: x", "lockObjectNamespace: spare", "resourceLock: endpoints", "resourceLock2: leases", "resourceName: z") + "}",
		"extenders: [{urlPrefix: 'http://x', enableHttps: " + testkit.Pick(b, "true", "false") + "}]", "disablePreemption: " + testkit.Pick(b, "true", "true", "false"), "bindTimeoutSeconds: 30", "bindTimeoutSeconds: x",
	}
	if version == "v1alpha1" {
		common = append(common, "schedulerName: mine", "plugins: {"+plugins()+"}", "pluginConfig: ["+args()+"]", "hardPodAffinitySymmetricWeight: 5",
			"algorithmSource: {provider: "+testkit.Pick(b, "ClusterAutoscalerProvider", "DefaultProvider", "Other", "''")+"}", "algorithmSource: {policy: {}}")
	} else {
		profile := func() string {
			return "{" + fields(b, "schedulerName: mine", "plugins: {"+plugins()+"}", "pluginConfig: ["+args()+"]") + "}"
		}
		common = append(common, "profiles: ["+profile()+"]", "profiles: ["+profile()+", "+profile()+"]")
	}
	text := "apiVersion: kubescheduler.config.k8s.io/" + version + "\nkind: KubeSchedulerConfiguration\n"
	for _, f := range common {
		if b.OneIn(2) && !strings.Contains(text, "\n"+strings.SplitAfter(f, ":")[0]) { // a key stands once
			text += f + "\n"
		}
	}
	return text
}

// policyText returns a scheduling policy.
func policyText(b *testkit.Bytes) string {
	weighted := func(name, argument string) string {
		return "{name: " + name + ", weight: " + testkit.Pick(b, "1", "2", "5", "2147483647") + argument + "}"
	}
	ratio := func() string {
		return ", argument: {requestedToCapacityRatioArguments: {shape: [{utilization: 0, score: " + testkit.Pick(b, "0", "10", "11", "100", "101") + "}, {utilization: 100, score: 10}], resources: [" + fields(b, "{name: cpu, weight: 2}", "{name: CPU}", "{name: Nope}") + "]}}"
	}
	return "{kind: Policy, apiVersion: v1, " + fields(b,
		"predicates: ["+fields(b, "{name: GeneralPredicates}", "{name: PodFitsResources}", "{name: NoDiskConflict}", "{name: MaxEBSVolumeCount}", "{name: CheckNodeCondition}", "{name: Mine, argument: {serviceAffinity: {labels: [a]}}}", "{name: CheckNodeLabelPresence, argument: {labelsPresence: {labels: [a]}}}", "{name: Own, argument: {}}")+"]",
		"priorities: ["+fields(b, weighted("LeastRequestedPriority", ""), weighted("MostRequestedPriority", ""), weighted("RequestedToCapacityRatioPriority", ratio()), weighted("Packing", ratio()), weighted("RequestedToCapacityRatioPriority", ""), weighted("SelectorSpreadPriority", ""), weighted("EvenPodsSpreadPriority", ""),
			weighted("Racks", ", argument: {serviceAntiAffinity: {label: a}}"), weighted("Labels", ", argument: {labelPreference: {label: a}}"), weighted("Own", ", argument: {}"), weighted("EqualPriority", ""), weighted("BalancedResourceAllocation", ""))+"]",
		"hardPodAffinitySymmetricWeight: 5", "alwaysCheckAllPredicates: true", "extenders: [{urlPrefix: 'http://x', filterVerb: f, preemptVerb: p, prioritizeVerb: r, bindVerb: b, weight: 3, nodeCacheCapable: true}]") + "}"
}

// What random documents of earlier versions and random policies become is in testdata/converted.txt: the body of the document of v1
// as JSON, then the notes.
func TestConvertedDocuments(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(64) {
		b := testkit.NewBytes(testkit.RandomBytes(seed, 2000))
		text := oldDocumentText(b)
		if seed%4 == 3 {
			text = policyText(b)
		}
		_, err := Load([]byte(text))
		var old *OldVersionError
		if !errors.As(err, &old) {
			fmt.Fprintf(&out, "%d: %v\n", seed, err)
			continue
		}
		body := strings.TrimPrefix(string(old.Equivalent), head)
		fmt.Fprintf(&out, "%d: %s\n", seed, compact(t, body))
		for _, n := range old.Notes {
			fmt.Fprintf(&out, "  %s\n", n)
		}
	}
	testkit.Golden(t, "testdata/converted.txt", out.String())
}

// compact returns YAML as JSON on one line.
func compact(t *testing.T, text string) string {
	var doc any
	require.NoError(t, yaml.Unmarshal([]byte(text), &doc), text)
	data, err := json.Marshal(doc)
	require.NoError(t, err)
	return string(data)
}
