package write_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler/live/write"
	"github.com/podberth/podberth/volumes"
)

// reports is a view whose objects the test sets, by resource and name.
type reports struct {
	view
	mu      sync.Mutex
	objects map[string]metav1.Object
	changed chan struct{}
}

func (r *reports) Reported(resource, _, name string) metav1.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects[resource+"/"+name]
}

func (r *reports) Changed() <-chan struct{} { return r.changed }

// report sets an object; nil: the view does not know it.
func (r *reports) report(name string, o metav1.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[name] = o
}

// versioned returns a fake API server that answers every write of a resource with a version.
func versioned(version string, resources ...string) *fake.Clientset {
	api := fake.NewClientset()
	answer := func(a clienttesting.Action) (bool, runtime.Object, error) {
		o := a.(interface{ GetObject() runtime.Object }).GetObject().DeepCopyObject()
		o.(metav1.Object).SetResourceVersion(version)
		return true, o, nil
	}
	for _, r := range resources {
		api.PrependReactor("create", r, answer)
		api.PrependReactor("update", r, answer)
	}
	return api
}

func pv(change ...func(*v1.PersistentVolume)) *v1.PersistentVolume {
	x := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", ResourceVersion: "5"}, Spec: v1.PersistentVolumeSpec{ClaimRef: &v1.ObjectReference{UID: "c"}}}
	for _, f := range change {
		f(x)
	}
	return x
}

func versionOf(version string) func(*v1.PersistentVolume) {
	return func(x *v1.PersistentVolume) { x.ResourceVersion = version }
}

func unclaimed(x *v1.PersistentVolume) { x.Spec.ClaimRef = nil }

func localTo(nodes ...string) func(*v1.PersistentVolume) {
	return func(x *v1.PersistentVolume) {
		x.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "host", Operator: v1.NodeSelectorOpIn, Values: nodes}},
		}}}}
	}
}

// volumeClaim returns a claim that is bound to pv and was provisioned on n.
func volumeClaim(change ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	x := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c", ResourceVersion: "5", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes", volumes.AnnSelectedNode: "n"}},
		Spec:       v1.PersistentVolumeClaimSpec{VolumeName: "pv"},
	}
	for _, f := range change {
		f(x)
	}
	return x
}

func unannotated(key string) func(*v1.PersistentVolumeClaim) {
	return func(x *v1.PersistentVolumeClaim) { delete(x.Annotations, key) }
}

func unbound(x *v1.PersistentVolumeClaim) { x.Spec.VolumeName = "" }

const late = "binding volumes: context deadline exceeded"

// The pod waits until its claims are bound; what cannot be bound any more ends the attempt.
func TestBindVolumes(t *testing.T) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"host": "n"}}}
	match := volumes.Decision{Node: "n", Bind: []volumes.Match{{Claim: volumeClaim(), Volume: pv(unclaimed)}}}
	provision := volumes.Decision{Node: "n", Provision: []*v1.PersistentVolumeClaim{volumeClaim(unannotated(volumes.AnnSelectedNode))}}
	second := volumeClaim(unbound, func(x *v1.PersistentVolumeClaim) { x.Name = "second" })
	const pvs, pvcs, nodes = "persistentvolumes/pv", "persistentvolumeclaims/c", "nodes/n"
	type objects = map[string]metav1.Object
	type test struct {
		name     string
		decision volumes.Decision
		known    *v1.Pod
		change   objects // in place of what makes everything bound; nil: the object is unknown
		want     string
	}
	testkit.Run(t, []test{
		{"nothing", volumes.Decision{Node: "n"}, pod(), nil, ""},
		{"no node", match, pod(), objects{nodes: nil}, `binding volumes: failed to get node "n": node "n" not found`},
		{"no pod", match, nil, nil, `binding volumes: pod does not exist any more: pod "p" not found`},
		{"the pod was replaced", match, pod(as("other")), nil, `binding volumes: pod does not exist any more: pod "p" not found`},

		{"bound", match, pod(), nil, ""},
		{"bound to a newer version", match, pod(), objects{pvs: pv(versionOf("6"))}, ""},
		{"bound to a version that is no number", match, pod(), objects{pvs: pv(versionOf("x"))}, ""},
		{"bound to a volume of the node", match, pod(), objects{pvs: pv(localTo("m", "n"))}, ""},
		{"bound to a volume of all nodes", match, pod(), objects{pvs: pv(func(x *v1.PersistentVolume) { x.Spec.NodeAffinity = &v1.VolumeNodeAffinity{} })}, ""},
		{"the volume's affinity cannot be read", match, pod(), objects{pvs: pv(localTo("n"), func(x *v1.PersistentVolume) {
			x.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Operator = "Nope"
		})}, `binding volumes: pv "pv" node affinity doesn't match node "n": nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Nope": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"`},
		{"no volume", match, pod(), objects{pvs: nil}, `binding volumes: failed to get pv "pv": persistentvolume "pv" not found`},
		{"the volume is not reported yet", match, pod(), objects{pvs: pv(versionOf("4"), unclaimed)}, late},
		{"the volume is at its first version", match, pod(), objects{pvs: pv(versionOf("1"), unclaimed)}, late},
		{"the volume went to another node", match, pod(), objects{pvs: pv(localTo("m"))}, `binding volumes: pv "pv" node affinity doesn't match node "n": no matching NodeSelectorTerms`},
		{"the volume lost its claim", match, pod(), objects{pvs: pv(unclaimed)}, `binding volumes: ClaimRef got reset for pv "pv"`},
		{"the volume lost its claim's UID", match, pod(), objects{pvs: pv(func(x *v1.PersistentVolume) { x.Spec.ClaimRef.UID = "" })}, `binding volumes: ClaimRef got reset for pv "pv"`},
		{"no claim", match, pod(), objects{pvcs: nil}, `binding volumes: failed to get pvc "c": persistentvolumeclaim "c" not found`},
		{"the claim has no volume", match, pod(), objects{pvcs: volumeClaim(unbound)}, late},
		{"the binding is not complete", match, pod(), objects{pvcs: volumeClaim(unannotated("pv.kubernetes.io/bind-completed"))}, late},

		{"the first of two claims is bound", volumes.Decision{Node: "n", Bind: []volumes.Match{match.Bind[0], {Claim: second, Volume: pv()}}}, pod(), nil, late},
		{"the second of two claims is bound", volumes.Decision{Node: "n", Bind: []volumes.Match{{Claim: second, Volume: pv()}, match.Bind[0]}}, pod(), nil, late},

		{"the first of two claims is provisioned", volumes.Decision{Node: "n", Provision: []*v1.PersistentVolumeClaim{volumeClaim(), second}}, pod(), nil, late},
		{"the second of two claims is provisioned", volumes.Decision{Node: "n", Provision: []*v1.PersistentVolumeClaim{second, volumeClaim()}}, pod(), nil, late},
		{"provisioned", provision, pod(), nil, ""},
		{"provisioned for the node", provision, pod(), objects{pvs: pv(localTo("n"))}, ""},
		{"no claim to provision", provision, pod(), objects{pvcs: nil}, `binding volumes: failed to get pvc "c": persistentvolumeclaim "c" not found`},
		{"the claim is not reported yet", provision, pod(), objects{pvcs: volumeClaim(func(x *v1.PersistentVolumeClaim) { x.ResourceVersion, x.Annotations = "4", nil })}, late},
		{"the claim is at its first version", provision, pod(), objects{pvcs: volumeClaim(func(x *v1.PersistentVolumeClaim) { x.ResourceVersion, x.Annotations = "1", nil })}, late},
		{"no annotations", provision, pod(), objects{pvcs: volumeClaim(func(x *v1.PersistentVolumeClaim) { x.Annotations = nil })}, `binding volumes: selectedNode annotation reset for PVC "c"`},
		{"provisioning failed", provision, pod(), objects{pvcs: volumeClaim(unannotated(volumes.AnnSelectedNode))}, `binding volumes: provisioning failed for PVC "c"`},
		{"another node was selected", provision, pod(), objects{pvcs: volumeClaim(func(x *v1.PersistentVolumeClaim) { x.Annotations[volumes.AnnSelectedNode] = "m" })}, `binding volumes: selectedNode annotation value "m" not set to scheduled node "n"`},
		{"not provisioned yet", provision, pod(), objects{pvcs: volumeClaim(unbound)}, late},
		{"the new volume is not reported yet", provision, pod(), objects{pvs: nil}, late},
		{"provisioned elsewhere", provision, pod(), objects{pvs: pv(localTo("m"))}, `binding volumes: pv "pv" node affinity doesn't match node "n": no matching NodeSelectorTerms`},
		{"provisioned, not bound", provision, pod(), objects{pvcs: volumeClaim(unannotated("pv.kubernetes.io/bind-completed"))}, late},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			known := &reports{view: view{x.known}, objects: objects{pvs: pv(), pvcs: volumeClaim(), "persistentvolumeclaims/second": second, nodes: node}}
			maps.Copy(known.objects, x.change)
			c := write.New(versioned("5", "persistentvolumes", "persistentvolumeclaims"), known, write.Options{})
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go c.Run(ctx, 1)
			began := time.Now()
			err := c.BindVolumes(ctx, pod(), x.decision)
			if x.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, x.want)
			}
			if x.want == late {
				require.Equal(t, 10*time.Minute, time.Since(began))
			} else {
				require.Zero(t, time.Since(began))
			}
		})
	})
}

// A report, the end of the attempt and a lost lease end the wait at once; a period ends it without a report.
func TestBindVolumesWaits(t *testing.T) {
	type test struct {
		name  string
		event func(known *reports, cancel context.CancelCauseFunc, c *write.Client)
		after time.Duration
		want  string
	}
	complete := func(known *reports) { known.report("persistentvolumeclaims/c", volumeClaim()) }
	testkit.Run(t, []test{
		{"report", func(known *reports, _ context.CancelCauseFunc, _ *write.Client) {
			complete(known)
			close(known.changed)
		}, 1500 * time.Millisecond, ""},
		{"no report", func(known *reports, _ context.CancelCauseFunc, _ *write.Client) { complete(known) }, 2 * time.Second, ""},
		{"cancelled", func(_ *reports, cancel context.CancelCauseFunc, _ *write.Client) { cancel(errors.New("preempted")) }, 1500 * time.Millisecond, "preempted"},
		{"closed", func(_ *reports, _ context.CancelCauseFunc, c *write.Client) { c.Close() }, 1500 * time.Millisecond, "context canceled"},
		{"limit", func(*reports, context.CancelCauseFunc, *write.Client) {}, 3500 * time.Millisecond, late},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			known := &reports{view: view{pod()}, changed: make(chan struct{}), objects: map[string]metav1.Object{
				"persistentvolumes/pv": pv(), "persistentvolumeclaims/c": volumeClaim(unbound), "nodes/n": &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}}
			c := write.New(versioned("5", "persistentvolumes"), known, write.Options{Waits: map[string]write.Waits{"": {Volumes: 3500 * time.Millisecond}}})
			defer c.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go c.Run(ctx, 1)
			began := time.Now()
			time.AfterFunc(1500*time.Millisecond, func() { x.event(known, cancel, c) })
			err := c.BindVolumes(ctx, pod(), volumes.Decision{Node: "n", Bind: []volumes.Match{{Claim: volumeClaim(), Volume: pv(unclaimed)}}})
			if x.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, x.want)
			}
			require.Equal(t, x.after, time.Since(began))
		})
	})
}
