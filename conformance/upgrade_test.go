package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/gen"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/upgrade"
)

var (
	nextPath    = flag.String("next", "", "a second judge: TestUpgrade holds program upgrade against both")
	nextRelease = flag.String("next-release", "", "the second judge's release")
)

// verdict is what happens to a pending pod.
type verdict struct{ Outcome, Node, NominatedNode, Message string }

// Program upgrade lists exactly the pods that the two real schedulers treat differently, with their messages.
func TestUpgrade(t *testing.T) {
	if *judgePath == "" || *nextPath == "" {
		t.Skip("needs -judge and -release, -next and -next-release")
	}
	before, after := judgeAt(t, *judgePath, *judgeRelease), judgeAt(t, *nextPath, *nextRelease)
	for _, c := range []struct {
		name    string
		cluster func(t *testing.T) *gen.Cluster
	}{
		{"shipped with upgrade", func(t *testing.T) *gen.Cluster { return apart(t, "../tools/upgrade/testdata/cluster.yaml") }},
		{"shipped with place", func(t *testing.T) *gen.Cluster { return apart(t, "../examples/testdata/cluster.yaml") }},
		{"openb", func(t *testing.T) *gen.Cluster {
			return filled(t, trace(t, slice{"openb", "default", 100, 1100, 100}), before.Release)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := c.cluster(t)
			listed := changedBy(t, x, before.Release, after.Release)
			was, is := verdicts(t, before, x), verdicts(t, after, x)
			changed := 0
			for _, p := range x.Pending {
				name := p.Namespace + "/" + p.Name
				says, found := listed[name]
				if differ := was[name] != is[name]; differ != found {
					t.Errorf("%s: kube-scheduler %+v and %+v, the program lists it: %v", name, was[name], is[name], found)
				} else if differ {
					changed++
					if says != [2]verdict{was[name], is[name]} {
						t.Errorf("%s: kube-scheduler %+v and %+v, the program %+v", name, was[name], is[name], says)
					}
				}
			}
			t.Logf("%s to %s: %d pending pods, %d running, %d changed", before.Release, after.Release, len(x.Pending), len(x.Pods), changed)
		})
	}
}

func judgeAt(t *testing.T, path, name string) *compare.Side {
	t.Helper()
	v, err := release.Parse(name)
	must(t, err)
	s, err := compare.Remote(path, v, nil)
	must(t, err)
	return s
}

// apart reads a dump and separates running pods from pending pods. It leaves out pods with scheduling gates or claims for devices.
func apart(t *testing.T, path string) *gen.Cluster {
	t.Helper()
	o, err := dump.Read([]string{path}, bytes.NewReader(nil), dump.Options{})
	must(t, err)
	c := &gen.Cluster{Objects: o.Cluster()}
	c.Pods = nil
	for _, p := range o.Pods {
		corev1.SetObjectDefaults_Pod(p)
		p.UID = types.UID(p.Namespace + "/" + p.Name)
		if p.Spec.NodeName != "" {
			c.Pods = append(c.Pods, started(p, len(c.Pods)))
		} else if len(p.Spec.SchedulingGates) == 0 && len(p.Spec.ResourceClaims) == 0 {
			c.Pending = append(c.Pending, p)
		}
	}
	return c
}

// started gives a pod a start time of its own: kube-scheduler takes any of several nodes whose victims are equal in all else.
func started(p *v1.Pod, k int) *v1.Pod {
	at := metav1.NewTime(gen.Epoch.Add(time.Duration(k) * time.Second))
	p.Status.StartTime = &at
	return p
}

// filled places three quarters of the pending pods, and leaves the others and those without a place pending.
func filled(t *testing.T, c *gen.Cluster, v release.Version) *gen.Cluster {
	t.Helper()
	snapshot, err := cluster.New(c.Objects)
	must(t, err)
	placer, err := placement.NewPlacer(snapshot, placement.PluginArgs{Release: v}.Profile())
	must(t, err)
	all := c.Pending
	c.Pending = nil
	for k, p := range all {
		d := placer.Decide(p, placement.Options{})
		if k*4 >= len(all)*3 || !d.Placed() {
			c.Pending = append(c.Pending, p)
			continue
		}
		must(t, placer.Assume(p, d))
		placed := p.DeepCopy()
		placed.Spec.NodeName = d.Node
		c.Pods = append(c.Pods, started(placed, k))
	}
	return c
}

// changedBy runs program upgrade and returns the pods that it lists, with their verdicts before and after.
func changedBy(t *testing.T, c *gen.Cluster, from, to release.Version) map[string][2]verdict {
	t.Helper()
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for _, o := range objectsOf(c) {
		must(t, out.Encode(o))
	}
	path := filepath.Join(t.TempDir(), "cluster.json")
	must(t, os.WriteFile(path, text.Bytes(), 0o600))
	var stdout, stderr bytes.Buffer
	if code := upgrade.Run(t.Context(), []string{"-f", path, "-from", from.String(), "-to", to.String(), "-o", "json"}, bytes.NewReader(nil), &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var report struct {
		Pods []struct {
			Pod      string
			From, To verdict
		}
	}
	must(t, json.Unmarshal(stdout.Bytes(), &report))
	listed := map[string][2]verdict{}
	for _, p := range report.Pods {
		listed[p.Pod] = [2]verdict{p.From, p.To}
	}
	return listed
}

// objectsOf returns the objects of a cluster with their kinds.
func objectsOf(c *gen.Cluster) (out []runtime.Object) {
	add := func(version, kind string, o runtime.Object) {
		o = o.DeepCopyObject()
		o.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
		out = append(out, o)
	}
	for _, n := range c.Nodes {
		add("v1", "Node", n)
	}
	for _, p := range slices.Concat(c.Pods, c.Pending) {
		add("v1", "Pod", p)
	}
	for _, n := range c.Namespaces {
		add("v1", "Namespace", n)
	}
	for _, s := range c.Services {
		add("v1", "Service", s)
	}
	for _, r := range c.ReplicationControllers {
		add("v1", "ReplicationController", r)
	}
	for _, r := range c.ReplicaSets {
		add("apps/v1", "ReplicaSet", r)
	}
	for _, s := range c.StatefulSets {
		add("apps/v1", "StatefulSet", s)
	}
	for _, x := range c.Claims {
		add("v1", "PersistentVolumeClaim", x)
	}
	for _, x := range c.PersistentVolumes {
		add("v1", "PersistentVolume", x)
	}
	for _, x := range c.StorageClasses {
		add("storage.k8s.io/v1", "StorageClass", x)
	}
	for _, x := range c.CSINodes {
		add("storage.k8s.io/v1", "CSINode", x)
	}
	for _, x := range c.CSIDrivers {
		add("storage.k8s.io/v1", "CSIDriver", x)
	}
	for _, x := range c.CSIStorageCapacities {
		add("storage.k8s.io/v1", "CSIStorageCapacity", x)
	}
	for _, x := range c.PodDisruptionBudgets {
		add("policy/v1", "PodDisruptionBudget", x)
	}
	return out
}

// verdicts asks a judge about each pending pod, all from the same state.
func verdicts(t *testing.T, s *compare.Side, c *gen.Cluster) map[string]verdict {
	t.Helper()
	_, err := s.Load(c)
	must(t, err)
	out := map[string]verdict{}
	for _, p := range c.Pending {
		must(t, s.Real.Update())
		a, err := s.Real.Attempt(p)
		must(t, err)
		out[p.Namespace+"/"+p.Name] = verdictOf(t, a)
	}
	return out
}

func verdictOf(t *testing.T, a *real.Attempt) verdict {
	t.Helper()
	switch {
	case a.Err == nil:
		return verdict{Outcome: "Scheduled", Node: a.Result.SuggestedHost}
	case a.Fit() == nil:
		t.Fatal(fmt.Errorf("neither placed nor rejected: %w", a.Err))
	}
	p, err := a.PreemptFrom(0, config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100})
	must(t, err)
	return verdict{Outcome: "Unschedulable", NominatedNode: p.Chosen, Message: a.PostFilter()}
}
