package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/volumes"
)

// failsAt is a plugin that fails the attempt at the named step.
type failsAt struct{ at *string }

func (failsAt) Name() string { return "failing" }

func (f failsAt) fails(step string) *Status {
	if *f.at == step {
		return NewStatus(Unschedulable, "failing at "+step)
	}
	return nil
}

func (f failsAt) Reserve(context.Context, *State, *v1.Pod, string) *Status { return f.fails("Reserve") }
func (failsAt) Unreserve(context.Context, *State, *v1.Pod, string)         {}
func (f failsAt) Permit(context.Context, *State, *v1.Pod, string) (*Status, time.Duration) {
	return f.fails("Permit"), 0
}
func (f failsAt) PreBind(context.Context, *State, *v1.Pod, string) *Status { return f.fails("PreBind") }

// volumeServer is the part of the API server that these tests need.
type volumeServer struct {
	s       *Scheduler
	at      *string
	pods    map[string]*v1.Pod
	volumes map[string]*v1.PersistentVolume
	claims  map[string]*v1.PersistentVolumeClaim
}

func (c *volumeServer) Pod(namespace, name string) *v1.Pod { return c.pods[namespace+"/"+name] }

func (c *volumeServer) Bind(_ context.Context, pod *v1.Pod, node string) error {
	if *c.at == "Bind" {
		return errors.New("failing at Bind")
	}
	old := c.pods[podinfo.Name(pod)]
	bound := old.DeepCopy()
	bound.Spec.NodeName = node
	c.pods[podinfo.Name(pod)] = bound
	c.s.UpdatePod(old, bound)
	return nil
}

func (c *volumeServer) PatchStatus(context.Context, *v1.Pod, StatusPatch) error { return nil }
func (c *volumeServer) Delete(context.Context, *v1.Pod) error                   { return nil }

func (c *volumeServer) WriteClaims(context.Context, *v1.Pod, ClaimWrites) error { return nil }

// BindVolumes does the work of the volume controllers: all volumes are bound at once.
func (c *volumeServer) BindVolumes(_ context.Context, _ *v1.Pod, d volumes.Decision) error {
	volumes, claims := d.Objects()
	if *c.at == "BindVolumes" {
		return errors.New("failing at BindVolumes")
	}
	complete := func(claim *v1.PersistentVolumeClaim, pv string) {
		done := claim.DeepCopy()
		done.Spec.VolumeName, done.Status.Phase = pv, v1.ClaimBound
		if done.Annotations == nil {
			done.Annotations = map[string]string{}
		}
		done.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
		c.claims[claim.Name] = done
		c.s.Set(claim, done)
	}
	for _, pv := range volumes {
		old := c.volumes[pv.Name]
		c.volumes[pv.Name] = pv
		c.s.Set(old, pv)
		complete(c.claims[pv.Spec.ClaimRef.Name], pv.Name)
	}
	for _, claim := range claims {
		made := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "made-for-" + claim.Name}}
		made.Spec.ClaimRef = &v1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
		c.volumes[made.Name] = made
		c.s.Set(nil, made)
		complete(claim, made.Name)
	}
	return nil
}

func volumeScheduler(t *testing.T, r *rand.Rand, o Options) (*Scheduler, *volumeServer) {
	t.Helper()
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	objects := cluster.Objects{StorageClasses: []*storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait},
		{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "csi.example.com", VolumeBindingMode: &wait},
	}}
	c := &volumeServer{at: new(string), pods: map[string]*v1.Pod{}, volumes: map[string]*v1.PersistentVolume{}, claims: map[string]*v1.PersistentVolumeClaim{}}
	for k := range 3 {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", k), Labels: map[string]string{v1.LabelTopologyZone: fmt.Sprint(k)}}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: quantity.MustParse("110")}
		objects.Nodes = append(objects.Nodes, n)
	}
	size := func(n int) v1.ResourceList {
		return v1.ResourceList{v1.ResourceStorage: *quantity.NewQuantity(int64(n), quantity.BinarySI)}
	}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteOncePod}
	for k := range 4 {
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("d%d", k)}}
		pv.Spec.StorageClassName, pv.Spec.Capacity, pv.Spec.AccessModes, pv.Status.Phase = "local", size(1+r.IntN(3)), modes, v1.VolumeAvailable
		objects.PersistentVolumes, c.volumes[pv.Name] = append(objects.PersistentVolumes, pv), pv
	}
	for k := range 8 {
		class := []string{"local", "fast"}[r.IntN(2)]
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("c%d", k), UID: types.UID(fmt.Sprintf("c%d", k))}}
		claim.Spec.StorageClassName, claim.Spec.Resources.Requests, claim.Spec.AccessModes = &class, size(1+r.IntN(3)), modes[k%2:k%2+1]
		objects.Claims, c.claims[claim.Name] = append(objects.Claims, claim), claim
	}
	snapshot, err := cluster.New(objects)
	require.NoError(t, err)
	o.Client, o.Go = c, func(task func()) { task() }
	o.Plugins = Registry{"failing": func(any, *Handle) (Plugin, error) { return failsAt{c.at}, nil }}
	o.OnError = func(err error) { require.NoError(t, err) }
	for k := range o.Profiles {
		o.Profiles[k].Plugins = Plugins{MultiPoint: {Enabled: []PluginRef{{Name: "failing"}}}}
	}
	s, err := New(snapshot, o)
	require.NoError(t, err)
	c.s = s
	return s, c
}

// reservations returns what later pods see of volumes that are promised or bound.
func reservations(s *Scheduler) (out []string) {
	s.View(func(*cluster.Snapshot) {
		for pv := range s.volumes.Objects().PersistentVolumes.All() {
			if pv.Spec.ClaimRef != nil {
				out = append(out, pv.Name+" for "+pv.Spec.ClaimRef.Name)
			}
		}
		for claim := range s.volumes.Objects().Claims.All() {
			if n := claim.Annotations[volumes.AnnSelectedNode]; n != "" {
				out = append(out, claim.Name+" on "+n)
			}
		}
	})
	return out
}

// A pod fails at a step after its node was found. Then the volumes are as if there had been no attempt. A pod that is bound
// leaves its volumes bound, without a promise. The test runs with the library's plan and with the plugins one by one.
func TestVolumesAfterFailuresAtEveryStep(t *testing.T) {
	steps := []string{"", "Reserve", "Permit", "PreBind", "BindVolumes", "Bind"}
	outcomes := map[string]int{}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		o := Options{Profiles: []Profile{{SchedulerName: "default-scheduler"}}}
		var last Result
		o.OnResult = func(r Result) { last = r }
		s, c := volumeScheduler(t, r, o)
		if seed%2 == 0 {
			s.profiles["default-scheduler"].plan = nil
		}
		for n := range 12 {
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p%d", n), UID: types.UID(fmt.Sprintf("p%d", n))}}
			for range 1 + r.IntN(2) {
				claim := fmt.Sprintf("c%d", r.IntN(8))
				pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: fmt.Sprint(len(pod.Spec.Volumes)), VolumeSource: v1.VolumeSource{
					PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
			}
			*c.at = steps[r.IntN(len(steps))]
			before := reservations(s)
			c.pods[podinfo.Name(pod)] = pod
			s.AddPod(pod)
			require.True(t, s.TryScheduleOne(context.Background()))
			at := fmt.Sprintf("seed %d pod %d failing at %q: %s %s", seed, n, *c.at, last.Outcome, last.Message)
			require.Equal(t, pod.Name, last.Pod.Name, at)
			outcomes[*c.at+" "+string(last.Outcome)]++
			after := reservations(s)
			promised, ok := s.volumes.Reserved(pod)
			require.False(t, ok, "%s: %v", at, promised)
			if last.Outcome != Scheduled && *c.at != "PreBind" && *c.at != "Bind" { // volumes that were bound before the pod stay bound
				require.Equal(t, before, after, at)
			}
			s.DeletePod(pod)
			delete(c.pods, podinfo.Name(pod))
		}
	}
	for _, step := range steps[1:] {
		require.NotZero(t, outcomes[step+" Unschedulable"]+outcomes[step+" Error"], "%v", outcomes)
	}
	require.NotZero(t, outcomes[" Scheduled"])
}

// A pod without volumes and devices has nothing to do before it is bound, so nothing runs in parallel with others.
func TestNothingBeforeBinding(t *testing.T) {
	for _, p := range []PreBindPreFlight{volumeBinding{}, dynamicResources{}} {
		parallel, st := p.PreBindPreFlight(context.Background(), NewState(), &v1.Pod{}, "n0")
		require.False(t, parallel, "%T", p)
		require.Equal(t, Skip, st.Code(), "%T", p)
	}
}
