package testkit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Scenario is one case of a text file: a cluster in a few lines, and questions about the cluster.
//
//	# zone-skew: the fuller zone is rejected
//	namespace prod env=prod
//	node n1 zone=a cpu=4 taint=k=v:NoSchedule
//	node n2 zone=b cpu=4 {"spec": {"unschedulable": true}}
//	pod default/w1 on=n1 app=w cpu=1 priority=5
//	budget default/w app=w allowed=1
//	ask default/p app=w cpu=1 {"spec": {…}}
//	----
//	n1 …
//	n2 …
//
// Words of a node: zone=, taint=, cordoned, cpu=/memory=/pods= and names with a slash are capacity, everything else is a
// label. Words of a pod: on=, nominated=, priority=, started= (minutes after Epoch), terminating, cpu=/memory= and names with
// a slash are requests, everything else is a label. Words of a budget: allowed=, granted= (a pod whose disruption the budget
// already counts), everything else is a label of the selector. A line may end in an object (JSON or YAML flow) that is laid over what the words made. A line ends where
// the line does; blank lines end the expected output.
type Scenario struct {
	Name, Reason string
	Nodes        []*v1.Node
	Pods         []*v1.Pod // assigned, or nominated
	Asked        []*v1.Pod // lines "ask"
	Namespaces   []*v1.Namespace
	Budgets      []*policyv1.PodDisruptionBudget
}

// RunScenarios runs every case of the files that pattern names. print renders the answer to a scenario; it must not
// depend on the order of nodes and pods, which is checked by running each case again in other orders. Names are unique
// and each case has a reason. With -rewrite the files are renewed.
func RunScenarios(t *testing.T, pattern string, print func(t *testing.T, s Scenario) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files, "no scenarios at %s", pattern)
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var out strings.Builder
		for _, block := range blocks(string(text)) {
			if block.want == nil { // prose
				out.WriteString(block.head + "\n\n")
				continue
			}
			s, err := parse(block.head)
			require.NoError(t, err, "%s: %s", file, block.head)
			require.False(t, seen[s.Name], "%s: two cases are called %q", file, s.Name)
			require.NotEmpty(t, s.Reason, "%s: case %q has no reason", file, s.Name)
			seen[s.Name] = true
			t.Run(s.Name, func(t *testing.T) {
				got := strings.TrimRight(print(t, s), "\n")
				out.WriteString(block.head + "\n----\n" + got + "\n\n")
				if !*rewrite {
					require.Empty(t, cmp.Diff(*block.want, got), "%s (-want +got)", s.Reason)
				}
				r := rand.New(rand.NewPCG(1, uint64(len(seen))))
				for range 3 {
					require.Equal(t, got, strings.TrimRight(print(t, s.shuffled(r)), "\n"), "the order of nodes and pods must not matter")
				}
			})
		}
		if *rewrite {
			require.NoError(t, os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644))
		}
	}
}

func (s Scenario) shuffled(r *rand.Rand) Scenario {
	s.Nodes, s.Pods, s.Namespaces = slices.Clone(s.Nodes), slices.Clone(s.Pods), slices.Clone(s.Namespaces)
	r.Shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
	r.Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
	r.Shuffle(len(s.Namespaces), func(i, j int) { s.Namespaces[i], s.Namespaces[j] = s.Namespaces[j], s.Namespaces[i] })
	return s
}

type block struct {
	head string
	want *string
}

func blocks(text string) (out []block) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		part = strings.Trim(part, "\n")
		if part == "" {
			continue
		}
		head, want, ok := strings.Cut(part, "\n----")
		if !ok {
			out = append(out, block{head: part})
			continue
		}
		want = strings.Trim(want, "\n")
		out = append(out, block{head, &want})
	}
	return out
}

func parse(head string) (s Scenario, err error) {
	for line := range strings.SplitSeq(head, "\n") {
		if prose, ok := strings.CutPrefix(line, "# "); ok {
			if s.Name == "" {
				s.Name, s.Reason, _ = strings.Cut(prose, ": ")
			}
			continue
		}
		line, object, _ := strings.Cut(line, "{")
		words := strings.Fields(line)
		if len(words) < 2 {
			return s, fmt.Errorf("%q: want kind and name", line)
		}
		var target any
		switch kind, name := words[0], words[1]; kind {
		case "node":
			n := nodeOf(name, words[2:])
			s.Nodes, target = append(s.Nodes, n), n
		case "pod", "ask":
			p := podOf(name, words[2:])
			if kind == "ask" {
				s.Asked = append(s.Asked, p)
			} else {
				s.Pods = append(s.Pods, p)
			}
			target = p
		case "namespace":
			n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: Pairs(strings.Join(words[2:], ","))}}
			s.Namespaces, target = append(s.Namespaces, n), n
		case "budget":
			b := budgetOf(name, words[2:])
			s.Budgets, target = append(s.Budgets, b), b
		default:
			return s, fmt.Errorf("%q: want node, pod, ask, namespace or budget", line)
		}
		if object == "" {
			continue
		}
		data, err := yaml.ToJSON([]byte("---\n{" + object)) // without the first line ToJSON takes it for JSON
		if err != nil {
			return s, fmt.Errorf("%q: %w", line, err)
		}
		if err := json.Unmarshal(data, target); err != nil {
			return s, fmt.Errorf("%q: %w", line, err)
		}
	}
	if s.Name == "" {
		return s, fmt.Errorf("no name: the first line is `# name: reason`")
	}
	return s, nil
}

func amount(key string) bool {
	return slices.Contains([]string{"cpu", "memory", "pods", "ephemeral-storage"}, key) || strings.HasPrefix(key, "hugepages-") || strings.HasPrefix(key, "example.com/")
}

func nodeOf(name string, words []string) *v1.Node {
	b := Node(name)
	for _, w := range words {
		switch key, value, _ := strings.Cut(w, "="); {
		case key == "zone":
			b = b.Zone(value)
		case key == "taint":
			b = b.Taint(value)
		case key == "cordoned":
			b = b.Unschedulable()
		case key == "bare":
			b = b.Bare()
		case amount(key):
			b = b.Capacity(w)
		default:
			b = b.Label(key, value)
		}
	}
	return b.Obj()
}

func podOf(name string, words []string) *v1.Pod {
	b := Pod(name)
	var requests []string
	var status v1.PodStatus
	for _, w := range words {
		switch key, value, _ := strings.Cut(w, "="); {
		case key == "on":
			b = b.On(value)
		case key == "nominated":
			status.NominatedNodeName = value
		case key == "priority":
			b = b.Priority(number(w))
		case key == "started":
			status.StartTime = &metav1.Time{Time: Epoch.Add(time.Duration(number(w)) * time.Minute)}
		case key == "terminating":
			b = b.Terminating()
		case amount(key):
			requests = append(requests, w)
		default:
			b = b.Labels(w)
		}
	}
	if requests != nil {
		b = b.Request(strings.Join(requests, ","))
	}
	pod := b.Obj()
	pod.Status.NominatedNodeName, pod.Status.StartTime = status.NominatedNodeName, status.StartTime
	return pod
}

func budgetOf(name string, words []string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: v1.NamespaceDefault, Name: name}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for _, w := range words {
		switch key, value, _ := strings.Cut(w, "="); key {
		case "allowed":
			b.Status.DisruptionsAllowed = number(w)
		case "granted":
			b.Status.DisruptedPods = map[string]metav1.Time{value: metav1.NewTime(Epoch)}
		default:
			b.Spec.Selector.MatchLabels[key] = value
		}
	}
	return b
}

// number returns the number of a word "key=number".
func number(word string) (n int32) {
	_, value, _ := strings.Cut(word, "=")
	if _, err := fmt.Sscan(value, &n); err != nil {
		panic(fmt.Sprintf("testkit: %s: %v", word, err))
	}
	return n
}
