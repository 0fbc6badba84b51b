// Not beside v1.36: package dump reads kinds that it does not have.

//go:build !k1_36

package devices

import (
	"bytes"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/dump"
)

// Both sides decide every pending pod of the clusters that are shipped with podberth place, each pod from the state of the dump.
func TestShipped(t *testing.T) {
	for _, c := range []struct {
		file          string
		pods, devices int // pending pods, and how many of them get devices
	}{{"examples/testdata/cluster.yaml", 21, 1}, {"tools/place/testdata/devices.yaml", 7, 4}} {
		t.Run(c.file, func(t *testing.T) {
			decided, allocated := decideShipped(t, c.file)
			if decided != c.pods || allocated != c.devices {
				t.Errorf("%d pods decided, %d got devices; want %d and %d", decided, allocated, c.pods, c.devices)
			}
		})
	}
}

func decideShipped(t *testing.T, file string) (pods, allocated int) {
	o, err := dump.Read([]string{"../../" + file}, bytes.NewReader(nil), dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range o.Pods {
		corev1.SetObjectDefaults_Pod(p)
		if p.UID == "" {
			p.UID = types.UID(p.Namespace + "/" + p.Name)
		}
	}
	objects := o.Cluster()
	objects.Pods = slices.DeleteFunc(slices.Clone(o.Pods), func(p *v1.Pod) bool { return p.Spec.NodeName == "" })
	s := kube(t, endless)
	if err := s.Load(objects); err != nil {
		t.Fatal(err)
	}
	if err := s.LoadDevices(o.ResourceSlices, o.DeviceClasses, o.ResourceClaims); err != nil {
		t.Fatal(err)
	}
	snapshot, err := cluster.New(objects)
	if err != nil {
		t.Fatal(err)
	}
	args := placement.PluginArgs{Release: trial.Linked, Devices: tracker.Options{Compiler: cel.NewCompiler(), Now: time.Now}}
	placer, err := placement.NewPlacer(snapshot, args.Profile())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range o.Pods {
		if p.Spec.NodeName != "" || len(p.Spec.SchedulingGates) > 0 {
			continue
		}
		pods++
		d := placer.Decide(p, placement.Options{})
		result, theirErr := s.Schedule(p)
		here, there := decided(d), decidedByReal(result, theirErr)
		if here.kind != there.kind || !equalText(here.message, there.message) || here.feasible != there.feasible || !slices.Equal(here.rejecters, there.rejecters) {
			t.Errorf("%s\nhere:  %+v\nthere: %+v", p.Name, here, there)
			continue
		}
		if here.kind == "placed" && !bestNode(t, placer, snapshot, p, result.SuggestedHost) {
			t.Errorf("%s: kube-scheduler takes %s, which does not have the best score here", p.Name, result.SuggestedHost)
		}
		if len(d.Devices.Claims) > 0 {
			allocated++
		}
	}
	return pods, allocated
}
