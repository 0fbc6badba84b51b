package devices

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
)

// decision is what both sides say about a pod.
type decision struct {
	kind      string // placed, rejected or error
	message   string
	rejecters []string
	feasible  int
}

// The whole decision about a pod with claims equals kube-scheduler's: the outcome, the number of feasible nodes, the message,
// the plugins that wait for events, and the node.
func TestDecisions(t *testing.T) {
	s := kube(t, endless)
	census, slow := newCensus(), 0
	for k := range *clusters {
		theirs := newGenerator(k).podWorld()
		theirs.tight(newGenerator(k))
		if err := s.Load(cluster.Objects{Nodes: theirs.nodes}); err != nil {
			t.Fatal(err)
		}
		if err := s.LoadDevices(theirs.slices, theirs.classes, theirs.all()); err != nil {
			t.Fatal(err)
		}
		w := newGenerator(k).podWorld()
		w.tight(newGenerator(k))
		placer, snapshot := placerOf(t, w)
		d := placer.Decide(w.pod, placement.Options{})
		if cut(decided(d).message) {
			slow++
			continue
		}
		result, theirErr := s.Schedule(theirs.pod)
		here, there := decided(d), decidedByReal(result, theirErr)
		if cut(there.message) {
			slow++
			continue
		}
		names := map[string]bool{here.kind: true}
		for _, plugin := range here.rejecters {
			names["rejected by "+plugin] = true
		}
		if len(d.Devices.Claims) > 0 {
			names["devices allocated"] = true
		}
		census.add(names)
		if here.kind == "error" && there.kind == "error" && !equalText(here.message, there.message) {
			here.message = otherError(w, here.message, there.message)
		}
		if here.kind != there.kind || !equalText(here.message, there.message) || here.feasible != there.feasible || !slices.Equal(here.rejecters, there.rejecters) {
			t.Fatalf("seed %d case %d\nhere:  %+v\nthere: %+v\n%s", *seed, k, here, there, w.podYAML(t))
		}
		if here.kind == "placed" && !bestNode(t, placer, snapshot, w.pod, result.SuggestedHost) {
			t.Fatalf("seed %d case %d: kube-scheduler takes %s, which does not have the best score here\n%s", *seed, k, result.SuggestedHost, w.podYAML(t))
		}
	}
	t.Logf("%d of %d cases were left out because their search tries more than %d devices, or takes kube-scheduler %v", slow, *clusters, steps, endless)
	census.report(t, []string{"placed", "rejected", "error", "devices allocated", "rejected by DynamicResources", "rejected by NodeResourcesFit"}, census.cases)
}

// otherError returns the error of a node whose text is theirs, ours without such a node: kube-scheduler asks several nodes at a
// time and reports the error that comes first.
func otherError(w *podWorld, ours, theirs string) string {
	_, verdicts := oursOfPod(w, w.nodes)
	for _, v := range verdicts {
		text, failed := strings.CutPrefix(v, "Error ")
		if text = `running "DynamicResources" filter plugin: ` + text; failed && equalText(text, theirs) {
			return text
		}
	}
	return ours
}

// tight takes the cpu of some nodes away, so that other plugins reject nodes too.
func (w *podWorld) tight(g *generator) {
	for _, n := range w.nodes {
		if g.chance(20) {
			n.Status.Allocatable["cpu"] = resource.MustParse("1")
			n.Spec.Unschedulable = g.chance(50)
		}
	}
}

func placerOf(t *testing.T, w *podWorld) (*placement.Placer, *cluster.Snapshot) {
	snapshot, err := cluster.New(cluster.Objects{Nodes: w.nodes, ResourceSlices: w.slices, DeviceClasses: w.classes, ResourceClaims: w.all()})
	if err != nil {
		t.Fatal(err)
	}
	args := placement.PluginArgs{Release: trial.Linked, Devices: tracker.Options{Compiler: compiler, Search: devices.Options{Steps: steps}, Now: time.Now}}
	placer, err := placement.NewPlacer(snapshot, args.Profile())
	if err != nil {
		t.Fatal(err)
	}
	return placer, snapshot
}

func decided(d placement.Decision) decision {
	switch {
	case d.Placed():
		return decision{kind: "placed", feasible: d.Feasible}
	case d.Failure.Err != nil:
		return decision{kind: "error", message: d.Failure.Err.Error()}
	}
	return decision{kind: "rejected", message: d.Failure.Text(), rejecters: slices.Sorted(slices.Values(d.Failure.Rejecters))}
}

func decidedByReal(result scheduler.ScheduleResult, err error) decision {
	var fit *framework.FitError
	switch {
	case err == nil:
		return decision{kind: "placed", feasible: result.FeasibleNodes}
	case errors.As(err, &fit):
		return decision{kind: "rejected", message: fit.Error(), rejecters: slices.Sorted(slices.Values(fit.Diagnosis.UnschedulablePlugins.UnsortedList()))}
	}
	return decision{kind: "error", message: err.Error()}
}

// bestNode reports whether a node has the best score. Of several best nodes both sides may take another.
func bestNode(t *testing.T, placer *placement.Placer, snapshot *cluster.Snapshot, pod *v1.Pod, host string) bool {
	a := placer.Prepare(pod)
	found := a.Search(placement.Options{})
	_, totals, err := a.Scores(found.Feasible)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(found.Feasible, func(i int) bool { return snapshot.Node(i).Name == host })
	return at >= 0 && totals[at] == slices.Max(totals)
}
