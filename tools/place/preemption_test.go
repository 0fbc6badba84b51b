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
)

func nodeYAML(name, cpu, labels string) string {
	return fmt.Sprintf("---\n{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s%s}}, status: {allocatable: {cpu: '%s', memory: 32Gi, pods: '110'}}}\n", name, name, labels, cpu)
}

// podYAML returns a pod that asks for cpu. It runs on node unless node is "". more are further fields of its spec.
func podYAML(name, node string, priority int, cpu, labels string, more ...string) string {
	spec := fmt.Sprintf("containers: [{name: c, resources: {requests: {cpu: '%s'}}}], priority: %d", cpu, priority)
	if node != "" {
		spec += ", nodeName: " + node
	}
	for _, m := range more {
		spec += ", " + m
	}
	return fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {%s}}, spec: {%s}}\n", name, labels, spec)
}

func budgetYAML(app string, allowed int) string {
	return fmt.Sprintf("---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s}, spec: {selector: {matchLabels: {app: %s}}}, status: {disruptionsAllowed: %d, expectedPods: 1, observedGeneration: 1, currentHealthy: 1, desiredHealthy: 0}}\n", app, app, allowed)
}

const (
	apart      = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: {matchLabels: {app: q}}}]}}"
	together   = "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}]}}"
	noVictims  = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	classes    = "---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000000}\n---\n{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: polite}, value: 1000000, preemptionPolicy: Never}\n"
	withoutPri = "---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {%scontainers: [{name: c, resources: {requests: {cpu: '2'}}}]}}\n"
)

// The paragraphs of the documentation's chapter "Pod Priority and Preemption", played out.
func TestPreemptionChapter(t *testing.T) {
	full := nodeYAML("n1", "2", "") + podYAML("low", "n1", 0, "2", "")
	type test struct {
		name, why, input, timeline string
		args                       []string
		want                       []string // pod outcome node nominated victims
		message, second            string   // of the first and second entry
	}
	testkit.Run(t, []test{
		{
			name: "pods are preempted unnecessarily", why: "a class given by mistake makes room by force",
			input: full + classes + fmt.Sprintf(withoutPri, "priorityClassName: high, "),
			want:  []string{"p Unschedulable - n1 low", "p Scheduled n1 - -"}, message: "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims",
		},
		{
			name: "an empty class preempts nobody", why: "an empty class gives priority 0, and equal priorities never preempt",
			input: full + classes + fmt.Sprintf(withoutPri, ""),
			want:  []string{"p Unschedulable - - -"}, message: noVictims,
		},
		{
			name: "victims run out their grace", why: "the gap between eviction and placement",
			input: full + podYAML("p", "", 10, "2", ""), args: []string{"-grace"},
			want: []string{"p Unschedulable - n1 low", "p Scheduled n1 - -"},
		},
		{
			name: "a grace of 317 years", why: "more seconds than a duration holds are the longest duration, not no time at all",
			input: nodeYAML("n1", "2", "") + podYAML("low", "n1", 0, "2", "", "terminationGracePeriodSeconds: 10000000000") + podYAML("p", "", 10, "2", ""), args: []string{"-grace"},
			want: []string{"p Unschedulable - n1 low", "p Unschedulable - - -", "p Scheduled n1 - -"},
		},
		{
			name: "a node after ten years", why: "the retries of idle pods are not played, events are",
			input: nodeYAML("n1", "2", "") + podYAML("low", "n1", 0, "2", "", "terminationGracePeriodSeconds: 10000000000") + podYAML("p", "", 10, "2", ""), args: []string{"-grace"},
			timeline: "- {at: 87600h, add: {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: '2', memory: 8Gi, pods: '10'}}}}\n",
			want:     []string{"p Unschedulable - n1 low", "p Unschedulable - - -", "p Scheduled n2 - -"},
		},
		{
			name: "a pod that leaves in the year 9999", why: "the last year that a timestamp can have",
			input: nodeYAML("n1", "2", "") + "---\n{apiVersion: v1, kind: Pod, metadata: {name: late, deletionTimestamp: '9999-12-31T23:59:59Z'}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: '2'}}}]}}\n" +
				podYAML("q", "", 0, "2", ""),
			args: []string{"-grace"}, want: []string{"q Unschedulable - - -", "q Scheduled n1 - -"},
		},
		{
			name: "the preemptor is not scheduled", why: "a pod of higher priority takes the nomination, then the room, while the victim runs out its grace",
			input: full + podYAML("p", "", 10, "2", ""), args: []string{"-grace"},
			timeline: "- {at: 10s, add: {apiVersion: v1, kind: Pod, metadata: {name: higher}, spec: {priority: 20, containers: [{name: c, resources: {requests: {cpu: '2'}}}]}}}\n",
			want:     []string{"p Unschedulable - n1 low", "higher Unschedulable - n1 low", "higher Scheduled n1 - -", "p Unschedulable - - -"},
		},
		{
			name: "the preemptor goes elsewhere", why: "the nominated node is tried first, but is no promise",
			input: full + podYAML("p", "", 10, "2", ""), args: []string{"-grace"},
			timeline: "- {at: 10s, add: {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: '2', memory: 8Gi, pods: '10'}}}}\n",
			want:     []string{"p Unschedulable - n1 low", "p Scheduled n2 - -"},
		},
		{
			name: "higher priorities go before lower ones", why: "the node with the lowest pod cannot take the preemptor",
			input: nodeYAML("n1", "2", ", disk: hdd") + podYAML("lowest", "n1", 0, "2", "") + nodeYAML("n2", "2", ", disk: ssd") + podYAML("middle", "n2", 5, "2", "") +
				podYAML("p", "", 10, "2", "", "nodeSelector: {disk: ssd}"),
			want: []string{"p Unschedulable - n2 middle", "p Scheduled n2 - -"},
		},
		{
			name: "the node with the lowest pods", why: "several nodes would do",
			input: nodeYAML("n1", "2", "") + podYAML("middle", "n1", 5, "2", "") + nodeYAML("n2", "2", "") + podYAML("lowest", "n2", 0, "2", "") + podYAML("p", "", 10, "2", ""),
			want:  []string{"p Unschedulable - n2 lowest", "p Scheduled n2 - -"},
		},
		{
			name: "a budget protects the lowest", why: "another node is taken, although its pods are higher",
			input: nodeYAML("n1", "2", "") + podYAML("middle", "n1", 5, "2", "") + nodeYAML("n2", "2", "") + podYAML("lowest", "n2", 0, "2", "app: x") + budgetYAML("x", 0) + podYAML("p", "", 10, "2", ""),
			want:  []string{"p Unschedulable - n1 middle", "p Scheduled n1 - -"},
		},
		{
			name: "budgets are no guarantee", why: "there is nobody else",
			input: nodeYAML("n1", "2", "") + podYAML("low", "n1", 0, "2", "app: x") + budgetYAML("x", 0) + podYAML("p", "", 10, "2", ""),
			want:  []string{"p Unschedulable - n1 low", "p Scheduled n1 - -"},
		},
		{
			name: "affinity to a lower pod", why: "without the victim the affinity fails, so nobody is evicted",
			input: nodeYAML("n1", "4", "") + podYAML("db", "n1", 1, "1", "app: db") + podYAML("x", "n1", 1, "3", "") + podYAML("p", "", 10, "2", "", together),
			want:  []string{"p Unschedulable - - -"}, message: "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
		},
		{
			name: "affinity to a lower pod, best victims", why: "the pod that the affinity needs stays",
			input: nodeYAML("n1", "4", "") + podYAML("db", "n1", 1, "1", "app: db") + podYAML("x", "n1", 1, "3", "") + podYAML("p", "", 10, "2", "", together),
			args:  []string{"-preemption", "optimal"}, want: []string{"p Unschedulable - n1 x", "p Scheduled n1 - -"},
		},
		{
			name: "no preemption across nodes", why: "Q runs on another node of the zone",
			input: nodeYAML("node-n", "4", ", zone: z") + nodeYAML("node-m", "2", ", zone: z") + podYAML("q", "node-m", 1, "1", "app: q") + podYAML("p", "", 10, "3", "", apart),
			want:  []string{"p Unschedulable - - -"}, message: "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod anti-affinity rules. preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
		},
		{
			name: "a class that does not preempt", why: "it waits for room, in front of lower pods",
			input: full + classes + fmt.Sprintf(withoutPri, "priorityClassName: polite, ") + podYAML("after", "", 0, "2", ""),
			want:  []string{"p Unschedulable - - -", "after Unschedulable - - -"}, message: "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
		},
		{
			name: "a pod that does not preempt may be preempted", why: "its policy protects nobody",
			input: nodeYAML("n1", "2", "") + podYAML("polite", "n1", 5, "2", "", "preemptionPolicy: Never") + podYAML("p", "", 10, "2", ""),
			want:  []string{"p Unschedulable - n1 polite", "p Scheduled n1 - -"},
		},
		{
			name: "quality of service does not count", why: "the lower priority goes, guaranteed or not",
			input: nodeYAML("n1", "4", "") + podYAML("best-effort", "n1", 5, "2", "") +
				"---\n{apiVersion: v1, kind: Pod, metadata: {name: guaranteed}, spec: {nodeName: n1, priority: 0, containers: [{name: c, resources: {requests: {cpu: '2', memory: 1Gi}, limits: {cpu: '2', memory: 1Gi}}}]}}\n" +
				podYAML("p", "", 10, "2", ""),
			want: []string{"p Unschedulable - n1 guaranteed", "p Scheduled n1 - -"},
		},
		{
			name: "several victims", why: "the preemptor waits behind its gate until the last of them goes",
			input: nodeYAML("n1", "2", "") + podYAML("a", "n1", 0, "1", "") + podYAML("b", "n1", 0, "1", "") + podYAML("p", "", 10, "2", ""),
			want:  []string{"p Unschedulable - n1 a,b", "p Scheduled n1 - -"},
		},
		{
			name: "the preemptor waits for its victims", why: "an event has it tried again while the victim is still leaving",
			input: full + nodeYAML("n2", "2", "") + podYAML("stays", "n2", 10, "1", "") + podYAML("goes", "n2", 10, "1", "") + podYAML("p", "", 10, "2", ""), args: []string{"-grace"},
			timeline: "- {at: 5s, delete: {apiVersion: v1, kind: Pod, metadata: {name: goes}}}\n",
			want:     []string{"p Unschedulable - n1 low", "p Unschedulable - - -", "p Scheduled n1 - -"},
			second:   "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node.",
		},
	}, func(t *testing.T, c test) {
		args := append([]string{"-f", "-", "-o", "json"}, c.args...)
		if c.timeline != "" {
			file := filepath.Join(t.TempDir(), "timeline.yaml")
			require.NoError(t, os.WriteFile(file, []byte(c.timeline), 0o644))
			args = append(args, "-timeline", file)
		}
		code, out, errs := simulate(t, c.input, args...)
		require.Zero(t, code, errs)
		var have struct{ Attempts []entry }
		require.NoError(t, json.Unmarshal([]byte(out), &have))
		require.Equal(t, c.want, outcomes(have.Attempts), "%s\n%s", c.why, out)
		if c.message != "" {
			require.Equal(t, c.message, have.Attempts[0].Message)
		}
		if c.second != "" {
			require.Equal(t, c.second, have.Attempts[1].Message)
		}
	})
}

func outcomes(list []entry) []string {
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimPrefix(e.Pod, "default/")+" "+e.Outcome+" "+dash(e.Node)+" "+dash(e.NominatedNode)+" "+dash(strings.ReplaceAll(strings.Join(e.Victims, ","), "default/", "")))
	}
	return out
}
