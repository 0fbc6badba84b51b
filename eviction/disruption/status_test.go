package disruption

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/internal/testkit"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// healthyPod returns a running and ready pod with the label app=x. owner is "Kind/name" of its controller, or "".
func healthyPod(name, owner string) *v1.Pod {
	p := testkit.Pod(name).Labels("app=x").Obj()
	p.Status.Phase = v1.PodRunning
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	if owner != "" {
		own(p, owner)
	}
	return p
}

func own(p *v1.Pod, owner string) {
	var kind, name string
	for i := range owner {
		if owner[i] == '/' {
			kind, name = owner[:i], owner[i+1:]
		}
	}
	version := "apps/v1"
	switch kind {
	case "ReplicationController":
		version = "v1"
	case "Job":
		version = "batch/v1"
	}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: ptr(true)}}
}

func unready(p *v1.Pod) *v1.Pod {
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
	return p
}

func workload(kind, name string, replicas *int32, controller string) Workload {
	w := Workload{APIVersion: "apps/v1", Kind: kind, Namespace: "default", Name: name, UID: types.UID("uid-" + name), Replicas: replicas}
	if kind == "ReplicationController" {
		w.APIVersion = "v1"
	}
	if controller != "" {
		w.Controller = &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: controller, UID: types.UID("uid-" + controller)}
	}
	return w
}

// amount reads "50%" or "3"; "" gives nil.
func amount(s string) *intstr.IntOrString {
	if s == "" {
		return nil
	}
	v := intstr.Parse(s)
	return &v
}

func numbers(s policyv1.PodDisruptionBudgetStatus) string {
	return fmt.Sprintf("%d/%d/%d/%d", s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy, s.DisruptionsAllowed)
}

func replicate(n int, owner string) (out []*v1.Pod) {
	for i := range n {
		out = append(out, healthyPod(fmt.Sprint("p-", strings.ReplaceAll(owner, "/", "-"), "-", i), owner))
	}
	return out
}

func join(lists ...[]*v1.Pod) (out []*v1.Pod) {
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func TestSync(t *testing.T) {
	terminating := replicate(4, "ReplicaSet/a")
	terminating[0].DeletionTimestamp = &metav1.Time{Time: now}
	succeeded := replicate(3, "ReplicaSet/a")
	succeeded[0].Status.Phase = v1.PodSucceeded
	sick := replicate(3, "ReplicaSet/a")
	unready(sick[0])
	bare := func(n int) []*v1.Pod { return replicate(n, "") }
	rs := func(n int32) []Workload { return []Workload{workload("ReplicaSet", "a", &n, "")} }
	deployment := []Workload{workload("ReplicaSet", "old", ptr(int32(2)), "d"), workload("ReplicaSet", "new", ptr(int32(4)), "d"), workload("Deployment", "d", ptr(int32(5)), "")}
	type test struct {
		name      string
		min, max  string
		pods      []*v1.Pod
		workloads []Workload
		want      string // expected/desired/current/allowed
	}
	testkit.Run(t, []test{
		{"min 2 of 3", "2", "", replicate(3, "ReplicaSet/a"), nil, "3/2/3/1"},
		{"min 0 of 3 bare", "0", "", bare(3), nil, "3/0/3/3"},
		{"min 5 of 3", "5", "", replicate(3, "ReplicaSet/a"), nil, "3/5/3/0"},
		{"min 50% of 7", "50%", "", replicate(7, "ReplicaSet/a"), rs(7), "7/4/7/3"},
		{"min 1% of 1", "1%", "", replicate(1, "ReplicaSet/a"), rs(1), "1/1/1/0"},
		{"min 100% of 3", "100%", "", replicate(3, "ReplicaSet/a"), rs(3), "3/3/3/0"},
		{"max 30% of 7", "", "30%", replicate(7, "ReplicaSet/a"), rs(7), "7/4/7/3"},
		{"max 1% of 1", "", "1%", replicate(1, "ReplicaSet/a"), rs(1), "1/0/1/1"},
		{"max 1 of scale 10 with 2 pods", "", "1", replicate(2, "ReplicaSet/a"), rs(10), "10/9/2/0"},
		{"max 5 of 3", "", "5", replicate(3, "ReplicaSet/a"), rs(3), "3/0/3/3"},
		{"max 0 of 3", "", "0", replicate(3, "ReplicaSet/a"), rs(3), "3/3/3/0"},
		{"max 1 of 3 bare", "", "1", bare(3), nil, "0/0/3/0"},
		{"max 1 of 3 and 2 bare", "", "1", join(replicate(3, "ReplicaSet/a"), bare(2)), rs(3), "3/2/5/3"},
		{"min 50% of 3 bare", "50%", "", bare(3), nil, "0/0/3/0"},
		{"max 1 of a deployment in two sets", "", "1", join(replicate(1, "ReplicaSet/old"), replicate(2, "ReplicaSet/new")), deployment, "5/4/3/0"},
		{"neither", "", "", replicate(3, "ReplicaSet/a"), nil, "0/0/3/0"},
		{"min 2 of 4 and one terminating", "2", "", terminating, nil, "4/2/3/1"},
		{"both are given", "3", "1", replicate(3, "ReplicaSet/a"), rs(3), "3/2/3/1"},
		{"succeeded and ready counts", "2", "", succeeded, nil, "3/2/3/1"},
		{"not ready", "2", "", sick, nil, "3/2/2/0"},
		{"no pods", "2", "", nil, nil, "0/2/0/0"},
	}, func(t *testing.T, c test) {
		b := pdb("b", "app=x", 0)
		b.Generation = 7
		b.Spec.MinAvailable, b.Spec.MaxUnavailable = amount(c.min), amount(c.max)
		var s Synced
		testkit.Unchanged(t, func() { s = Sync(b, c.pods, NewScale(c.workloads), now) }, c.pods...)
		require.NoError(t, s.Err)
		require.Equal(t, c.want, numbers(s.Status))
		require.EqualValues(t, 7, s.Status.ObservedGeneration)
		cond := s.Status.Conditions[0]
		if s.Status.DisruptionsAllowed > 0 {
			require.Equal(t, []any{metav1.ConditionTrue, "SufficientPods", int64(7)}, []any{cond.Status, cond.Reason, cond.ObservedGeneration})
		} else {
			require.Equal(t, []any{metav1.ConditionFalse, "InsufficientPods", ""}, []any{cond.Status, cond.Reason, cond.Message})
		}
	})
}

func TestSyncPods(t *testing.T) {
	pods := replicate(2, "")
	pods[1].Labels = nil
	other := healthyPod("other", "")
	other.Namespace = "elsewhere"
	pods = append(pods, other)
	count := func(selector string) int32 {
		b := pdb("b", selector, 0)
		b.Spec.MinAvailable = amount("0")
		return Sync(b, pods, nil, now).Status.ExpectedPods
	}
	require.EqualValues(t, 1, count("app=x"))
	require.EqualValues(t, 2, count("{}"), "pods without labels, too")
	require.EqualValues(t, 0, count(""))
	s := Sync(pdb("b", "", 0), pods, nil, now)
	require.Equal(t, []Notice{{"Normal", "NoPods", "No matching pods found", nil}}, s.Notices)
	require.NoError(t, s.Err)
	b := pdb("b", "app=x", 0)
	b.Spec.MaxUnavailable = amount("1")
	s = Sync(b, pods[:1], nil, now)
	require.Equal(t, []Notice{{"Warning", "UnmanagedPods", "Pods selected by this PodDisruptionBudget have no controller: p--0", nil}}, s.Notices)
	require.NoError(t, s.Err)
	s = Sync(b, []*v1.Pod{healthyPod("x", "ReplicaSet/a")}, NewScale([]Workload{workload("ReplicaSet", "a", ptr(int32(1)), "")}), now)
	require.Empty(t, s.Notices)
}

// When several budgets select a pod there is one warning with their names. Each budget has its own status all the same.
func TestSeveralBudgetsNotice(t *testing.T) {
	a, b, other := pdb("a", "app=x", 0), pdb("b", "app=x", 0), pdb("c", "app=y", 0)
	b.Spec.Selector = &metav1.LabelSelector{}
	for _, x := range []*policyv1.PodDisruptionBudget{a, b, other} {
		x.Spec.MinAvailable = ptr(intstr.FromInt32(0))
	}
	both, one := healthyPod("both", ""), healthyPod("one", "")
	both.Labels, one.Labels = map[string]string{"app": "x"}, map[string]string{"app": "z"}
	e := NewEvictions([]*policyv1.PodDisruptionBudget{a, b, other})
	var several []Notice
	for _, s := range e.Sync([]*v1.Pod{both, one}, nil, now)[:1] { // the notice is that of budget a
		several = append(several, slices.DeleteFunc(s.Notices, func(n Notice) bool { return n.Reason != "MultiplePodDisruptionBudgets" })...)
	}
	require.Equal(t, []Notice{{"Warning", "MultiplePodDisruptionBudgets", "Several PodDisruptionBudgets select the pod: a, b", both}}, several)
	require.Equal(t, []int32{1, 2, 0}, []int32{e.Budgets()[0].Status.DisruptionsAllowed, e.Budgets()[1].Status.DisruptionsAllowed, e.Budgets()[2].Status.DisruptionsAllowed})
}

func TestSyncFailed(t *testing.T) {
	b := pdb("b", "app=x", 4)
	b.Generation = 2
	b.Status.ObservedGeneration, b.Status.ExpectedPods, b.Status.CurrentHealthy = 1, 9, 8
	b.Status.Conditions = []metav1.Condition{{Type: "DisruptionAllowed", Status: metav1.ConditionTrue, Reason: "SufficientPods", ObservedGeneration: 1}}
	b.Status.DisruptedPods = map[string]metav1.Time{"gone": {}}
	b.Spec.MaxUnavailable = amount("1")
	check := func(want string, pods []*v1.Pod, scale Scale) {
		t.Helper()
		s := Sync(b, pods, scale, now)
		require.EqualError(t, s.Err, want)
		require.Equal(t, "9/0/8/0", numbers(s.Status))
		require.EqualValues(t, 1, s.Status.ObservedGeneration)
		require.Equal(t, b.Status.DisruptedPods, s.Status.DisruptedPods)
		c := s.Status.Conditions[0]
		require.Equal(t, []any{metav1.ConditionFalse, "SyncFailed", want, int64(1)}, []any{c.Status, c.Reason, c.Message, c.ObservedGeneration})
		require.Equal(t, Notice{"Warning", "CalculateExpectedPodCountFailed", "Failed to calculate the number of expected pods: " + want, nil}, s.Notices[len(s.Notices)-1])
		require.Equal(t, s, NewEvictions([]*policyv1.PodDisruptionBudget{b}).Sync(pods, scale, now)[0])
	}
	none := NewScale(nil)
	check(`found no controllers for pod "x"`, []*v1.Pod{healthyPod("x", "ReplicaSet/a")}, none)
	check(`found no controllers for pod "x"`, []*v1.Pod{healthyPod("x", "ReplicaSet/a")}, nil)
	check("jobs.batch does not implement the scale subresource", []*v1.Pod{healthyPod("x", "Job/a")}, none)
	for kind, resource := range map[string]string{"Job": "jobs.batch", "Redis": "redises.batch", "Proxy": "proxies.batch"} {
		job := Workload{APIVersion: "batch/v1", Kind: kind, Namespace: "default", Name: "a", UID: "uid-a"}
		pod := healthyPod("x", kind+"/a")
		pod.OwnerReferences[0].APIVersion = job.APIVersion
		check(resource+" does not implement the scale subresource", []*v1.Pod{pod}, NewScale([]Workload{job}))
	}
	check("broken", []*v1.Pod{healthyPod("x", "ReplicaSet/a")}, func(*v1.Pod, metav1.OwnerReference) (types.UID, int32, error) { return "", 0, errors.New("broken") })
	b.Spec.Selector = expression("app", "Bad")
	check(`"Bad" is not a valid label selector operator`, nil, none)
	b.Spec.Selector = &metav1.LabelSelector{}
	b.Spec.MaxUnavailable = &intstr.IntOrString{Type: intstr.String, StrVal: "many"}
	require.Error(t, Sync(b, nil, nil, now).Err)
	b.Spec.MinAvailable, b.Spec.MaxUnavailable = b.Spec.MaxUnavailable, nil
	require.Error(t, Sync(b, nil, nil, now).Err)
	require.EqualError(t, Sync(b, []*v1.Pod{healthyPod("x", "ReplicaSet/a")}, none, now).Err, `found no controllers for pod "x"`, "the controllers are looked for first")
}

// The wanted number of replicas is asked for once for each controller. Objects that several controllers belong to count once.
func TestReplicas(t *testing.T) {
	b := pdb("b", "app=x", 0)
	b.Spec.MaxUnavailable = amount("1")
	var asked []string
	scale := func(pod *v1.Pod, owner metav1.OwnerReference) (types.UID, int32, error) {
		asked = append(asked, pod.Name+" "+owner.Name)
		if owner.Name == "alone" {
			return owner.UID, 10, nil
		}
		return "deployment", 3, nil
	}
	s := Sync(b, join(replicate(2, "ReplicaSet/alone"), replicate(2, "ReplicaSet/old"), replicate(2, "ReplicaSet/new")), scale, now)
	require.Equal(t, []string{"p-ReplicaSet-alone-0 alone", "p-ReplicaSet-old-0 old", "p-ReplicaSet-new-0 new"}, asked)
	require.EqualValues(t, 13, s.Status.ExpectedPods)
}

func TestWorkloads(t *testing.T) {
	three := ptr(int32(3))
	scale := NewScale([]Workload{workload("ReplicationController", "rc", three, ""), workload("ReplicaSet", "rs", three, ""), workload("StatefulSet", "db", three, ""),
		workload("ReplicaSet", "d-1", ptr(int32(1)), "d"), workload("Deployment", "d", ptr(int32(9)), ""), workload("ReplicaSet", "orphan", three, "gone"),
		{APIVersion: "example.com/v1", Kind: "Robot", Namespace: "default", Name: "r", UID: "uid-r", Replicas: three},
		{APIVersion: "v1", Kind: "Node", Namespace: "default", Name: "n", UID: "uid-n"},
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "default", Name: "db", UID: "uid-other", Replicas: three}})
	find := func(version, kind, name string, uid types.UID) (types.UID, int32, error) {
		return scale(healthyPod("x", ""), metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: uid})
	}
	type test struct {
		name          string
		version, kind string
		object        string
		uid           types.UID
		replicas      int32
	}
	testkit.Run(t, []test{
		{"replication controller", "v1", "ReplicationController", "rc", "uid-rc", 3},
		{"replica set", "apps/v1", "ReplicaSet", "rs", "uid-rs", 3},
		{"replica set under its old group", "extensions/v1beta1", "ReplicaSet", "rs", "uid-rs", 3},
		{"deployment through its replica set", "apps/v1", "ReplicaSet", "d-1", "uid-d", 9},
		{"stateful set", "apps/v1", "StatefulSet", "db", "uid-db", 3},
		{"custom kind with a scale", "example.com/v1", "Robot", "r", "uid-r", 3},
		{"another version", "example.com/v2", "Robot", "r", "uid-r", 3},
	}, func(t *testing.T, c test) {
		uid, n, err := find(c.version, c.kind, c.object, "uid-"+types.UID(c.object))
		require.NoError(t, err)
		require.Equal(t, c.uid, uid)
		require.Equal(t, c.replicas, n)
	})
	type failure struct {
		name, version, kind, object, want string
	}
	testkit.Run(t, []failure{
		{"same name with another UID", "apps/v1", "ReplicaSet", "db", `found no controllers for pod "x"`},
		{"its deployment is gone", "apps/v1", "ReplicaSet", "orphan", `found no controllers for pod "x"`},
		{"unknown object of a known kind", "example.com/v1", "Robot", "other", `found no controllers for pod "x"`},
		{"unknown replication controller", "v1", "ReplicationController", "other", `found no controllers for pod "x"`},
		{"replication controller of a group", "example.com/v1", "ReplicationController", "rc", `no matches for kind "ReplicationController" in version "example.com/v1"`},
		{"unknown kind", "example.com/v1", "Saw", "s", `no matches for kind "Saw" in version "example.com/v1"`},
		{"a Job that is not in the list", "batch/v1", "Job", "j", "jobs.batch does not implement the scale subresource"},
		{"a DaemonSet that is not in the list", "apps/v1", "DaemonSet", "s", "daemonsets.apps does not implement the scale subresource"},
		{"a DaemonSet of another group", "example.com/v1", "DaemonSet", "s", `no matches for kind "DaemonSet" in version "example.com/v1"`},
		{"no scale", "v1", "Node", "n", "nodes does not implement the scale subresource"},
	}, func(t *testing.T, c failure) {
		uid, n, err := find(c.version, c.kind, c.object, "uid-"+types.UID(c.object))
		require.EqualError(t, err, c.want)
		require.Zero(t, uid)
		require.Zero(t, n)
	})
}

// Only a ReplicaSet of apps that a Deployment of apps controls counts as its controller.
func TestControllerOfController(t *testing.T) {
	for _, c := range []struct {
		version, kind             string
		controllerVersion, parent string
		want                      types.UID
	}{
		{"apps/v1", "ReplicaSet", "apps/v1", "Deployment", "uid-parent"},
		{"apps/v1", "StatefulSet", "apps/v1", "Deployment", "uid-child"},
		{"example.com/v1", "ReplicaSet", "apps/v1", "Deployment", "uid-child"},
		{"apps/v1", "ReplicaSet", "apps/v1", "Robot", "uid-child"},
		{"apps/v1", "ReplicaSet", "example.com/v1", "Deployment", "uid-child"},
		{"apps/v1", "ReplicaSet", "", "", "uid-child"},
	} {
		child := Workload{APIVersion: c.version, Kind: c.kind, Namespace: "default", Name: "child", UID: "uid-child", Replicas: ptr(int32(1))}
		if c.parent != "" {
			child.Controller = &metav1.OwnerReference{APIVersion: c.controllerVersion, Kind: c.parent, Name: "parent", UID: "uid-parent"}
		}
		parent := Workload{APIVersion: c.controllerVersion, Kind: c.parent, Namespace: "default", Name: "parent", UID: "uid-parent", Replicas: ptr(int32(1))}
		uid, _, err := NewScale([]Workload{child, parent})(healthyPod("x", ""), metav1.OwnerReference{APIVersion: c.version, Kind: c.kind, Name: "child", UID: "uid-child"})
		require.NoError(t, err)
		require.Equal(t, c.want, uid, "%v", c)
	}
}

func TestDisruptedPods(t *testing.T) {
	pods := replicate(4, "")
	for i := range pods {
		pods[i].Name = fmt.Sprint("p", i)
	}
	pods[3].DeletionTimestamp = &metav1.Time{Time: now}
	b := pdb("b", "app=x", 0)
	b.Spec.MinAvailable = amount("1")
	at := func(ago time.Duration) metav1.Time { return metav1.NewTime(now.Add(-ago)) }
	b.Status.DisruptedPods = map[string]metav1.Time{"p0": at(time.Minute), "p1": at(2 * time.Minute), "p2": at(2*time.Minute + 1), "p3": at(0), "unknown": at(0)}
	s := Sync(b, pods, nil, now)
	require.Equal(t, map[string]metav1.Time{"p0": at(time.Minute), "p1": at(2 * time.Minute)}, s.Status.DisruptedPods)
	require.Equal(t, "4/1/2/1", numbers(s.Status), "at exactly two minutes p1 counts again and its entry is still there")
	require.Equal(t, now, s.Recheck)
	require.Equal(t, []Notice{{"Warning", "NotDeleted", "Pod was expected by PDB default/b to be deleted but it wasn't", pods[2]}}, s.Notices)
	s = Sync(b, replicate(1, ""), nil, now)
	require.Empty(t, s.Notices, "a pod without an entry")
	require.Empty(t, s.Status.DisruptedPods)
	require.Equal(t, "1/1/1/0", numbers(Sync(b, replicate(1, ""), nil, time.Time{}).Status), "a pod without an entry is not disrupted, at whatever time")
}

// Whether a pod is ready is a matter of its first condition of that type alone.
func TestReady(t *testing.T) {
	p := healthyPod("p", "")
	other := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse}
	p.Status.Conditions = []v1.PodCondition{other, {Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.PodReady, Status: v1.ConditionFalse}}
	require.True(t, ready(p))
	p.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	require.False(t, ready(p))
}

func TestConditionTime(t *testing.T) {
	b := pdb("b", "app=x", 0)
	b.Spec.MinAvailable = amount("1")
	first := Sync(b, replicate(2, ""), nil, now)
	b.Status = first.Status
	again := Sync(b, replicate(2, ""), nil, now.Add(time.Hour))
	require.Equal(t, metav1.NewTime(now), again.Status.Conditions[0].LastTransitionTime, "no change, no transition")
	less := Sync(b, replicate(1, ""), nil, now.Add(time.Hour))
	require.Equal(t, metav1.NewTime(now.Add(time.Hour)), less.Status.Conditions[0].LastTransitionTime)
	require.Equal(t, metav1.ConditionTrue, b.Status.Conditions[0].Status, "the argument stays as it is")
}

func TestStaleTarget(t *testing.T) {
	p := healthyPod("p", "")
	require.False(t, StaleTarget(p, now))
	p.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: "EvictionByEvictionAPI", LastTransitionTime: metav1.NewTime(now)}}
	require.False(t, StaleTarget(p, now.Add(time.Minute)))
	require.True(t, StaleTarget(p, now.Add(2*time.Minute)))
	p.Status.Conditions[0].Status = v1.ConditionFalse
	require.False(t, StaleTarget(p, now.Add(2*time.Minute)))
	p.Status.Conditions[0].Status = v1.ConditionTrue
	p.Status.Conditions[0].Reason = "TerminationByKubelet"
	require.False(t, StaleTarget(p, now.Add(time.Hour)))
	p.Status.Conditions[0].Reason = "EvictionByEvictionAPI"
	for phase, want := range map[v1.PodPhase]bool{v1.PodRunning: true, v1.PodPending: true, v1.PodFailed: false, v1.PodSucceeded: false} {
		p.Status.Phase = phase
		require.Equal(t, want, StaleTarget(p, now.Add(time.Hour)), phase)
	}
	p.Status.Phase = v1.PodRunning
	p.DeletionTimestamp = &metav1.Time{Time: now}
	require.False(t, StaleTarget(p, now.Add(time.Hour)))
}

func TestSelectorFromV1beta1(t *testing.T) {
	require.Nil(t, SelectorFromV1beta1(nil))
	s, err := metav1.LabelSelectorAsSelector(SelectorFromV1beta1(&metav1.LabelSelector{}))
	require.NoError(t, err)
	require.False(t, s.Matches(labelSet{"app": "x"}), "{} matched no pod")
	require.Equal(t, expression("pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", metav1.LabelSelectorOpExists), SelectorFromV1beta1(&metav1.LabelSelector{}))
	for _, given := range []*metav1.LabelSelector{expression("app", metav1.LabelSelectorOpExists), {MatchLabels: map[string]string{"app": "x"}}} {
		require.Same(t, given, SelectorFromV1beta1(given))
	}
}

// Lasting is the error that no more objects in the input end: of a kind without a scale, wherever its pod stands in the list. An
// error about an object that scale does not know may be the input's.
func TestLasting(t *testing.T) {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{
		Selector: &metav1.LabelSelector{}, MaxUnavailable: ptr(intstr.FromInt32(1))}}
	unknown, job, bare := healthyPod("d/a", "ReplicaSet/a"), healthyPod("d/j", "Job/j"), healthyPod("d/c", "")
	const of = "jobs.batch does not implement the scale subresource (pod j of Job j)"
	type test struct {
		name, first, lasting string
		pods                 []*v1.Pod
	}
	testkit.Run(t, []test{
		{"a Job", "jobs.batch does not implement the scale subresource", of, []*v1.Pod{job}},
		{"a Job behind an unknown controller", `found no controllers for pod "a"`, of, []*v1.Pod{unknown, bare, job}},
		{"an unknown controller", `found no controllers for pod "a"`, "", []*v1.Pod{bare, unknown}},
		{"no controller", "", "", []*v1.Pod{bare}},
	}, func(t *testing.T, c test) {
		s := Sync(b, c.pods, NewScale(nil), now)
		text := func(err error) string {
			if err == nil {
				return ""
			}
			return err.Error()
		}
		require.Equal(t, []string{c.first, c.lasting}, []string{text(s.Err), text(s.Lasting)}, c.name)
		require.Equal(t, c.name == "no controller", len(s.Notices) == 1 && s.Notices[0].Reason == "UnmanagedPods", c.name)
	})
}
