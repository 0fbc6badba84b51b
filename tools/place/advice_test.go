package place

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// headers returns the lines "# key: value" at the begin of a file.
func headers(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), ":")
		if !strings.HasPrefix(line, "# ") || !ok {
			break
		}
		out[key] = strings.TrimSpace(value)
	}
	return out
}

// The corpus of causes: each file is a cluster with a pod that waits (ask), the type of its cause, the sentence, the remedies in their
// order, what is wrong with the other nodes, and what not to do. A broken, leaving or cordoned node more changes neither the cause nor
// the first remedy, unless to the end of that state.
func TestAdvice(t *testing.T) {
	files, err := filepath.Glob("../../diagnose/testdata/advice/*.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 110)
	kinds := map[string]int{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			h := headers(string(text))
			asked := strings.Fields(h["ask"]) // flags may follow the pod
			e := explained(t, string(text), asked[0], asked[1:]...)
			require.NotNil(t, e.Cause)
			kinds[e.Cause.Type]++
			require.Equal(t, h["cause"], e.Cause.Type)
			require.Equal(t, h["first"], e.Cause.Text)
			require.Equal(t, h["do"], strings.Join(e.Help, " | "))
			require.Equal(t, h["others"], e.Cause.Others)
			require.Equal(t, h["not"], e.Cause.Not)
			require.NotEmpty(t, e.Cause.Object)
			_, out, _ := simulate(t, string(text), append([]string{"-f", "-", "-explain", asked[0]}, asked[1:]...)...)
			if e.State == "Pending" {
				require.True(t, strings.HasPrefix(out, "Pod "+e.Pod+" waits: "+h["first"]+".\n"), out)
			}
			for _, node := range e.Cause.Nodes {
				require.Contains(t, string(text), node)
			}
			factual(t, string(text), h["first"])
		})
	}
	require.Greater(t, len(kinds), 30, "%v", kinds)
	require.GreaterOrEqual(t, rooms, 10, "sentences whose amounts were computed again")
}

// The causes of the specification of advice, C1 to C53, by the types that they have here. Volume is static volumes and the capacity of drivers.
var causes = []string{
	"Refused", "Gate", "Scheduler", "NodeName", "Preempting", "Claim", "Class", "Unbound", "Place", "Volume static", "Volume capacity", "Attachments", "OnePod", "Devices",
	"NoNode", "Contradiction", "Toleration", "Meant", "Reserved", "NotReady", "Pressure", "Starting", "Leaving", "Cordoned", "DaemonSet",
	"TopologyKey", "AntiAffinity", "EmptyDomain", "Spread", "Affinity", "Port", "Full", "TooLarge", "Fragments", "NotOffered", "Error",
}

// closedNode is a node that agents, or a person, have closed.
var closedNode = regexp.MustCompile(`node\.kubernetes\.io/(not-ready|unreachable|network-unavailable|disk-pressure|pid-pressure|memory-pressure|unschedulable)|unschedulable: true|ToBeDeleted|karpenter\.sh/(disrupt|unreg)|uninitialized`)

// closedNodes are the causes that harmful nodes are.
var closedNodes = []string{"NotReady", "Pressure", "Starting", "Leaving", "Cordoned", "EmptyDomain"}

// The corpus has each cause at least three times: plain, among harmful nodes, and of two kinds of owners.
func TestCorpusHasEachCause(t *testing.T) {
	files, err := filepath.Glob("../../diagnose/testdata/advice/*.yaml")
	require.NoError(t, err)
	owners, cases, among := map[string]map[string]bool{}, map[string]int{}, map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		h := headers(string(text))
		cause := h["cause"]
		switch {
		case cause == "Volume" && strings.HasPrefix(h["first"], "no volume of class"):
			cause = "Volume static"
		case cause == "Volume":
			cause = "Volume capacity"
		}
		require.Contains(t, causes, cause, file)
		if cases[cause]++; closedNode.Match(text) {
			among[cause]++
		}
		if owners[cause] == nil {
			owners[cause] = map[string]bool{}
		}
		owners[cause][ownerKind(t, string(text), strings.Fields(h["ask"])[0])] = true
	}
	for _, cause := range causes {
		require.GreaterOrEqual(t, cases[cause], 3, cause)
		require.Positive(t, among[cause], "%s: no case among harmful nodes", cause)
		if !slices.Contains(closedNodes, cause) {
			require.Less(t, among[cause], cases[cause], "%s: no plain case", cause)
		}
		if cause != "DaemonSet" { // no other owner has it
			require.GreaterOrEqual(t, len(owners[cause]), 2, "%s: %v", cause, owners[cause])
		}
	}
}

// ownerKind returns the kind of the controller of the pod that a question is about, in small letters; "pod" without.
func ownerKind(t *testing.T, text, asked string) string {
	of, name, _ := strings.Cut(asked, "/")
	for _, doc := range strings.Split(text, "\n---\n") {
		type object struct {
			Kind     string
			Metadata struct {
				Name            string
				OwnerReferences []struct{ Kind string }
			}
		}
		var one struct {
			object
			Items []object
		}
		require.NoError(t, yaml.Unmarshal([]byte(doc), &one))
		for _, o := range append(one.Items, one.object) {
			switch {
			case o.Metadata.Name != name || o.Kind != "Pod":
			case len(o.Metadata.OwnerReferences) > 0:
				return strings.ToLower(o.Metadata.OwnerReferences[0].Kind)
			default:
				return "pod"
			}
		}
	}
	return strings.ToLower(of) // the question is about the owner
}

// explained returns the explanation of a pod.
func explained(t *testing.T, input, pod string, flags ...string) (e explanation) {
	t.Helper()
	_, out, errs := simulate(t, input, append([]string{"-f", "-", "-explain", pod, "-o", "json"}, flags...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &e), "%s%s", out, errs)
	return e
}

// ends is a remedy that ends the state of a node.
var ends = regexp.MustCompile("^(free|start|bring|end|look|mend|repair) ")

// A harmful node more changes neither the type of the cause, as far as open nodes have it, nor the first remedy, unless to the end of
// its state.
func TestHarmfulNodes(t *testing.T) {
	files, err := filepath.Glob("../../diagnose/testdata/advice/*.yaml")
	require.NoError(t, err)
	tried := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		h := headers(string(text))
		switch h["cause"] {
		case "Full", "TooLarge", "AntiAffinity", "Port", "Affinity", "Class", "Claim", "Unbound", "Fragments":
		default:
			continue
		}
		asked := strings.Fields(h["ask"])
		before := explained(t, string(text), asked[0], asked[1:]...)
		for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/disk-pressure", "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "node.cloudprovider.kubernetes.io/uninitialized"} {
			more := "\n---\n{apiVersion: v1, kind: Node, metadata: {name: zzz, labels: {kubernetes.io/hostname: zzz}}, spec: {taints: [{key: " + key + ", effect: NoSchedule}]}, status: {allocatable: {cpu: '64', memory: 64Gi, pods: '110', nvidia.com/gpu: '8'}}}\n"
			after := explained(t, string(text)+more, asked[0], asked[1:]...)
			require.Equal(t, before.Cause.Type, after.Cause.Type, "%s %s", file, key)
			require.NotContains(t, strings.Join(after.Help, " | "), "tolerate "+key, file)
			tried++
			if len(before.Help) == 0 || len(after.Help) == 0 || ends.MatchString(after.Help[0]) || strings.Contains(after.Help[0], "zzz") && strings.HasPrefix(after.Help[0], "add ") {
				continue
			}
			require.Equal(t, before.Help[0], after.Help[0], "%s %s", file, key)
		}
	}
	require.Greater(t, tried, 80)
}

// On a terminal the last column has the causes. Pods of one row have one cause: bare pods whose claims differ are two rows.
func TestCausesInTheTable(t *testing.T) {
	claim := func(name string) string {
		return "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c-" + name + "}}], containers: [{name: c}]}}\n"
	}
	input := nodeYAML("n1", "2", "") + podYAML("p", "", 0, "3", "") + podYAML("q", "", 0, "3", "") + claim("a") + claim("b") +
		"---\n{apiVersion: v1, kind: Pod, metadata: {name: g}, spec: {schedulingGates: [{name: example.com/hold}], containers: [{name: c}]}}\n"
	out := &screen{width: 140}
	require.NotZero(t, Run(t.Context(), []string{"-f", "-", "-fail-unschedulable"}, strings.NewReader(input), out, &screen{}))
	for _, want := range []string{"2 pods like p ", "it asks for cpu 3, and n1 has 2\n", "there is no claim c-a in default\n", "there is no claim c-b in default\n", "it is gated by example.com/hold\n"} {
		require.Contains(t, out.String(), want)
	}
	_, whole, _ := simulate(t, input, "-f", "-")
	require.Contains(t, whole, "0/1 nodes are available: 1 Insufficient cpu.")
	require.NotContains(t, whole, "it asks for cpu 3")
}
