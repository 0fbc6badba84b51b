package thin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
)

// server is an API server in memory. It reports every change to the scheduler, as informers do.
type server struct {
	t       *testing.T
	mu      sync.Mutex
	pods    map[string]*v1.Pod
	s       *Scheduler
	results []result
	victims []string
	refuse  int // so many bindings fail
}

// result is an outcome as `podberth place` prints it.
type result struct {
	Pod, Outcome, Node, Message, NominatedNode string
	Victims                                    []string
}

func name(p *v1.Pod) string { return p.Namespace + "/" + p.Name }

func newServer(t *testing.T, objects cluster.Objects, now func() time.Time) *server {
	return newServerOf(t, placement.DefaultProfile(), objects, now)
}

func newServerOf(t *testing.T, profile placement.Profile, objects cluster.Objects, now func() time.Time) *server {
	w := &server{t: t, pods: map[string]*v1.Pod{}}
	snapshot, err := cluster.New(objects)
	require.NoError(t, err)
	for _, p := range objects.Pods {
		w.pods[name(p)] = p
	}
	w.s, err = New(snapshot, profile, w, now)
	require.NoError(t, err)
	return w
}

// change replaces a pod and reports the change to the scheduler; nil deletes the pod.
func (w *server) change(key string, to func(p v1.Pod) *v1.Pod) {
	w.mu.Lock()
	old := w.pods[key]
	var next *v1.Pod
	if old != nil {
		next = to(*old)
	} else {
		next = to(v1.Pod{})
	}
	w.pods[key] = next
	w.mu.Unlock()
	require.NoError(w.t, w.s.SeePod(old, next))
}

func (w *server) add(p *v1.Pod) { w.change(name(p), func(v1.Pod) *v1.Pod { return p }) }

func (w *server) Pod(namespace, name string) *v1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pods[namespace+"/"+name]
}

func (w *server) tell(r result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results = append(w.results, r)
}

func (w *server) Bind(_ context.Context, pod *v1.Pod, d placement.Decision) error {
	w.mu.Lock()
	if w.refuse > 0 {
		w.refuse--
		w.mu.Unlock()
		return errors.New("the server is busy")
	}
	w.mu.Unlock()
	w.tell(result{Pod: name(pod), Outcome: "Scheduled", Node: d.Node})
	w.change(name(pod), func(p v1.Pod) *v1.Pod { p.Spec.NodeName = d.Node; return &p })
	return nil
}

func (w *server) Evict(_ context.Context, a preemption.Actions) {
	for _, p := range a.Evict {
		w.mu.Lock()
		w.victims = append(w.victims, name(p))
		w.mu.Unlock()
		w.change(name(p), func(v1.Pod) *v1.Pod { return nil })
	}
	for _, p := range a.ClearNominations {
		w.change(name(p), func(p v1.Pod) *v1.Pod { p.Status.NominatedNodeName = ""; return &p })
	}
}

func (w *server) Report(_ context.Context, pod *v1.Pod, text string, n queue.Nomination) {
	w.tell(result{Pod: name(pod), Outcome: "Unschedulable", Message: text, NominatedNode: n.Node})
	if p := w.Pod(pod.Namespace, pod.Name); n.Override && p != nil && p.Status.NominatedNodeName != n.Node { // else there is no event
		w.change(name(pod), func(p v1.Pod) *v1.Pod { p.Status.NominatedNodeName = n.Node; return &p })
	}
}

// objectsOf returns the objects of a file that schedulers read.
func objectsOf(t *testing.T, path string) (o cluster.Objects) {
	skip := func([]byte) error { return nil }
	kinds := map[string]func(data []byte) error{
		"Node": list(&o.Nodes), "Namespace": list(&o.Namespaces), "Pod": list(&o.Pods), "Service": list(&o.Services),
		"ReplicaSet": list(&o.ReplicaSets), "StatefulSet": list(&o.StatefulSets),
		"PodDisruptionBudget": list(&o.PodDisruptionBudgets), "PriorityClass": list(&o.PriorityClasses),
		"ResourceClaim": list(&o.ResourceClaims), "ResourceSlice": list(&o.ResourceSlices), "DeviceClass": list(&o.DeviceClasses),
		"Deployment": skip, "DaemonSet": skip, "Job": skip,
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var x runtime.RawExtension
		err := documents.Decode(&x)
		if err == io.EOF {
			return o
		}
		require.NoError(t, err)
		var kind metav1.TypeMeta
		require.NoError(t, json.Unmarshal(x.Raw, &kind))
		require.Contains(t, kinds, kind.Kind)
		require.NoError(t, kinds[kind.Kind](x.Raw))
	}
}

// list returns a function that appends an object in JSON.
func list[T any](to *[]*T) func(data []byte) error {
	return func(data []byte) error {
		x := new(T)
		*to = append(*to, x)
		return json.Unmarshal(data, x)
	}
}

// shipped returns the shipped cluster and its pending pods in the order in which they were created, without the pods that have
// claims: the file has no compiler of selectors.
func shipped(t *testing.T) (cluster.Objects, []*v1.Pod) {
	objects := objectsOf(t, "../testdata/cluster.yaml")
	var pending []*v1.Pod
	for k, p := range objects.Pods {
		if p.UID == "" {
			p.UID = types.UID(name(p))
		}
		if p.Spec.SchedulerName == "" {
			p.Spec.SchedulerName = v1.DefaultSchedulerName
		}
		if p.Spec.Priority == nil {
			var err error
			p, err = admission.AdmitPriority(p, append(admission.SystemPriorityClasses(), objects.PriorityClasses...))
			require.NoError(t, err)
			objects.Pods[k] = p
		}
		if p.Spec.NodeName == "" && len(p.Spec.ResourceClaims) == 0 {
			pending = append(pending, p)
		}
	}
	slices.SortStableFunc(pending, func(a, b *v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return objects, pending
}

// On the shipped cluster the file decides what `podberth place` decides, which has a scheduling framework and all plugins.
func TestThinDecidesAsSimulate(t *testing.T) {
	var want struct{ Attempts []result }
	text, err := os.ReadFile("../testdata/cluster.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &want))
	want.Attempts = slices.DeleteFunc(want.Attempts, func(r result) bool {
		return r.Outcome == "Gated" || strings.HasPrefix(r.Pod, "ml/chat-") // nobody tries the gated pod; chat has claims
	})
	var victims []string
	for k := range want.Attempts {
		victims = append(victims, want.Attempts[k].Victims...)
		want.Attempts[k].Victims = nil
	}

	synctest.Test(t, func(t *testing.T) {
		objects, pending := shipped(t)
		w := newServer(t, objects, time.Now)
		for _, p := range pending {
			w.add(p)
		}
		for range 60 { // a minute
			for w.s.One(t.Context()) {
				w.s.tasks.Wait()
			}
			time.Sleep(time.Second) // of the test's own clock
		}
		require.Equal(t, want.Attempts, w.results)
		require.Equal(t, victims, w.victims)
	})
}

// Run ends where the single steps end, with bindings, evictions and events beside each other.
func TestThinRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects, pending := shipped(t)
		w := newServer(t, objects, time.Now)
		for _, p := range pending {
			w.add(p)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.s.Run(ctx); close(done) }()
		time.Sleep(time.Minute)
		stop()
		<-done
		bound := 0
		for _, p := range pending {
			if now := w.pods[name(p)]; now != nil && now.Spec.NodeName != "" {
				bound++
			}
		}
		require.Equal(t, 13, bound)
	})
}

func node(name, cpu string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1.NodeStatus{Allocatable: v1.ResourceList{"cpu": resource.MustParse(cpu), "pods": resource.MustParse("10")}},
	}
}

func web(name, cpu string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec: v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{
			Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse(cpu)}},
		}}},
	}
}

// steps makes attempts until no pod is ready.
func (w *server) steps() (made int) {
	for w.s.One(w.t.Context()) {
		w.s.tasks.Wait()
		made++
		require.Less(w.t, made, 100, "a pod is ready all the time")
	}
	return made
}

func TestThinEvents(t *testing.T) {
	now := time.Unix(1000, 0)
	w := newServer(t, cluster.Objects{Nodes: []*v1.Node{node("n1", "4")}}, func() time.Time { return now })
	w.add(web("web-1", "3"))
	w.add(web("web-2", "3"))
	require.Equal(t, 2, w.steps())
	require.Equal(t, "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.", w.results[1].Message)

	// A node that is too small wakes nobody; room on a node does, when the backoff has ended.
	now = now.Add(time.Minute)
	small := node("n2", "1")
	require.NoError(t, w.s.See("Node", nil, small))
	require.Zero(t, w.steps())
	require.NoError(t, w.s.See("Node", small, node("n2", "8")))
	require.Equal(t, 1, w.steps())
	require.Equal(t, "n2", w.Pod("shop", "web-2").Spec.NodeName)

	// A binding that fails gives the room back, and the pod rests and tries again.
	w.refuse = 1
	w.add(web("web-3", "4"))
	require.Equal(t, 1, w.steps())
	require.Equal(t, result{Pod: "shop/web-3", Outcome: "Unschedulable", Message: "the server is busy"}, w.results[len(w.results)-1])
	now = now.Add(10 * time.Second)
	require.Equal(t, 1, w.steps())
	require.Equal(t, "n2", w.Pod("shop", "web-3").Spec.NodeName)

	// A pod that leaves makes room. A node that leaves takes its room along.
	w.add(web("web-4", "3"))
	require.Equal(t, 1, w.steps())
	now = now.Add(10 * time.Second)
	w.change("shop/web-1", func(v1.Pod) *v1.Pod { return nil })
	require.Equal(t, 1, w.steps())
	require.Equal(t, "n1", w.Pod("shop", "web-4").Spec.NodeName)
	require.NoError(t, w.s.See("Node", node("n1", "4"), nil))
	w.add(web("web-5", "2"))
	require.Equal(t, 1, w.steps())
	require.Contains(t, w.results[len(w.results)-1].Message, "0/1 nodes are available: 1 Insufficient cpu.")

	// Pods of another scheduler, and pods that are gone, are left alone.
	other := web("other", "1")
	other.Spec.SchedulerName = "other"
	w.add(other)
	gone := web("gone", "1")
	w.add(gone)
	w.change("shop/gone", func(v1.Pod) *v1.Pod { return nil })
	require.Zero(t, w.steps())
}

// The file stays on two screens.
func TestThinIsThin(t *testing.T) {
	text, err := os.ReadFile("thin.go")
	require.NoError(t, err)
	lines := 0
	for _, b := range text {
		if b == '\n' {
			lines++
		}
	}
	require.LessOrEqual(t, lines, 200)
}
