package scheduler

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/score"
	"github.com/podberth/podberth/volumes"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

var chaosSeeds = flag.Int("chaos", 40, "how many seeds TestChaos runs; 1000 in the long run")

// storm is an API server, a recorder and an extender. A call sometimes panics, before or after it acts.
type storm struct {
	*server
	*rand.Rand
	calm    bool
	tripped map[string]int
	volumes *volumeServer
}

// trip panics in one of eight calls.
func (c *storm) trip(what string) {
	if !c.calm && c.IntN(8) == 0 {
		c.tripped[what]++
		panic(what)
	}
}

func (c *storm) Pod(namespace, name string) *v1.Pod {
	c.trip("Pod")
	return c.server.Pod(namespace, name)
}

func (c *storm) Bind(ctx context.Context, pod *v1.Pod, node string) error {
	c.trip("Bind before")
	if now := c.server.Pod(pod.Namespace, pod.Name); now != nil && now.Spec.NodeName != "" {
		return fmt.Errorf("pod %s is already assigned to node %q", pod.Name, now.Spec.NodeName)
	}
	err := c.server.Bind(ctx, pod, node)
	c.trip("Bind after")
	return err
}

func (c *storm) PatchStatus(ctx context.Context, pod *v1.Pod, patch StatusPatch) error {
	c.trip("PatchStatus before")
	err := c.server.PatchStatus(ctx, pod, patch)
	c.trip("PatchStatus after")
	return err
}

func (c *storm) Delete(ctx context.Context, pod *v1.Pod) error {
	c.trip("Delete before")
	err := c.server.Delete(ctx, pod)
	c.trip("Delete after")
	return err
}

func (c *storm) BindVolumes(ctx context.Context, pod *v1.Pod, d volumes.Decision) error {
	c.trip("BindVolumes before")
	err := c.volumes.BindVolumes(ctx, pod, d)
	c.trip("BindVolumes after")
	return err
}

func (c *storm) Event(pod *v1.Pod, kind, reason, action, note string) { c.trip("Event") }

// stormy is the extender of a storm.
type stormy struct {
	*storm
	ignorable bool
	verbs     map[Verb]bool
}

func (e stormy) Name() string            { e.trip("Name"); return "stormy" }
func (e stormy) Offers(v Verb) bool      { e.trip("Offers"); return e.verbs[v] }
func (e stormy) Interested(*v1.Pod) bool { e.trip("Interested"); return true }
func (e stormy) Ignorable() bool         { e.trip("Ignorable"); return e.ignorable }
func (e stormy) Filter(_ context.Context, _ *v1.Pod, nodes []*v1.Node) (rules.Filtered, error) {
	e.trip("Filter")
	return everyNode(nodes), nil
}
func (e stormy) Prioritize(_ context.Context, _ *v1.Pod, nodes []*v1.Node) (out score.Column, err error) {
	e.trip("Prioritize")
	for _, n := range nodes {
		out.Hosts, out.Scores = append(out.Hosts, n.Name), append(out.Scores, int64(e.IntN(11)))
	}
	out.Weight = 1
	return out, nil
}
func (e stormy) Preempt(_ context.Context, _ *v1.Pod, list []preemption.Candidate) ([]preemption.ExtenderVictims, error) {
	e.trip("Preempt")
	return sameVictims(list), nil
}
func (e stormy) Bind(ctx context.Context, pod *v1.Pod, node string) error {
	return e.storm.Bind(ctx, pod, node)
}

// stormRig makes a scheduler in a storm. The seed chooses a plan or plugins that panic, and an extender or none.
func stormRig(t *testing.T, seed uint64, tripped map[string]int) (*rig, *storm) {
	c := &storm{Rand: rand.New(rand.NewPCG(seed, 26)), calm: true, tripped: tripped}
	o := Options{}
	if seed%2 == 1 {
		_, list := probes(1)
		for _, at := range []Point{PreFilter, Filter, "AddPod", "RemovePod", Score, Reserve, "Unreserve", Permit, "PreFlight", PreBind, PostBind} {
			list[0].do[at] = func() { c.trip("plugin at " + string(at)) }
		}
		p, reg := on(list, PreFilter, Filter, Score, Reserve, Permit, PreBind, PostBind)
		o.Profiles, o.Plugins = []Profile{p}, reg
		if seed%4 == 1 {
			list[0].answer[Permit], list[0].timeout = NewStatus(Wait), 3*time.Second
		}
	}
	if seed%3 != 0 {
		o.Extenders = []Extender{stormy{c, seed%3 == 1, map[Verb]bool{FilterVerb: true, PrioritizeVerb: true, PreemptVerb: true, BindVerb: seed%5 == 0}}}
	}
	if seed%4 == 0 {
		o.Tie = func(n int) int { c.trip("Tie"); return c.IntN(n) }
	}
	r := newRig(t, o, three())
	c.server = r.server
	c.volumes = &volumeServer{s: r.s, at: new(string), volumes: map[string]*v1.PersistentVolume{}, claims: map[string]*v1.PersistentVolumeClaim{}}
	r.s.o.Client, r.s.o.Recorder = c, c
	r.s.o.OnResult = func(Result) { c.trip("OnResult") }
	r.s.o.OnError = func(error) { c.trip("OnError") }
	r.s.o.OnMove = func(queue.Move, time.Time) { c.trip("OnMove") }
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	r.s.Set(nil, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "csi.example.com", VolumeBindingMode: &wait})
	return r, c
}

// arrive adds a pod with a random priority, and sometimes with a claim that no other pod has.
func (c *storm) arrive(r *rig, n int) {
	x := testkit.Pod(fmt.Sprintf("default/p%02d", n)).Priority(int32(c.IntN(4))).Request(fmt.Sprintf("cpu=%d", 1+c.IntN(3))).Obj()
	if c.IntN(3) == 0 {
		class, name := "fast", "claim-"+x.Name
		claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
		claim.Spec.StorageClassName, claim.Spec.AccessModes = &class, []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
		claim.Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: quantity.MustParse("1Gi")}
		c.volumes.claims[name] = claim
		r.s.Set(nil, claim)
		x.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
	r.add(x)
}

// do makes one random step.
func (c *storm) do(r *rig) {
	switch k := c.IntN(10); {
	case k < 5:
		r.s.TryScheduleOne(ctx)
	case k < 8 && len(r.tasks) > 0:
		at := c.IntN(len(r.tasks))
		task := r.tasks[at]
		r.tasks = slices.Delete(r.tasks, at, at+1)
		task()
	case k == 8:
		r.clock.advance(time.Duration(c.IntN(4)) * time.Second)
		r.s.Tick()
	case k == 9:
		for _, w := range r.s.waiting.list() {
			r.s.waiting.allow(w.UID, "A")
		}
	}
}

// settle ends the panics and runs the scheduler until nothing is left to do.
func (c *storm) settle(r *rig) {
	c.calm = true
	for range 12 {
		r.clock.advance(6 * time.Minute)
		r.s.Tick()
		for range 50 {
			for _, w := range r.s.waiting.list() {
				r.s.waiting.allow(w.UID, "A")
			}
			if !r.step() && len(r.tasks) == 0 && r.s.Waiting() == 0 {
				break
			}
		}
	}
}

// milli returns the CPU request of the pod in thousandths.
func milli(p *v1.Pod) int64 { return p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() }

// used returns the CPU that the pods of the API server use by node. It checks that no node is over its capacity.
func (c *storm) used(t *testing.T, at string) map[string]int64 {
	used := map[string]int64{}
	for _, p := range c.pods {
		if p.Spec.NodeName != "" {
			used[p.Spec.NodeName] += milli(p)
			require.LessOrEqual(t, used[p.Spec.NodeName], int64(4000), "%s: %s", at, p.Spec.NodeName)
		}
	}
	return used
}

// Client, Extender, Recorder, callbacks and plugins panic at random. No pod is lost or bound twice, no node is over its
// capacity, and no room leaks. When the panics are over, every pod is bound, or waits in the queue because no node has room
// for the pod.
func TestChaos(t *testing.T) {
	tripped, victims, waited := map[string]int{}, 0, 0
	for seed := range uint64(*chaosSeeds) {
		r, c := stormRig(t, seed, tripped)
		at := fmt.Sprintf("seed %d", seed)
		c.calm = false
		for n := range 14 {
			c.arrive(r, n)
			for range 12 {
				c.do(r)
				c.used(t, at)
			}
		}
		c.settle(r)
		used, bound := c.used(t, at), 0
		for name, p := range c.pods {
			require.LessOrEqual(t, c.bound[name], 1, "%s: %s is bound once", at, name)
			if p.Spec.NodeName != "" {
				bound++
				continue
			}
			waited++
			require.NotEqual(t, queue.Nowhere, r.place(p), "%s: %s is lost", at, name)
			for _, n := range three() {
				require.Greater(t, used[n.Name]+milli(p), int64(4000), "%s: %s has room for %s, which is in %v", at, n.Name, name, r.place(p))
			}
		}
		pods, assumed := r.s.cache.sizes()
		require.Equal(t, bound, pods, at)
		require.Zero(t, assumed, at)
		require.Len(t, c.pods, 14-len(c.deleted), at)
		require.Zero(t, r.s.Waiting(), at)
		require.Empty(t, r.s.binding, at)
		require.Empty(t, r.s.preempting, at)
		require.Empty(t, r.s.calls.list, at)
		var counts queue.Counts
		r.s.queue.Read(func(q *queue.Queue) { counts = q.Counts() })
		require.Equal(t, len(c.pods)-bound, counts.Active+counts.Backoff+counts.Unschedulable+counts.Gated, at)
		require.Zero(t, counts.InFlight, at)
		victims += len(c.deleted)
	}
	for _, what := range []string{
		"Pod", "Bind before", "Bind after", "PatchStatus before", "PatchStatus after", "Delete before", "Delete after", "BindVolumes before", "BindVolumes after",
		"Event", "OnResult", "OnError", "OnMove", "Tie", "Name", "Offers", "Interested", "Ignorable", "Filter", "Prioritize", "Preempt",
		"plugin at Filter", "plugin at RemovePod", "plugin at Reserve", "plugin at Unreserve", "plugin at Permit", "plugin at PreBind", "plugin at PostBind",
	} {
		require.Positive(t, tripped[what], "%s never panicked", what)
	}
	require.Positive(t, victims)
	require.Positive(t, waited)
}
