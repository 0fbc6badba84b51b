package diagnose

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

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

// Pending pods of generated clusters, 100 in the short mode, and -clusters pods in the long one.
func TestRelaxations(t *testing.T) {
	k := kube(t)
	var pods, proved, parts, none int
	kinds := map[diagnose.Kind]int{}
	for seed := *gen.Seed; pods < gen.Count(100, 100); seed++ {
		c := gen.Of(seed, gen.Shape{Nodes: 8, Running: 20, Pending: 4, Volumes: seed%5 == 4, Roomy: seed%3 == 2})
		for _, pod := range c.Pending {
			pod.Status.NominatedNodeName = ""
			s, err := cluster.New(c.Objects)
			must(t, err)
			if s.Pod(pod.Namespace, pod.Name) != nil {
				continue
			}
			d, err := diagnose.Relax(diagnose.Input{Snapshot: s}, pod, diagnose.Options{Size: 3})
			if err != nil {
				t.Fatalf("seed %d: pod %s/%s: %v", seed, pod.Namespace, pod.Name, err)
			}
			if d.Node != "" {
				continue
			}
			pods++
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
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	t.Logf("%d pending pods, %d relaxations, %d parts of them, %d pods without a relaxation of three changes; %v", pods, proved, parts, none, kinds)
	if proved < pods {
		t.Error("fewer relaxations than pods: the generator makes other clusters than this test is for")
	}
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

// place reports whether kube-scheduler places the pod after the changes.
func place(t *testing.T, k *real.Scheduler, c *gen.Cluster, s *cluster.Snapshot, pod *v1.Pod, changes []diagnose.Change) bool {
	t.Helper()
	fork := s.Fork()
	changed, err := diagnose.Apply(fork, pod, changes...)
	must(t, err)
	o := c.Objects
	o.Nodes, o.Pods = nil, fork.Orphans()
	for i := range fork.Len() {
		if n := fork.Node(i); n != nil {
			o.Nodes = append(o.Nodes, n)
			o.Pods = slices.AppendSeq(o.Pods, fork.Pods(i))
		}
	}
	o.Claims = slices.Collect(cluster.List[*v1.PersistentVolumeClaim](fork).All())
	o.PersistentVolumes = slices.Collect(cluster.List[*v1.PersistentVolume](fork).All())
	o.CSINodes = slices.Collect(cluster.List[*storagev1.CSINode](fork).All())
	if len(o.Nodes) == 0 {
		return false
	}
	must(t, k.Load(compare.Copy(&gen.Cluster{Objects: o})))
	if changed.UID == "" {
		changed.UID = types.UID(fmt.Sprintf("%s/%s", pod.Namespace, pod.Name))
	}
	must(t, k.Know(changed))
	if len(changed.Spec.SchedulingGates) > 0 {
		return false
	}
	r, err := k.Schedule(changed)
	return err == nil && r.SuggestedHost != ""
}
