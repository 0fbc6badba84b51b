package write_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/write"
)

func deviceClaim(change ...func(*resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
	x := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d", UID: "d", ResourceVersion: "5", Finalizers: []string{"f"}}}
	for _, f := range change {
		f(x)
	}
	return x
}

// attached gives the claim a device that must be attached, and its conditions.
func attached(conditions ...metav1.Condition) func(*resourcev1.ResourceClaim) {
	return func(x *resourcev1.ResourceClaim) {
		now := metav1.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble of synctest begins
		x.Status.Allocation = &resourcev1.AllocationResult{AllocationTimestamp: &now, Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{
			Request: "r", Driver: "dr", Pool: "p", Device: "g", BindingConditions: []string{"Attached"}, BindingFailureConditions: []string{"Broken"},
		}}}}
		x.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Driver: "dr", Pool: "p", Device: "g", Conditions: conditions}}
	}
}

func isTrue(condition string) metav1.Condition {
	return metav1.Condition{Type: condition, Status: metav1.ConditionTrue}
}

func claimVersion(version string) func(*resourcev1.ResourceClaim) {
	return func(x *resourcev1.ResourceClaim) { x.ResourceVersion = version }
}

// A pod waits until the scheduler knows what was written, and until its devices are ready.
func TestWriteClaimsWaits(t *testing.T) {
	const wait = 7500 * time.Millisecond
	type test struct {
		name   string
		write  scheduler.ClaimWrites
		before *resourcev1.ResourceClaim // as it is reported in the first 1.5 s; nil: unknown
		then   *resourcev1.ResourceClaim
		after  time.Duration // when the pod goes on
		want   string
	}
	one := []*resourcev1.ResourceClaim{deviceClaim()}
	set, gone, ready := scheduler.ClaimWrites{Set: one}, scheduler.ClaimWrites{Delete: one}, scheduler.ClaimWrites{Ready: one}
	ago := func(d time.Duration) func(*resourcev1.ResourceClaim) {
		return func(x *resourcev1.ResourceClaim) {
			x.Status.Allocation.AllocationTimestamp.Time = x.Status.Allocation.AllocationTimestamp.Add(-d)
		}
	}
	testkit.Run(t, []test{
		{"known", set, deviceClaim(), nil, 0, ""},
		{"a newer version is known", set, deviceClaim(claimVersion("6")), nil, 0, ""},
		{"not known yet", set, nil, deviceClaim(), 2 * time.Second, ""},
		{"an older version is known", set, deviceClaim(claimVersion("4")), deviceClaim(), 2 * time.Second, ""},
		{"an older claim is known", set, deviceClaim(func(x *resourcev1.ResourceClaim) { x.UID = "old" }), deviceClaim(), 2 * time.Second, ""},
		{"devices that are not ready", set, deviceClaim(attached()), nil, 0, ""},
		{"deleted", gone, nil, nil, 0, ""},
		{"deleted and made again", gone, deviceClaim(func(x *resourcev1.ResourceClaim) { x.UID = "new" }), nil, 0, ""},
		{"the deletion is not known yet", gone, deviceClaim(), nil, 2 * time.Second, ""},
		{"ready", ready, deviceClaim(attached(isTrue("Attached"))), nil, 0, ""},
		{"ready, and allocated long ago", ready, deviceClaim(attached(isTrue("Attached")), ago(time.Hour)), nil, 0, ""},
		{"ready in time", ready, deviceClaim(attached()), deviceClaim(attached(isTrue("Attached"))), 2 * time.Second, ""},
		{"not ready in time", ready, deviceClaim(attached()), deviceClaim(attached()), wait, "device binding timeout: context deadline exceeded"},
		{"allocated long ago", ready, deviceClaim(attached(), ago(time.Hour)), nil, 0, "device binding timeout: claim=d"},
		{"allocated before the pod waits", ready, deviceClaim(attached(), ago(4*time.Second)), deviceClaim(attached(), ago(4*time.Second)), 5 * time.Second, "device binding timeout: claim=d"},
		{"allocated before, and ready between two looks", ready, deviceClaim(attached(), ago(wait-time.Second)), deviceClaim(attached(isTrue("Attached")), ago(wait-time.Second)), 2 * time.Second, ""},
		{"broken", ready, deviceClaim(attached(isTrue("Broken"))), nil, 0, `device binding failed: claim=d, reason=, message=""`},
		{"gone meanwhile", ready, deviceClaim(attached()), nil, 2 * time.Second, "claim default/d got deleted in the meantime"},
		{"replaced meanwhile", ready, deviceClaim(attached()), deviceClaim(func(x *resourcev1.ResourceClaim) { x.UID = "new" }), 2 * time.Second, "claim default/d got deleted in the meantime"},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			known := &reports{view: view{pod()}, objects: map[string]metav1.Object{}, changed: make(chan struct{})}
			report := func(claim *resourcev1.ResourceClaim) {
				var o metav1.Object // no interface with a nil claim in it
				if claim != nil {
					o = claim
				}
				known.report("resourceclaims.resource.k8s.io/d", o)
			}
			report(x.before)
			c := write.New(versioned("5", "resourceclaims"), known, write.Options{Waits: map[string]write.Waits{"": {Devices: wait}}})
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go c.Run(ctx, 1)
			began := time.Now()
			time.AfterFunc(1500*time.Millisecond, func() { report(x.then) })
			err := c.WriteClaims(ctx, pod(), x.write)
			if x.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, x.want)
			}
			require.Equal(t, x.after, time.Since(began))
		})
	})
}

// A report, the end of the attempt and a lost lease end the wait for claims at once.
func TestWriteClaimsEnds(t *testing.T) {
	type test struct {
		name  string
		event func(known *reports, cancel context.CancelCauseFunc, c *write.Client)
		want  string
	}
	testkit.Run(t, []test{
		{"report", func(known *reports, _ context.CancelCauseFunc, _ *write.Client) {
			known.report("resourceclaims.resource.k8s.io/d", deviceClaim())
			close(known.changed)
		}, ""},
		{"cancelled", func(_ *reports, cancel context.CancelCauseFunc, _ *write.Client) { cancel(errors.New("preempted")) }, "preempted"},
		{"closed", func(_ *reports, _ context.CancelCauseFunc, c *write.Client) { c.Close() }, "context canceled"},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			known := &reports{view: view{pod()}, objects: map[string]metav1.Object{}, changed: make(chan struct{})}
			c := write.New(versioned("5", "resourceclaims"), known, write.Options{})
			defer c.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go c.Run(ctx, 1)
			began := time.Now()
			time.AfterFunc(300*time.Millisecond, func() { x.event(known, cancel, c) })
			err := c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Set: []*resourcev1.ResourceClaim{deviceClaim()}})
			if x.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, x.want)
			}
			require.Equal(t, 300*time.Millisecond, time.Since(began))
		})
	})
}

// Claims are created when they have no UID, and updated only where their finalizers change; the finalizers of a claim that goes are
// taken away first.
func TestWriteClaims(t *testing.T) {
	type test struct {
		name  string
		known *resourcev1.ResourceClaim // by the scheduler and by the API server
		write scheduler.ClaimWrites
		fail  string // the request that the API server refuses, by verb and subresource
		want  []string
		err   string
	}
	decided := func(change []func(*resourcev1.ResourceClaim)) []*resourcev1.ResourceClaim {
		return []*resourcev1.ResourceClaim{deviceClaim(append(change, attached(isTrue("Attached")))...)}
	}
	set := func(change ...func(*resourcev1.ResourceClaim)) scheduler.ClaimWrites {
		return scheduler.ClaimWrites{Set: decided(change)}
	}
	remove := func(change ...func(*resourcev1.ResourceClaim)) scheduler.ClaimWrites {
		return scheduler.ClaimWrites{Delete: decided(change)}
	}
	finalizers := func(names ...string) func(*resourcev1.ResourceClaim) {
		return func(x *resourcev1.ResourceClaim) { x.Finalizers = names }
	}
	fresh := func(x *resourcev1.ResourceClaim) { x.UID = "" }
	testkit.Run(t, []test{
		{"new", nil, set(fresh), "", []string{"create ", "update ", "update status", "get "}, "context canceled"},
		{"same finalizers", deviceClaim(), set(), "", []string{"update status"}, ""},
		{"another finalizer", deviceClaim(finalizers("g")), set(), "", []string{"update ", "update status"}, ""},
		{"more finalizers", deviceClaim(finalizers()), set(), "", []string{"update ", "update status"}, ""},
		{"removed", deviceClaim(), remove(), "", []string{"update ", "delete d"}, "context canceled"},
		{"removed without finalizers", deviceClaim(finalizers()), remove(finalizers()), "", []string{"delete d"}, "context canceled"},
		{"removed, gone already", nil, remove(finalizers()), "", []string{"delete d"}, ""},
		{"removed, finalizers refused", deviceClaim(), remove(), "update ", []string{"update "}, "refused"},
		{"unreserved", deviceClaim(), scheduler.ClaimWrites{Unreserve: decided(nil)}, "", []string{"patch status"}, ""},
		{"unreserved, gone already", nil, scheduler.ClaimWrites{Unreserve: decided(nil)}, "", []string{"patch status"}, ""},
		{"unreserved, refused", deviceClaim(), scheduler.ClaimWrites{Unreserve: decided(nil)}, "patch status", []string{"patch status"}, "refused"},
		{"creation refused", nil, set(fresh), "create ", []string{"create "}, "refused"},
		{"update refused", deviceClaim(finalizers()), set(), "update ", []string{"update "}, "refused"},
		{"status refused", deviceClaim(), set(), "update status", []string{"update status"}, "refused"},
		{"removal refused", deviceClaim(), remove(), "delete ", []string{"update ", "delete d"}, "refused"},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			api := fake.NewClientset()
			known := &reports{view: view{pod()}, objects: map[string]metav1.Object{}, changed: make(chan struct{})}
			if x.known != nil {
				require.NoError(t, api.Tracker().Add(x.known.DeepCopy()))
				known.objects["resourceclaims.resource.k8s.io/d"] = x.known
			}
			api.PrependReactor("*", "resourceclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
				if x.fail != "" && a.GetVerb()+" "+a.GetSubresource() == x.fail {
					return true, x.known, errors.New("refused")
				}
				if sent, ok := a.(interface{ GetObject() runtime.Object }); ok && a.GetSubresource() == "" {
					now := sent.GetObject().DeepCopyObject().(*resourcev1.ResourceClaim)
					now.Status = resourcev1.ResourceClaimStatus{} // only an update of the status writes it
					return true, now, nil
				}
				if a.GetSubresource() == "status" && x.known != nil {
					return true, x.known.DeepCopy(), nil // an update of the status leaves the finalizers
				}
				if a.GetSubresource() == "status" && len(x.write.Set) > 0 {
					return true, a.(clienttesting.UpdateAction).GetObject(), nil // it was created
				}
				return false, nil, nil
			})
			c := write.New(api, known, write.Options{})
			defer c.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go c.Run(ctx, 1)
			time.AfterFunc(300*time.Millisecond, func() { cancel(nil) }) // what is written is never reported
			var err error
			given := slices.Concat(x.write.Set, x.write.Delete, x.write.Unreserve)
			if x.known != nil {
				given = append(given, x.known)
			}
			testkit.Unchanged(t, func() { err = c.WriteClaims(ctx, pod(), x.write) }, given...)
			if x.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, x.err)
			}
			var got []string
			for _, a := range api.Actions() {
				if u, ok := a.(clienttesting.UpdateActionImpl); ok {
					sent := u.Object.(*resourcev1.ResourceClaim)
					require.Equal(t, len(x.write.Delete) > 0, len(sent.Finalizers) == 0)
					if u.Subresource == "status" {
						require.NotNil(t, sent.Status.Allocation)
					}
				}
				if made, ok := a.(clienttesting.CreateActionImpl); ok {
					require.Empty(t, made.Object.(*resourcev1.ResourceClaim).Finalizers, "the finalizer comes with the next write")
				}
				line := a.GetVerb() + " " + a.GetSubresource()
				if d, ok := a.(clienttesting.DeleteActionImpl); ok {
					line += string(*d.DeleteOptions.Preconditions.UID)
				}
				got = append(got, line)
			}
			require.Equal(t, x.want, got)
		})
	})
}

// The claim for extended resources is made, gets its devices, and is written into the status of the pod that was decided. It is deleted
// when a step fails.
func TestWriteExtended(t *testing.T) {
	status := &v1.PodExtendedResourceClaimStatus{ResourceClaimName: "p-extended-resources-1", RequestMappings: []v1.ContainerExtendedResourceRequest{{ContainerName: "c", ResourceName: "r", RequestName: "q"}}}
	has := func(p *v1.Pod) { p.Status.ExtendedResourceClaimStatus = status }
	given, undone := []string{"create ", "update ", "update status"}, []string{"get ", "update ", "delete "}
	after := func(more ...string) []string { return slices.Concat(given, more) }
	stale := conflict()
	type test struct {
		name       string
		now, known *v1.Pod
		refuse     string // verb and subresource
		answer     error
		want       []string
		err        error
	}
	testkit.Run(t, []test{
		{"written", pod(), pod(), "", nil, after("patch status"), nil},
		{"as it is", pod(has), pod(has), "", nil, given, nil},
		{"refused", pod(), pod(), "patch status", errRefused, slices.Concat(after("patch status", "patch status"), undone), errRefused},
		{"conflict", pod(), pod(), "patch status", stale, slices.Concat(after("patch status", "get ", "patch status", "get "), undone), stale},
		{"conflict, and the pod is gone", nil, pod(), "patch status", stale, slices.Concat(after("patch status", "get "), undone), scheduler.ErrGone},
		{"gone", nil, nil, "", nil, slices.Concat(given, undone), scheduler.ErrGone},
		{"replaced", pod(), pod(as("other")), "", nil, slices.Concat(given, undone), scheduler.ErrGone},
		{"not created", pod(), pod(), "create ", errRefused, []string{"create "}, errRefused},
		{"status of the claim refused", pod(), pod(), "update status", errRefused, slices.Concat(given, undone), errRefused},
	}, func(t *testing.T, x test) {
		c, api := client(t, x.now, x.known, "none", "", nil)
		claim := deviceClaim(attached(isTrue("Attached")), func(x *resourcev1.ResourceClaim) {
			x.Name, x.GenerateName, x.UID, x.ResourceVersion = "", "p-extended-resources-", "", ""
		})
		api.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if x.refuse == a.GetVerb()+" "+a.GetSubresource() {
				return true, nil, x.answer
			}
			if a.GetVerb() == "create" {
				now := a.(clienttesting.CreateAction).GetObject().(*resourcev1.ResourceClaim).DeepCopy()
				now.Name, now.UID, now.ResourceVersion = "p-extended-resources-1", "1", "4"
				return true, now, api.Tracker().Add(now)
			}
			return false, nil, nil
		})
		ended := errors.New("nothing is reported")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ended)
		err := c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Set: []*resourcev1.ResourceClaim{claim}, Mappings: status.RequestMappings})
		if x.err == nil {
			x.want, x.err = slices.Concat(x.want, undone), ended
		}
		require.ErrorIs(t, err, x.err)
		var got []string
		for _, a := range api.Actions() {
			got = append(got, a.GetVerb()+" "+a.GetSubresource())
		}
		require.Equal(t, x.want, got)
		for _, p := range patches(api) {
			require.Equal(t, map[string]any{"extendedResourceClaimStatus": map[string]any{"resourceClaimName": "p-extended-resources-1", "requestMappings": []any{map[string]any{"containerName": "c", "resourceName": "r", "requestName": "q"}}}}, p["status"])
		}
	})
}

var errRefused = errors.New("refused")

// A claim that was created for a pod and is deleted because a later write fails: the attempt ends when the scheduler knows that the claim
// is gone. The scheduler would delete a claim that it still knows once more.
func TestUndoneClaimIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := &reports{view: view{pod()}, objects: map[string]metav1.Object{}, changed: make(chan struct{})}
		const at = "resourceclaims.resource.k8s.io/d"
		known.report(at, deviceClaim())
		api := versioned("5", "resourceclaims")
		deleted := time.Time{}
		api.PrependReactor("*", "resourceclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
			switch a.GetVerb() + " " + a.GetSubresource() {
			case "create ":
				return true, deviceClaim(), nil
			case "get ":
				return true, deviceClaim(), nil
			case "update status":
				return true, nil, errRefused
			case "delete ":
				deleted = time.Now()
				time.AfterFunc(300*time.Millisecond, func() {
					known.report(at, nil)
					close(known.changed)
				})
				return true, nil, nil
			}
			return false, nil, nil
		})
		var reported []error
		c := write.New(api, known, write.Options{OnError: func(err error) { reported = append(reported, err) }})
		defer c.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.Run(ctx, 1)
		err := c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Set: []*resourcev1.ResourceClaim{deviceClaim(func(x *resourcev1.ResourceClaim) { x.UID = "" })}})
		require.ErrorIs(t, err, errRefused)
		require.Equal(t, 300*time.Millisecond, time.Since(deleted))
		require.Empty(t, reported)

		api.PrependReactor("delete", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errRefused })
		known.report(at, nil)
		err = c.WriteClaims(ctx, pod(), scheduler.ClaimWrites{Set: []*resourcev1.ResourceClaim{deviceClaim(func(x *resourcev1.ResourceClaim) { x.UID = "" })}})
		require.ErrorIs(t, err, errRefused)
		require.EqualError(t, errors.Join(reported...), "deleting claim default/d: refused", "somebody has to delete it")
	})
}
