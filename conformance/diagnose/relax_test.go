package diagnose

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/diagnose"
)

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// mostProved is the number of relaxations of a pod that are proved; the cheapest, and others evenly taken.
const mostProved = 12

// pendingPods is the number of pods of TestRelaxations. A run that ended early goes on with the seed of its last line (-v).
var pendingPods = flag.Int("pods", 0, "pending pods of TestRelaxations; 0: 100, or -clusters")

// mostChanges is the number of changes of a pod whose sets are all tried.
const mostChanges = 12

// Pending pods of generated clusters, every fifth of them with devices: kube-scheduler places a pod with the changes of each
// relaxation, and with no part of them. For pods with few changes it is asked about all sets of one and two changes.
func TestRelaxations(t *testing.T) {
	k := kube(t)
	want := *pendingPods
	if want == 0 {
		want = gen.Count(100, 100)
	}
	var pods, proved, parts, none, whole int
	kinds := map[diagnose.Kind]int{}
	for seed := *gen.Seed; pods < want; seed++ {
		c := gen.Of(seed, gen.Shape{Nodes: 8, Running: 20, Pending: 4, Volumes: seed%5 == 4, Roomy: seed%3 == 2})
		if seed%5 == 3 {
			gpus(c)
		}
		if seed%2 == 1 {
			alike(c, seed/2, true)
			closed(c)
		}
		for pod, s := range pending(t, c) {
			d, err := diagnose.Relax(diagnose.Input{Snapshot: s}, pod, diagnose.Options{Size: 3})
			if err != nil {
				t.Fatalf("seed %d: pod %s/%s: %v", seed, pod.Namespace, pod.Name, err)
			}
			if d.Node != "" {
				continue
			}
			pods++
			if pods%500 == 0 {
				t.Logf("%d pods; the next seed is %d", pods, seed+1)
			}
			if place(t, k, c, s, pod, nil) {
				t.Errorf("seed %d: pod %s: kube-scheduler places it as things are", seed, d.Pod)
			}
			if len(d.Relaxations) == 0 {
				none++
			}
			list := d.Relaxations
			for i := range min(len(list), mostProved) {
				r := list[i*len(list)/min(len(list), mostProved)]
				proved++
				if !place(t, k, c, s, pod, r.Changes) {
					t.Errorf("seed %d: pod %s: kube-scheduler does not place it with: %s", seed, d.Pod, r.Text())
				}
				for set := 1; set < 1<<len(r.Changes)-1; set++ {
					parts++
					var some []diagnose.Change
					for j, x := range r.Changes {
						if set>>j&1 == 1 {
							some = append(some, x)
						}
					}
					if place(t, k, c, s, pod, some) {
						t.Errorf("seed %d: pod %s: a part is enough of: %s", seed, d.Pod, r.Text())
					}
				}
				for _, x := range r.Changes {
					kinds[x.Kind]++
				}
			}
			if len(d.Changes) <= mostChanges && d.Cut != "error" {
				have := pairs(d.Relaxations)
				want, ok := everyPair(t, k, c, s, pod, d.Changes)
				if ok && !slices.Equal(have, want) {
					t.Errorf("seed %d: pod %s: sets of at most two changes: %q; kube-scheduler: %q", seed, d.Pod, have, want)
				}
				if ok {
					whole++
				}
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	t.Logf("%d pending pods, %d relaxations, %d parts of them, %d pods without a relaxation of three changes, all sets of two changes of %d pods; %v", pods, proved, parts, none, whole, kinds)
	if proved < pods {
		t.Error("fewer relaxations than pods: the generator makes other clusters than this test is for")
	}
	for _, kind := range []diagnose.Kind{diagnose.Label, diagnose.Untaint, diagnose.Uncordon, diagnose.Recover, diagnose.Tolerate, diagnose.AddNode} {
		if kinds[kind] == 0 && want >= 100 {
			t.Errorf("no relaxation has a change of the kind %s", kind)
		}
	}
}

// everyPair asks kube-scheduler about all sets of one and two changes, but those of pods that leave and those of two nodes, and
// returns the smallest sets with which it places the pod. ok is false when a filter fails with one of the sets: a value that does not
// go as far may work then.
func everyPair(t *testing.T, k *real.Scheduler, c *gen.Cluster, s *cluster.Snapshot, pod *v1.Pod, changes []diagnose.Change) (out []string, ok bool) {
	t.Helper()
	ok = true
	place := func(t *testing.T, k *real.Scheduler, c *gen.Cluster, s *cluster.Snapshot, pod *v1.Pod, changes []diagnose.Change) bool {
		placed, err := attempt(t, k, c, s, pod, changes)
		var fit *framework.FitError
		ok = ok && (err == nil || errors.As(err, &fit))
		return placed
	}
	changes = slices.DeleteFunc(slices.Clone(changes), func(c diagnose.Change) bool { return c.Kind == diagnose.RemovePods })
	alone := map[int]bool{}
	for i := range changes {
		if place(t, k, c, s, pod, changes[i:i+1]) {
			alone[i] = true
			out = append(out, names(changes[i]))
		}
	}
	for i, a := range changes {
		for j := i + 1; j < len(changes); j++ {
			if b := changes[j]; !alone[i] && !alone[j] && !twoNodes(a, b) && place(t, k, c, s, pod, []diagnose.Change{a, b}) {
				out = append(out, names(a, b))
			}
		}
	}
	slices.Sort(out)
	return out, ok
}

// pairs returns the relaxations of one and two changes in the form of everyPair.
func pairs(list []diagnose.Relaxation) (out []string) {
	for _, r := range list {
		leave := slices.ContainsFunc(r.Changes, func(c diagnose.Change) bool { return len(c.Leaving) > 0 })
		if len(r.Changes) < 3 && !leave && (len(r.Changes) == 1 || !twoNodes(r.Changes[0], r.Changes[1])) {
			out = append(out, names(r.Changes...))
		}
	}
	slices.Sort(out)
	return out
}

func twoNodes(a, b diagnose.Change) bool {
	node := func(c diagnose.Change) bool { return strings.HasPrefix(c.Object, "Node") }
	return node(a) && node(b) && (a.Object != b.Object || a.Kind == diagnose.AddNode)
}

// names are the changes without their values, which differ between a change as far as it goes and a relaxation.
func names(list ...diagnose.Change) string {
	var out []string
	for _, c := range list {
		to := c.To
		switch c.Kind {
		case diagnose.RaiseMaxSkew, diagnose.LowerMinDomains, diagnose.LowerRequest, diagnose.LowerCount:
			to = ""
		}
		out = append(out, fmt.Sprint(c.Kind, " ", c.Object, " ", c.Path, " ", c.From, " ", to))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func kube(t *testing.T) *real.Scheduler {
	t.Helper()
	s, err := compare.EveryNode(t.Context())
	must(t, err)
	return s
}

// load gives kube-scheduler the objects of a snapshot.
func load(t *testing.T, k *real.Scheduler, c *gen.Cluster, s *cluster.Snapshot) {
	t.Helper()
	o := c.Objects
	o.Nodes, o.Pods = nil, s.Orphans()
	for i := range s.Len() {
		if n := s.Node(i); n != nil {
			o.Nodes = append(o.Nodes, n)
			o.Pods = slices.AppendSeq(o.Pods, s.Pods(i))
		}
	}
	for i, p := range o.Pods {
		if p.UID == "" { // a change made it: the API server would give it a UID, without which kube-scheduler's cache refuses it
			o.Pods[i] = p.DeepCopy()
			identify(o.Pods[i])
		}
	}
	o.Claims = slices.Collect(cluster.List[*v1.PersistentVolumeClaim](s).All())
	o.PersistentVolumes = slices.Collect(cluster.List[*v1.PersistentVolume](s).All())
	o.CSINodes = slices.Collect(cluster.List[*storagev1.CSINode](s).All())
	o.CSIStorageCapacities = slices.Collect(cluster.List[*storagev1.CSIStorageCapacity](s).All())
	must(t, k.Load(compare.Copy(&gen.Cluster{Objects: o})))
	must(t, k.LoadDevices(slices.Collect(cluster.List[*resourcev1.ResourceSlice](s).All()), o.DeviceClasses, slices.Collect(cluster.List[*resourcev1.ResourceClaim](s).All())))
}

// know tells kube-scheduler of a pending pod.
func know(t *testing.T, k *real.Scheduler, pod *v1.Pod) {
	t.Helper()
	identify(pod)
	must(t, k.Know(pod))
}

// identify gives a pod that has no UID one.
func identify(pod *v1.Pod) {
	if pod.UID == "" {
		pod.UID = types.UID(fmt.Sprintf("%s/%s", pod.Namespace, pod.Name))
	}
}

// place reports whether kube-scheduler places the pod after the changes.
func place(t *testing.T, k *real.Scheduler, c *gen.Cluster, s *cluster.Snapshot, pod *v1.Pod, changes []diagnose.Change) bool {
	t.Helper()
	placed, _ := attempt(t, k, c, s, pod, changes)
	return placed
}

// attempt returns kube-scheduler's error too.
func attempt(t *testing.T, k *real.Scheduler, c *gen.Cluster, s *cluster.Snapshot, pod *v1.Pod, changes []diagnose.Change) (bool, error) {
	t.Helper()
	fork := s.Fork()
	changed, err := diagnose.Apply(fork, pod, changes...)
	must(t, err)
	if len(changed.Spec.SchedulingGates) > 0 {
		return false, nil
	}
	load(t, k, c, fork)
	know(t, k, changed)
	r, err := k.Schedule(changed)
	return err == nil && r.SuggestedHost != "", err
}
