package place

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/volumes"
)

// begun returns a simulation of the input before its first attempt.
func begun(t *testing.T, o options, input string) *simulation {
	t.Helper()
	o.Files, o.percentage, o.Output = []string{"-"}, -1, "json"
	with, _, err := optionsOf(o, io.Discard)
	require.NoError(t, err)
	w, err := load(o, with.Profiles, nil, strings.NewReader(input), io.Discard)
	require.NoError(t, err)
	x, err := newSimulation(w, o, nil, with, io.Discard)
	require.NoError(t, err)
	return x
}

// A pod without a grace period is gone at once, another pod when its period is over. The first to leave is the first of the list.
func TestLeaving(t *testing.T) {
	seconds := func(name string, n string) string {
		return podYAML(name, "n1", 0, "1", "", "terminationGracePeriodSeconds: "+n)
	}
	x := begun(t, options{grace: true}, nodeYAML("n1", "9", "")+seconds("now", "0")+seconds("late", "50")+seconds("soon", "10")+podYAML("plain", "n1", 0, "1", ""))
	w := x.w
	for _, name := range []string{"now", "late", "soon", "plain"} {
		require.NoError(t, w.Delete(context.Background(), w.pods["default/"+name]))
	}
	require.Nil(t, w.pods["default/now"])
	var left []string
	for _, l := range w.leaving {
		left = append(left, l.key+" "+l.at.Sub(w.now).String())
	}
	require.Equal(t, []string{"default/soon 10s", "default/plain 30s", "default/late 50s"}, left)
	require.Equal(t, 4, w.changes)
	w.now = w.now.Add(30 * time.Second)
	w.depart()
	require.Len(t, w.pods, 1)
	require.NotNil(t, w.pods["default/late"])
}

// A time that is over is now.
func TestLeavingInThePast(t *testing.T) {
	w := &world{now: time.Unix(100, 0)}
	for _, at := range []int64{99, 100, 101} {
		w.leave(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", DeletionTimestamp: &metav1.Time{Time: time.Unix(at, 0)}}})
	}
	require.Equal(t, []time.Time{time.Unix(100, 0), time.Unix(100, 0), time.Unix(101, 0)}, []time.Time{w.leaving[0].at, w.leaving[1].at, w.leaving[2].at})
}

// A claim that does not exist cannot be bound.
func TestBindVolumesOfAGoneClaim(t *testing.T) {
	x := begun(t, options{}, nodeYAML("n1", "9", "")+podYAML("p", "", 0, "1", ""))
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gone"}}
	bind := func(d volumes.Decision) error { return x.w.BindVolumes(context.Background(), x.w.pods["default/p"], d) }
	d := volumes.Decision{Node: "n1", Provision: []*v1.PersistentVolumeClaim{claim}}
	require.ErrorIs(t, bind(d), scheduler.ErrGone)
	x.w.put(claim)
	require.NoError(t, bind(d))
	bound := x.w.others["PersistentVolumeClaim default/gone"].(*v1.PersistentVolumeClaim)
	require.Equal(t, "pvc-default-gone", bound.Spec.VolumeName)
	require.Equal(t, v1.ClaimBound, bound.Status.Phase)
	require.Equal(t, "n1", bound.Annotations[volumes.AnnSelectedNode])
	require.Equal(t, "yes", bound.Annotations["pv.kubernetes.io/bind-completed"])
}

// What a pod gets for its extended resources is in its status, unless the pod is gone.
func TestWriteExtendedClaims(t *testing.T) {
	x := begun(t, options{}, nodeYAML("n1", "9", "")+podYAML("p", "", 0, "1", ""))
	p := x.w.pods["default/p"]
	made := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "p-extended-resources-"}}
	writes := scheduler.ClaimWrites{Set: []*resourcev1.ResourceClaim{made}, Mappings: []v1.ContainerExtendedResourceRequest{{ContainerName: "c", ResourceName: "example.com/gpu", RequestName: "r"}}}
	other := p.DeepCopy()
	other.UID = "other"
	require.ErrorIs(t, x.w.WriteClaims(context.Background(), other, writes), scheduler.ErrGone)
	other.Name = "gone"
	require.ErrorIs(t, x.w.WriteClaims(context.Background(), other, writes), scheduler.ErrGone)
	require.NoError(t, x.w.WriteClaims(context.Background(), p, scheduler.ClaimWrites{}))
	require.Same(t, p, x.w.pods["default/p"])
	require.Empty(t, made.Name, "nothing was made for a pod that is gone")
	require.NoError(t, x.w.WriteClaims(context.Background(), p, writes))
	require.Equal(t, &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "p-extended-resources", RequestMappings: writes.Mappings}, x.w.pods["default/p"].Status.ExtendedResourceClaimStatus)
	require.Same(t, made, x.w.others[named(made)])
	require.Equal(t, types.UID("default/p-extended-resources"), made.UID)
	require.Nil(t, p.Status.ExtendedResourceClaimStatus)
}

// A budget whose selector cannot be converted has no members. A running pod without conditions is ready.
func TestMembersOfBudgets(t *testing.T) {
	bad := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "b"}}
	bad.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Within"}}}
	w := &world{pods: map[string]*v1.Pod{"x/p": {ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "p"}}}}
	w.addBudget(bad)
	require.Empty(t, w.budgets[0].members)

	pod := func(node string, phase v1.PodPhase, conditions ...v1.PodCondition) *v1.Pod {
		return &v1.Pod{Spec: v1.PodSpec{NodeName: node}, Status: v1.PodStatus{Phase: phase, Conditions: conditions}}
	}
	unready := v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionFalse}
	for _, p := range []*v1.Pod{pod("", ""), pod("n1", v1.PodPending), pod("n1", v1.PodRunning, unready)} {
		require.Same(t, p, observed(p))
	}
	scheduled := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionTrue}
	p := pod("n1", v1.PodRunning, scheduled)
	require.Equal(t, []v1.PodCondition{scheduled, {Type: v1.PodReady, Status: v1.ConditionTrue}}, observed(p).Status.Conditions)
	require.Len(t, p.Status.Conditions, 1)
}

// An object is added once, and only what is there is changed. Budgets, classes and namespaces of the timeline are there once.
func TestEventsOfOtherObjects(t *testing.T) {
	x := begun(t, options{}, nodeYAML("n1", "9", ""))
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "b"}}
	for _, step := range []struct {
		verb, err string
		budgets   int
	}{
		{"update", "timeline: Not found: PodDisruptionBudget x/b: there is no such object at that time", 0}, {"delete", "timeline: Not found: PodDisruptionBudget x/b: there is no such object at that time", 0},
		{"add", "", 1}, {"add", `timeline: metadata.name: Duplicate value: "b": there is such an object at that time`, 1}, {"update", "", 1}, {"delete", "", 0},
	} {
		err := x.apply(event{verb: step.verb, object: pdb, where: "timeline"})
		if step.err == "" {
			require.NoError(t, err, step.verb)
		} else {
			require.EqualError(t, err, step.err)
		}
		require.Len(t, x.w.budgets, step.budgets, step.verb)
	}
	n := len(x.w.objects.Namespaces)
	for _, name := range []string{"a", "b"} {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "fresh", Name: name, UID: "given"}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}}}
		require.NoError(t, x.apply(event{verb: "add", object: p, where: "timeline"}))
		require.Len(t, x.w.objects.Namespaces, n+1)
		require.EqualValues(t, "given", x.w.pods["fresh/"+name].UID)
	}
	node := x.w.nodes["n1"]
	require.EqualError(t, x.apply(event{verb: "add", object: node, where: "timeline"}), `timeline: metadata.name: Duplicate value: "n1": there is such an object at that time`)
	require.NoError(t, x.apply(event{verb: "delete", object: node, where: "timeline"}))
	for _, verb := range []string{"update", "delete"} {
		require.EqualError(t, x.apply(event{verb: verb, object: node, where: "timeline"}), "timeline: Not found: Node n1: there is no such object at that time")
	}
}

// Events are in the order of their times, and those of one time in the order of the file.
func TestOrderOfEvents(t *testing.T) {
	var text string
	for _, at := range []string{"30s", "10s", "20s", "10s", "0"} {
		text += "- {at: " + at + ", delete: {apiVersion: v1, kind: Node, metadata: {name: n1}}}\n"
	}
	list, err := readTimeline(timelineFile(t, text), dump.Options{})
	require.NoError(t, err)
	var got []string
	for _, e := range list {
		_, where, _ := strings.Cut(e.where, ": ")
		got = append(got, where+" at "+e.at.String())
	}
	require.Equal(t, []string{"event 5 at 0s", "event 2 at 10s", "event 4 at 10s", "event 3 at 20s", "event 1 at 30s"}, got)
}

// A condition of a group takes the place of the old one of its type. The group as it was stays as it was.
func TestConditionsOfGroups(t *testing.T) {
	x := begun(t, options{}, nodeYAML("n1", "9", ""))
	condition := func(kind string, is metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: is}
	}
	g := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "g"}, Conditions: []metav1.Condition{condition("old", metav1.ConditionTrue), condition("other", metav1.ConditionTrue)}}
	require.NoError(t, x.w.PatchGroup(t.Context(), g, condition("old", metav1.ConditionFalse)))
	require.Equal(t, []metav1.Condition{condition("old", metav1.ConditionTrue), condition("other", metav1.ConditionTrue)}, g.Conditions)
	require.Equal(t, condition("old", metav1.ConditionFalse), x.w.states["a/g"])
}
