package drain

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

// Blocked pods stand together when everything about them but the node is the same, and those for which waiting does not help come first.
// Pods behind others stand together whatever owns them.
func TestGroups(t *testing.T) {
	one := blocked{podRef: podRef{Pod: "a/x", Node: "n1", Owner: "o"}, Budget: "b", Cause: "c", Proof: "p", WaitingHelps: true, Remedy: "r"}
	list := []blocked{one}
	for _, change := range []func(b *blocked){
		func(b *blocked) { b.Owner = "o2" }, func(b *blocked) { b.Budget = "b2" }, func(b *blocked) { b.Cause = "c2" },
		func(b *blocked) { b.Proof = "p2" }, func(b *blocked) { b.Remedy = "r2" },
	} {
		other := one
		change(&other)
		list = append(list, other)
	}
	elsewhere, never, behind := one, one, one
	elsewhere.Node = "n2"
	never.WaitingHelps, never.Remedy = false, "r3"
	behind.Behind, behind.Cause = true, "c3"
	another := behind
	another.Owner = "o3"
	groups := grouped(append(append(slices.Clone(list), list...), elsewhere, behind, never, another))
	require.Len(t, groups, 8)
	require.Equal(t, []blocked{never}, groups[0])
	require.Equal(t, []blocked{one, one, elsewhere}, groups[1])
	for k, g := range groups[2:7] {
		require.Equal(t, []blocked{list[k+1], list[k+1]}, g)
	}
	require.Equal(t, []blocked{behind, another}, groups[7])
	require.Empty(t, grouped(nil))
}

// Only a condition DisruptionAllowed with the reason SyncFailed says that the controller failed.
func TestFailedSync(t *testing.T) {
	for _, c := range []struct {
		kind, reason string
		want         bool
	}{{policyv1.DisruptionAllowedCondition, policyv1.SyncFailedReason, true}, {policyv1.DisruptionAllowedCondition, "Other", false}, {"Other", policyv1.SyncFailedReason, false}, {"Other", "Other", false}} {
		b := &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{Conditions: []metav1.Condition{{Type: "First"}, {Type: c.kind, Reason: c.reason}}}}
		require.Equal(t, c.want, failedSync(b), c)
	}
	require.False(t, failedSync(&policyv1.PodDisruptionBudget{}))
}

// The numbers of a budget whose controllers are not in the input: those of its status, none after a failed sync, and no disruption
// where no pod is expected.
func TestBudgetsWithoutControllers(t *testing.T) {
	pods := twoNodes + podNamed("a") + podNamed("b")
	for _, c := range []struct{ status, want string }{
		{"observedGeneration: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 1", "2 of 2 pods healthy, 1 needed, 1 may leave"},
		{"observedGeneration: 1, currentHealthy: 9, desiredHealthy: 1, expectedPods: 1, disruptionsAllowed: 0", "2 of 1 pods healthy, 1 needed, 1 may leave"},
		{"observedGeneration: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 0, disruptionsAllowed: 1", "2 of 0 pods healthy, 1 needed, 0 may leave"},
		{"observedGeneration: 1, currentHealthy: 7, desiredHealthy: 6, expectedPods: 5, disruptionsAllowed: 4, conditions: [{type: DisruptionAllowed, status: 'False', reason: SyncFailed, message: m, lastTransitionTime: null}]", "7 of 5 pods healthy, 6 needed, 4 may leave"},
	} {
		in, err := load(options{Common: program.Common{Files: []string{"-"}}}, strings.NewReader(pods+anyPDB+"status: {"+c.status+"}\n"))
		require.NoError(t, err)
		require.Equal(t, c.want, numbers(&in.budgets[0].Status), c.status)
		require.NotSame(t, in.objects.PodDisruptionBudgets[0], in.budgets[0])
	}
	two := strings.Replace(anyPDB, "name: web,", "name: other,", 1)
	const fresh = "status: {observedGeneration: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, disruptionsAllowed: 0}\n"
	in, err := load(options{Common: program.Common{Files: []string{"-"}}}, strings.NewReader(pods+replicas+"---\n"+anyPDB+fresh+"---\n"+two+fresh))
	require.NoError(t, err)
	require.Len(t, in.notes, 2)
	require.NotNil(t, in.scale)
	require.Contains(t, in.notes["default/web"][0], "1 needed, 0 may leave, and the pods of the input give 2 of 2 pods healthy, 1 needed, 1 may leave")
}

// -strict needs pods whose nodes are there, and only then; a DaemonSet that is gone evicts its pods; -n leaves out skipped pods.
func TestPodsOfTheInput(t *testing.T) {
	stray := strings.Replace(podNamed("stray"), "n1", "n9", 1)
	for _, c := range []struct {
		input  string
		strict bool
		ok     bool
	}{{twoNodes + podNamed("a"), true, true}, {twoNodes + podNamed("a") + stray, false, true}, {twoNodes + podNamed("a") + stray, true, false}} {
		_, err := load(options{Common: program.Common{Files: []string{"-"}, Input: dump.Options{Strict: c.strict}}}, strings.NewReader(c.input))
		require.Equal(t, c.ok, err == nil, err)
	}
	const set = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: NAME}\nspec: {selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c}]}}}\n---\n"
	of := strings.Replace(strings.Replace(podNamed("d"), "kind: ReplicaSet, name: web", "kind: DaemonSet, name: d", 1), "app: web", "app: d", 1)
	p := planned(t, twoNodes+of+strings.Replace(set, "NAME", "d", 1), "-f", "-", "-ignore-daemonsets", "n1")
	require.Len(t, p.Skipped, 1)
	require.Empty(t, planned(t, twoNodes+of+strings.Replace(set, "NAME", "d", 1), "-f", "-", "-ignore-daemonsets", "-n", "other", "n1").Skipped)
	p = planned(t, twoNodes+of+strings.Replace(set, "NAME", "other", 1), "-f", "-", "-ignore-daemonsets", "-force", "n1")
	require.Len(t, p.Waves, 1)
	require.Equal(t, "its DaemonSet is gone", p.Waves[0].Evictions[0].Note)
	_, out, _ := drain(twoNodes+podNamed("a"), "-f", "-", "-n", "other", "-o", "html", "n1")
	require.NotContains(t, out, "default/a")
}

// An Eviction object counts for its pod, and a budget for its namespace.
func TestOtherObjectsOfTheSameName(t *testing.T) {
	elsewhere := strings.Replace(anyPDB, "name: web,", "name: web, namespace: other,", 1)
	request := "---\napiVersion: policy/v1\nkind: Eviction\nmetadata: {name: b}\ndeleteOptions: {gracePeriodSeconds: 5}\n"
	_, out, _ := drain(twoNodes+podNamed("a")+podNamed("b")+anyPDB+"---\n"+elsewhere+replicas+request, "-f", "-", "-evict", "default/a", "-o", "json")
	var a answered
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	require.Equal(t, []string{"default/web"}, a.Budgets)
	require.EqualValues(t, 30, *a.GraceSeconds)
}

var errBroken = errors.New("the pipe is broken")

// broken takes so many writes.
type broken struct{ left *int }

func (b broken) Write(p []byte) (int, error) {
	if *b.left--; *b.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

// What cannot be written is an error.
func TestBrokenOutput(t *testing.T) {
	o, err := parseFlags([]string{"-f", shipped, "node-a1"}, io.Discard)
	require.NoError(t, err)
	none, warnings := 0, 0
	no, err := answer(t.Context(), o, nil, broken{&none}, io.Discard)
	require.ErrorIs(t, err, errBroken)
	require.False(t, no)
	_, err = answer(t.Context(), o, nil, io.Discard, broken{&warnings})
	require.ErrorIs(t, err, errBroken)
	require.Equal(t, program.BadInput, Run(t.Context(), []string{"-f", shipped, "node-a1"}, nil, broken{&none}, io.Discard))
}

// A member of a group on another node that is terminating already needs no eviction.
func TestElsewhereTerminating(t *testing.T) {
	p := plan{Nodes: []string{"n1"}, Waves: []wave{{Evictions: []eviction{
		{podRef: podRef{Pod: "d/a", Node: "n1"}}, {podRef: podRef{Pod: "d/b", Node: "n2"}}, {podRef: podRef{Pod: "d/c", Node: "n2"}, Bypass: "Terminating"},
	}}}}
	require.Equal(t, p.Waves[0].Evictions[1:2], p.elsewhere())
}

// The remedies of a kind are left out of a copy.
func TestWithout(t *testing.T) {
	list := []disruption.Remedy{{Kind: disruption.MendSync, Text: "a"}, {Kind: disruption.AllowOne, Text: "b"}, {Kind: mendPods, Text: "c"}}
	given := slices.Clone(list)
	require.Equal(t, []string{"b", "c"}, lines(without(list, disruption.MendSync)))
	require.Equal(t, given, list)
}

// A budget of a pod without a known scale counts by the number of its status. The budget of the input keeps its spec.
func TestUnknownScale(t *testing.T) {
	yes, one := true, intstr.FromInt32(1)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", Labels: map[string]string{"app": "x"}, OwnerReferences: []metav1.OwnerReference{{APIVersion: "ray.io/v1", Kind: "RayCluster", Name: "r", Controller: &yes}}}}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"},
		Spec:   policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: p.Labels}},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DesiredHealthy: 1, CurrentHealthy: 1, ExpectedPods: 1, Conditions: []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition}}}}
	given := b.DeepCopy()
	in := &input{objects: &dump.Objects{}}
	in.objects.Pods, in.objects.PodDisruptionBudgets = []*v1.Pod{p}, []*policyv1.PodDisruptionBudget{b}
	require.NoError(t, in.complete(options{at: time.Unix(0, 0)}))
	require.Equal(t, given, b)
}
