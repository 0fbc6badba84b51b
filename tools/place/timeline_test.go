package place

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/program"
)

// podA, which wants a region that is not there, and podB, which wants ten CPUs, of the article on the scheduling queue.
func TestQueueArticle(t *testing.T) {
	args := []string{"-f", "testdata/timeline/queue-article.yaml", "-timeline", "testdata/timeline/queue-article.events.yaml"}
	var logs []string
	for range 2 {
		log := filepath.Join(t.TempDir(), "log")
		code, out, errs := simulate(t, "", append(args, "-log", log, "-seed", "7")...)
		require.Zero(t, code, errs)
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		logs = append(logs, out+string(text))
		testkit.Golden(t, "testdata/timeline/queue-article.log", string(text))
	}
	require.Equal(t, logs[0], logs[1], "same input and seed, same bytes")
	code, out, errs := simulate(t, "", append(args, "-o", "json")...)
	require.Zero(t, code, errs)
	var have struct{ Attempts []entry }
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	require.Equal(t, []string{
		"pod-a Unschedulable - - -", "pod-b Unschedulable - - -", "pod-a Unschedulable - - -", "pod-b Unschedulable - - -",
		"pod-b Scheduled n2 - -", "pod-a Scheduled n3 - -",
	}, outcomes(have.Attempts))
}

func withTimeline(t *testing.T, input, timeline string, args ...string) (code int, out, errs string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events.yaml")
	require.NoError(t, os.WriteFile(file, []byte(timeline), 0o644))
	return simulate(t, input, append([]string{"-f", "-", "-timeline", file}, args...)...)
}

func TestTimelineErrors(t *testing.T) {
	type test struct{ name, timeline, want string }
	testkit.Run(t, []test{
		{"not YAML", "a: b: c", "events.yaml:"},
		{"no list", "at: 1s", "events.yaml: must be a list of events with at and one of add, update, delete"},
		{"a time of null", "- {at: null, add: {}}", "events.yaml: event 1: at: Required value: when, as in 1m30s"},
		{"no time", "- add: {}", "events.yaml: event 1: at: Required value"},
		{"a bad time", "- {at: soon, add: {}}", `event 1: at: Invalid value: "soon": must be a duration since the beginning`},
		{"a negative time", "- {at: -1s, add: {}}", `event 1: at: Invalid value: "-1s"`},
		{"no verb", "- {at: 1s}", "event 1: Required value: one of add, update, delete"},
		{"two verbs", "- {at: 1s, add: {apiVersion: v1, kind: Node, metadata: {name: x}}, delete: {apiVersion: v1, kind: Node, metadata: {name: x}}}", "event 1: delete: Forbidden"},
		{"unknown verb", "- {at: 1s, patch: {}}", "event 1: patch: Unsupported value: must be at, add, update or delete"},
		{"a bad object", "- {at: 1s, add: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {priority: high}}}", `event 1: add (Pod x): spec.priority: Invalid value: "high"`},
		{"an unknown kind", "- {at: 1s, add: {apiVersion: v1, kind: Secret, metadata: {name: x}}}", `event 1: add: kind: Unsupported value: "Secret"`},
		{"a node that is there", "- {at: 1s, add: {apiVersion: v1, kind: Node, metadata: {name: n1}}}", `event 1: metadata.name: Duplicate value: "n1"`},
		{"a node that is not there", "- {at: 1s, update: {apiVersion: v1, kind: Node, metadata: {name: n9}}}", "event 1: Not found: Node n9"},
	}, func(t *testing.T, c test) {
		code, out, errs := withTimeline(t, oneNode, c.timeline)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	})
	code, _, errs := withTimeline(t, oneNode, "- {at: 1s, delete: {apiVersion: v1, kind: Pod, metadata: {name: gone}}}")
	require.Zero(t, code)
	require.Contains(t, errs, "warning: ", "a pod may have been preempted meanwhile")
}

func TestTimelineGates(t *testing.T) {
	gated := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {priority: 0, schedulingGates: [{name: first}, {name: second}], containers: [{name: c}]}\n"
	pod := "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {schedulingGates: GATES, containers: [{name: c}]}}"
	code, out, errs := withTimeline(t, oneNode+"---\n"+gated,
		"- {at: 1, update: "+strings.Replace(pod, "GATES", "[{name: second}]", 1)+"}\n- {at: 2, update: "+strings.Replace(pod, "GATES", "[]", 1)+"}\n", "-o", "json")
	require.Zero(t, code, errs)
	var have struct{ Attempts []entry }
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	require.Equal(t, []string{"p Gated - - -", "p Scheduled n1 - -"}, outcomes(have.Attempts))
}

// A pod that fails for good does not keep the run from ending, and is tried again when the cluster changes.
func TestErrorsEnd(t *testing.T) {
	claims := "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priority: 0, resourceClaims: [{name: gpu, resourceClaimName: k}], containers: [{name: c}]}}\n" +
		"---\n{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: k}, spec: {devices: {requests: [{name: r, exactly: {}}]}}}\n"
	code, out, errs := simulate(t, oneNode+claims, "-f", "-", "-o", "json")
	require.Zero(t, code, errs)
	var have struct{ Attempts []entry }
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	require.Equal(t, []string{"p Error - - -"}, outcomes(have.Attempts))
	require.Contains(t, have.Attempts[0].Message, "request r: unsupported request type")

	code, out, errs = withTimeline(t, "---\n"+onePod, "- {at: 15s, add: {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}}}\n", "-o", "json")
	require.Zero(t, code, errs)
	have.Attempts = nil
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	require.Equal(t, []string{"p Unschedulable - - -", "p Scheduled n1 - -"}, outcomes(have.Attempts))
	require.Equal(t, "no nodes available to schedule pods", have.Attempts[0].Message)
}

func TestWhatIf(t *testing.T) {
	pods := podYAML("p", "", 0, "1", "")
	two := nodeYAML("n1", "4", "") + nodeYAML("n2", "4", "")
	placed := func(args ...string) string {
		t.Helper()
		code, out, errs := simulate(t, two+pods, append([]string{"-f", "-", "-o", "json"}, args...)...)
		require.Zero(t, code, errs)
		var have struct{ Attempts []entry }
		require.NoError(t, json.Unmarshal([]byte(out), &have))
		return strings.Join(outcomes(have.Attempts), "; ")
	}
	require.Equal(t, "p Scheduled n1 - -", placed())
	require.Equal(t, "p Scheduled n2 - -", placed("-cordon", "n1"))
	require.Equal(t, "p Scheduled n2 - -", placed("-taint", "n1:example.com/dedicated=x:NoSchedule"))
	require.Equal(t, "p Unschedulable - - -", placed("-cordon", "n1", "-cordon", "n2"))
	more := filepath.Join(t.TempDir(), "more.yaml")
	require.NoError(t, os.WriteFile(more, []byte(nodeYAML("big", "64", "")+podYAML("job", "", 0, "20", "")), 0o644))
	require.Equal(t, "p Scheduled big-1 - -; job-1 Scheduled big-2 - -; job-2 Scheduled big-3 - -; job-3 Scheduled big-1 - -", placed("-add", more, "-count", "3"))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-cordon", "n9"}, `-cordon: Not found: "n9": no node of that name in the input`},
		{[]string{"-taint", "n1:x"}, `-taint: Invalid value: "n1:x": must be NODE:KEY=VALUE:EFFECT`},
		{[]string{"-taint", "n9:a=b:NoSchedule"}, `-taint: Not found: "n9"`},
		{[]string{"-add", "testdata/missing.yaml"}, "testdata/missing.yaml"},
		{[]string{"-count", "2"}, "-count: Invalid value: goes with -add"},
		{[]string{"-count", "0", "-add", more}, "-count: Invalid value: 0"},
		{[]string{"-how-many", "a/b"}, `-how-many: Not found: "a/b"`},
	} {
		code, out, errs := simulate(t, two+pods, append([]string{"-f", "-"}, c.args...)...)
		require.Equal(t, program.BadInput, code, c.args)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	}
	clash := filepath.Join(t.TempDir(), "clash.yaml")
	require.NoError(t, os.WriteFile(clash, []byte(nodeYAML("n1", "4", "")), 0o644))
	code, _, errs := simulate(t, two, "-f", "-", "-add", clash)
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, `-add: metadata.name: Duplicate value: "n1"`)

	code, out, errs := simulate(t, two+pods, "-f", "-", "-how-many", "default/p")
	require.Zero(t, code, errs)
	require.Equal(t, "8 more pod(s) like default/p fit.\nNODE   PODS\nn1     4\nn2     4\nOne more does not: 0/2 nodes are available: 2 Insufficient cpu.\n", out)
	code, out, errs = simulate(t, two+pods, "-f", "-", "-how-many", "default/p", "-o", "json")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"count": 8`)
}

// Assigned pods that their kubelet would turn away are named, but count.
func TestMisfits(t *testing.T) {
	code, _, errs := simulate(t, nodeYAML("n1", "2", "")+podYAML("a", "n1", 0, "1", "")+podYAML("b", "n1", 0, "3", ""), "-f", "-", "-v")
	require.Zero(t, code)
	require.Contains(t, errs, "warning: pod default/b is on node n1, whose kubelet would not admit it: OutOfcpu: ")
}

// A PriorityClass of the timeline counts for the pods that come while it is there. It changes no pod that came before.
func TestPriorityClassesOfTheTimeline(t *testing.T) {
	class := func(verb string, at int, more string) string {
		return fmt.Sprintf("- {at: %d, %s: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: gold}, %s}}\n", at, verb, more)
	}
	pod := func(at int, name, class string) string {
		return fmt.Sprintf("- {at: %d, add: {apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%s containers: [{name: c, resources: {requests: {cpu: '8'}}}]}}}\n", at, name, class)
	}
	const gold = "priorityClassName: gold,"
	_, out, errs := withTimeline(t, oneNode, class("add", 1, "value: 1000")+pod(2, "a", gold)+class("delete", 3, "value: 1000")+pod(4, "b", gold)+
		class("add", 5, "value: 7")+pod(6, "c", gold)+class("update", 7, "value: 7, globalDefault: true")+pod(8, "d", "")+class("update", 9, "value: 7")+pod(10, "e", ""), "-o", "json")
	require.Empty(t, errs)
	var a answer
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	var got []string
	for _, p := range a.Pods {
		got = append(got, fmt.Sprintf("%s %d %s", p.Name, p.Priority, p.Outcome))
	}
	require.Equal(t, []string{"a 1000 Unschedulable", "b 0 Refused", "c 7 Unschedulable", "d 7 Unschedulable", "e 0 Unschedulable"}, got)
}

// A victim that the timeline adds again is a new pod: it waits with an attempt of its own, nothing says any more that it gave way, and it gets
// the node when the other one goes.
func TestVictimIsAddedAgain(t *testing.T) {
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: d, uid: %s}, spec: {%spriority: %d, containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}}"
	input := "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, pods: 10}}}\n---\n" +
		fmt.Sprintf(pod, "low", "first", "nodeName: n1, ", 0) + "\n---\n" + fmt.Sprintf(pod, "high", "other", "", 10)
	timeline := "- {at: 1m, add: " + fmt.Sprintf(pod, "low", "second", "", 0) + "}\n- {at: 2m, delete: " + fmt.Sprintf(pod, "high", "other", "", 10) + "}"
	code, out, errs := withTimeline(t, input, timeline, "-o", "json")
	require.Zero(t, code, errs)
	var have struct {
		Attempts []entry
		Pods     []struct{ Pod, Node, PreemptedBy string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &have))
	require.Equal(t, []string{"d/high Unschedulable - n1 d/low", "d/high Scheduled n1 - -", "d/low Unschedulable - - -", "d/low Scheduled n1 - -"}, outcomes(have.Attempts))
	require.Equal(t, "d/low", have.Pods[0].Pod)
	require.Equal(t, "n1", have.Pods[0].Node)
	require.Empty(t, have.Pods[0].PreemptedBy)
}
