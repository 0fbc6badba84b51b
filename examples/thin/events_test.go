package thin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
)

// desk is a server with a clock that stands still, and a scheduler over a node of zone a and a node without zone.
func desk(t *testing.T, pods ...*v1.Pod) *server {
	zoned := node("n1", "4")
	zoned.Labels = map[string]string{"zone": "a"}
	return newServer(t, cluster.Objects{Nodes: []*v1.Node{zoned, node("n2", "4")}, Pods: pods}, func() time.Time { return time.Unix(1000, 0) })
}

func (w *server) place(p *v1.Pod) queue.Place { return w.s.queue.Explain(p, time.Unix(1000, 0)).Place }

// waiting adds a pod that no node can take.
func (w *server) waiting(p *v1.Pod) *v1.Pod {
	w.add(p)
	require.Equal(w.t, 1, w.steps())
	require.Equal(w.t, queue.Unschedulable, w.place(p))
	return p
}

// lonely returns a pod that wants a pod of app db in its zone.
func lonely() *v1.Pod {
	p := web("lonely", "1")
	p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
	}}}}
	return p
}

func on(p *v1.Pod, node string) *v1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node
	return p
}

func db() *v1.Pod {
	p := web("db", "1")
	p.Labels = map[string]string{"app": "db"}
	return p
}

// A pod that comes to a node leaves the queue, holds room, and wakes the pods that want its company.
func TestThinSeesPodsArrive(t *testing.T) {
	w := desk(t)
	p := w.waiting(lonely())
	elsewhere := db()
	elsewhere.Spec.NodeSelector = map[string]string{"never": "there"}
	w.waiting(elsewhere)
	require.NoError(t, w.s.SeePod(elsewhere, on(elsewhere, "n1")))
	require.Equal(t, queue.Nowhere, w.place(elsewhere))
	require.Equal(t, queue.Backoff, w.place(p))
	require.NotNil(t, w.s.cluster.Pod("shop", "db"))

	w = desk(t)
	p = w.waiting(lonely())
	require.NoError(t, w.s.SeePod(nil, on(db(), "n1")))
	require.Equal(t, queue.Backoff, w.place(p))
	require.Error(t, w.s.SeePod(nil, &v1.Pod{Spec: v1.PodSpec{NodeName: "n1"}}), "a pod without a name")
}

// A change of a running pod wakes the pods that it helps, and no others.
func TestThinSeesPodsChange(t *testing.T) {
	here := on(db(), "n2")
	w := desk(t, here)
	p := w.waiting(lonely())
	noted := here.DeepCopy()
	noted.Annotations = map[string]string{"a": "b"}
	require.NoError(t, w.s.SeePod(here, noted))
	require.Equal(t, queue.Unschedulable, w.place(p))
	require.Equal(t, noted, w.s.cluster.Pod("shop", "db"))

	other := on(web("other", "1"), "n1")
	w = desk(t, other)
	p = w.waiting(lonely())
	labelled := other.DeepCopy()
	labelled.Labels = map[string]string{"app": "db"}
	require.NoError(t, w.s.SeePod(other, labelled))
	require.Equal(t, queue.Backoff, w.place(p))
}

// A pod that ends or goes gives its room back. A waiting pod that goes wakes nobody, unless room was kept for it.
func TestThinSeesPodsGo(t *testing.T) {
	full, ended := on(web("full", "4"), "n1"), on(web("full", "4"), "n1")
	ended.Status.Phase = v1.PodSucceeded
	big := func() *v1.Pod { p := web("big", "4"); p.Spec.NodeSelector = map[string]string{"zone": "a"}; return p }
	for _, after := range []*v1.Pod{nil, ended} {
		w := desk(t, full)
		p := w.waiting(big())
		require.NoError(t, w.s.SeePod(full, after))
		require.Equal(t, queue.Backoff, w.place(p))
		require.Nil(t, w.s.cluster.Pod("shop", "full"))
	}
	for node, want := range map[string]queue.Place{"": queue.Unschedulable, "n1": queue.Backoff} {
		w := desk(t, full)
		p := w.waiting(big())
		idle := web("idle", "1")
		idle.Spec.NodeSelector, idle.Status.NominatedNodeName = map[string]string{"never": "there"}, node
		require.NoError(t, w.s.SeePod(nil, idle))
		require.NoError(t, w.s.SeePod(idle, nil))
		require.Equal(t, queue.Nowhere, w.place(idle))
		require.Equal(t, want, w.place(p), node)
		require.NoError(t, w.s.SeePod(nil, ended), "a pod that ended before it was seen")
	}
}

// A change of an assumed pod does not bring the pod back to the queue.
func TestThinLeavesAssumedPodsAlone(t *testing.T) {
	w := desk(t)
	p := web("p", "1")
	require.NoError(t, w.s.cluster.Assume(p, 0))
	require.NoError(t, w.s.SeePod(p, p))
	require.Equal(t, queue.Nowhere, w.place(p))
}

// Classes and nodes that come, change and go are events of their kind.
func TestThinSeesObjects(t *testing.T) {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	class := func(zone string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "csi.example.com", VolumeBindingMode: &wait,
			AllowedTopologies: []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "zone", Values: []string{zone}}}}}}
	}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c", UID: "c"}}
	claim.Spec.StorageClassName, claim.Spec.AccessModes = &class("").Name, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	w := desk(t)
	require.NoError(t, w.s.See("PersistentVolumeClaim", nil, claim))
	require.NoError(t, w.s.See("storage.k8s.io/StorageClass", nil, class("b")))
	p := web("p", "1")
	p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
	w.waiting(p)
	require.NoError(t, w.s.See("storage.k8s.io/StorageClass", class("b"), class("b")))
	require.Equal(t, queue.Unschedulable, w.place(p), "the class did not come")
	require.NoError(t, w.s.See("storage.k8s.io/StorageClass", class("b"), nil))
	require.Equal(t, queue.Unschedulable, w.place(p), "a class that goes helps nobody")
	require.NoError(t, w.s.See("storage.k8s.io/StorageClass", nil, class("b")))
	require.Equal(t, queue.Backoff, w.place(p))

	w = desk(t)
	require.NoError(t, w.s.See("PersistentVolumeClaim", nil, claim))
	require.NoError(t, w.s.See("storage.k8s.io/StorageClass", nil, class("b")))
	w.waiting(p)
	require.NoError(t, w.s.See("storage.k8s.io/StorageClass", class("b"), class("a")))
	require.Equal(t, queue.Backoff, w.place(p))

	// A node that goes takes its zone along, so that the others may be even.
	w = desk(t, on(db(), "n1"))
	spread := db()
	spread.Name, spread.UID, spread.Spec.NodeSelector = "spread", "spread", map[string]string{"zone": "a"}
	spread.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}}}
	n3, n1 := node("n3", "4"), node("n1", "4")
	n3.Labels, n1.Labels = map[string]string{"zone": "a", v1.LabelHostname: "n3"}, map[string]string{"zone": "a", v1.LabelHostname: "n1"}
	n3.Spec.Unschedulable = true
	require.NoError(t, w.s.See("Node", w.s.cluster.Node(0), n1))
	require.NoError(t, w.s.See("Node", nil, n3))
	w.waiting(spread)
	require.NoError(t, w.s.See("Node", n3, nil))
	require.Equal(t, queue.Backoff, w.place(spread))
	require.Error(t, w.s.See("Node", nil, &v1.Node{}), "a node without a name")

	// A node that shrinks helps nobody.
	w = desk(t)
	large := w.waiting(web("large", "8"))
	require.NoError(t, w.s.See("Node", node("n2", "16"), node("n2", "4")))
	require.Equal(t, queue.Unschedulable, w.place(large))
}

// A pod that is gone, replaced or bound when its attempt fails is done. Of another pod in the queue under its name there is an error.
func TestThinFails(t *testing.T) {
	for name, now := range map[string]func(p *v1.Pod) *v1.Pod{
		"gone":     func(*v1.Pod) *v1.Pod { return nil },
		"replaced": func(p *v1.Pod) *v1.Pod { q := p.DeepCopy(); q.UID = "another"; return q },
		"bound":    func(p *v1.Pod) *v1.Pod { return on(p, "n1") },
		"there":    func(p *v1.Pod) *v1.Pod { return p },
		"queued":   func(p *v1.Pod) *v1.Pod { return p },
	} {
		w := desk(t)
		p := web("p", "1")
		w.add(p)
		e, _ := w.s.queue.Pop(time.Unix(1000, 0))
		w.pods["shop/p"] = now(p)
		if name == "queued" {
			twin := web("p", "1")
			twin.UID = "twin"
			require.NoError(t, w.s.SeePod(nil, twin))
		}
		w.s.fail(t.Context(), e, nil, queue.Nomination{}, "no room")
		w.s.tasks.Wait()
		if name == "there" {
			require.Equal(t, []result{{Pod: "shop/p", Outcome: "Unschedulable", Message: "no room"}}, w.results)
			continue
		}
		if name == "queued" {
			require.Len(t, w.results, 1)
			require.Regexp(t, "^no room; .+", w.results[0].Message)
			continue
		}
		require.Empty(t, w.results, name)
		require.Equal(t, queue.Nowhere, w.place(p), name)
	}
}

// A binding that succeeds ends the pod's time in the queue. One that fails gives the room back, if the pod still holds it by assumption.
func TestThinBinds(t *testing.T) {
	// there changes the cluster before the answer comes; another pod, for which there is no room, then waits in place.
	answered := func(name string, refuse int, there func(w *server, p *v1.Pod), holds bool, place queue.Place) {
		t.Run(name, func(t *testing.T) {
			w := desk(t, on(web("else", "4"), "n2"))
			p := web("p", "3")
			w.add(p)
			e, _ := w.s.queue.Pop(time.Unix(1000, 0))
			require.NoError(t, w.s.placer.Assume(p, w.s.placer.Decide(p, placement.Options{})))
			other := w.waiting(web("other", "3"))
			w.refuse = refuse
			there(w, p)
			w.s.bind(t.Context(), e, placement.Decision{Node: "n1"})
			w.s.tasks.Wait()
			require.Equal(t, holds, w.s.cluster.Pod("shop", "p") != nil)
			require.Equal(t, place, w.place(other))
			require.Zero(t, w.s.queue.Counts().InFlight)
		})
	}
	answered("bound", 0, func(*server, *v1.Pod) {}, true, queue.Unschedulable)
	answered("refused", 1, func(*server, *v1.Pod) {}, false, queue.Backoff)
	answered("refused and gone", 1, func(w *server, p *v1.Pod) { require.NoError(t, w.s.cluster.Remove(p)) }, false, queue.Unschedulable)
	answered("refused, yet there", 1, func(w *server, p *v1.Pod) { require.NoError(t, w.s.cluster.Set(on(p, "n1"))) }, true, queue.Unschedulable)
}

// A pod that is on a node already cannot be assumed: its attempt fails with that error.
func TestThinCannotAssume(t *testing.T) {
	w := desk(t)
	p := web("p", "1")
	w.add(p)
	require.NoError(t, w.s.cluster.Assume(p, 1))
	require.True(t, w.s.One(t.Context()))
	w.s.tasks.Wait()
	require.Len(t, w.results, 1)
	require.Equal(t, `pods: Duplicate value: "shop/p": the pod is on node "n2"`, w.results[0].Message)
}

// A nominated pod that preemption cannot help loses its nomination.
func TestThinClearsNominations(t *testing.T) {
	w := desk(t)
	p := web("p", "9")
	p.Status.NominatedNodeName = "n1"
	w.waiting(p)
	require.Empty(t, w.Pod("shop", "p").Status.NominatedNodeName)
}

// A pod that no filter can read fails once, and no room is made for it.
func TestThinFailsUnreadablePods(t *testing.T) {
	w := desk(t, on(web("low", "4"), "n1"), on(web("other", "4"), "n2"))
	p := web("p", "1")
	priority := int32(10)
	p.Spec.Priority = &priority
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Within"}}},
	}}
	w.add(p)
	require.Equal(t, 1, w.steps())
	require.Len(t, w.results, 1)
	require.Contains(t, w.results[0].Message, `"Within" is not a valid label selector operator`)
	require.Empty(t, w.victims)
}

// A running pod that asks for less makes room. One that asks for more does not.
func TestThinSeesPodsScale(t *testing.T) {
	for cpu, want := range map[string]queue.Place{"1": queue.Backoff, "4": queue.Unschedulable} {
		running := on(web("running", "3"), "n1")
		w := desk(t, running, on(web("full", "4"), "n2"))
		p := w.waiting(web("p", "2"))
		scaled := running.DeepCopy()
		scaled.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(cpu)
		require.NoError(t, w.s.SeePod(running, scaled))
		require.Equal(t, want, w.place(p), cpu)
	}
}
