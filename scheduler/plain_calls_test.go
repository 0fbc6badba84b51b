package scheduler

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/volumes"
)

// These tests call a function of the scheduler alone, where a whole attempt would hide what it returns.

// scorerOf makes an adapter of a score whose scorer and error are given.
func scorerOf(x placement.Scorer, err error) scores {
	p := &placement.Plugin{Score: func(*v1.Pod, placement.Cluster) (placement.Scorer, error) { return x, err }}
	return newScores(adapterBase{name: "X", h: &Handle{s: &Scheduler{}}, plugin: p})
}

// A score without a scorer is 0. A score that fails says so.
func TestScoreOfAdapter(t *testing.T) {
	at := &NodeInfo{Slot: 0}
	n, st := scorerOf(nil, nil).Score(ctx, NewState(), pod("p"), at)
	require.Zero(t, n)
	require.True(t, st.Success())
	_, st = scorerOf(nil, errors.New("no score")).Score(ctx, NewState(), pod("p"), at)
	require.EqualError(t, st.AsError(), "no score")
	require.Error(t, scorerOf(nil, nil).NormalizeScores(ctx, NewState(), nil, nil).AsError(), "nothing was scored")

	d := scoredDynamicResources{dynamicResources{podFilter{nodeFilter{adapterBase: adapterBase{plugin: scorerOf(nil, errors.New("no devices")).plugin, h: &Handle{s: &Scheduler{}}}}}}}
	_, st = d.Score(ctx, NewState(), pod("p"), at)
	require.EqualError(t, st.AsError(), "no devices")
	d.plugin = scorerOf(nil, nil).plugin
	n, st = d.Score(ctx, NewState(), pod("p"), at)
	require.Zero(t, n)
	require.True(t, st.Success())
}

// At points before which the plugin did not run, volumes and devices have nothing to do, and what-ifs fail.
func TestPluginsWithoutState(t *testing.T) {
	r := newRig(t, Options{}, three())
	f := r.framework()
	n := r.s.nodes.named("n1")
	require.True(t, f.plugins["VolumeBinding"].(volumeBinding).Reserve(ctx, NewState(), pod("p"), "n1").Success())
	dynamic, ok := f.plugins[nameDynamicResources].(ReservePlugin)
	require.True(t, ok)
	require.True(t, dynamic.Reserve(ctx, NewState(), pod("p"), "n1").Success())
	spread := f.plugins["PodTopologySpread"].(PreFilterExtensions)
	require.Error(t, spread.AddPod(ctx, NewState(), pod("p"), pod("q"), n).AsError())
	require.Error(t, spread.RemovePod(ctx, NewState(), pod("p"), pod("q"), n).AsError())
	require.Error(t, f.plugins["VolumeBinding"].(volumeBinding).PreBind(ctx, NewState(), pod("p"), "n1").AsError())
}

// PreBind of volumes and devices runs only for pods that need it, and may run beside other plugins.
func TestPreFlightOfLibrary(t *testing.T) {
	r := newRig(t, Options{}, three())
	ask := func(name string, state *State, p *v1.Pod) (bool, Code) {
		parallel, st := r.framework().plugins[name].(PreBindPreFlight).PreBindPreFlight(ctx, state, p, "n1")
		return parallel, st.Code()
	}
	type test struct {
		name     string
		plugin   string
		write    func(s *State)
		pod      *v1.Pod
		parallel bool
		code     Code
	}
	none := func(*State) {}
	testkit.Run(t, []test{
		{"no decision", "VolumeBinding", none, pod("p"), false, Skip},
		{"an empty decision", "VolumeBinding", func(s *State) { decided.Write(s, volumes.Decision{}) }, pod("p"), false, Skip},
		{"no allocation", nameDynamicResources, none, pod("p"), false, Skip},
		{"an empty allocation", nameDynamicResources, func(s *State) { allocated.Write(s, devices.Allocation{}) }, pod("p"), false, Skip},
		{"an allocation", nameDynamicResources, func(s *State) { allocated.Write(s, devices.Allocation{Claims: make([]*resourcev1.ResourceClaim, 1)}) }, pod("p"), true, Success},
		{"claims of the pod", nameDynamicResources, none, withClaim(pod("p"), "a"), true, Success},
	}, func(t *testing.T, c test) {
		state := NewState()
		c.write(state)
		parallel, code := ask(c.plugin, state, c.pod)
		require.Equal(t, c.parallel, parallel)
		require.Equal(t, c.code, code)
	})
}

// Without PostFilter plugins the plan of the library prepares nothing for them. Without nominations it asks for none.
func TestPlanDoesNoMore(t *testing.T) {
	for _, with := range []bool{true, false} {
		p := Profile{}
		if !with {
			p.Plugins = Plugins{PostFilter: {Disabled: []string{"*"}}}
		}
		r := newRig(t, Options{Profiles: []Profile{p}}, three())
		x := sized("x", "9")
		r.add(x)
		a := &attempt{f: r.framework(), pod: x, state: NewState()}
		_, failed := r.s.decide(ctx, a)
		require.NotNil(t, failed)
		_, err := seen.Read(a.state)
		require.Equal(t, with, err == nil)
		require.Nil(t, r.s.planOptions().Nominated)
		r.s.queue.Nominate(x, queue.Nomination{Override: true, Node: "n1"})
		require.NotNil(t, r.s.planOptions().Nominated)
	}
}

// A what-if copy of a node changes alone.
func TestNodeInfoClone(t *testing.T) {
	r := newRig(t, Options{}, []*v1.Node{node("n1")}, testkit.Pod("default/a").On("n1").Obj(), testkit.Pod("default/b").On("n1").Obj())
	names := func(n *NodeInfo) (out []string) {
		for p := range n.Pods() {
			out = append(out, p.Name)
		}
		return out
	}
	n := r.s.nodes.named("n1").clone()
	there := slices.Collect(n.Pods())
	x, y := pod("x"), pod("y")
	n.remove(there[0])
	n.add(x)
	n.add(y)
	c := n.clone()
	c.remove(x)
	c.remove(there[1])
	c.add(there[0])
	c.add(pod("z"))
	require.Equal(t, []string{"b", "x", "y"}, names(n))
	require.Equal(t, []string{"a", "y", "z"}, names(c))
	require.True(t, n.Changed())
	require.False(t, r.s.nodes.named("n1").Changed())
}

// The caller chooses among the nodes of equal total, by the plan and by the plugins.
func TestTie(t *testing.T) {
	everyWay(t, func(t *testing.T, o Options) {
		asked := 0
		o.Tie = func(n int) int { asked = n; return n - 1 }
		r := newRig(t, o, three())
		r.add(pod("p")).step()
		require.Equal(t, 3, asked)
		require.Equal(t, "n3", r.last().Node)
	})
}

// Claims that are gone at PreBind fail it. A pod exists for the queue until the Client says otherwise.
func TestWhatIsNotThere(t *testing.T) {
	r := newRig(t, Options{}, three())
	bind := r.framework().plugins[nameDynamicResources].(PreBindPlugin)
	require.Error(t, bind.PreBind(ctx, NewState(), withClaim(pod("p"), "gone"), "n1").AsError())
	_, there := r.s.known(pod("p"))
	require.False(t, there)
	r.s.o.Client = podless{r.server}
	r.s.queue.Read(func(*queue.Queue) { _, there = r.s.known(pod("p")) })
	require.True(t, there)
	require.Len(t, r.errs, 1, "the queue reports it when its lock is free")
	require.ErrorContains(t, r.errs[0], "Client.Pod panicked: boom")

	p := identified([]*v1.Pod{testkit.Pod("default/p").On("n1").Obj()})[0]
	require.Same(t, p, r.s.cache.lastKnown(p), "the cache does not know it")
	_, err := r.s.cache.set(p)
	require.NoError(t, err)
	require.Same(t, p, r.s.cache.lastKnown(p.DeepCopy()))
}

// The list of calls that have not answered has them all, the oldest first.
func TestHangingCalls(t *testing.T) {
	var c calls
	a := c.enter(callee{at: "A"})
	b := c.enter(callee{at: "B"})
	require.EqualError(t, c.hanging(), "A has not answered\nB has not answered")
	c.leave(a)
	require.EqualError(t, c.hanging(), "B has not answered")
	c.leave(b)
	require.NoError(t, c.hanging())
}

// The queue returns its errors.
func TestQueueErrors(t *testing.T) {
	r := newRig(t, Options{}, three())
	r.add(pod("p"))
	e := r.s.queue.TryPop()
	require.Error(t, r.s.queue.Return(e, queue.Failure{Pod: pod("other")}))
	require.Error(t, r.s.queue.Update(e.Pod, pod("other")))
}

// Pods that are in flight when the queue closes have a last move.
func TestMovesOfClose(t *testing.T) {
	r := newRig(t, Options{}, three())
	r.add(pod("p"))
	require.NotNil(t, r.s.queue.TryPop())
	before := len(r.moves)
	require.NoError(t, r.s.Close())
	require.Len(t, r.moves, before+1)
	require.Contains(t, r.moves[before], "default/p")
}

// A time to live of a moment is one.
func TestShortTimeToLive(t *testing.T) {
	c := newCache(1)
	c.bound(pod("unknown"), time.Time{})
	p := identified([]*v1.Pod{testkit.Pod("default/p").On("n1").Obj()})[0]
	require.NoError(t, c.assume(p))
	_, ok := c.next()
	require.False(t, ok, "the pod is not bound")
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	c.bound(p, now)
	at, ok := c.next()
	require.True(t, ok)
	require.Equal(t, now.Add(1), at)
	require.Empty(t, c.overdue(now))
	require.Equal(t, []*v1.Pod{p}, c.overdue(now.Add(1)))
}

// A reader of the cluster hears of a change that the cluster refused.
func TestViewReports(t *testing.T) {
	r := newRig(t, Options{}, three())
	r.s.cache.later(func(*cluster.Snapshot) error { return errors.New("refused") })
	looked := false
	r.s.View(func(*cluster.Snapshot) { looked = true })
	require.True(t, looked)
	require.Len(t, r.errs, 1)
	require.EqualError(t, r.errs[0], "refused")
}

// closing is a plugin that fails to close.
type closing struct{ *probe }

func (closing) Close() error { panic("boom") }

// A plugin that panics while it is closed is named.
func TestCloseOfPlugin(t *testing.T) {
	_, list := probes(1)
	p, reg := on(list, Filter)
	reg["A"] = func(any, *Handle) (Plugin, error) { return closing{list[0]}, nil }
	r := newRig(t, Options{Profiles: []Profile{p}, Plugins: reg}, three())
	require.ErrorContains(t, r.framework().close(), `Close of plugin "A" panicked: boom`)
	require.ErrorContains(t, r.s.Close(), `Close of plugin "A" panicked: boom`)
}

// Preemption ends the context of PreBind and says why.
func TestPreBindIsCancelled(t *testing.T) {
	r := newRig(t, Options{}, three())
	p := identified([]*v1.Pod{pod("p")})[0]
	require.False(t, r.s.cancel(p), "the pod is not in PreBind")
	inside := r.s.enterBinding(context.Background(), p)
	require.NoError(t, inside.Err())
	require.True(t, r.s.cancel(p))
	require.Equal(t, errPreempted, context.Cause(inside))
	require.True(t, r.s.leaveBinding(p, true))
	require.True(t, r.s.cancel(p), "its room is not back yet")
	r.s.roomBack(p)
	require.False(t, r.s.cancel(p), "its room is back")

	inside = r.s.enterBinding(context.Background(), p)
	require.False(t, r.s.leaveBinding(p, true))
	require.Equal(t, context.Canceled, context.Cause(inside))
	require.False(t, r.s.cancel(p), "it is being bound")

	r.s.enterBinding(context.Background(), p)
	require.False(t, r.s.leaveBinding(p, false))
	require.True(t, r.s.cancel(p), "it failed, and its room is not back yet")
}

// A node has its own name only.
func TestNodeByName(t *testing.T) {
	var l nodeList
	require.Nil(t, l.named("n1"), "no nodes")
	r := newRig(t, Options{}, []*v1.Node{node("n1")})
	require.Equal(t, "n1", r.s.nodes.named("n1").Node.Name)
	require.Nil(t, r.s.nodes.named(""))
	require.Nil(t, r.s.nodes.named("n2"))
	r.s.DeleteNode(node("n1"))
	require.NoError(t, r.s.refresh())
	require.Nil(t, r.s.nodes.named("n1"))
}

// The scheduler's plan is used only when it has scores to choose by.
func TestPlanOfScores(t *testing.T) {
	type test struct {
		name    string
		enabled []PluginRef
		release release.Version
		plan    bool
	}
	testkit.Run(t, []test{
		{"no scores", nil, release.Current, true},
		{"a score", []PluginRef{{Name: "ImageLocality"}}, release.Current, true},
		{"a score of devices", []PluginRef{{Name: nameDynamicResources}}, release.Current, true},
		{"a score of storage", []PluginRef{{Name: "VolumeBinding"}}, release.V1_37, true},
		{"a score that never scores", []PluginRef{{Name: "VolumeBinding"}}, release.V1_36, false},
	}, func(t *testing.T, c test) {
		r := newRig(t, Options{Release: c.release, Profiles: []Profile{{Plugins: Plugins{
			PreScore: {Disabled: []string{"*"}, Enabled: filterNamed(c.enabled, "VolumeBinding")}, Score: {Disabled: []string{"*"}, Enabled: c.enabled},
		}}}}, three())
		require.Equal(t, c.plan, r.framework().plan != nil)
	})
}

func filterNamed(list []PluginRef, name string) (out []PluginRef) {
	for _, x := range list {
		if x.Name == name {
			out = append(out, x)
		}
	}
	return out
}

// A patch is written unless the pod has all of it.
func TestPatchChanges(t *testing.T) {
	condition := func(change func(*v1.PodCondition)) *v1.PodCondition {
		c := v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: "R", Message: "M"}
		change(&c)
		return &c
	}
	same := condition(func(*v1.PodCondition) {})
	n1, none := "n1", ""
	type test struct {
		name      string
		had       *v1.PodCondition
		nominated *string // of the patch
		kept      string
		want      StatusPatch
	}
	testkit.Run(t, []test{
		{"the same", same, nil, "", StatusPatch{}},
		{"another type", condition(func(c *v1.PodCondition) { c.Type = v1.PodReady }), nil, "", StatusPatch{Condition: same}},
		{"another status", condition(func(c *v1.PodCondition) { c.Status = v1.ConditionTrue }), nil, "", StatusPatch{Condition: same}},
		{"another reason", condition(func(c *v1.PodCondition) { c.Reason = "S" }), nil, "", StatusPatch{Condition: same}},
		{"another message", condition(func(c *v1.PodCondition) { c.Message = "N" }), nil, "", StatusPatch{Condition: same}},
		{"no nomination, as before", same, &none, "", StatusPatch{}},
		{"a nomination", same, &n1, "", StatusPatch{Condition: same, NominatedNode: &n1}},
		{"the end of one that is on its way", same, &none, "n1", StatusPatch{Condition: same, NominatedNode: &none}},
	}, func(t *testing.T, c test) {
		p := pod("p")
		p.Status.Conditions = []v1.PodCondition{*c.had}
		patch := StatusPatch{Condition: same, NominatedNode: c.nominated}
		require.Equal(t, c.want, patch.changes(p, nil, c.kept))
		require.Equal(t, c.want, patch.changes(&v1.Pod{}, p, c.kept), "the present version counts")
	})
}
