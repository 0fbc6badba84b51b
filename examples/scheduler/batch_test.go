package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/spread"
)

// counted is Metrics that keeps counters by name and labels.
type counted map[string]float64

func (c counted) Add(name string, n float64, labels ...string) { c[fmt.Sprint(name, labels)] += n }
func (counted) Set(string, float64, ...string)                 {}
func (counted) Observe(string, float64, ...string)             {}
func (c counted) batch() (out map[string]float64) {
	out = map[string]float64{}
	for _, result := range []string{"no_hint", "hint_used", "hint_not_used"} {
		if n := c[fmt.Sprint(BatchAttempts, []string{"default-scheduler", result})]; n > 0 {
			out[result] = n
		}
	}
	for _, reason := range []string{"pod_skipped", "node_missing", "node_not_full", "empty_list", "expired", "pod_incompatible", "pod_not_batchable"} {
		if n := c[fmt.Sprint(BatchCacheFlushed, []string{"default-scheduler", reason})]; n > 0 {
			out[reason] = n
		}
	}
	clear(c)
	return out
}

// listed is the default profile without default constraints, with which pods can be signed.
func listed() Profile {
	return Profile{Args: map[string]any{"PodTopologySpread": placement.PluginArgs{PodTopologySpread: spread.Options{Defaults: spread.Defaults{Type: spread.ListDefaulting}}}.Profile().Filter("PodTopologySpread")}}
}

// batching makes a rig over three nodes, the first of which is the largest. The rig counts by metrics.
func batching(t *testing.T, o Options) (*rig, counted) {
	t.Helper()
	c := counted{}
	o.Metrics = c
	var nodes []*v1.Node
	for k, memory := range []string{"64Gi", "16Gi", "4Gi"} {
		nodes = append(nodes, testkit.Node(fmt.Sprint("n", k+1)).Capacity("cpu=4,memory="+memory+",pods=10").Obj())
	}
	return newRig(t, o, nodes), c
}

func sized(name, cpu string) *v1.Pod {
	return testkit.Pod("default/" + name).Request("cpu=" + cpu + ",memory=2Gi").Obj()
}

type counts = map[string]float64

// TestBatch schedules two pods. Each pod would fill a node. The cases say what the second pod's attempt does.
func TestBatch(t *testing.T) { // W13.3
	type test struct {
		name, why string
		second    *v1.Pod
		between   func(r *rig)
		node      string
		evaluated int
		want      counts
	}
	testkit.Run(t, []test{
		{"the next best node", "the first is full: only the hint is looked at", sized("q", "3"), nil, "n2", 1, counts{"hint_used": 1}},
		{"another size", "it is another pod, though the node has room for it", sized("q", "1"), nil, "n2", 3, counts{"no_hint": 1, "pod_incompatible": 1}},
		{"another pod", "its labels differ", testkit.Pod("default/q").Labels("a=b").Request("cpu=3,memory=2Gi").Obj(), nil, "n2", 3, counts{"no_hint": 1, "pod_incompatible": 1}},
		{"no signature", "it has a constraint of its own", testkit.Pod("default/q").Spread(1, "kubernetes.io/hostname", v1.ScheduleAnyway, "a=b").Request("cpu=3,memory=2Gi").Obj(), nil, "n2", 3,
			counts{"no_hint": 1, "pod_incompatible": 1, "pod_not_batchable": 1}},
		{"too late", "half a second is too long", sized("q", "3"), func(r *rig) { r.clock.advance(500 * time.Millisecond) }, "n2", 3, counts{"no_hint": 1, "expired": 1}},
		{"in time", "just less", sized("q", "3"), func(r *rig) { r.clock.advance(499 * time.Millisecond) }, "n2", 1, counts{"hint_used": 1}},
		{"the node is gone", "it cannot be full", sized("q", "3"), func(r *rig) { r.s.DeleteNode(testkit.Node("n1").Obj()) }, "n2", 2, counts{"no_hint": 1, "node_missing": 1}},
		{"room again", "the first pod was deleted", sized("q", "3"), func(r *rig) { _ = r.Delete(ctx, r.pods["default/p"]) }, "n1", 3, counts{"no_hint": 1, "node_not_full": 1}},
		{"the hint cannot take it", "somebody else was quicker: all are looked at", sized("q", "3"), func(r *rig) { r.add(testkit.Pod("default/x").On("n2").Request("cpu=4").Obj()) }, "n3", 3,
			counts{"hint_not_used": 1, "empty_list": 1}},
		{"the hinted node is gone", "all are looked at", sized("q", "3"), func(r *rig) { r.s.DeleteNode(testkit.Node("n2").Obj()) }, "n3", 2, counts{"hint_not_used": 1, "empty_list": 1}},
		{"an attempt between", "the ranking is of the last attempt but one", sized("q", "3"), func(r *rig) { r.add(sized("big", "9")).step(); r.s.o.Metrics.(counted).batch() }, "n2", 3, counts{"no_hint": 1, "pod_skipped": 1}},
	}, func(t *testing.T, c test) {
		for _, each := range []bool{false, true} {
			t.Run(fmt.Sprintf("one by one %v", each), func(t *testing.T) {
				r, count := batching(t, Options{Profiles: []Profile{listed()}, OneByOne: each})
				r.add(sized("p", "3")).step()
				require.Equal(t, "n1", r.last().Node)
				require.Equal(t, counts{"no_hint": 1}, count.batch())
				if c.between != nil {
					c.between(r)
				}
				second := c.second.DeepCopy()
				r.add(second).step()
				require.Equal(t, c.node, r.last().Node, c.why)
				require.Equal(t, c.evaluated, r.last().Evaluated)
				require.Equal(t, c.want, count.batch())
			})
		}
	})
}

// The pod's own nomination goes before the hint of the batch, and the ranking is lost.
func TestBatchNominated(t *testing.T) { // W13.3
	for _, each := range []bool{false, true} {
		r, count := batching(t, Options{Profiles: []Profile{listed()}, OneByOne: each})
		r.add(sized("p", "3")).step()
		count.batch()
		q := sized("q", "3")
		q.Status.NominatedNodeName = "n3"
		r.add(q).step()
		require.Equal(t, "n3", r.last().Node)
		require.Equal(t, counts{"hint_not_used": 1, "empty_list": 1}, count.batch())
	}
}

// One ranking serves several pods, until it has no node left.
func TestBatchRanking(t *testing.T) { // W13.3
	r, count := batching(t, Options{Profiles: []Profile{listed()}})
	for k, want := range []string{"n1", "n2", "n3", ""} {
		r.add(sized(fmt.Sprint("p", k), "3")).step()
		require.Equal(t, want, r.last().Node)
	}
	require.Equal(t, counts{"no_hint": 2, "hint_used": 2}, count.batch(), "for the last pod there is nothing left")
}

// signer is a user's filter that writes a signature.
type signer struct {
	*probe
	sign func() ([]SignFragment, *Status)
}

func (s signer) SignPod(context.Context, *v1.Pod) ([]SignFragment, *Status) { return s.sign() }

// The cases say which plugins keep a profile from batching, and what a user's plugin can answer. A plugin that fails only
// keeps the pod out of batching.
func TestSignPod(t *testing.T) { // W13.1, W13.2
	release := make(chan struct{})
	defer close(release)
	blocked := make(chan struct{}, 1)
	type test struct {
		name   string
		sign   func() ([]SignFragment, *Status) // nil: the plugin writes no signature
		listed bool
		signed bool
		errs   int
	}
	testkit.Run(t, []test{
		{"default constraints", func() ([]SignFragment, *Status) { return nil, nil }, false, false, 0},
		{"a plugin that cannot sign", nil, true, false, 0},
		{"one that says nothing", func() ([]SignFragment, *Status) { return nil, nil }, true, true, 0},
		{"one that refuses", func() ([]SignFragment, *Status) { return nil, u() }, true, false, 0},
		{"one that fails", func() ([]SignFragment, *Status) { return nil, AsStatus(errors.New("broken")) }, true, false, 1},
		{"one that panics", func() ([]SignFragment, *Status) { panic("boom") }, true, false, 1},
		{"one that blocks", func() ([]SignFragment, *Status) { blocked <- struct{}{}; <-release; return nil, nil }, true, false, 1},
		{"an unknown code", func() ([]SignFragment, *Status) { return nil, NewStatus(42) }, true, false, 1},
		{"a value that is no JSON", func() ([]SignFragment, *Status) { return []SignFragment{{"x", func() {}}}, nil }, true, false, 1},
	}, func(t *testing.T, c test) {
		_, list := probes(1)
		var p Plugin = struct{ FilterPlugin }{list[0]}
		if c.sign != nil {
			p = signer{list[0], c.sign}
		}
		profile := Profile{}
		if c.listed {
			profile = listed()
		}
		profile.Plugins = Plugins{Filter: {Enabled: []PluginRef{{Name: "A"}}}}
		o := Options{Profiles: []Profile{profile}, PluginTimeout: time.Second, Plugins: Registry{"A": func(any, *Handle) (Plugin, error) { return p, nil }}}
		r, _ := batching(t, o)
		r.add(sized("p", "1"))
		if c.name == "one that blocks" {
			r.cutOff(blocked, func() { r.step() })
		} else {
			r.step()
			require.Equal(t, c.signed, r.framework().SignPod(ctx, sized("q", "1")) != "")
		}
		require.Equal(t, Scheduled, r.last().Outcome, r.last().Message)
		require.GreaterOrEqual(t, len(r.errs), c.errs)
	})
	t.Run("fragments", func(t *testing.T) {
		_, list := probes(1)
		value := "a"
		profile := listed()
		profile.Plugins = Plugins{Filter: {Enabled: []PluginRef{{Name: "A"}}}}
		p := signer{list[0], func() ([]SignFragment, *Status) { return []SignFragment{{"mine", value}}, nil }}
		r, _ := batching(t, Options{Profiles: []Profile{profile}, Plugins: Registry{"A": func(any, *Handle) (Plugin, error) { return p, nil }}})
		first := r.framework().SignPod(ctx, sized("p", "1"))
		require.Equal(t, first, r.framework().SignPod(ctx, sized("q", "1")), "the name does not count")
		value = "b"
		require.NotEqual(t, first, r.framework().SignPod(ctx, sized("p", "1")))
	})
	t.Run("extenders", func(t *testing.T) {
		r, _ := batching(t, Options{Profiles: []Profile{listed()}, Extenders: []Extender{nil}})
		require.Empty(t, r.framework().SignPod(ctx, sized("p", "1")))
	})
}
