package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/queue"
)

// groupStorm is a storm over groups: it knows for which pods a binding was begun.
type groupStorm struct {
	*storm
	begun  map[string]bool
	groups []*podgroup.Group
	asked  map[string]string // what each member of a group asks for
	made   int
	gone   map[string]bool // groups that have lost a member, or got another minimum
}

func (c *groupStorm) Bind(ctx context.Context, pod *v1.Pod, node string) error {
	c.begun[podinfo.Name(pod)] = true
	return c.storm.Bind(ctx, pod, node)
}

func (c *groupStorm) Delete(ctx context.Context, pod *v1.Pod) error {
	if name, ok := podgroup.Of(pod); ok {
		c.gone[name] = true
	}
	return c.storm.Delete(ctx, pod)
}

func (c *groupStorm) PatchGroup(ctx context.Context, g *podgroup.Group, condition metav1.Condition) error {
	c.trip("PatchGroup before")
	err := c.server.PatchGroup(ctx, g, condition)
	c.trip("PatchGroup after")
	return err
}

// come makes a group with its pods, in either order; some groups lack a pod.
func (c *groupStorm) come(r *rig) {
	n := len(c.groups)
	minimum, priority := int32(1+c.IntN(4)), int32(c.IntN(3)*5)
	g := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("g%d", n), UID: types.UID(fmt.Sprintf("uid-g%d", n))}}
	g.Minimum, g.Priority, g.DisruptAll = &minimum, &priority, c.IntN(3) == 0
	c.groups = append(c.groups, g)
	c.asked[g.Name] = fmt.Sprintf("cpu=%d", 1+c.IntN(2))
	late := c.IntN(3) == 0
	if !late {
		r.s.Set(nil, g)
	}
	for range int(minimum) + c.IntN(3) - 1 {
		c.member(r, g)
	}
	if late {
		r.s.Set(nil, g)
	}
}

func (c *groupStorm) member(r *rig, g *podgroup.Group) {
	x := testkit.Pod(fmt.Sprintf("default/m%02d", c.made)).Priority(*g.Priority).Request(c.asked[g.Name]).Obj()
	x.UID = types.UID(fmt.Sprintf("uid-m%02d", c.made))
	x.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &g.Name}
	c.made++
	r.add(x)
}

// meddle changes one group: a member comes or goes, or the minimum changes.
func (c *groupStorm) meddle(r *rig) {
	g := c.groups[c.IntN(len(c.groups))]
	switch c.IntN(4) {
	case 0:
		c.member(r, g)
	case 1:
		next := *r.s.groups.Group(g.Namespace, g.Name)
		next.Minimum = new(int32(1 + c.IntN(4)))
		c.gone[g.Name] = true
		r.s.Set(r.s.groups.Group(g.Namespace, g.Name), &next)
	case 2:
		for _, name := range sortedKeys(c.pods) {
			if own, _ := podgroup.Of(c.pods[name]); own == g.Name {
				p := c.pods[name]
				delete(c.pods, name)
				c.gone[g.Name] = true
				r.s.DeletePod(p)
				return
			}
		}
	}
}

// picture says where every pod is.
func (c *groupStorm) picture(r *rig) (out string) {
	for _, name := range sortedKeys(c.pods) {
		p := c.pods[name]
		group, _ := podgroup.Of(p)
		out += fmt.Sprintf("%s of %q, priority %d, %dm: on %q, nominated for %q, in %v\n", name, group, *p.Spec.Priority, milli(p), p.Spec.NodeName, p.Status.NominatedNodeName, r.place(p))
	}
	for _, g := range c.groups {
		out += fmt.Sprintf("%s needs %d\n", g.Name, r.s.groups.Group(g.Namespace, g.Name).Needs())
	}
	return out
}

// Fault schedules with groups: the client and the callbacks panic at random while groups come, grow, shrink and preempt. When the panics are
// over, no pod is lost or bound twice, no node is over its capacity, no group waits that has room, and no group is bound in part, unless
// it has lost members or a binding of one of them has failed and its room went to others.
func TestChaosOfGroups(t *testing.T) {
	tripped, strict, partly, victims := map[string]int{}, 0, 0, 0
	for seed := range uint64(*chaosSeeds) {
		at := fmt.Sprintf("seed %d", seed)
		c := &groupStorm{storm: &storm{Rand: rand.New(rand.NewPCG(seed, 61)), calm: true, tripped: tripped}, begun: map[string]bool{}, asked: map[string]string{}, gone: map[string]bool{}}
		r := newRig(t, Options{Groups: &podgroup.Gates{}}, three())
		c.server = r.server
		r.s.o.Client, r.s.o.Recorder = c, c
		r.s.o.OnResult = func(Result) { c.trip("OnResult") }
		r.s.o.OnError = func(error) { c.trip("OnError") }
		r.s.o.OnMove = func(queue.Move, time.Time) { c.trip("OnMove") }
		c.calm = false
		for n := range 8 {
			c.come(r)
			if c.IntN(2) == 0 {
				r.add(testkit.Pod(fmt.Sprintf("default/p%02d", n)).Priority(int32(c.IntN(4))).Request(fmt.Sprintf("cpu=%d", 1+c.IntN(3))).Obj())
			}
			for range 14 {
				c.do(r)
				if c.IntN(12) == 0 {
					c.meddle(r)
				}
				c.used(t, at)
			}
		}
		c.settle(r)
		used := c.used(t, at)
		// A nomination that another pod keeps holds its room: members that fail keep theirs (PG3.11).
		room := func(p *v1.Pod) (n int64) {
			own, _ := podgroup.Of(p)
			for _, node := range three() {
				left := 4000 - used[node.Name]
				for _, other := range c.pods {
					if group, _ := podgroup.Of(other); other.Status.NominatedNodeName == node.Name && *other.Spec.Priority >= *p.Spec.Priority && (group == "" || group != own) {
						left -= milli(other)
					}
				}
				n += max(0, left) / milli(p)
			}
			return n
		}
		for name, p := range c.pods {
			require.LessOrEqual(t, c.bound[name], 1, "%s: %s is bound once", at, name)
			if _, member := podgroup.Of(p); p.Spec.NodeName == "" {
				require.NotEqual(t, queue.Nowhere, r.place(p), "%s: %s is lost", at, name)
				require.True(t, member || room(p) == 0, "%s: %s has room, and is in %v\n%s", at, name, r.place(p), c.picture(r))
			}
		}
		for _, g := range c.groups {
			minimum, bound, begun, waits := int64(r.s.groups.Group(g.Namespace, g.Name).Needs()), int64(0), int64(0), int64(0)
			var one *v1.Pod
			for name, p := range c.pods {
				if own, _ := podgroup.Of(p); own != g.Name {
					continue
				}
				one = p
				if c.begun[name] {
					begun++
				}
				if p.Spec.NodeName != "" {
					bound++
				} else {
					waits++
				}
			}
			if need := max(minimum-bound, 1); waits >= need {
				require.Less(t, room(one), need, "%s: %s of %d has %d pods on nodes and %d wait\n%s", at, g.Name, minimum, bound, waits, c.picture(r))
			}
			if bound == 0 || c.gone[g.Name] {
				continue
			}
			strict++
			if bound < minimum {
				partly++
			}
			require.GreaterOrEqual(t, begun, minimum, "%s: %s is bound in part: %d", at, g.Name, bound)
		}
		pods, assumed := r.s.cache.sizes()
		require.Zero(t, assumed, at)
		require.LessOrEqual(t, pods, len(c.pods), at)
		require.Zero(t, r.s.Waiting(), at)
		require.Empty(t, r.s.preempting, at)
		victims += len(c.deleted)
	}
	for _, what := range []string{"Pod", "Bind before", "Bind after", "PatchStatus before", "PatchGroup before", "PatchGroup after", "Delete before", "Event", "OnResult", "OnError", "OnMove"} {
		require.Positive(t, tripped[what], "%s never panicked", what)
	}
	t.Logf("%d groups that nobody touched have pods on nodes, %d of them fewer than their minimum; %d victims", strict, partly, victims)
	require.Positive(t, strict)
	require.Positive(t, victims)
}
