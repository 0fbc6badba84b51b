package place

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/tools/dump"
)

// Of a pod that is gone or was replaced the world changes nothing.
func TestGonePods(t *testing.T) {
	there := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "new"}}
	w := &world{pods: map[string]*v1.Pod{"default/p": there}}
	before := there.DeepCopy()
	for _, p := range []*v1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "old"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q", UID: "new"}},
	} {
		require.ErrorIs(t, w.Bind(context.Background(), p, "n1"), scheduler.ErrGone)
		require.ErrorIs(t, w.PatchStatus(context.Background(), p, scheduler.StatusPatch{}), scheduler.ErrGone)
		require.ErrorIs(t, w.Delete(context.Background(), p), scheduler.ErrGone)
	}
	there.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	require.NoError(t, w.Delete(context.Background(), there), "it is going already")
	before.DeletionTimestamp = there.DeletionTimestamp
	require.Equal(t, before, w.pods["default/p"])
	require.Empty(t, w.leaving)
	require.Zero(t, w.changes)
}

// A volume that is made for a claim is the claim's, of its class and driver, and in the zone of the node, or on the node without a zone.
func TestProvision(t *testing.T) {
	class := "fast"
	w := &world{objects: &dump.Objects{StorageClasses: []*storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "slow"}, Provisioner: "no.example.com"}, {ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "csi.example.com"},
	}}}
	mode := v1.PersistentVolumeBlock
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c"}}
	claim.Spec = v1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, VolumeMode: &mode,
		Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("3Gi")}}}
	affinity := func(key, value string) *v1.VolumeNodeAffinity {
		return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}},
		}}}}
	}
	node := func(labels map[string]string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels}}
	}
	want := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-shop-c"}, Status: v1.PersistentVolumeStatus{Phase: v1.VolumeBound}}
	want.Spec = v1.PersistentVolumeSpec{StorageClassName: "fast", AccessModes: claim.Spec.AccessModes, VolumeMode: &mode, Capacity: claim.Spec.Resources.Requests,
		ClaimRef:     &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: "shop", Name: "c"},
		NodeAffinity: affinity(v1.LabelTopologyZone, "a")}
	want.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: "pvc-shop-c"}
	require.Equal(t, want, w.provision(claim, node(map[string]string{v1.LabelTopologyZone: "a", v1.LabelHostname: "n"})))
	want.Spec.NodeAffinity = affinity(v1.LabelHostname, "n")
	require.Equal(t, want, w.provision(claim, node(map[string]string{v1.LabelHostname: "n"})))
	want.Spec.NodeAffinity = nil
	require.Equal(t, want, w.provision(claim, node(nil)))
	claim.UID, claim.Spec.StorageClassName = "u", nil
	want.Name, want.Spec.ClaimRef.UID, want.Spec.StorageClassName, want.Spec.CSI = "pvc-u", "u", "", nil
	require.Equal(t, want, w.provision(claim, node(nil)))
}

// An update keeps what the API server, its admission plugins and the scheduler filled in, unless it names another value.
func TestUpdated(t *testing.T) {
	priority, never, class := int32(7), v1.PreemptNever, "sandbox"
	cpu := func(n string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(n)} }
	old := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: "9", CreationTimestamp: metav1.Unix(5, 0)}}
	old.Spec = v1.PodSpec{NodeName: "n1", Priority: &priority, PreemptionPolicy: &never, PriorityClassName: "gold", SchedulerName: "s", RuntimeClassName: &class, Overhead: cpu("1"),
		Tolerations: []v1.Toleration{{Key: v1.TaintNodeNotReady}, {Key: "other"}, {Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}}
	old.Status.Phase = v1.PodRunning
	same := "sandbox"
	next := updated(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}}, Spec: v1.PodSpec{RuntimeClassName: &same}}, old)
	want := old.DeepCopy()
	want.Labels, want.Spec.Tolerations = map[string]string{"a": "b"}, []v1.Toleration{{Key: v1.TaintNodeNotReady}, {Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}
	require.Equal(t, want, next)

	one, lower, otherClass := int32(1), v1.PreemptLowerPriority, "plain"
	full := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "x"}, Status: v1.PodStatus{Phase: v1.PodFailed}}
	full.Spec = v1.PodSpec{NodeName: "n2", Priority: &one, PreemptionPolicy: &lower, PriorityClassName: "iron", SchedulerName: "r", RuntimeClassName: &otherClass, Overhead: cpu("2"),
		Tolerations: []v1.Toleration{{Key: v1.TaintNodeUnreachable}, {Key: v1.TaintNodeNotReady, Value: "x"}}}
	want = full.DeepCopy()
	want.UID, want.ResourceVersion, want.CreationTimestamp = "u", "9", metav1.Unix(5, 0)
	require.Equal(t, want, updated(full, old))
	require.EqualValues(t, "x", full.UID, "the update itself stays")
	full.Spec.Overhead = nil
	require.Nil(t, updated(full, old).Spec.Overhead, "the overhead is of another class")
}

// A budget that goes leaves the other budgets. One without status follows the pods of its namespace and selector, one with a status does not.
func TestBudgetsOfTheWorld(t *testing.T) {
	pdb := func(namespace, name string, follows bool) *policyv1.PodDisruptionBudget {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
		if !follows {
			b.Status.ExpectedPods = 1
		}
		return b
	}
	pod := func(namespace, name, app string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}}}
	}
	w := &world{pods: map[string]*v1.Pod{"x/p": pod("x", "p", "a")}}
	w.addBudget(pdb("x", "one", true))
	w.addBudget(pdb("x", "two", true))
	w.addBudget(pdb("x", "fixed", false))
	members := func() (out []string) {
		for _, b := range w.budgets {
			out = append(out, fmt.Sprintf("%s %v %v %d", b.pdb.Name, b.follows, b.stale, len(b.members)))
			b.stale = false
		}
		return out
	}
	require.Equal(t, []string{"one true true 1", "two true true 1", "fixed false false 0"}, members())
	w.keep(pod("y", "q", "a"))
	w.keep(pod("x", "r", "b"))
	require.Equal(t, []string{"one true false 1", "two true false 1", "fixed false false 0"}, members(), "none of these pods is theirs")
	w.keep(pod("x", "r", "a"))
	require.Equal(t, []string{"one true true 2", "two true true 2", "fixed false false 0"}, members())
	w.dropBudget(pdb("x", "one", true))
	w.keep(pod("x", "r", "b"))
	require.Equal(t, []string{"two true true 1", "fixed false false 0"}, members())
	w.drop(pod("x", "p", "a"))
	w.drop(pod("x", "r", "b"))
	require.Equal(t, []string{"two true true 0", "fixed false false 0"}, members())
	w.dropBudget(pdb("y", "two", true))
	require.Len(t, w.budgets, 2)
}

// Pods are alike in a table when they have no node, nomination and victims, and are equal in all that the row shows.
func TestGrouped(t *testing.T) {
	base := podState{Namespace: "x", Outcome: "Unschedulable", Message: "m", Priority: 1, owner: "o"}
	change := func(f func(p *podState)) podState { p := base; f(&p); return p }
	for name, p := range map[string]podState{
		"node":      change(func(p *podState) { p.Node = "n" }),
		"nominated": change(func(p *podState) { p.NominatedNode = "n" }),
		"victims":   change(func(p *podState) { p.Victims = []string{"v"} }),
		"namespace": change(func(p *podState) { p.Namespace = "y" }),
		"owner":     change(func(p *podState) { p.owner = "p" }),
		"outcome":   change(func(p *podState) { p.Outcome = "Gated" }),
		"message":   change(func(p *podState) { p.Message = "l" }),
		"priority":  change(func(p *podState) { p.Priority = 2 }),
	} {
		alone := name == "node" || name == "nominated" || name == "victims"
		got := grouped([]podState{base, p, base, p})
		if alone {
			require.Equal(t, []group{{base, 2}, {p, 1}, {p, 1}}, got, name)
		} else {
			require.Equal(t, []group{{base, 2}, {p, 2}}, got, name)
		}
	}
	for n, want := range []string{"", "a", "a,b", "a,b +1 more", "a,b +2 more"} {
		require.Equal(t, want, firstNames([]string{"a", "b", "c", "d"}[:n]))
	}
}
