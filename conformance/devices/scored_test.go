package devices

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/real"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/score"
)

// scored are the resources of the two resource scores of TestScoredDevices.
var scored = []string{"cpu", gpuName, "deviceclass.resource.kubernetes.io/c2"}

// kubeScoring is kube-scheduler with resource scores over the devices of classes.
func kubeScoring(t *testing.T, kind config.ScoringStrategyType) *real.Scheduler {
	t.Helper()
	profile, err := real.DefaultProfile()
	if err != nil {
		t.Fatal(err)
	}
	var specs []config.ResourceSpec
	for _, name := range scored {
		specs = append(specs, config.ResourceSpec{Name: name, Weight: 1})
	}
	for k := range profile.PluginConfig {
		switch args := profile.PluginConfig[k].Args.(type) {
		case *config.NodeResourcesFitArgs:
			args = args.DeepCopy()
			args.ScoringStrategy = &config.ScoringStrategy{Type: kind, Resources: specs}
			profile.PluginConfig[k].Args = args
		case *config.NodeResourcesBalancedAllocationArgs:
			args = args.DeepCopy()
			args.Resources = specs
			profile.PluginConfig[k].Args = args
		}
	}
	s, err := real.New(t.Context(), profile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The resource scores count the devices of the class that provides a resource as kube-scheduler does.
func TestScoredDevices(t *testing.T) {
	for _, c := range []struct {
		theirs config.ScoringStrategyType
		ours   string
	}{{config.LeastAllocated, score.LeastAllocated}, {config.MostAllocated, score.MostAllocated}} {
		t.Run(string(c.theirs), func(t *testing.T) { scoreDevices(t, c.theirs, c.ours) })
	}
}

func scoreDevices(t *testing.T, theirs config.ScoringStrategyType, kind string) {
	census := newCensus()
	for k := range max(*clusters/4, 1) { // a scheduler for each case: kube-scheduler keeps what it knows about the labels of a node
		s := kubeScoring(t, theirs)
		w := newGenerator(k).podWorld()
		if w.hasDeviceTwice() { // kube-scheduler keeps the answer about the copy that it meets first, and the order of slices is open
			continue
		}
		w.pod.Spec.Containers[0].Resources.Requests[gpuName] = resource.MustParse("1")
		for i, n := range w.nodes { // some nodes offer the resource themselves
			if (k+i)%5 == 0 {
				n.Status.Allocatable[gpuName] = resource.MustParse("4")
			}
		}
		if err := s.Load(cluster.Objects{Nodes: w.nodes}); err != nil {
			t.Fatal(err)
		}
		if err := s.LoadDevices(w.slices, w.classes, w.all()); err != nil {
			t.Fatal(err)
		}
		infos, err := s.NodeInfos()
		if err != nil {
			t.Fatal(err)
		}
		for _, plugin := range []string{"NodeResourcesFit"} {
			theirs, err := s.Score(plugin, w.pod, infos)
			if err != nil {
				t.Fatal(err)
			}
			names := make([]string, len(infos))
			for i := range infos {
				names[i] = infos[i].Node().Name
			}
			ours := w.scores(t, kind, plugin, names)
			if theirs.Skip != (ours == nil) || !slices.Equal(ours, theirs.Raw) {
				t.Fatalf("seed %d case %d, %s\nhere:  %v\nthere: %v\n%s", *seed, k, plugin, ours, theirs.Raw, w.podYAML(t))
			}
			seen := map[string]bool{plugin: true}
			for _, raw := range ours {
				seen[plugin+" between 0 and 100"] = seen[plugin+" between 0 and 100"] || raw > 0 && raw < 100
			}
			census.add(seen)
		}
	}
	census.report(t, []string{"NodeResourcesFit between 0 and 100"}, census.cases)
}

// hasDeviceTwice reports whether two slices list a device of the same driver, pool and name.
func (w *podWorld) hasDeviceTwice() bool {
	seen := map[devices.ID]bool{}
	for _, s := range w.slices {
		for _, d := range s.Spec.Devices {
			id := devices.ID{Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name, Device: d.Name}
			if seen[id] {
				return true
			}
			seen[id] = true
		}
	}
	return false
}

// scores returns the raw scores of a plugin for the nodes of these names; nil when the plugin skips the pod.
func (w *podWorld) scores(t *testing.T, kind string, plugin string, nodes []string) []int64 {
	snapshot, err := cluster.New(cluster.Objects{Nodes: w.nodes, ResourceSlices: w.slices, DeviceClasses: w.classes, ResourceClaims: w.all()})
	if err != nil {
		t.Fatal(err)
	}
	var list []score.Resource
	for _, name := range scored {
		list = append(list, score.Resource{Name: name, Weight: 1})
	}
	args := placement.PluginArgs{
		Release:            trial.Linked,
		Devices:            tracker.Options{Compiler: cel.NewCompiler(), Now: time.Now},
		NodeResourcesFit:   placement.FitOptions{Args: score.FitArgs{ScoringStrategy: &score.Strategy{Type: kind, Resources: list}}},
		BalancedAllocation: score.BalanceArgs{Resources: list},
	}
	profile := args.Profile()
	profile.Scores = slices.DeleteFunc(profile.Scores, func(s placement.Weighted) bool { return s.Plugin.Name != plugin })
	placer, err := placement.NewPlacer(snapshot, profile)
	if err != nil {
		t.Fatal(err)
	}
	slots := make([]int, len(nodes))
	for k, name := range nodes {
		slots[k] = snapshot.Slot(name)
	}
	columns, _, err := placer.Prepare(w.pod).Scores(slots)
	if err != nil {
		t.Fatal(err)
	}
	if len(columns) == 0 {
		return nil
	}
	return columns[0].Raw
}
