package scheduler

import (
	"context"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit/dumps"
	"github.com/podberth/podberth/internal/testkit/traces"
)

// decisions schedules the pending pods of a dump and returns a line for each attempt. It uses the library's plan, or calls
// the plugins one by one.
func decisions(t *testing.T, o cluster.Objects, planned bool) (lines []string) {
	t.Helper()
	api := &server{pods: map[string]*v1.Pod{}, bound: map[string]int{}}
	var pending, running []*v1.Pod
	for _, p := range o.Pods {
		c := *p
		c.UID = types.UID(podinfo.Name(p))
		if p.Spec.NodeName == "" {
			pending = append(pending, &c)
		} else {
			running = append(running, &c)
		}
		api.pods[podinfo.Name(p)] = &c
	}
	o.Pods = running
	o.ResourceClaims, o.ResourceClaimTemplates, o.ResourceSlices, o.DeviceClasses = nil, nil, nil, nil
	snapshot, err := cluster.New(o)
	require.NoError(t, err)
	clock := newClock()
	api.s, err = New(snapshot, Options{
		Client: api, Clock: clock, PercentageOfNodesToScore: 100, OneByOne: !planned, Go: func(task func()) { task() },
		OnResult: func(r Result) {
			line := fmt.Sprintf("%s %s %s, total %d: %s (%d of %d)", r.Pod.Name, r.Outcome, r.Node, r.Total, r.Message, r.Feasible, r.Evaluated)
			for _, v := range r.Victims {
				line += " -" + v.Name
			}
			lines = append(lines, line)
		},
		OnError: func(err error) { require.NoError(t, err) },
	})
	require.NoError(t, err)
	f := api.s.Profile(v1.DefaultSchedulerName)
	require.Equal(t, planned, f.plan != nil)
	for _, p := range pending {
		api.s.AddPod(p)
	}
	for range 3 { // a pod whose victims left is tried again after its backoff
		for api.s.TryScheduleOne(context.Background()) {
		}
		clock.advance(10 * time.Second)
		api.s.Tick()
	}
	return lines
}

// Every attempt with a plan has the node, counts, total, message and victims of the attempt that calls the plugins one by
// one. The clusters are the shipped dumps and a real trace.
func TestPlanAgainstPlugins(t *testing.T) {
	for _, name := range []string{"../examples/testdata/cluster.yaml", "../tools/place/testdata/volumes.yaml", "../tools/place/testdata/devices.yaml"} {
		t.Run(path.Base(name), func(t *testing.T) {
			o := dumps.Read(t, name)
			want := decisions(t, o, false)
			require.NotEmpty(t, want)
			require.Equal(t, want, decisions(t, o, true))
		})
	}
	t.Run("openb", func(t *testing.T) {
		if testing.Short() {
			t.Skip("takes a while")
		}
		text := traces.Text(t, "openb", "--nodes", "60", "--pods", "1200", "--zones", "3", "--spec", "gpuspec33")
		o := dumps.Parse(t, text)
		want := decisions(t, o, false)
		require.GreaterOrEqual(t, len(want), 1200)
		got := decisions(t, o, true)
		require.Equal(t, len(want), len(got))
		for k := range want {
			require.Equal(t, want[k], got[k], "attempt %d", k)
		}
	})
}
