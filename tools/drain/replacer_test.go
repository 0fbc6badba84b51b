package drain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
)

// owned returns a pod of a controller, with one core.
func owned(name, kind string) *v1.Pod {
	b := testkit.Pod(name).Request("cpu=1")
	if kind != "" {
		b = b.Owner("apps/v1", kind, "owner")
	}
	p := b.Obj()
	p.UID = types.UID(name)
	return p
}

func replacerOf(t *testing.T, nodes, pods int, drained ...string) (r *replacer, in *input) {
	t.Helper()
	in = &input{objects: &dump.Objects{}}
	for i := range nodes {
		in.objects.Nodes = append(in.objects.Nodes, testkit.Node(fmt.Sprintf("n%03d", i)).Capacity("cpu=4,memory=8Gi,pods=10").Obj())
	}
	for i := range pods {
		in.objects.Pods = append(in.objects.Pods, testkit.Pod(fmt.Sprint("p", i)).Request("cpu=2,memory=4Gi").On(fmt.Sprintf("n%03d", i)).Obj())
	}
	r, err := newReplacer(in, drained)
	require.NoError(t, err)
	return r, in
}

// The new pod has a name of its own, unless a StatefulSet makes it, and nothing of the old pod's state.
func TestReplacement(t *testing.T) {
	r := &replacer{}
	for k, kind := range []string{"ReplicaSet", "StatefulSet", "ReplicaSet"} {
		old := owned("p", kind)
		old.Spec.NodeName, old.Spec.EphemeralContainers, old.Status.Phase = "n1", []v1.EphemeralContainer{{}}, v1.PodRunning
		want := old.DeepCopy()
		want.Spec.NodeName, want.Spec.EphemeralContainers, want.Status = "", nil, v1.PodStatus{Phase: v1.PodPending}
		want.UID = types.UID(fmt.Sprint("replacement-", k+1))
		if kind != "StatefulSet" {
			want.Name = fmt.Sprint("p-replacement-", k+1)
		}
		require.Equal(t, want, r.replacement(old))
		require.Equal(t, "n1", old.Spec.NodeName)
	}
}

// A pod finds a node as long as there is room; other schedulers may find one; a gated pod finds none.
func TestFits(t *testing.T) {
	r, _ := replacerOf(t, 1, 0)
	for _, c := range []struct {
		pod    string
		change func(p *v1.Pod)
		want   bool
	}{
		{"a", func(*v1.Pod) {}, true}, {"b", func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}} }, false},
		{"c", func(p *v1.Pod) { p.Spec.SchedulerName = v1.DefaultSchedulerName }, true}, {"d", func(p *v1.Pod) { p.Spec.SchedulerName = "other" }, true},
		{"e", func(p *v1.Pod) { p.Spec.SchedulerName = "" }, true}, {"f", func(*v1.Pod) {}, true}, {"g", func(*v1.Pod) {}, false}, {"h", func(p *v1.Pod) { p.Spec.SchedulerName = v1.DefaultSchedulerName }, false},
		{"i", func(p *v1.Pod) { p.Spec.SchedulerName = "other" }, true},
	} {
		p := owned(c.pod, "ReplicaSet")
		c.change(p)
		fits, err := r.fits(p)
		require.NoError(t, err)
		require.Equal(t, c.want, fits, c.pod)
	}
}

// Every node is looked at for a replacement. After an error nothing is replaced any more.
func TestReplace(t *testing.T) {
	r, in := replacerOf(t, 250, 249, "n000", "n001", "n002", "n003", "n004", "n005")
	for k, c := range []struct {
		kind, scheduler, node string
		ok                    bool
	}{{"ReplicaSet", "", "n249", true}, {"ReplicaSet", v1.DefaultSchedulerName, "n006", true}, {"ReplicaSet", "other", "", true}, {"DaemonSet", "", "", false}} {
		p := in.objects.Pods[k].DeepCopy()
		p.OwnerReferences = owned("", c.kind).OwnerReferences
		p.Spec.SchedulerName = c.scheduler
		node, ok := r.replace(p)
		require.NoError(t, r.err)
		require.Equal(t, c.node, node, "%v: %s", c, r.failures[p])
		require.Equal(t, c.ok, ok, c)
		require.Equal(t, c.kind == "DaemonSet", r.failures[p] == "its DaemonSet is gone")
	}
	large := in.objects.Pods[4].DeepCopy()
	large.OwnerReferences, large.Spec.Containers[0].Resources.Requests = owned("", "ReplicaSet").OwnerReferences, testkit.Resources("cpu=9")
	node, ok := r.replace(large)
	require.Empty(t, node)
	require.False(t, ok)
	require.Contains(t, r.failures[large], "Insufficient cpu")
	r.err = errBroken
	node, ok = r.replace(in.objects.Pods[5])
	require.Empty(t, node)
	require.False(t, ok)
}

// With a pod go the claims that it owns, and those of which it is the last user; it leaves the others.
func TestRelease(t *testing.T) {
	r, _ := replacerOf(t, 1, 0)
	pod := owned("p", "ReplicaSet")
	users := func(uids ...string) (list []resourcev1.ResourceClaimConsumerReference) {
		for _, uid := range uids {
			list = append(list, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: uid, UID: types.UID(uid)})
		}
		return list
	}
	yes := true
	for name, of := range map[string][]string{"alone": {"p"}, "shared": {"p", "q"}, "others": {"q"}, "owned": nil} {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name, UID: types.UID(name)}, Status: resourcev1.ResourceClaimStatus{ReservedFor: users(of...)}}
		if name == "owned" {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p", Controller: &yes}}
		}
		require.NoError(t, r.snapshot.Set(c))
	}
	require.NoError(t, r.release(pod))
	left := map[string][]string{}
	for c := range cluster.List[*resourcev1.ResourceClaim](r.snapshot).In(pod.Namespace) {
		left[c.Name] = []string{}
		for _, u := range c.Status.ReservedFor {
			left[c.Name] = append(left[c.Name], u.Name)
		}
	}
	require.Equal(t, map[string][]string{"alone": {}, "shared": {"q"}, "others": {"q"}}, left)
}

// Which pods of a budget can be healthy after a while, and which find no node.
func TestHealthy(t *testing.T) {
	finished := func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }
	leaving := func(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
	on := func(p *v1.Pod) { p.Spec.NodeName = "n000" }
	large := func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=9") }
	minimum := func(text string) *policyv1.PodDisruptionBudget {
		least := intstr.Parse(text)
		b := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least}, Status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 4}}
		if text == "" {
			b.Spec.MinAvailable = nil
		}
		return b
	}
	for _, c := range []struct {
		kind          string
		change        func(p *v1.Pod)
		evicted       *disruption.Planned
		can, roomless int
		counts        bool
	}{
		{"ReplicaSet", finished, nil, 1, 0, true}, {"Job", finished, nil, 0, 0, false}, {"", finished, nil, 0, 0, false}, {"ReplicaSet", leaving, nil, 1, 0, true}, {"Job", leaving, nil, 0, 0, false},
		{"ReplicaSet", on, nil, 1, 0, true}, {"", on, nil, 1, 0, true}, {"Job", on, nil, 1, 0, true},
		{"ReplicaSet", on, &disruption.Planned{Replaced: true}, 1, 0, true}, {"ReplicaSet", on, &disruption.Planned{}, 0, 1, true}, {"", on, &disruption.Planned{}, 0, 0, false},
		{"ReplicaSet", func(*v1.Pod) {}, nil, 1, 0, true}, {"", func(*v1.Pod) {}, nil, 1, 0, true}, {"ReplicaSet", large, nil, 0, 1, true}, {"", large, nil, 0, 1, true},
	} {
		for text, more := range map[string]int{"1": 0, "50%": 4, "": 4} {
			r, in := replacerOf(t, 1, 0)
			pod := owned("p", c.kind)
			c.change(pod)
			in.objects.Pods = []*v1.Pod{pod}
			var waves [][]disruption.Planned
			if c.evicted != nil {
				e := *c.evicted
				e.Pod = pod
				waves = [][]disruption.Planned{{e}}
			}
			p := newProspects(in, r, waves, time.Time{})
			can, roomless, _, err := p.healthy(&prospect{budget: minimum(text), pods: slices.Clone(in.objects.Pods)})
			require.NoError(t, err)
			if c.counts && more > 0 {
				more--
			}
			require.Equal(t, []int{c.can + more, c.roomless}, []int{can, roomless}, "%s %q: %+v", c.kind, text, pod.Status)
		}
	}
	// Fewer pods are expected than there are.
	r, in := replacerOf(t, 1, 0)
	b := minimum("50%")
	b.Status.ExpectedPods = 1
	x := &prospect{budget: b}
	for _, name := range []string{"a", "b", "c"} {
		p := owned(name, "ReplicaSet")
		on(p)
		x.pods = append(x.pods, p)
	}
	can, roomless, _, err := newProspects(in, r, nil, time.Time{}).healthy(x)
	require.NoError(t, err)
	require.Equal(t, []int{3, 0}, []int{can, roomless})
}
