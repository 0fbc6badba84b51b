package failures

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/internal/testkit/traces"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/planning/failures"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/tools/dump"
)

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// Every node and zone of the shipped clusters.
func TestShippedClusters(t *testing.T) {
	k := kube(t)
	for _, file := range []string{"examples/testdata/cluster.yaml", "tools/place/testdata/volumes.yaml", "tools/drain/testdata/cluster.yaml", "tools/failures/testdata/cluster.yaml", "tools/failures/testdata/overcommitted.yaml"} {
		t.Run(file, func(t *testing.T) {
			o, err := dump.Read([]string{filepath.Join("../..", file)}, bytes.NewReader(nil), dump.Options{})
			must(t, err)
			o.PodDisruptionBudgets = nil // their numbers change with every pod, and the replay does not follow them
			o.Workloads()
			o.Pods = slices.DeleteFunc(o.Pods, func(p *v1.Pod) bool { return len(p.Spec.ResourceClaims) > 0 }) // kube-scheduler has no claims here
			in := failures.Input{Deployments: o.Deployments, Jobs: o.Jobs, Admission: o.Admission()}
			for _, p := range o.Pods {
				corev1.SetObjectDefaults_Pod(p)
				if p.UID == "" {
					p.UID = types.UID(p.Namespace + "/" + p.Name)
				}
				if p.Spec.NodeName == "" && len(p.Spec.SchedulingGates) == 0 {
					in.Pending = append(in.Pending, p)
				}
			}
			n := &tally{}
			differences, err := play(k, in, o.Cluster(), nodesAndZones(200), n)
			must(t, err)
			report(t, differences, n)
		})
	}
}

// 200 nodes and each zone of a slice of a real trace: 600 nodes with as many of its pods as find a place.
func TestTrace(t *testing.T) {
	out := traces.Text(t, "openb", "--nodes", "600", "--pods", "4000", "--zones", "3", "--spec", "default")
	file := filepath.Join(t.TempDir(), "trace.yaml")
	must(t, os.WriteFile(file, out, 0o600))
	o, err := dump.Read([]string{file}, bytes.NewReader(nil), dump.Options{})
	must(t, err)
	objects := placed(t, o)
	n := &tally{}
	differences, err := play(kube(t), failures.Input{Admission: o.Admission()}, objects, nodesAndZones(200), n)
	must(t, err)
	report(t, differences, n)
}

// placed puts the pods of a dump on its nodes, in the queue's order. Pods without a place are left out.
func placed(t *testing.T, o *dump.Objects) cluster.Objects {
	t.Helper()
	objects := o.Cluster()
	pods := slices.Clone(o.Pods)
	objects.Pods = nil
	s, err := cluster.New(objects)
	must(t, err)
	placer, err := placement.NewPlacer(s, profile())
	must(t, err)
	slices.SortStableFunc(pods, func(a, b *v1.Pod) int { return int(preemption.Priority(b)) - int(preemption.Priority(a)) })
	for _, p := range pods {
		corev1.SetObjectDefaults_Pod(p)
		if p.Spec.Priority == nil {
			p.Spec.Priority = new(int32)
		}
		p.UID = types.UID(p.Namespace + "/" + p.Name)
		d := placer.Decide(p, placement.Options{})
		if !d.Placed() {
			continue
		}
		must(t, placer.Assume(p, d))
		running := p.DeepCopy()
		running.Spec.NodeName, running.Status.Phase = d.Node, v1.PodRunning
		// Victims without a start time are compared by the clock, which kube-scheduler reads again for each comparison.
		started := metav1.NewTime(gen.Epoch.Add(time.Duration(len(objects.Pods)) * time.Second))
		running.Status.StartTime = &started
		objects.Pods = append(objects.Pods, running)
	}
	owned(objects.Pods)
	return objects
}

// apart takes the host ports from pods whose node has another pod with one of these ports. Such pods cannot run; when one of them
// leaves, kube-scheduler takes the port for free.
func apart(pods []*v1.Pod) {
	taken := map[string]bool{}
	for _, p := range pods {
		for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for i := range list {
				list[i].Ports = slices.DeleteFunc(list[i].Ports, func(port v1.ContainerPort) bool {
					key := fmt.Sprint(p.Spec.NodeName, port.HostPort)
					again := port.HostPort > 0 && taken[key]
					taken[key] = true
					return again
				})
			}
		}
	}
}

// Generated clusters: every node and zone of each, more than 200 nodes in all.
func TestGeneratedClusters(t *testing.T) {
	k := kube(t)
	n := &tally{}
	for i := range gen.Count(30, 2) {
		seed := *gen.Seed + int64(i)
		shape := gen.Shape{Nodes: 9, Running: 40, Exactly: true, FewNames: true, Crowded: i%3 == 1, Roomy: i%3 == 2, Volumes: i%5 == 4}
		c := gen.Of(seed, shape)
		objects := c.Objects
		objects.ReplicaSets, objects.ReplicationControllers, objects.StatefulSets, objects.PodDisruptionBudgets = nil, nil, nil, nil
		for _, p := range objects.Pods {
			for k := range p.Spec.Volumes {
				if p.Spec.Volumes[k].Ephemeral != nil {
					p.Spec.Volumes[k].VolumeSource = v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
				}
			}
		}
		apart(objects.Pods)
		owned(objects.Pods)
		differences, err := play(k, failures.Input{}, objects, nodesAndZones(200), n)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for k := range differences {
			differences[k] = fmt.Sprintf("seed %d: %s", seed, differences[k])
		}
		if len(differences) > 0 {
			report(t, differences, n)
		}
	}
	report(t, nil, n)
}
