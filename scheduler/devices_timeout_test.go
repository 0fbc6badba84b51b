package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

// ticking is a clock that goes on by a second whenever it is read.
type ticking struct{ *clock }

func (c ticking) Now() time.Time {
	c.advance(time.Second)
	return c.clock.Now()
}

// sums gives n2 thirty devices, of which a counter has enough for any nine, and the cluster a claim for ten.
func (r *rig) sums() {
	counters := func(n int) map[string]resourcev1.Counter {
		return map[string]resourcev1.Counter{"c": {Value: quantity.MustParse(fmt.Sprint(n))}}
	}
	node := "n2"
	spec := resourcev1.ResourceSliceSpec{Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: "sums", ResourceSliceCount: 2}}
	sets := spec
	sets.SharedCounters = []resourcev1.CounterSet{{Name: "set", Counters: counters(9500)}}
	for k := range 30 {
		spec.Devices = append(spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", k), ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "set", Counters: counters(1000 + k)}}})
	}
	r.s.Set(nil, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "sums-a"}, Spec: spec})
	r.s.Set(nil, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "sums-b"}, Spec: sets})
	r.claim("sums")
	c := r.claims["sums"].(*resourcev1.ResourceClaim).DeepCopy()
	c.Spec.Devices.Requests[0].Exactly.Count = 12
	r.s.Set(r.claims["sums"], c)
	r.claims["sums"] = c
}

// U-102: a claim whose search takes longer than filterTimeout fails its pod's attempt, as in v1.36, and other pods are bound. Without a
// time-out the search ends with the library's bound of steps.
func TestFilterTimeout(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		for _, c := range []struct {
			timeout time.Duration
			text    string
		}{
			{10 * time.Second, "node n2: timed out trying to allocate devices"},
			{0, "node n2: the search for devices was cut after 100000 steps; kube-scheduler searches until its filterTimeout and then fails: timed out trying to allocate devices"},
		} {
			o := o
			p, err := placement.PluginArgs{Devices: tracker.Options{FilterTimeout: c.timeout}}.Plugin(nameDynamicResources)
			require.NoError(t, err)
			o.Profiles = []Profile{{Args: map[string]any{nameDynamicResources: p}}}
			o.Clock = ticking{newClock()}
			r := deviceRig(t, o)
			r.sums()
			hard := withClaim(testkit.Pod("hard").Obj(), "sums")
			r.add(hard, testkit.Pod("other").Request("cpu=1").Obj())
			require.True(t, r.step())
			require.Equal(t, `running "DynamicResources" filter plugin: `+c.text, r.last().Message)
			require.Contains(t, r.patches[0], "hard: PodScheduled=False SchedulerError")
			require.True(t, r.step())
			require.Equal(t, "other", r.last().Pod.Name)
			require.NotEmpty(t, r.last().Node)
		}
	})
}
