package failures

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/workload"
)

// What random clusters lose with each node, each zone and some pairs of nodes, and how many nodes may fail: a hash of all that is
// said, and the counts.
func TestRandom(t *testing.T) {
	var out strings.Builder
	for seed := range uint64(80) {
		b := testkit.NewBytes(testkit.RandomBytes(seed+4e6, 400))
		w := random(b)
		w.more(b)
		p := w.planner(t)
		scenarios := append(p.Nodes(), p.By(v1.LabelTopologyZone)...)
		scenarios = append(append(scenarios, p.Pairs(2, seed)...), p.LargestPairs(2)...)
		h, attempts := testkit.Hash32(t, seed), 0
		results, err := p.Run(scenarios, Options{
			Orders: b.Below(2), Seed: seed, Until: testkit.Pick(b, 0, time.Minute), Observe: func(_ int, a Attempt) {
				attempts++
				fmt.Fprintln(h, a.Pod.Name, a.Pod.Status.NominatedNodeName, a.Decision.Node, a.Nominated, len(a.Victims))
			},
		})
		require.NoError(t, err)
		room, err := p.Headroom(Search{Limit: testkit.Pick(b, 0, 1, 20), Remedies: b.Below(3)})
		require.NoError(t, err)
		require.NoError(t, json.NewEncoder(h).Encode([]any{results, room}))
		fmt.Fprintf(&out, "%d: %08x, %d attempts, survives %d (%t), %d played:", seed, h.Sum32(), attempts, room.Survives, room.Exact, room.Played)
		for _, r := range results {
			fmt.Fprintf(&out, " %s %d", r.Name, r.Stays())
		}
		out.WriteByte('\n')
		for _, r := range room.Remedies {
			fmt.Fprintf(&out, "  %+v\n", r)
		}
	}
	testkit.Golden(t, "testdata/random.txt", out.String())
}

// more changes nodes, pods and workloads of a world.
func (w *world) more(b *testkit.Bytes) {
	for _, n := range w.objects.Nodes {
		switch b.Below(7) {
		case 0:
			delete(n.Labels, v1.LabelTopologyZone)
		case 1:
			n.Spec.Unschedulable = true
		case 2:
			n.Spec.Taints = testkit.Taints("disk=slow:NoExecute")
		}
	}
	for _, r := range w.objects.ReplicaSets {
		if b.OneIn(3) {
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "d-" + r.Name, Controller: ptr(true)}}
			w.in.Deployments = append(w.in.Deployments, &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d-" + r.Name},
				Spec:       appsv1.DeploymentSpec{Replicas: r.Spec.Replicas, Selector: r.Spec.Selector, Template: r.Spec.Template},
			})
		}
		if b.OneIn(4) {
			w.pod("ReplicaSet", r.Name, r.Name+"-waits", "", r.Spec.Template)
			*r.Spec.Replicas++
		}
	}
	for _, p := range w.objects.Pods {
		switch b.Below(10) {
		case 0:
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}
		case 1:
			p.Status.Phase = v1.PodFailed
		case 2:
			p.Spec.Tolerations = []v1.Toleration{{Key: "disk", Operator: v1.TolerationOpExists}}
		}
	}
}

// Nodes that were taken out of a snapshot leave free slots, which change no answer.
func TestFreeSlots(t *testing.T) {
	for seed := range uint64(20) {
		ask := func(gone bool) any {
			b := testkit.NewBytes(testkit.RandomBytes(seed+5e6, 400))
			w := random(b)
			w.more(b)
			if gone {
				w.objects.Nodes = append(w.objects.Nodes, testkit.Node("gone").Zone("a").Capacity("cpu=50").Obj())
			}
			s, err := cluster.New(w.objects)
			require.NoError(t, err)
			if gone {
				require.NoError(t, s.Remove(s.Node(s.Slot("gone"))))
			}
			w.in.Snapshot = s
			p, err := New(w.in)
			require.NoError(t, err)
			results, err := p.Run(append(p.Nodes(), p.LargestPairs(9)...), Options{Until: time.Minute})
			require.NoError(t, err)
			room, err := p.Headroom(Search{Limit: 20, Remedies: 2})
			require.NoError(t, err)
			text, err := json.Marshal([]any{results, room})
			require.NoError(t, err)
			return string(text)
		}
		require.Equal(t, ask(false), ask(true))
	}
}

// A workload that asks for no pods makes none when its surplus pod is lost. Of an unknown controller the pods that run count.
func TestNoReplicas(t *testing.T) {
	w := five("cpu=4")
	w.app("none", "cpu=1", "n1", nil).Spec.Replicas = ptr(int32(0))
	w.pod("Rollout", "x", "x-0", "n1", v1.PodTemplateSpec{})
	r := w.run(t, "n1")
	fates := map[string]Fate{}
	for _, o := range r.Pods {
		fates[o.Pod.Name] = o.Fate
	}
	require.Equal(t, map[string]Fate{"none-0": Gone, "x-0": Placed}, fates)
}

// Without Options.Until nothing is forecast, though the taint of a node already evicts.
func TestNoForecast(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	w.objects.Nodes[0].Spec.Taints = testkit.Taints("disk=slow:NoExecute")
	p := w.planner(t)
	for until, want := range map[time.Duration]bool{0: false, time.Second: true} {
		results, err := p.Run([]Scenario{{"n1", []string{"n1"}}}, Options{Until: until})
		require.NoError(t, err)
		require.Equal(t, want, results[0].Pods[0].Leaves != nil, until)
	}
}

// Anti-affinity that is required becomes the strongest preference, behind the preferences that were there.
func TestPrefer(t *testing.T) {
	for _, s := range []v1.PodSpec{{}, {Affinity: &v1.Affinity{}}, {Affinity: &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}}}} {
		before := s.DeepCopy()
		prefer(&s)
		require.Equal(t, *before, s)
	}
	var s v1.PodSpec
	apart("web", "rack")(&s)
	a := s.Affinity.PodAntiAffinity
	required := a.RequiredDuringSchedulingIgnoredDuringExecution
	a.PreferredDuringSchedulingIgnoredDuringExecution = []v1.WeightedPodAffinityTerm{{Weight: 3}}
	prefer(&s)
	require.Empty(t, a.RequiredDuringSchedulingIgnoredDuringExecution)
	require.Equal(t, []v1.WeightedPodAffinityTerm{{Weight: 3}, {Weight: 100, PodAffinityTerm: required[0]}}, a.PreferredDuringSchedulingIgnoredDuringExecution)
}

// A controller that may make pods is in the list once, in the order of the workloads.
func TestTouch(t *testing.T) {
	x := &player{}
	units := []*unit{{place: 0}, {place: 1}, {place: 2}}
	for _, k := range []int{2, 0, 2, 1, 0} {
		x.touch(units[k])
	}
	require.Equal(t, units, x.changed)
}

// Of the claims that a StatefulSet makes, those of the pod are added.
func TestClaimsOfNewPods(t *testing.T) {
	p := five("cpu=4").planner(t)
	x := p.take()
	claim := func(name string) *v1.PersistentVolumeClaim {
		return &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}
	pod := &v1.Pod{}
	pod.Spec.Volumes = []v1.Volume{{Name: "no claim"}, {Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "new"}}}}
	x.claims(&workload.Made{Claims: []*v1.PersistentVolumeClaim{claim("other"), claim("new")}}, pod)
	var got []string
	for c := range cluster.List[*v1.PersistentVolumeClaim](x.snapshot).All() {
		got = append(got, c.Name)
	}
	require.Equal(t, []string{"new"}, got)
}

// A pod that leaves changes the cluster, and so does a claim that is given back: pods that failed are tried again.
func TestChanges(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1", nil)
	w.claim("kept", "n1", "gpu-0")
	w.claim("dropped", "n1", "gpu-0")
	x := w.planner(t).take()
	x.scene = scene{of: map[*unit][]*item{}, left: map[*unit][]*v1.Pod{}, healthy: x.healthyBefore(), nominations: placement.NewNominations(x.snapshot, nil)}
	x.remove(w.objects.Pods[0], "n1", "")
	require.Equal(t, 1, x.changes)
	require.Nil(t, x.snapshot.Pod("default", "web-0"))

	again := &item{old: w.objects.Pods[0], pod: w.objects.Pods[0].DeepCopy()}
	x.placed = map[*v1.Pod]*item{}
	x.settle(again, x.placer.Decide(again.pod, placement.Options{}))
	require.Equal(t, 2, x.changes)
	x.displace(again.pod, again.node, "default/other")
	require.Equal(t, 3, x.changes)
	require.Equal(t, []any{Pending, "", "default/other"}, []any{again.fate, again.node, again.by})
	x.changes = 1

	claims := cluster.List[*resourcev1.ResourceClaim](x.snapshot)
	kept, dropped := w.objects.ResourceClaims[0], w.objects.ResourceClaims[1]
	x.write(devices.Freed{Reason: "nothing"})
	require.Equal(t, 1, x.changes)
	x.write(devices.Freed{Deallocate: kept})
	require.Equal(t, 2, x.changes)
	free, _ := claims.Get("default", "kept")
	require.Nil(t, free.Status.Allocation)
	x.write(devices.Freed{Delete: dropped})
	require.Equal(t, 3, x.changes)
	_, there := claims.Get("default", "dropped")
	require.False(t, there)
}

// A pod with an ephemeral volume has a claim of its own for it.
func TestEphemeralVolumes(t *testing.T) {
	w := five("cpu=4")
	w.app("scratch", "cpu=1", "n1", func(s *v1.PodSpec) {
		s.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{
			Spec: v1.PersistentVolumeClaimSpec{StorageClassName: ptr("wait")},
		}}}}}
	})
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	w.objects.StorageClasses = []*storagev1.StorageClass{{ObjectMeta: metav1.ObjectMeta{Name: "wait"}, Provisioner: "example.com/disk", VolumeBindingMode: &mode}}
	require.Equal(t, []string{"scratch-0 n1 Placed n2"}, lines(w.run(t, "n1")))
}

// A new pod has the name of the lost pod, a UID that no pod had before, and the status of a new pod.
func TestNewPods(t *testing.T) {
	w := five("cpu=4")
	w.app("web", "cpu=1", "n1 n1", nil)
	x := w.pod("Rollout", "x", "x-0", "n1", v1.PodTemplateSpec{})
	x.Status.Phase, x.Spec.EphemeralContainers = v1.PodRunning, []v1.EphemeralContainer{{}}
	var got []string
	_, err := w.planner(t).Run([]Scenario{{"n1", []string{"n1"}}}, Options{Observe: func(_ int, a Attempt) {
		got = append(got, fmt.Sprint(a.Pod.Name, " ", a.Pod.UID, " ", a.Pod.Status.Phase, a.Pod.Spec.NodeName, len(a.Pod.Spec.EphemeralContainers)))
	}})
	require.NoError(t, err)
	require.Equal(t, []string{"web-0 default/web-0/again-0 Pending0", "web-1 default/web-1/again-0 Pending0", "x-0 default/x-0/again-0 Pending0"}, got)
}

// A ReplicaSet without a number of replicas has one.
func TestZero(t *testing.T) {
	for want, n := range map[bool]*int32{true: ptr(int32(0)), false: ptr(int32(1))} {
		require.Equal(t, want, zero(&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: n}}))
	}
	require.False(t, zero(&appsv1.ReplicaSet{}))
}
