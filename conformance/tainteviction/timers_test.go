// Package tainteviction_test holds podberth's evictions by NoExecute taints, of nodes and of devices, against the taint-eviction controller and
// the device taint eviction controller, which run whole, with informers, workers and timers, in a bubble of fake time.
package tainteviction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/eviction/taint"
)

func init() { klog.SetLogger(logr.Discard()) }

// plays is how often a case is played before it is held to disagree. The controller is racy where a timer fires at the very
// instant of a change: its goroutines run in any order, and podberth's answer must be one of those that come of it.
const plays = 20

// TestTimers plays random changes of nodes and pods: who is deleted when, and whose deletion is cancelled, must agree.
func TestTimers(t *testing.T) {
	trial.Run(t, 3000, 300, func(s *trial.Source) (err error) {
		var last *trial.Source
		for range plays {
			last = s.Again()
			synctest.Test(t, func(*testing.T) { err = play(last) })
			if err == nil {
				break
			}
		}
		s.Become(last)
		return err
	}, "deleted at once", "deleted later", "cancelled", "node deleted", "pod deleted", "same instant")
}

type world struct {
	*trial.Source
	start  time.Time
	client *fake.Clientset
	timers *taint.Timers
	nodes  map[string]*v1.Node
	pods   map[string]*v1.Pod
	uids   int
	mine   []string // what podberth does
	theirs []string // what the controller does
	lock   sync.Mutex
	names  map[string]*v1.Event // the events by name

	// leaving are pods that are being deleted whose events are left out: v1.37.2 also plans and cancels the deletion by device taints of
	// such a pod, and does not carry it out.
	leaving map[types.UID]bool
}

var (
	nodesResource = v1.SchemeGroupVersion.WithResource("nodes")
	podsResource  = v1.SchemeGroupVersion.WithResource("pods")
)

func play(s *trial.Source) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer synctest.Wait() // for everything to end
	defer cancel()
	//nolint:staticcheck // the tracker with managed fields is much slower
	w := &world{Source: s, client: fake.NewSimpleClientset(), timers: taint.NewTimers(taint.Options{}), nodes: map[string]*v1.Node{}, pods: map[string]*v1.Pod{}, names: map[string]*v1.Event{}}
	w.client.PrependReactor("*", "*", w.record)
	factory := informers.NewSharedInformerFactory(w.client, 0)
	controller, err := tainteviction.New(ctx, w.client, factory.Core().V1().Pods(), factory.Core().V1().Nodes(), "taint-eviction")
	if err != nil {
		return err
	}
	// The index by node is added by kube-controller-manager.
	err = factory.Core().V1().Pods().Informer().AddIndexers(cache.Indexers{"spec.nodeName": func(o any) ([]string, error) { return []string{o.(*v1.Pod).Spec.NodeName}, nil }})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	go controller.Run(ctx)
	time.Sleep(time.Second) // the controller waits for its informers
	synctest.Wait()
	w.start = time.Now()
	for w.More() {
		if err := w.step(); err != nil {
			return err
		}
		if err := w.agree(); err != nil {
			return err
		}
	}
	w.sleep(time.Hour)
	return w.agree()
}

// record notes what the controller asks of the API server. The world itself changes objects behind the server's back.
func (w *world) record(a core.Action) (bool, runtime.Object, error) {
	switch a := a.(type) {
	case core.DeleteActionImpl:
		w.their("delete %s/%s", a.Namespace, a.Name)
	case core.CreateActionImpl:
		if e, ok := a.Object.(*v1.Event); ok {
			e = e.DeepCopy() // events of one moment would have one name
			w.lock.Lock()
			e.Name = fmt.Sprint("event", len(w.names))
			w.names[e.Name] = e
			w.lock.Unlock()
			w.event(e)
			return true, e, nil
		}
	case core.PatchActionImpl:
		if a.Resource.Resource == "events" { // the same event again
			w.lock.Lock()
			e := w.names[a.Name]
			w.lock.Unlock()
			w.event(e)
			return true, &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: a.Namespace}, Message: e.Message}, nil
		}
		var patch struct {
			Status struct{ Conditions []v1.PodCondition }
		}
		if err := json.Unmarshal(a.Patch, &patch); err != nil {
			return true, nil, err
		}
		for _, c := range patch.Status.Conditions {
			w.their("%s/%s %s=%s %s %s", a.Namespace, a.Name, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return false, nil, nil
}

func (w *world) event(e *v1.Event) {
	w.lock.Lock()
	leaving := w.leaving[e.InvolvedObject.UID]
	w.lock.Unlock()
	if !leaving {
		w.their("%s %s", e.Reason, e.Message)
	}
}

func (w *world) their(format string, args ...any) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.theirs = append(w.theirs, fmt.Sprintf("%v "+format, append([]any{time.Since(w.start)}, args...)...))
}

func (w *world) note(format string, args ...any) {
	w.Note("%v "+format, append([]any{time.Since(w.start)}, args...)...)
}

// do carries out podberth's actions.
func (w *world) do(list []taint.Action) {
	for _, a := range list {
		say := func(format string, args ...any) {
			w.mine = append(w.mine, fmt.Sprintf("%v "+format, append([]any{a.At.Sub(w.start)}, args...)...))
		}
		if message := a.Event(); message != "" {
			say("%s %s", taint.EventReason, message)
		}
		if a.What == taint.EntryCancelled {
			w.Count("cancelled")
		}
		if a.What != taint.EntryEvicted {
			continue
		}
		w.Count(map[bool]string{true: "deleted at once", false: "deleted later"}[a.Fire.IsZero()])
		c := a.Condition()
		say("%s %s=%s %s %s", a.Pod, c.Type, c.Status, c.Reason, c.Message)
		say("delete %s", a.Pod)
		w.do(w.timers.DeletePod(a.Pod, a.At))
		delete(w.pods, a.Pod.Name)
	}
}

func (w *world) agree() error {
	synctest.Wait()
	w.lock.Lock()
	defer w.lock.Unlock()
	slices.Sort(w.mine)
	slices.Sort(w.theirs)
	if !slices.Equal(w.mine, w.theirs) {
		return fmt.Errorf("real\n  %s\npodberth\n  %s", strings.Join(w.theirs, "\n  "), strings.Join(w.mine, "\n  "))
	}
	w.mine, w.theirs = nil, nil
	return nil
}

// sleep lets time pass; podberth's timers end at their times.
func (w *world) sleep(d time.Duration) {
	time.Sleep(d)
	for {
		next, ok := w.timers.Next()
		if !ok || next.After(time.Now()) {
			return
		}
		list := w.timers.Advance(next)
		w.do(list)
		if len(list) == 0 { // nothing is due at the time that was named: the real controller will tell
			return
		}
	}
}

func (w *world) step() error {
	node, pod := "n"+fmt.Sprint(w.N(3)), "p"+fmt.Sprint(w.N(4))
	switch w.N(10) {
	case 0, 1, 2:
		return w.setNode(node)
	case 3:
		if w.nodes[node] == nil {
			return nil
		}
		w.note("node %s is deleted", node)
		w.Count("node deleted")
		delete(w.nodes, node)
		w.timers.DeleteNode(node)
		return w.client.Tracker().Delete(nodesResource, "", node)
	case 4, 5, 6:
		return w.setPod(pod, node)
	case 7:
		if w.pods[pod] == nil {
			return nil
		}
		w.note("pod %s is deleted", pod)
		w.Count("pod deleted")
		delete(w.pods, pod)
		w.do(w.timers.DeletePod(types.NamespacedName{Namespace: "d", Name: pod}, time.Now()))
		return w.client.Tracker().Delete(podsResource, "d", pod)
	default:
		d := trial.Pick(w.Source, time.Second, 0, 300*time.Millisecond, 2*time.Second, 1500*time.Millisecond, 5*time.Second, time.Nanosecond, time.Minute)
		if d == 0 {
			w.Count("same instant")
		}
		w.sleep(d)
	}
	return nil
}

func (w *world) setNode(name string) error {
	old := w.nodes[name]
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if old != nil {
		n = old.DeepCopy()
	}
	if w.N(4) > 0 || old == nil {
		n.Spec.Taints = nil
		for range w.N(8) / 3 {
			t := v1.Taint{Key: trial.Pick(w.Source, "x", "y", "node.kubernetes.io/not-ready"), Value: trial.Pick(w.Source, "", "", "1"),
				Effect: trial.Pick(w.Source, v1.TaintEffectNoExecute, v1.TaintEffectNoExecute, v1.TaintEffectNoExecute, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule)}
			if w.Once(4) {
				at := metav1.NewTime(w.start.Add(-time.Duration(w.N(100)) * time.Second))
				t.TimeAdded = &at
			}
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
	} else {
		n.Labels = map[string]string{"l": fmt.Sprint(w.N(3))}
	}
	w.nodes[name] = n
	w.note("node %s has taints %v", name, n.Spec.Taints)
	w.do(w.timers.SetNode(n, time.Now()))
	if old == nil {
		return w.client.Tracker().Create(nodesResource, n.DeepCopy(), "")
	}
	return w.client.Tracker().Update(nodesResource, n.DeepCopy(), "")
}

func (w *world) setPod(name, node string) error {
	old := w.pods[name]
	w.uids++
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(fmt.Sprint(w.uids))}}
	if old != nil {
		p = old.DeepCopy()
	} else {
		p.Spec.NodeName = node
		if w.Once(10) {
			p.Spec.NodeName = ""
		}
		p.Status.Phase = trial.Pick(w.Source, v1.PodRunning, v1.PodPending, v1.PodSucceeded)
		if w.Once(6) {
			now := metav1.Now()
			p.DeletionTimestamp = &now
		}
	}
	if p.Spec.NodeName == "" && old != nil {
		p.Spec.NodeName = node // it is bound
	} else if w.N(4) > 0 || old == nil {
		p.Spec.Tolerations = nil
		for range w.N(4) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, w.toleration())
		}
	} else {
		p.Labels = map[string]string{"l": fmt.Sprint(w.N(3))}
	}
	w.pods[name] = p
	w.note("pod %s on %q tolerates %s", name, p.Spec.NodeName, tolerations(p))
	w.do(w.timers.SetPod(p, time.Now()))
	if old == nil {
		return w.client.Tracker().Create(podsResource, p.DeepCopy(), "d")
	}
	return w.client.Tracker().Update(podsResource, p.DeepCopy(), "d")
}

func (w *world) toleration() v1.Toleration {
	t := v1.Toleration{Key: trial.Pick(w.Source, "", "x", "y", "node.kubernetes.io/not-ready", ""),
		Operator: trial.Pick(w.Source, v1.TolerationOpExists, v1.TolerationOpExists, v1.TolerationOpExists, v1.TolerationOpExists, v1.TolerationOpEqual, "", v1.TolerationOpGt, "Other"),
		Effect:   trial.Pick(w.Source, v1.TaintEffectNoExecute, v1.TaintEffectNoExecute, "", v1.TaintEffectNoSchedule)}
	if w.Once(3) {
		t.Value = "1"
	}
	if w.N(4) > 0 {
		seconds := trial.Pick(w.Source, int64(2), 3, 1, 5, 0, -5, 300, 1e9)
		t.TolerationSeconds = &seconds
	}
	return t
}

func tolerations(p *v1.Pod) string {
	var out []string
	for _, t := range p.Spec.Tolerations {
		seconds := "for ever"
		if t.TolerationSeconds != nil {
			seconds = fmt.Sprint(*t.TolerationSeconds)
		}
		out = append(out, fmt.Sprintf("%s %s %s:%s(%s)", t.Key, t.Operator, t.Value, t.Effect, seconds))
	}
	return strings.Join(out, ", ")
}
