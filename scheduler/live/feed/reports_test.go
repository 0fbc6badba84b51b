package feed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/internal/testkit"
)

// journal is a sink that notes what it is told.
type journal struct {
	mu    sync.Mutex
	lines []string
	hold  chan struct{} // AddPod waits until it is closed, unless it is nil
}

func (j *journal) note(what string, objects ...metav1.Object) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, o := range objects {
		what += " " + o.GetName() + ":" + o.GetResourceVersion()
	}
	j.lines = append(j.lines, what)
}

// take returns what was noted since the last call.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.lines
	j.lines = nil
	return out
}

func (j *journal) AddPod(pod *v1.Pod) {
	if j.hold != nil {
		<-j.hold
	}
	j.note("add pod", pod)
}
func (j *journal) UpdatePod(old, pod *v1.Pod)    { j.note("update pod", old, pod) }
func (j *journal) DeletePod(pod *v1.Pod)         { j.note("delete pod", pod) }
func (j *journal) AddNode(node *v1.Node)         { j.note("add node", node) }
func (j *journal) UpdateNode(old, node *v1.Node) { j.note("update node", old, node) }
func (j *journal) DeleteNode(node *v1.Node)      { j.note("delete node", node) }
func (j *journal) Remove(obj metav1.Object)      { j.note("unset", obj) }
func (j *journal) Set(old, obj metav1.Object) {
	if old == nil {
		j.note("set", obj)
	} else {
		j.note("set", old, obj)
	}
}

func meta(name, version string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", UID: "1", ResourceVersion: version}
}

// The sink hears of every change with the object before it, and Changed says so each time. Nothing is reported without a change,
// however much time passes.
func TestReports(t *testing.T) {
	pods, nodes, claims := v1.SchemeGroupVersion.WithResource("pods"), v1.SchemeGroupVersion.WithResource("nodes"), resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	type test struct {
		name, why     string
		resource      schema.GroupVersionResource
		first, second runtime.Object
		want          []string
	}
	testkit.Run(t, []test{
		{"pods", "the scheduler has a method for each change of a pod", pods, &v1.Pod{ObjectMeta: meta("x", "1")}, &v1.Pod{ObjectMeta: meta("x", "2")},
			[]string{"add pod x:1", "update pod x:1 x:2", "delete pod x:2"}},
		{"nodes", "the scheduler has a method for each change of a node", nodes, &v1.Node{ObjectMeta: meta("x", "1")}, &v1.Node{ObjectMeta: meta("x", "2")},
			[]string{"add node x:1", "update node x:1 x:2", "delete node x:2"}},
		{"claims", "all other kinds share two methods", claims, &resourcev1.ResourceClaim{ObjectMeta: meta("x", "1")}, &resourcev1.ResourceClaim{ObjectMeta: meta("x", "2")},
			[]string{"set x:1", "set x:1 x:2", "unset x:2"}},
	}, func(t *testing.T, c test) {
		synctest.Test(t, func(t *testing.T) {
			api := fake.NewClientset()
			var j journal
			f, err := New(api, Options{})
			require.NoError(t, err)
			require.Nil(t, f.Reported(c.resource.GroupResource().String(), "default", "x"), "nothing is connected")
			require.NoError(t, f.Connect(&j))
			ctx, cancel := context.WithCancel(t.Context())
			f.Start(ctx)
			require.NoError(t, f.Wait(ctx))
			for k, change := range []func() error{
				func() error { return api.Tracker().Create(c.resource, c.first, "default") },
				func() error { return api.Tracker().Update(c.resource, c.second, "default") },
				func() error { return api.Tracker().Delete(c.resource, "default", "x") },
			} {
				changed := f.Changed()
				require.Equal(t, changed, f.Changed(), "there is one channel for all who wait")
				time.Sleep(time.Hour)
				select {
				case <-changed:
					require.FailNow(t, "nothing has changed")
				default:
				}
				require.NoError(t, change())
				<-changed
				synctest.Wait()
				require.Equal(t, c.want[k:k+1], j.take(), c.why)
				require.NotEqual(t, changed, f.Changed(), "the next change has a channel of its own")
				require.NoError(t, api.Tracker().Create(v1.SchemeGroupVersion.WithResource("services"), &v1.Service{ObjectMeta: meta(fmt.Sprint("other", k), "1")}, "default"))
				synctest.Wait()
				require.NoError(t, api.Tracker().Delete(v1.SchemeGroupVersion.WithResource("services"), "default", fmt.Sprint("other", k)))
				synctest.Wait() // nobody waits for this change
				require.Len(t, j.take(), 2)
			}
			cancel()
			f.Stop()
		})
	})
}

// The feed watches the kinds that kube-scheduler watches, and pods as long as they have not ended.
func TestKinds(t *testing.T) {
	api := fake.NewClientset()
	f, err := New(api, Options{})
	require.NoError(t, err)
	require.EqualError(t, f.Waiting(), "waiting for the first list of nodes, namespaces, services, replicationcontrollers, persistentvolumes, persistentvolumeclaims, "+
		"replicasets.apps, statefulsets.apps, poddisruptionbudgets.policy, "+
		"storageclasses.storage.k8s.io, csinodes.storage.k8s.io, csidrivers.storage.k8s.io, csistoragecapacities.storage.k8s.io, volumeattachments.storage.k8s.io, "+
		"resourceclaims.resource.k8s.io, resourceslices.resource.k8s.io, deviceclasses.resource.k8s.io, devicetaintrules.resource.k8s.io, pods")
	require.NoError(t, f.Connect(&journal{}))
	ctx, cancel := context.WithCancel(t.Context())
	f.Start(ctx)
	require.NoError(t, f.Wait(ctx))
	cancel()
	f.Stop()
	selectors := map[string]string{}
	for _, a := range api.Actions() {
		if list, ok := a.(clienttesting.ListAction); ok {
			require.Empty(t, a.GetNamespace(), "all namespaces")
			selectors[a.GetResource().Resource] = list.GetListRestrictions().Fields.String()
		}
	}
	require.Len(t, selectors, len(Kinds()))
	for resource, selector := range selectors {
		require.Equal(t, map[bool]string{true: "status.phase!=Failed,status.phase!=Succeeded"}[resource == "pods"], selector)
	}
}

// An API server that answers with errors has its errors in Waiting, until the first list is in.
func TestErrors(t *testing.T) {
	for name, told := range map[string]*[]string{"told": {}, "nobody to tell": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := fake.NewClientset()
				var mu sync.Mutex
				broken := true
				api.PrependReactor("list", "csinodes", func(clienttesting.Action) (bool, runtime.Object, error) {
					mu.Lock()
					defer mu.Unlock()
					return broken, nil, errors.New("no way")
				})
				var o Options
				if told != nil {
					o.OnError = func(resource string, err error) {
						mu.Lock()
						defer mu.Unlock()
						*told = append(*told, resource+": "+err.Error())
					}
				}
				f, err := New(api, o)
				require.NoError(t, err)
				require.NoError(t, f.Connect(&journal{}))
				ctx, cancel := context.WithCancel(t.Context())
				f.Start(ctx)
				short, end := context.WithTimeout(ctx, 10*time.Second)
				defer end()
				const waiting = "waiting for the first list of csinodes.storage.k8s.io (failed to list *v1.CSINode: no way)"
				require.EqualError(t, f.Wait(short), waiting+"\ncontext deadline exceeded")
				require.EqualError(t, f.Waiting(), waiting)
				mu.Lock()
				broken = false
				mu.Unlock()
				require.NoError(t, f.Wait(ctx))
				require.NoError(t, f.Waiting())
				cancel()
				f.Stop()
				if told != nil {
					require.Greater(t, len(*told), 1)
					require.Equal(t, strings.Repeat("csinodes.storage.k8s.io: failed to list *v1.CSINode: no way\n", len(*told)), strings.Join(*told, "\n")+"\n")
				}
			})
		})
	}
}

// Stop waits until the last report has been taken. A feed that has stopped cannot be connected.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{hold: make(chan struct{})}
		f, err := New(fake.NewClientset(&v1.Pod{ObjectMeta: meta("p", "1")}), Options{})
		require.NoError(t, err)
		require.NoError(t, f.Connect(j))
		ctx, cancel := context.WithCancel(t.Context())
		f.Start(ctx)
		synctest.Wait()
		require.EqualError(t, f.Waiting(), "waiting for the first list of pods", "the sink has not taken it yet")
		cancel()
		stopped := make(chan struct{})
		go func() {
			f.Stop()
			close(stopped)
		}()
		synctest.Wait()
		select {
		case <-stopped:
			require.FailNow(t, "the sink is at work")
		default:
		}
		close(j.hold)
		<-stopped
		require.Equal(t, []string{"add pod p:1"}, j.take())
		require.ErrorContains(t, f.Connect(j), "nodes: handler ")
	})
}

// Managed fields are dropped, but not from objects that a scheduler writes as a whole.
func TestManagedFields(t *testing.T) {
	with := metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}
	for o, want := range map[metav1.Object]int{
		&v1.Pod{ObjectMeta: with}: 0, &v1.Node{ObjectMeta: with}: 0, &resourcev1.ResourceSlice{ObjectMeta: with}: 0,
		&v1.PersistentVolume{ObjectMeta: with}: 1, &v1.PersistentVolumeClaim{ObjectMeta: with}: 1, &resourcev1.ResourceClaim{ObjectMeta: with}: 1,
	} {
		got, err := prepared(o)
		require.NoError(t, err)
		require.Same(t, o, got)
		require.Len(t, o.GetManagedFields(), want, "%T", o)
	}
	got, err := prepared("text")
	require.NoError(t, err)
	require.Equal(t, "text", got)

	added := metav1.Unix(1000, 0)
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: with, Spec: resourcev1.DeviceTaintRuleSpec{
		DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: new("d"), Pool: new("p"), Device: new("1")},
		Taint:          resourcev1.DeviceTaint{Key: "k", Value: "v", Effect: resourcev1.DeviceTaintEffectNoExecute, TimeAdded: &added},
	}}
	rule.Name = "r"
	got, err = prepared(rule)
	require.NoError(t, err)
	require.Equal(t, &resourcev1beta2.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: resourcev1beta2.DeviceTaintRuleSpec{
		DeviceSelector: &resourcev1beta2.DeviceTaintSelector{Driver: new("d"), Pool: new("p"), Device: new("1")},
		Taint:          resourcev1beta2.DeviceTaint{Key: "k", Value: "v", Effect: resourcev1beta2.DeviceTaintEffectNoExecute, TimeAdded: &added},
	}}, got)
}

// Something that is no object is an error, which is told with the resource. Without OnError it is dropped.
func TestNoObject(t *testing.T) {
	var told []string
	for _, o := range []Options{{}, {OnError: func(resource string, err error) { told = append(told, resource+": "+err.Error()) }}} {
		f, err := New(fake.NewClientset(), o)
		require.NoError(t, err)
		objects := f.objectsOf(f.sources[0], &journal{})
		objects.see("text")
		objects.lose(7)
	}
	require.Equal(t, []string{"nodes: an informer reported a string", "nodes: an informer reported the deletion of a int"}, told)
}
