package write_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/write"
)

// view is what the informers know: a pod that the test sets.
type view struct{ pod *v1.Pod }

func (v *view) Pod(namespace, name string) *v1.Pod {
	if v.pod == nil || v.pod.Namespace != namespace || v.pod.Name != name {
		return nil
	}
	return v.pod
}
func (v *view) Reported(_, _, _ string) metav1.Object { return nil }
func (v *view) Changed() <-chan struct{}              { return nil }

func pod(change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u", ResourceVersion: "7", Generation: 3}}
	for _, f := range change {
		f(p)
	}
	return p
}

func on(node string) func(*v1.Pod)   { return func(p *v1.Pod) { p.Spec.NodeName = node } }
func as(uid types.UID) func(*v1.Pod) { return func(p *v1.Pod) { p.UID = uid } }

var pods = schema.GroupResource{Resource: "pods"}

func conflict() error {
	return apierrors.NewConflict(pods, "p", errors.New("pod p is already assigned"))
}
func failure() error  { return apierrors.NewInternalError(errors.New("etcd is slow")) }
func notFound() error { return apierrors.NewNotFound(pods, "p") }
func forbidden() error {
	return apierrors.NewForbidden(pods, "p", errors.New("no"))
}

// client returns a client over a fake API server whose pod is now, and whose answers to a verb and subresource are err.
func client(t *testing.T, now, known *v1.Pod, verb, sub string, err error) (*write.Client, *fake.Clientset) {
	api := fake.NewClientset()
	if now != nil {
		require.NoError(t, api.Tracker().Add(now))
	}
	api.PrependReactor(verb, "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != sub {
			return false, nil, nil
		}
		return true, &v1.Pod{}, err
	})
	c := write.New(api, &view{known}, write.Options{Timeout: 10 * time.Millisecond, Retry: []time.Duration{time.Microsecond}, DeleteBackoff: time.Millisecond, DeleteBackoffLimit: 2 * time.Millisecond})
	t.Cleanup(c.Close)
	return c, api
}

// What Bind returns for each answer, and for what the pod is when the answer does not say it.
func TestBind(t *testing.T) {
	type test struct {
		name, why string
		answer    error
		now       *v1.Pod
		ok, gone  bool
	}
	testkit.Run(t, []test{
		{"bound", "201", nil, pod(), true, false},
		{"another has bound it", "409, and the pod is on another node", conflict(), pod(on("n2")), false, false},
		{"bound by an earlier try", "409, and the pod is on the node", conflict(), pod(on("n1")), true, false},
		{"replaced", "409, and the pod has another UID", conflict(), pod(as("other")), false, true},
		{"deleted", "404", notFound(), nil, false, true},
		{"forbidden", "nobody is asked again", forbidden(), pod(on("n1")), false, false},
		{"failed", "500, and the pod is as it was", failure(), pod(), false, false},
		{"answer lost", "the connection broke after the server had bound the pod", io.ErrUnexpectedEOF, pod(on("n1")), true, false},
		{"request lost", "the connection broke before", io.ErrUnexpectedEOF, pod(), false, false},
	}, func(t *testing.T, c test) {
		synctest.Test(t, func(t *testing.T) { // the time of a request must not pass on a busy machine
			x, api := client(t, c.now, pod(), "create", "binding", c.answer)
			ctx, end := context.WithCancel(t.Context())
			defer end()
			go x.Run(ctx, 1) // it ends the queue of patches
			err := x.Bind(t.Context(), pod(), "n1")
			binding := api.Actions()[0].(clienttesting.CreateAction).GetObject()
			require.Equal(t, &v1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u"}, Target: v1.ObjectReference{Kind: "Node", Name: "n1"}}, binding)
			if c.ok {
				require.NoError(t, err, c.why)
				return
			}
			require.EqualError(t, err, c.answer.Error(), "the text is the API server's")
			require.Equal(t, c.gone, errors.Is(err, scheduler.ErrGone), c.why)
		})
	})
}

// A binding without an answer may still come. The pod keeps its room until the API server says where it is and is done with the binding.
func TestBindThatIsLate(t *testing.T) {
	lost, refused := io.ErrUnexpectedEOF, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	late := apierrors.NewTimeoutError("the server was unable to return a response in the time allotted", 1)
	late.ErrStatus.Code = http.StatusGatewayTimeout
	for name, c := range map[string]struct {
		answer error
		reads  []any // what each read gives, the last forever
		least  int   // reads
		most   int
		ok     bool
	}{
		"the pod is bound at the second read":      {lost, []any{pod(), pod(on("n1"))}, 2, 2, true},
		"the API server says that it takes longer": {late, []any{pod(), pod(on("n1"))}, 2, 2, true},
		"the API server does not answer for long":  {lost, []any{lost, lost, lost, pod()}, 4, 5, false},
		"no binding comes":                         {lost, []any{pod()}, 2, 3, false},
		"the pod goes":                             {lost, []any{pod(), nil}, 2, 2, false},
		"an answer of the API server":              {failure(), []any{pod(), pod(on("n1"))}, 1, 1, false},
		"nobody took the request":                  {refused, []any{pod(), pod(on("n1"))}, 1, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, api := client(t, pod(), pod(), "create", "binding", c.answer)
				reads := 0
				api.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
					now := c.reads[min(reads, len(c.reads)-1)]
					reads++
					switch now := now.(type) {
					case *v1.Pod:
						return true, now, nil
					case error:
						return true, nil, now
					}
					return true, nil, notFound()
				})
				ctx, end := context.WithCancel(t.Context())
				defer end()
				go x.Run(ctx, 1) // it ends the queue of patches
				err := x.Bind(t.Context(), pod(), "n1")
				require.Equal(t, c.ok, err == nil, "%v", err)
				require.GreaterOrEqual(t, reads, c.least)
				require.LessOrEqual(t, reads, c.most)
			})
		})
	}
}

func patches(api *fake.Clientset) (out []map[string]any) {
	for _, a := range api.Actions() {
		if p, ok := a.(clienttesting.PatchAction); ok {
			var body map[string]any
			if err := json.Unmarshal(p.GetPatch(), &body); err == nil {
				out = append(out, body)
			}
		}
	}
	return out
}

func unschedulable(message string) scheduler.StatusPatch {
	return scheduler.StatusPatch{Condition: &v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: v1.PodReasonUnschedulable, Message: message}}
}

// The patch of a failed attempt is sent by a worker, with the UID and the version that it is for.
func TestPatchStatus(t *testing.T) {
	x, api := client(t, pod(), pod(), "patch", "status", nil)
	require.NoError(t, x.PatchStatus(t.Context(), pod(), unschedulable("a")))
	require.NoError(t, x.PatchStatus(t.Context(), pod(), unschedulable("b")))
	require.Empty(t, patches(api), "no worker runs")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { x.Run(ctx, 2); close(ended) }()
	x.Flush(t.Context())
	cancel()
	<-ended
	sent := patches(api)
	require.Len(t, sent, 1, "the newer patch replaces the older")
	require.Equal(t, map[string]any{"uid": "u", "resourceVersion": "7"}, sent[0]["metadata"])
	c := sent[0]["status"].(map[string]any)["conditions"].([]any)[0].(map[string]any)
	require.Equal(t, "b", c["message"])
	require.EqualValues(t, 3, c["observedGeneration"])
}

// Whether a patch is sent depends on what the pod is.
func TestPatchesLeftOut(t *testing.T) {
	same := func(p *v1.Pod) { p.Status.Conditions = []v1.PodCondition{*unschedulable("a").Condition} }
	nominated := func(p *v1.Pod) { p.Status.NominatedNodeName = "n1" }
	victim := scheduler.StatusPatch{Condition: &v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}}
	node := "n1"
	type test struct {
		name, why  string
		now, known *v1.Pod
		patch      scheduler.StatusPatch
		sent       int
	}
	testkit.Run(t, []test{
		{"pending", "a change", pod(), pod(), unschedulable("a"), 1},
		{"equal", "the pod has the condition", pod(same), pod(same), unschedulable("a"), 0},
		{"bound", "a bound pod is not marked as unschedulable", pod(), pod(on("n1")), unschedulable("a"), 0},
		{"replaced", "another pod has the name", pod(), pod(as("other")), unschedulable("a"), 0},
		{"gone", "the informer has no such pod", nil, nil, unschedulable("a"), 0},
		{"victim", "victims have nodes", pod(on("n1")), pod(on("n1")), victim, 1},
		{"nomination", "before PreBind", pod(), pod(), scheduler.StatusPatch{NominatedNode: &node}, 1},
		{"nomination that is there", "the informer shows it", pod(nominated), pod(nominated), scheduler.StatusPatch{NominatedNode: &node}, 0},
		{"nomination of a bound pod", "it is bound already", pod(), pod(on("n1")), scheduler.StatusPatch{NominatedNode: &node}, 0},
	}, func(t *testing.T, c test) {
		x, api := client(t, c.now, c.known, "patch", "status", nil)
		err := x.PatchStatus(t.Context(), pod(), c.patch)
		if !errors.Is(err, scheduler.ErrGone) {
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go x.Run(ctx, 1)
		x.Flush(t.Context())
		require.Len(t, patches(api), c.sent, c.why)
	})
}

// A conflict shows that the informer is late: the API server's pod decides.
func TestPatchAfterConflict(t *testing.T) {
	node := "n1"
	x, api := client(t, pod(on("n2")), pod(), "patch", "status", conflict())
	require.NoError(t, x.PatchStatus(t.Context(), pod(), scheduler.StatusPatch{NominatedNode: &node}))
	require.Len(t, patches(api), 1, "the pod was bound meanwhile: no second patch")
	x, api = client(t, pod(as("other")), pod(), "patch", "status", conflict())
	require.ErrorIs(t, x.PatchStatus(t.Context(), pod(), scheduler.StatusPatch{NominatedNode: &node}), scheduler.ErrGone)
	require.Len(t, patches(api), 1)
}

// A nomination that was written is ended, also while the informer does not show it.
func TestNominationEnds(t *testing.T) {
	x, api := client(t, pod(), pod(), "create", "binding", nil)
	for _, node := range []string{"", "n1", "", ""} {
		require.NoError(t, x.PatchStatus(t.Context(), pod(), scheduler.StatusPatch{NominatedNode: &node}))
		now, err := api.CoreV1().Pods("default").Get(t.Context(), "p", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, node, now.Status.NominatedNodeName)
	}
	require.Len(t, patches(api), 2)
}

// A binding drops the patch that waits.
func TestBindDropsPatch(t *testing.T) {
	x, api := client(t, pod(), pod(), "create", "binding", nil)
	require.NoError(t, x.PatchStatus(t.Context(), pod(), unschedulable("a")))
	require.NoError(t, x.Bind(t.Context(), pod(), "n1"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go x.Run(ctx, 1)
	x.Flush(t.Context())
	require.Empty(t, patches(api))
}

// Deletions name the UID, are tried again, and a replaced victim counts as gone.
func TestDelete(t *testing.T) {
	type test struct {
		name   string
		answer error
		now    *v1.Pod
		tries  int
		want   error
	}
	testkit.Run(t, []test{
		{"deleted", nil, pod(), 1, nil},
		{"gone", notFound(), nil, 1, scheduler.ErrGone},
		{"replaced", conflict(), pod(as("other")), 1, scheduler.ErrGone},
		{"refused", forbidden(), pod(), 1, forbidden()},
		{"refused, replaced", forbidden(), pod(as("other")), 1, forbidden()},
		{"refused with a conflict", conflict(), pod(), 2, conflict()},
		{"failed", failure(), pod(), 2, failure()},
	}, func(t *testing.T, c test) {
		x, api := client(t, c.now, pod(), "delete", "", c.answer)
		err := x.Delete(t.Context(), pod())
		if c.want == nil {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want.Error())
		}
		tries := 0
		for _, a := range api.Actions() {
			if d, ok := a.(clienttesting.DeleteActionImpl); ok {
				tries++
				require.EqualValues(t, "u", *d.DeleteOptions.Preconditions.UID)
			}
		}
		require.Equal(t, c.tries, tries)
	})
}
