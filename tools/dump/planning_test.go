package dump

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The cluster of a planner has the pods of workloads, with -strict no pod on a node that is not there, and valid budgets.
func TestSnapshotOfAPlanner(t *testing.T) {
	const node = "{kind: Node, metadata: {name: n1}}\n---\n"
	const web = "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}}}\n---\n"
	const lost = "{kind: Pod, metadata: {name: p}, spec: {nodeName: gone}}\n---\n"
	const budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: -1}}\n"
	type test struct {
		name, text, err string
		p               Planning
		pods            int
		warnings        []string
	}
	testkit.Run(t, []test{
		{name: "as it is", text: node + web, pods: 0},
		{name: "with workloads", text: node + web, p: Planning{Expand: true}, pods: 2, warnings: []string{"the input has no PodDisruptionBudget, PriorityClass; "}},
		{name: "workloads that are wrong", text: node + strings.ReplaceAll(web, "name: web", "name: web, namespace: x") + strings.Replace(web, "labels: {a: b}", "labels: {}", 1), p: Planning{Expand: true}, err: "ReplicaSet"},
		{name: "a lost pod", text: node + lost, p: Planning{Orphans: "left out"}, warnings: []string{"left out", "the input has no PodDisruptionBudget; "}},
		{name: "a lost pod, strict", text: node + lost, p: Planning{Strict: true}, err: `"gone"`},
		{name: "a bad budget", text: node + budget, err: "PodDisruptionBudget default/b: spec.minAvailable: "},
	}, func(t *testing.T, c test) {
		o, err := Read([]string{"-"}, strings.NewReader(c.text), Options{})
		require.NoError(t, err)
		planned, err := o.Snapshot(c.p)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			require.True(t, planned == nil || planned.Snapshot == nil)
			return
		}
		require.NoError(t, err)
		require.Len(t, o.Pods, c.pods+strings.Count(c.text, "kind: Pod,"))
		require.NotNil(t, planned.Snapshot.Node(planned.Snapshot.Slot("n1")))
		said := o.Warnings.Texts()
		require.Len(t, said, len(c.warnings), "%q", said)
		for k, want := range c.warnings {
			require.Contains(t, said[k], want)
		}
	})
}

// Pods that workloads make are in the cluster of a planner as the API server stores them, and quotas charge them beside what their status
// says. Refused pods leave the dump.
func TestMadePodsAreAdmitted(t *testing.T) {
	const text = `{kind: Node, metadata: {name: n1}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 7}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {requests.cpu: '5'}}, status: {hard: {requests.cpu: '5'}, used: {requests.cpu: '3'}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: given}, spec: {containers: [{name: c, resources: {limits: {cpu: '3'}}}]}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web}, spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {priorityClassName: high, containers: [{name: c, resources: {limits: {cpu: '1'}}}]}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: bad}, spec: {replicas: 2, selector: {matchLabels: {a: c}}, template: {metadata: {labels: {a: c}}, spec: {priorityClassName: gone, containers: [{name: c}]}}}}
`
	o, err := Read([]string{"-"}, strings.NewReader(text), Options{})
	require.NoError(t, err)
	planned, err := o.Snapshot(Planning{Expand: true})
	require.NoError(t, err)
	names := []string{}
	for _, p := range o.Pods {
		names = append(names, p.Name)
		cpu := p.Spec.Containers[0].Resources.Requests.Cpu().String()
		if p.Name == "given" {
			require.Nil(t, p.Spec.Priority)
			require.Equal(t, "0", cpu, "pods of the input stay as they are")
			continue
		}
		require.EqualValues(t, 7, *p.Spec.Priority)
		require.Equal(t, "1", cpu)
	}
	require.Equal(t, "given web-1 web-2", strings.Join(names, " "))
	texts := []string{}
	for _, r := range planned.Refused {
		texts = append(texts, r.Pod.Name+": "+r.Text)
	}
	require.Equal(t, []string{
		`web-3: pods "web-3" is forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=5, limited: requests.cpu=5`,
		`bad-1: pods "bad-1" is forbidden: no PriorityClass with name gone was found`, `bad-2: pods "bad-1" is forbidden: no PriorityClass with name gone was found`,
	}, texts)
	require.ErrorContains(t, planned.Quotas.Charge(o.Pods[1]), "used: requests.cpu=5")
	require.Contains(t, strings.Join(o.Warnings.Texts(), "\n"), "pod default/web-3 is left out: the API server refuses it: pods")
}

func TestDaemonSetExists(t *testing.T) {
	require.Nil(t, new(Objects).DaemonSetExists(), "the input has none")
	set := func(namespace, name string) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	exists := (&Objects{DaemonSets: []*appsv1.DaemonSet{set("x", "a"), set("y", "b")}}).DaemonSetExists()
	for name, want := range map[[2]string]bool{{"x", "a"}: true, {"y", "b"}: true, {"x", "b"}: false, {"y", "a"}: false, {"", "a"}: false} {
		require.Equal(t, want, exists(name[0], name[1]), "%v", name)
	}
}

// A pod that is not placed evicts nobody, so that budgets do not matter.
func TestBudgetsOfPlacedPods(t *testing.T) {
	pod := func(name, node string, priority int32) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{NodeName: node, Priority: &priority}}
	}
	for _, c := range []struct {
		placed   bool
		priority int32
		running  int32
		told     bool
	}{{true, 5, 0, true}, {false, 5, 0, false}, {true, 0, 0, false}, {true, 5, 5, false}, {true, -1, -2, true}, {true, -2, -1, false}} {
		o := &Objects{Nodes: []*v1.Node{{}}, Pods: []*v1.Pod{pod("r", "n", c.running), pod("s", "n", 9), pod("p", "", c.priority)}}
		o.Absent(Asks{Placed: func(p *v1.Pod) bool { return c.placed && p.Name == "p" }})
		require.Equal(t, c.told, strings.Contains(strings.Join(o.Warnings.Texts(), "\n"), "PodDisruptionBudget"), "%+v", c)
	}
}
