package place

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

// invalidObjects are what the API server refuses, with the server's texts: the cases that were accepted before.
var invalidObjects = []struct{ name, kind, object, text string }{
	{"p", "Pod", podWith("topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"),
		"spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"},
	{"p", "Pod", podWith("topologySpreadConstraints: [{maxSkew: 1, minDomains: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]"),
		"spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"},
	{"p", "Pod", podWith("topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone}]"),
		`spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"`},
	{"p", "Pod", podWith("tolerations: [{key: a, operator: Exists, value: b}]"),
		"spec.tolerations[0].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'"},
	{"p", "Pod", podWith("affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 0, preference: {}}]}}"),
		"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100"},
	{"p", "Pod", podWith("schedulingGates: [{name: a}, {name: a}]"), `spec.schedulingGates[1]: Duplicate value: "a"`},
	{"system-x", "PriorityClass.scheduling.k8s.io", "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: system-x}, value: 2000000005}",
		"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class"},
	{"b", "PodDisruptionBudget.policy", "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: -1}}",
		"spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
	{"n2", "Node", "{apiVersion: v1, kind: Node, metadata: {name: n2}, spec: {taints: [{key: a, effect: Never}]}}",
		`metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`},
}

func podWith(spec string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priority: 0, containers: [{name: c}], " + spec + "}}"
}

// The API server's text lists Gt among the operators that it supports; the warning names the gate that is missing.
func TestGateOfARefusal(t *testing.T) {
	_, _, errs := simulate(t, podWith("tolerations: [{key: a, operator: Gt, value: '5', effect: NoSchedule}]"), "-f", "-")
	require.Contains(t, errs, `supported values: "Equal", "Exists", "Lt", "Gt" (Gt needs the feature gate TaintTolerationComparisonOperators); the API server`)
}

// What the API server would refuse: a warning by default, an outcome or an object less with -admit, exit 2 with -strict.
func TestWhatTheServerRefuses(t *testing.T) {
	for _, c := range invalidObjects {
		t.Run(c.text, func(t *testing.T) {
			input := documents(oneNode, c.object)
			kind, _, _ := strings.Cut(c.kind, ".")
			called := kind + " " + c.name
			if kind == "Pod" || kind == "PodDisruptionBudget" {
				called = kind + " default/" + c.name
			}
			code, _, errs := simulate(t, input, "-f", "-")
			require.Zero(t, code)
			require.Equal(t, "warning: "+called+": "+c.text+"; the API server would refuse it, the scheduler uses it as it is\n", errs)

			code, out, errs := simulate(t, input, "-f", "-", "-o", "json", "-admit")
			require.Zero(t, code)
			refused := c.kind + ` "` + c.name + `" is invalid: ` + c.text
			if kind == "Pod" {
				require.Empty(t, errs)
				e := attemptsOf(t, out)
				require.Equal(t, []string{"p Refused - - -"}, outcomes(e))
				require.Equal(t, refused, e[0].Message)
			} else {
				require.Equal(t, "warning: "+refused+"; it is left out\n", errs)
			}

			code, out, errs = simulate(t, input, "-f", "-", "-strict")
			require.Equal(t, program.BadInput, code)
			require.Empty(t, out)
			require.Equal(t, "place: "+called+": "+c.text+"\n", errs)
		})
	}
}

// Several objects of a kind are one warning, with their number and an example. -v has a warning for each.
func TestEachRefusedObjectIsNamed(t *testing.T) {
	bad := func(name string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {priority: 0, containers: [{name: c}], tolerations: [{operator: Exists, value: v}]}}"
	}
	input := documents(oneNode, bad("a"), bad("b"), bad("c"))
	_, _, errs := simulate(t, input, "-f", "-")
	require.Equal(t, 1, strings.Count(errs, "warning: "), errs)
	require.Contains(t, errs, "warning: the API server would refuse 3 objects of kind Pod, which the scheduler uses as they are; the first: Pod default/a: spec.tolerations[0]")
	_, _, errs = simulate(t, input, "-f", "-", "-v")
	for _, name := range []string{"a", "b", "c"} {
		require.Contains(t, errs, "warning: Pod default/"+name+": spec.tolerations[0]")
	}
}

// -strict lists all that is wrong with the input before anything is decided.
func TestStrictListsEverything(t *testing.T) {
	input := documents(oneNode, invalidObjects[0].object, invalidObjects[6].object,
		"{apiVersion: v1, kind: Pod, metadata: {name: lost}, spec: {nodeName: n9, colour: red, containers: [{name: c}]}}",
		"{apiVersion: v1, kind: Pod, metadata: {name: classless}, spec: {priorityClassName: gone, containers: [{name: c}]}}")
	code, out, errs := withTimeline(t, input, "- {at: 1, add: "+strings.Replace(invalidObjects[5].object, "name: p}", "name: q}", 1)+"}\n", "-strict")
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	require.Len(t, lines, 6, errs)
	for k, part := range []string{`unknown field "spec.colour"`, "pod default/lost: spec.nodeName", "PriorityClass system-x", "Pod default/p: spec.topology", "event 1: add Pod default/q: spec.schedulingGates[1]",
		`Pod default/classless: pods "classless" is forbidden: no PriorityClass with name gone was found`} {
		require.True(t, strings.HasPrefix(lines[k], "place: "), lines[k])
		require.Contains(t, lines[k], part)
	}
}

// A pod that a server has stored has its matchLabelKeys in its selector. That is no mistake of the author.
func TestStoredPodsAreMerged(t *testing.T) {
	const constraint = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, matchLabelKeys: [app], labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}}]"
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: web}}, spec: {priority: 0, containers: [{name: c}], " + constraint + "}}"
	_, _, errs := simulate(t, documents(oneNode, pod), "-f", "-")
	require.Contains(t, errs, `spec.topologySpreadConstraints[0][0]: Invalid value: "app": exists in both matchLabelKeys and labelSelector`)
	code, _, errs := simulate(t, documents(oneNode, strings.Replace(pod, "{name: p,", "{name: p, resourceVersion: '7',", 1)), "-f", "-", "-strict")
	require.Zero(t, code, errs)
	require.Empty(t, errs)
}

// The API server refuses an update that adds a gate or changes a field that never changes. The pod stays as it is.
func TestTimelineRefusesUpdates(t *testing.T) {
	const fixed = "pod updates may not change fields other than"
	type test struct{ name, why, update, text string }
	testkit.Run(t, []test{
		{"a gate more", "gates come at creation only", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {schedulingGates: [{name: late}], containers: [{name: c}]}}",
			"spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'late'"},
		{"another node", "binding is not an update", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n7, containers: [{name: c}]}}", fixed},
		{"more cpu", "resources change by a resize only", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}", fixed},
		{"another selector", "the pod is not gated", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelector: {a: b}, containers: [{name: c}]}}", fixed},
		{"a label", "labels may change", "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: b}}, spec: {containers: [{name: c}]}}", ""},
		{"a toleration", "tolerations may be added", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {tolerations: [{key: a, operator: Exists}], containers: [{name: c}]}}", ""},
	}, func(t *testing.T, c test) {
		for _, pod := range []string{onePod, strings.Replace(onePod, "priority: 0, ", "", 1)} {
			code, out, errs := withTimeline(t, documents(oneNode, pod), "- {at: 1, update: "+c.update+"}\n", "-o", "json")
			require.Zero(t, code, errs)
			require.Equal(t, []string{"p Scheduled n1 - -"}, outcomes(attemptsOf(t, out)))
			code, _, _ = withTimeline(t, documents(oneNode, pod), "- {at: 1, update: "+c.update+"}\n", "-fail-errors")
			if c.text == "" {
				require.Zero(t, code)
				require.NotContains(t, errs, "refused", c.why)
				continue
			}
			require.Equal(t, program.No, code)
			require.Contains(t, errs, `event 1: update: refused: Pod "p" is invalid: `, c.why)
			require.Contains(t, errs, c.text, c.why)
		}
	})
	class := "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 5}"
	code, _, errs := withTimeline(t, documents(oneNode, class), "- {at: 1, update: "+strings.Replace(class, "5", "6", 1)+"}\n")
	require.Zero(t, code)
	require.Contains(t, errs, `event 1: update: refused: PriorityClass.scheduling.k8s.io "high" is invalid: value: Forbidden: may not be changed in an update.`)
	_, out, errs := withTimeline(t, oneNode, "- {at: 1, add: "+invalidObjects[0].object+"}\n", "-o", "json", "-admit")
	require.Empty(t, errs)
	require.Equal(t, []string{"p Refused - - -"}, outcomes(attemptsOf(t, out)))
	_, _, errs = withTimeline(t, oneNode, "- {at: 1, add: "+invalidObjects[8].object+"}\n", "-admit")
	require.Contains(t, errs, `event 1: add: refused: Node "n2" is invalid: metadata.taints[0].effect`)
}

// A StorageClass keeps its provisioner, parameters, reclaim policy and binding mode. Missing ones are the defaults.
func TestStorageClassesStay(t *testing.T) {
	class := func(fields string) string {
		return "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}" + fields + "}"
	}
	for update, want := range map[string]string{
		", provisioner: a": "", ", provisioner: a, reclaimPolicy: Delete, volumeBindingMode: Immediate, parameters: {}, allowVolumeExpansion: true": "",
		", provisioner: b":                                          `provisioner: Invalid value: null: field is immutable`,
		", provisioner: a, parameters: {disk: ssd}":                 `parameters: Invalid value: null: field is immutable`,
		", provisioner: a, reclaimPolicy: Retain":                   `reclaimPolicy: Invalid value: null: field is immutable`,
		", provisioner: a, volumeBindingMode: WaitForFirstConsumer": `volumeBindingMode: Invalid value: null: field is immutable`,
	} {
		events := "- {at: 1, update: " + class(update) + "}\n"
		code, _, errs := withTimeline(t, documents(oneNode, class(", provisioner: a")), events)
		require.Zero(t, code, errs)
		code, _, listed := withTimeline(t, documents(oneNode, class(", provisioner: a")), events, "-strict")
		if want == "" {
			require.Empty(t, errs+listed)
			continue
		}
		require.Contains(t, errs, `event 1: update: refused: StorageClass.storage.k8s.io "fast" is invalid: `+want)
		require.Equal(t, program.BadInput, code)
		require.Contains(t, listed, "event 1: update StorageClass fast: "+want)
	}
}

// A pod on a node that is not in the input: the warning says what becomes of the pod, and after how long.
func TestPodsOfMissingNodesAreCollected(t *testing.T) {
	input := oneNode + "---\n" + strings.Replace(onePod, "spec: {", "spec: {nodeName: gone, ", 1)
	code, _, errs := simulate(t, input, "-f", "-")
	require.Zero(t, code)
	require.Contains(t, errs, `no such node in the input; counted nowhere; if the input is complete, pod garbage collection deletes it 40 to 60 s after its node is gone`)
}

// Only one PriorityClass may be the default: the API server refuses the second, by the text that names the first.
func TestSecondDefaultPriorityClass(t *testing.T) {
	class := func(name, value string) string {
		return "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: " + name + "}, value: " + value + ", globalDefault: true}"
	}
	const refused = `priorityclasses.scheduling.k8s.io "low" is forbidden: PriorityClass high is already marked as default. Only one default can exist`
	pod := "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}"
	input := documents(oneNode, class("high", "100"), class("low", "5"), pod)
	priority := func(out string) int32 { return attemptsOf(t, out)[0].Priority }

	code, out, errs := simulate(t, input, "-f", "-", "-o", "json", "-admit")
	require.Zero(t, code)
	require.Equal(t, "warning: "+refused+"; it is left out\n", errs)
	require.EqualValues(t, 100, priority(out), "the first default stays")

	code, out, errs = simulate(t, input, "-f", "-", "-o", "json")
	require.Zero(t, code)
	require.Equal(t, "warning: PriorityClass low: "+refused+"; the API server would refuse it, the scheduler uses it as it is\n", errs)
	require.EqualValues(t, 5, priority(out), "of two defaults the smaller value counts")

	code, _, errs = simulate(t, input, "-f", "-", "-strict")
	require.Equal(t, program.BadInput, code)
	require.Equal(t, "place: PriorityClass low: "+refused+"\n", errs)

	timeline := "- {at: 1, add: " + class("low", "5") + "}\n- {at: 2, add: " + pod + "}\n"
	one := documents(oneNode, class("high", "100"))
	_, out, errs = withTimeline(t, one, timeline, "-admit", "-o", "json")
	require.Contains(t, errs, "event 1: add: refused: "+refused+"\n")
	require.Contains(t, out, `"priority": 100`)
	code, _, errs = withTimeline(t, one, timeline, "-strict")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "event 1: add PriorityClass low: "+refused+"\n")
	code, _, errs = withTimeline(t, one, "- {at: 1, delete: "+class("high", "100")+"}\n"+strings.Replace(timeline, "at: 1", "at: 1.5", 1), "-strict")
	require.Zero(t, code, errs)
}

// A workload whose pods the API server would refuse is named. Only with -admit and -expand its pods say so themselves.
func TestRefusedWorkload(t *testing.T) {
	input := documents(oneNode, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {tolerations: [{key: 'a b', operator: Exists}], containers: [{name: c, image: i}]}}}}")
	for _, x := range []struct {
		args  []string
		warns bool
	}{{nil, true}, {[]string{"-expand"}, true}, {[]string{"-admit"}, true}, {[]string{"-admit", "-expand"}, false}} {
		_, _, errs := simulate(t, input, append([]string{"-f", "-"}, x.args...)...)
		require.Equal(t, x.warns, strings.Contains(errs, "warning: Deployment default/web: spec.template.spec.tolerations[0].key: Invalid value"), x.args)
	}
}
