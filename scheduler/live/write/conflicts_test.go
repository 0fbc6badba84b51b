package write_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
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

// A write that meets a newer version of a claim is made again from that version, four times after about 10 ms.
func TestClaimConflicts(t *testing.T) { // B2.36
	claims := schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	stale, refused, elsewhere := apierrors.NewConflict(claims, "d", errors.New("modified")), apierrors.NewForbidden(claims, "d", errRefused), errors.New("claim default/d got allocated elsewhere in the meantime")
	type test struct {
		name, why string
		conflicts int   // answers before the write succeeds
		answer    error // of these
		verb      string
		again     error // of Again
		without   bool  // no Again
		want      []string
		err       error
	}
	get, put := "get ", "update status"
	testkit.Run(t, []test{
		{"none", "one request", 0, stale, put, nil, false, []string{put}, nil},
		{"one", "the newest version is read", 1, stale, put, nil, false, []string{put, get, put}, nil},
		{"four", "the fifth try is the last", 4, stale, put, nil, false, []string{put, get, put, get, put, get, put, get, put}, nil},
		{"five", "the attempt fails", 5, stale, put, nil, false, []string{put, get, put, get, put, get, put, get, put}, stale},
		{"refused", "another try would get the same answer", 1, refused, put, nil, false, []string{put}, refused},
		{"the claim is taken", "Again says so", 1, stale, put, elsewhere, false, []string{put, get}, elsewhere},
		{"gone", "the claim cannot be read", 1, stale, put, nil, false, []string{put, get}, apierrors.NewNotFound(claims, "d")},
		{"nobody knows what to write again", "the claim is given back, not reserved", 1, stale, put, nil, true, []string{put}, stale},
		{"of the finalizers", "the status comes after them", 1, stale, "update ", nil, false, []string{"update ", get, "update ", put}, nil},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			api, left := fake.NewClientset(), x.conflicts
			if x.name != "gone" {
				newest := deviceClaim(claimVersion("7"))
				if x.verb == "update " {
					newest.Finalizers = nil
				}
				require.NoError(t, api.Tracker().Add(newest))
			}
			api.PrependReactor("update", "resourceclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
				if left > 0 && x.verb == a.GetVerb()+" "+a.GetSubresource() {
					left--
					return true, nil, x.answer
				}
				return true, a.(clienttesting.UpdateAction).GetObject(), nil
			})
			reported := deviceClaim()
			if x.verb == "update " {
				reported.Finalizers = nil
			}
			known := &reports{view: view{pod()}, objects: map[string]metav1.Object{"resourceclaims.resource.k8s.io/d": reported}, changed: make(chan struct{})}
			c := write.New(api, known, write.Options{})
			defer c.Close()
			w := scheduler.ClaimWrites{Set: []*resourcev1.ResourceClaim{deviceClaim(attached())}, Again: func(claim, latest *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
				require.Equal(t, []string{"5", "7"}, []string{claim.ResourceVersion, latest.ResourceVersion})
				return deviceClaim(attached(), claimVersion("7")), x.again
			}}
			if x.without {
				w.Again = nil
			}
			written := errors.New("everything is written")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go c.Run(ctx, 1)
			time.AfterFunc(time.Second, func() { cancel(written) }) // what is written is reported only without a conflict
			began := time.Now()
			err := c.WriteClaims(ctx, pod(), w)
			switch {
			case x.err == elsewhere || x.err == nil && x.conflicts == 0:
				require.Equal(t, x.err, err)
			case x.err == nil:
				require.Equal(t, written, err)
			default:
				require.EqualError(t, err, x.err.Error())
				require.Less(t, time.Since(began), 50*time.Millisecond, x.why)
			}
			var got []string
			for k, a := range api.Actions() {
				got = append(got, a.GetVerb()+" "+a.GetSubresource())
				if u, ok := a.(clienttesting.UpdateActionImpl); ok && k > 0 {
					require.Equal(t, "7", u.Object.(*resourcev1.ResourceClaim).ResourceVersion)
				}
			}
			require.Equal(t, x.want, got, x.why)
		})
	})
}

// Attempts write to a claim one after another, each in the version that the one before left. An attempt that ends does not wait.
func TestClaimTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, open, sent := fake.NewClientset(), make(chan struct{}), make(chan string, 10)
		api.PrependReactor("update", "resourceclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
			now := a.(clienttesting.UpdateAction).GetObject().(*resourcev1.ResourceClaim).DeepCopy()
			sent <- now.ResourceVersion
			now.ResourceVersion += "0"
			<-open
			return true, now, nil
		})
		known := &reports{view: view{pod()}, objects: map[string]metav1.Object{"resourceclaims.resource.k8s.io/d": deviceClaim(claimVersion("500"))}, changed: make(chan struct{})}
		c := write.New(api, known, write.Options{})
		defer c.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		go c.Run(ctx, 1)
		again := func(_, latest *resourcev1.ResourceClaim) (*resourcev1.ResourceClaim, error) {
			return deviceClaim(attached(), claimVersion(latest.ResourceVersion)), nil
		}
		ended := make(chan error, 3)
		attempt := func(ctx context.Context) {
			go func() {
				ended <- c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Set: []*resourcev1.ResourceClaim{deviceClaim(attached())}, Again: again})
			}()
			synctest.Wait()
		}
		attempt(ctx)
		attempt(ctx)
		preempted, end := context.WithCancelCause(ctx)
		attempt(preempted)
		require.Len(t, sent, 1, "the others wait")
		over := errors.New("preempted")
		end(over)
		require.Equal(t, over, <-ended)
		close(open)
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		require.Equal(t, []string{"5", "50"}, []string{<-sent, <-sent})
		require.Empty(t, sent)
	})
}

// A claim is deleted in its newest version. Nobody deletes the claim that has taken its name.
func TestDeleteConflicts(t *testing.T) {
	stale := apierrors.NewConflict(schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}, "d", errors.New("the object has been modified"))
	type test struct {
		name   string
		newest *resourcev1.ResourceClaim // nil: gone
		want   []string
	}
	testkit.Run(t, []test{
		{"newer", deviceClaim(claimVersion("7")), []string{"update ", "get ", "update ", "delete "}},
		{"gone", nil, []string{"update ", "get "}},
		{"replaced", deviceClaim(func(x *resourcev1.ResourceClaim) { x.UID = "new" }), []string{"update ", "get "}},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			api, first := fake.NewClientset(), true
			if x.newest != nil {
				require.NoError(t, api.Tracker().Add(x.newest))
			}
			api.PrependReactor("update", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
				defer func() { first = false }()
				return first, nil, stale
			})
			known := &reports{view: view{pod()}, objects: map[string]metav1.Object{}, changed: make(chan struct{})}
			c := write.New(api, known, write.Options{})
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go c.Run(ctx, 1)
			require.NoError(t, c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Delete: []*resourcev1.ResourceClaim{deviceClaim()}}))
			var got []string
			for _, a := range api.Actions() {
				got = append(got, a.GetVerb()+" "+a.GetSubresource())
			}
			require.Equal(t, x.want, got)
		})
	})
}

// A reservation is taken out whatever others have written to the claim meanwhile; their reservations stay.
func TestUnreserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reserved := func(pods ...types.UID) func(*resourcev1.ResourceClaim) {
			return func(x *resourcev1.ResourceClaim) {
				for _, uid := range pods {
					x.Status.ReservedFor = append(x.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: "name", UID: uid})
				}
			}
		}
		now := deviceClaim(attached(), reserved("q", pod().UID, "r"), claimVersion("7"))
		api := fake.NewClientset(now)
		c := write.New(api, &reports{view: view{pod()}, objects: map[string]metav1.Object{"resourceclaims.resource.k8s.io/d": now}, changed: make(chan struct{})}, write.Options{})
		defer c.Close()
		go c.Run(t.Context(), 1)
		require.NoError(t, c.WriteClaims(t.Context(), pod(), scheduler.ClaimWrites{Unreserve: []*resourcev1.ResourceClaim{deviceClaim(reserved(pod().UID))}}))
		left, err := api.ResourceV1().ResourceClaims("default").Get(t.Context(), "d", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, deviceClaim(reserved("q", "r")).Status.ReservedFor, left.Status.ReservedFor)
		require.NotNil(t, left.Status.Allocation)
		require.Len(t, api.Actions(), 2, "one patch, and the read of this test")
	})
}
