package place

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/program"
)

// The world does what the API server does on a binding: the pod gets its node and the condition, and loses its nomination.
func TestBinding(t *testing.T) {
	o := options{Common: program.Common{Files: []string{"-"}, Output: "json"}, percentage: -1}
	with, _, err := optionsOf(o, io.Discard)
	require.NoError(t, err)
	input := nodeYAML("n1", "2", "") + podYAML("low", "n1", 0, "2", "") + podYAML("high", "", 9, "2", "")
	w, err := load(o, with.Profiles, nil, strings.NewReader(input), io.Discard)
	require.NoError(t, err)
	x, err := newSimulation(w, o, nil, with, io.Discard)
	require.NoError(t, err)
	require.NoError(t, x.run(context.Background()))
	require.Equal(t, "n1", x.entries[0].NominatedNode)
	p := w.pods["default/high"]
	require.Equal(t, "n1", p.Spec.NodeName)
	require.Empty(t, p.Status.NominatedNodeName)
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodScheduled {
			require.Equal(t, v1.ConditionTrue, c.Status)
			require.Empty(t, c.Reason)
			return
		}
	}
	t.Fatal("no condition PodScheduled")
}

// door is a Permit plugin: a pod waits at most half a minute. The arrival of the pod "key" lets the waiting pods go.
type door struct{ h *scheduler.Handle }

func (door) Name() string                                    { return "Door" }
func (door) EventsToRegister() ([]queue.Registration, error) { return nil, nil }
func (d *door) Permit(_ context.Context, _ *scheduler.State, pod *v1.Pod, _ string) (*scheduler.Status, time.Duration) {
	if pod.Name != "key" {
		return scheduler.NewStatus(scheduler.Wait), 30 * time.Second
	}
	for _, p := range d.h.WaitingPods() {
		d.h.Allow(p.UID, "Door")
	}
	return nil, 0
}

// Waits on Permit play out in virtual time: one pod is let go after 10 s, the next one comes too late and gives up after
// its half minute. The log is the same every time.
func TestPermitWaits(t *testing.T) {
	play := func() (*simulation, *world) {
		o := options{Common: program.Common{Files: []string{"-"}, Output: "json"}, percentage: -1, log: "log"}
		with, _, err := optionsOf(o, io.Discard)
		require.NoError(t, err)
		with.Profiles[0].Plugins = scheduler.Plugins{scheduler.Permit: {Enabled: []scheduler.PluginRef{{Name: "Door"}}}}
		with.Plugins = scheduler.Registry{"Door": func(_ any, h *scheduler.Handle) (scheduler.Plugin, error) { return &door{h}, nil }}
		w, err := load(o, with.Profiles, nil, strings.NewReader(nodeYAML("n1", "4", "")+podYAML("early", "", 0, "1", "")), io.Discard)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "timeline.yaml")
		pod := strings.ReplaceAll(strings.TrimPrefix(podYAML("NAME", "", 0, "1", ""), "---\n"), "\n", "")
		require.NoError(t, os.WriteFile(file, []byte("- {at: 10s, add: "+strings.ReplaceAll(pod, "NAME", "key")+"}\n- {at: 20s, add: "+strings.ReplaceAll(pod, "NAME", "late")+"}\n"), 0o600))
		timeline, err := readTimeline(file, dump.Options{})
		require.NoError(t, err)
		x, err := newSimulation(w, o, timeline, with, io.Discard)
		require.NoError(t, err)
		require.NoError(t, x.run(context.Background()))
		return x, w
	}
	x, w := play()
	require.Equal(t, "n1", w.pods["default/early"].Spec.NodeName)
	require.Equal(t, "n1", w.pods["default/key"].Spec.NodeName)
	require.Empty(t, w.pods["default/late"].Spec.NodeName)
	require.Equal(t, 50*time.Second, w.now.Sub(x.begin), "the wait ends 30 s after 20 s")
	last := x.entries[len(x.entries)-1]
	require.Equal(t, "default/late", last.Pod)
	require.Equal(t, "0/1 nodes are available: 1 rejected due to timeout after waiting 30s at plugin Door.", last.Message)
	again, _ := play()
	require.Equal(t, x.log.String(), again.log.String())
	require.Contains(t, x.log.String(), "50.000s default/late: ")
}
