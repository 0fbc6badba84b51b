package queue

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// clique is a queue with groups, and the groups.
type clique struct {
	*rig
	groups     map[string]*podgroup.Group
	composites map[string]*podgroup.Composite
	came       int
}

func (c *clique) Group(namespace, name string) *podgroup.Group {
	if g := c.groups[name]; g != nil && g.Namespace == namespace {
		return g
	}
	return nil
}

func (c *clique) Composite(namespace, name string) *podgroup.Composite {
	if x := c.composites[name]; x != nil && x.Namespace == namespace {
		return x
	}
	return nil
}

func (c *clique) Groups(namespace string) iter.Seq[*podgroup.Group] { return each(c.groups, namespace) }
func (c *clique) Composites(namespace string) iter.Seq[*podgroup.Composite] {
	return each(c.composites, namespace)
}

// each yields the objects of a namespace by name.
func each[T metav1.Object](m map[string]T, namespace string) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, name := range sortedKeys(m) {
			if m[name].GetNamespace() == namespace && !yield(m[name]) {
				return
			}
		}
	}
}

// newClique makes a queue whose profile has more registrations beside those of groups and of the default plugins.
func newClique(t *testing.T, gates podgroup.Gates, more ...Registration) *clique {
	c := &clique{groups: map[string]*podgroup.Group{}, composites: map[string]*podgroup.Composite{}}
	known := func(g *podgroup.Group) (n int) {
		for _, p := range c.pods {
			if name, _ := podgroup.Of(p); name == g.Name {
				n++
			}
		}
		return n
	}
	o := &GroupOptions{Objects: c, Gates: gates, Known: known}
	events := slices.Concat(o.Events(), DefaultEvents(nil, 0), more)
	c.rig = newRig(t, Options{Groups: o, Profiles: map[string]Profile{defaultScheduler: {Gates: []Gate{SchedulingGates(), o.Gate()}, Events: events}}})
	return c
}

// group makes or changes a group and tells the queue.
func (c *clique) group(name, parent string, minimum, priority int32) {
	old := c.groups[name]
	g := &podgroup.Group{Spec: podgroup.Spec{Parent: parent, Minimum: &minimum, Priority: &priority}}
	g.Namespace, g.Name, g.UID = "default", name, types.UID(name)
	c.groups[name] = g
	if old == nil {
		c.q.Move(Change{Event: Event{Resource: podGroup, Action: Add}, New: g}, c.now)
	} else {
		c.q.Move(Change{Event: Event{Resource: podGroup, Action: Update}, Old: old, New: g}, c.now)
	}
}

func (c *clique) composite(name, parent string, minimum int32) {
	x := &podgroup.Composite{Spec: podgroup.Spec{Parent: parent, Minimum: &minimum}}
	x.Namespace, x.Name, x.UID = "default", name, types.UID(name)
	c.composites[name] = x
	c.q.Move(Change{Event: Event{Resource: compositePodGroup, Action: Add}, New: x}, c.now)
}

func (c *clique) removeGroup(name string) {
	g := c.groups[name]
	delete(c.groups, name)
	c.q.Move(Change{Event: Event{Resource: podGroup, Action: Delete}, Old: g}, c.now)
}

// come adds a pod of a group; "a!" has a scheduling gate.
func (c *clique) come(group string, names ...string) {
	for _, name := range names {
		name, gated := strings.CutSuffix(name, "!")
		p := testkit.Pod(name).Obj()
		c.came++
		p.Namespace, p.UID = "default", types.UID(fmt.Sprint(name, c.came))
		if group != "" {
			p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
		}
		if gated {
			p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}}
		}
		c.pods[name] = p
		_, err := c.q.Add(p, c.now)
		require.NoError(c.t, err)
		c.q.Move(Change{Event: Event{Resource: unscheduledPod, Action: Add}, New: p}, c.now)
	}
}

// gone deletes a pod.
func (c *clique) gone(name string) {
	p := c.pods[name]
	delete(c.pods, name)
	c.q.Delete(p)
}

// where lists the pods by place: "active: a b; gated: c".
func (c *clique) where() string {
	by := map[Place][]string{}
	for _, st := range c.q.All(c.now) {
		by[st.Place] = append(by[st.Place], st.Pod.Name)
	}
	var out []string
	for place := Active; place <= Pending; place++ {
		if by[place] != nil {
			out = append(out, place.String()+": "+strings.Join(by[place], " "))
		}
	}
	return strings.Join(out, "; ")
}

// pop pops a root and returns its members.
func (c *clique) pop() (*Entry, string) {
	e, _ := c.q.Pop(c.now)
	if e == nil {
		return nil, ""
	}
	names := []string{e.Pod.Name}
	for _, m := range e.Members {
		names = append(names, m.Pod.Name)
	}
	return e, strings.Join(names, " ")
}

// returns ends the attempt of a root; names failed, rejected by P, and the others are bound.
func (c *clique) returns(e *Entry, outcome RootOutcome, names ...string) {
	var failed []MemberFailure
	for _, m := range e.Members {
		if slices.Contains(names, m.Pod.Name) {
			failed = append(failed, MemberFailure{m, Failure{Rejecters: []string{"P"}}})
		} else {
			c.q.Done(m.Pod)
		}
	}
	_, err := c.q.ReturnRoot(e, RootResult{outcome, failed}, c.now)
	require.NoError(c.t, err)
}

// rests fails all members of the one root again and again, and checks how many seconds it rests.
func (c *clique) rests(seconds []time.Duration, names ...string) {
	for _, rest := range seconds {
		e, _ := c.pop()
		require.NotNil(c.t, e)
		c.returns(e, RootUnschedulable, names...)
		c.q.Move(Change{Event: nodeAdd, New: &v1.Node{}}, c.now)
		require.Equal(c.t, "error backoff: "+strings.Join(names, " "), c.where())
		at, ok := c.q.Next(c.now)
		require.True(c.t, ok)
		require.Equal(c.t, c.now.Add((rest+1)*time.Second), at)
		none, _ := c.pop()
		require.Nil(c.t, none, "never early")
		c.now = at
		c.q.Advance(c.now)
	}
}

func ungated(p *v1.Pod) *v1.Pod {
	p = p.DeepCopy()
	p.Spec.SchedulingGates = nil
	return p
}

// The worked examples of the rules of groups in the queue.
func TestGroups(t *testing.T) {
	on := podgroup.Gates{Topology: true, Composites: true}
	type test struct {
		name, why string
		gates     podgroup.Gates
		play      func(c *clique)
	}
	testkit.Run(t, []test{
		{"E8", "a gang waits for its minimum", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 3, 0)
			c.come("g", "a", "b")
			require.Equal(c.t, "gated: a b", c.where())
			c.come("g", "c")
			require.Equal(c.t, "active: a b c", c.where())
			_, got := c.pop()
			require.Equal(c.t, "podgroup/g a b c", got)
		}},
		{"E9", "pods wait for the object of their group", podgroup.Gates{}, func(c *clique) {
			c.come("g", "a", "b")
			require.Equal(c.t, "incomplete: a b", c.where())
			c.group("g", "", 2, 0)
			require.Equal(c.t, "active: a b", c.where())
		}},
		{"E16", "one gated member holds all", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "a", "b!", "c")
			require.Equal(c.t, "gated: a b c", c.where())
			_, err := c.q.Update(c.pod("b"), ungated(c.pod("b")), c.now)
			require.NoError(c.t, err)
			require.Equal(c.t, "active: a b c", c.where())
		}},
		{"E17", "without its object a group is incomplete", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 3, 0)
			c.come("g", "a", "b")
			c.removeGroup("g")
			require.Equal(c.t, "incomplete: a b", c.where())
			require.Zero(c.t, c.q.Counts().Gated)
			require.Equal(c.t, 2, c.q.Counts().Incomplete)
		}},
		{"E18", "by arrival; members that were tried come first", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "b")
			c.at(time.Millisecond)
			c.come("g", "a")
			e, got := c.pop()
			require.Equal(c.t, "podgroup/g b a", got)
			c.returns(e, RootUnschedulable, "b", "a")
			c.come("g", "0")
			require.Equal(c.t, "error backoff: b a 0", c.where()) // as they were tried, though both return now
		}},
		{"E19", "roots and pods by priority", podgroup.Gates{}, func(c *clique) {
			c.come("", "x")
			c.group("g", "", 2, 10)
			c.come("g", "a", "b")
			_, got := c.pop()
			require.Equal(c.t, "podgroup/g a b", got)
			_, got = c.pop()
			require.Equal(c.t, "x", got)
		}},
		{"E20", "a pod that comes during the attempt is tried next", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "a", "b")
			e, _ := c.pop()
			c.come("g", "late")
			require.Equal(c.t, "in flight: a b; pending: late", c.where())
			require.Equal(c.t, 1, c.q.Counts().Pending)
			c.returns(e, RootScheduled)
			require.Equal(c.t, "active: late", c.where())
		}},
		{"E21", "a smaller minimum opens the gate", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 3, 0)
			c.come("g", "a", "b")
			c.group("g", "", 4, 0)
			require.Equal(c.t, "gated: a b", c.where())
			c.group("g", "", 2, 0)
			require.Equal(c.t, "active: a b", c.where())
		}},
		{"E42", "pods wait for the composite group above their group", on, func(c *clique) {
			c.group("x", "job", 1, 0)
			c.come("x", "xa")
			require.Equal(c.t, "incomplete: xa", c.where())
			c.composite("job", "", 1)
			_, got := c.pop()
			require.Equal(c.t, "compositepodgroup/job xa", got)
		}},
		{"E43", "a tree waits for the minima of its groups", on, func(c *clique) {
			c.composite("job", "", 2)
			c.group("x", "job", 1, 0)
			c.group("y", "job", 2, 0)
			c.come("x", "xa")
			c.come("y", "ya")
			require.Equal(c.t, "gated: xa ya", c.where())
			c.come("y", "yb")
			require.Equal(c.t, "active: xa ya yb", c.where())
		}},
		{"E89", "a cycle of parents never ends", on, func(c *clique) {
			c.composite("p", "q", 1)
			c.composite("q", "p", 1)
			c.group("x", "p", 1, 0)
			c.come("x", "a")
			require.Equal(c.t, "incomplete: a", c.where())
		}},
		{"E6", "members that are too many are tried again at once, then rest", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "a", "b", "c")
			e, _ := c.pop()
			c.returns(e, RootScheduled, "c")
			require.Equal(c.t, "active: c", c.where())
			e, _ = c.pop()
			c.returns(e, RootUnschedulable, "c")
			require.Equal(c.t, "error backoff: c", c.where())
		}},
		{"E81", "a failed root rests by the clock alone, longer with more members", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 4, 0)
			c.come("g", "a", "b", "c", "d")
			c.rests([]time.Duration{1, 2, 4, 8, 16, 20, 20}, "a", "b", "c", "d")
		}},
		{"PG7.3 two members", "the longest rest of two is 14.1 s", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "a", "b")
			c.rests([]time.Duration{1, 2, 4, 8, 14, 14}, "a", "b")
		}},
		{"PG7.3 one member", "the longest rest of one is that of a pod", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a")
			c.rests([]time.Duration{1, 2, 4, 8, 10, 10}, "a")
		}},
		{"E82", "a gated root stays so when its gated member goes", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a", "b!")
			c.gone("b")
			require.Equal(c.t, "gated: a", c.where())
			c.come("g", "c")
			require.Equal(c.t, "gated: a c", c.where())
			c.at(6 * time.Minute)
			c.q.Advance(c.now)
			require.Equal(c.t, "active: a c", c.where())
		}},
		{"E83", "a gated newcomer gates the root", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "a", "b")
			require.Equal(c.t, "active: a b", c.where())
			c.come("g", "c!")
			require.Equal(c.t, "gated: a b c", c.where())
		}},
		{"E84", "members on nodes count for a larger minimum", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "a", "b")
			e, _ := c.pop()
			c.returns(e, RootScheduled)
			c.group("g", "", 4, 0)
			c.come("g", "c")
			require.Equal(c.t, "gated: c", c.where())
			c.come("g", "e")
			require.Equal(c.t, "active: c e", c.where())
		}},
		{"PG2.10 in backoff", "a newcomer does not end the rest", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a")
			e, _ := c.pop()
			c.returns(e, RootFailed, "a")
			c.come("g", "b")
			require.Equal(c.t, "error backoff: a b", c.where())
		}},
		{"PG2.10 gated in backoff", "a gated newcomer gates a root that rests; the end of a rest asks no gate", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a")
			e, _ := c.pop()
			c.returns(e, RootUnschedulable, "a")
			c.come("g", "b!")
			require.Equal(c.t, "gated: a b", c.where())
			c.gone("b")
			c.at(6 * time.Minute)
			c.q.Advance(c.now)
			e, _ = c.pop()
			c.returns(e, RootUnschedulable, "a")
			c.group("g", "", 2, 0)
			c.at(7 * time.Minute)
			c.q.Advance(c.now)
			require.Equal(c.t, "active: a", c.where(), "though the gang has too few pods now")
		}},
		{"PG2.11 active", "the gates of the others are asked again", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "a", "b", "c")
			c.gone("a")
			require.Equal(c.t, "active: b c", c.where())
			c.gone("c")
			require.Equal(c.t, "gated: b", c.where())
			c.come("g", "d")
			require.Equal(c.t, "active: b d", c.where())
		}},
		{"PG2.11 resting", "the others rest on, or a gate holds them", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "a", "b", "c")
			e, _ := c.pop()
			c.returns(e, RootUnschedulable, "a", "b", "c")
			end, _ := c.q.Next(c.now)
			c.at(500 * time.Millisecond)
			c.q.Advance(c.now)
			c.gone("a")
			require.Equal(c.t, "error backoff: b c", c.where())
			same, _ := c.q.Next(c.now)
			require.Equal(c.t, end, same)
			c.gone("b")
			require.Equal(c.t, "gated: c", c.where())
			require.Equal(c.t, c.now, c.q.members[keyOf(c.pod("c"))].root.since)
			c.come("g", "d")
			require.Equal(c.t, "error backoff: c d", c.where(), "the rest has not ended")
		}},
		{"PG2.11 a group of the tree", "the gates of the rest of the tree are asked again when a group goes", podgroup.Gates{Topology: true, Composites: true}, func(c *clique) {
			c.composite("job", "", 2)
			c.group("x", "job", 1, 0)
			c.group("y", "job", 1, 0)
			c.come("x", "xa")
			c.come("y", "ya")
			require.Equal(c.t, "active: xa ya", c.where())
			c.removeGroup("y")
			require.Equal(c.t, "gated: xa; incomplete: ya", c.where())
		}},
		{"PG2.11 the last member", "an empty root goes", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a")
			c.gone("a")
			require.Empty(c.t, c.where())
			require.Equal(c.t, Counts{}, c.q.Counts())
		}},
		{"PG7.1 vanished", "members of a group that goes during the attempt are incomplete", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a")
			e, _ := c.pop()
			c.removeGroup("g")
			c.returns(e, RootUnschedulable, "a")
			require.Equal(c.t, "incomplete: a", c.where())
		}},
		{"PG7.1 made again", "the root has the priority of the group as it is now", podgroup.Gates{}, func(c *clique) {
			c.come("", "x")
			c.group("g", "", 1, 10)
			c.come("g", "a")
			e, _ := c.pop()
			c.removeGroup("g")
			c.group("g", "", 1, -10)
			c.returns(e, RootScheduled, "a")
			_, got := c.pop()
			require.Equal(c.t, "x", got)
			_, got = c.pop()
			require.Equal(c.t, "podgroup/g a", got)
		}},
		{"PG7.1 untold", "the object of the group is gone, and the event has not come yet", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a")
			e, _ := c.pop()
			c.come("g", "late")
			g := c.groups["g"]
			delete(c.groups, "g")
			c.returns(e, RootUnschedulable, "a")
			require.Equal(c.t, "incomplete: late a", c.where())
			c.q.Move(Change{Event: Event{Resource: podGroup, Action: Delete}, Old: g}, c.now)
			require.Equal(c.t, "incomplete: late a", c.where())
		}},
		{"PG7.1 deleted", "a member that goes during the attempt does not return", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a", "b")
			e, _ := c.pop()
			c.gone("a")
			c.returns(e, RootUnschedulable, "a", "b")
			require.Equal(c.t, "error backoff: b", c.where())
		}},
		{"PG7.4", "members count their own failures: without a plugin that rejected one it is an error", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 2, 0)
			c.come("g", "a", "b")
			e, _ := c.pop()
			a, b := e.Members[0], e.Members[1]
			_, err := c.q.ReturnRoot(e, RootResult{RootUnschedulable, []MemberFailure{{Entry: a}, {b, Failure{Rejecters: []string{"P"}}}}}, c.now)
			require.NoError(c.t, err)
			require.Equal(c.t, []int{0, 1}, []int{e.ConsecutiveErrorsCount, e.UnschedulableCount})
			require.Equal(c.t, []int{1, 0}, []int{a.ConsecutiveErrorsCount, a.UnschedulableCount})
			require.Equal(c.t, []int{0, 1}, []int{b.ConsecutiveErrorsCount, b.UnschedulableCount})
		}},
		{"PG7.5 binding", "a member that is not bound comes back to its root", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a", "b")
			e, _ := c.pop()
			a := e.Members[0]
			_, err := c.q.ReturnRoot(e, RootResult{Outcome: RootScheduled}, c.now)
			require.NoError(c.t, err)
			require.Equal(c.t, "in flight: a b", c.where())
			_, err = c.q.Return(a, Failure{}, c.now)
			require.NoError(c.t, err)
			require.Equal(c.t, "active: a; in flight: b", c.where())
		}},
		{"PG3.7 nominations", "a waiting member holds its nominated node whole, a member that is tried does not", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a")
			e, _ := c.pop()
			_, err := c.q.ReturnRoot(e, RootResult{Outcome: RootUnschedulable, Failed: []MemberFailure{{e.Members[0], Failure{Nomination: Nomination{Override: true, Node: "n1"}}}}}, c.now)
			require.NoError(c.t, err)
			require.Same(c.t, c.pod("a"), c.q.NominatedFor("n1")[0])
			c.at(time.Minute)
			c.q.Advance(c.now)
			c.pop()
			require.NotSame(c.t, c.pod("a"), c.q.NominatedFor("n1")[0])
		}},
		{"PG7.6 activate", "a member activates its root", podgroup.Gates{}, func(c *clique) {
			c.group("g", "", 1, 0)
			c.come("g", "a", "b")
			e, _ := c.pop()
			c.returns(e, RootUnschedulable, "a", "b")
			c.q.Activate(c.now, c.pod("b"))
			require.Equal(c.t, "active: a b", c.where())
		}},
	}, func(t *testing.T, c test) { c.play(newClique(t, c.gates)) })
}

// Whatever happens, each pod is in one place, with the other pods of its root.
func TestGroupsKeepEveryPod(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newClique(t, podgroup.Gates{Topology: true, Composites: r.IntN(2) == 0})
		flying, binding := (*Entry)(nil), []*Entry(nil)
		groups := []string{"g", "h", "x", "y", ""}
		for step := range 60 {
			c.now = c.now.Add(time.Duration(r.IntN(1500)) * time.Millisecond)
			switch name := fmt.Sprintf("p%d", r.IntN(12)); r.IntN(9) {
			case 0, 1:
				if c.pods[name] == nil {
					c.come(groups[r.IntN(len(groups))], name+strings.Repeat("!", r.IntN(5)/4))
				}
			case 2:
				if p := c.pods[name]; p != nil {
					_, err := c.q.Update(p, ungated(p), c.now)
					require.NoError(t, err)
				}
			case 3:
				if c.pods[name] != nil {
					c.gone(name)
				}
			case 4:
				g := groups[r.IntN(4)]
				if c.groups[g] != nil && r.IntN(3) == 0 {
					c.removeGroup(g)
				} else {
					c.group(g, map[string]string{"x": "job", "y": "job"}[g], 1+r.Int32N(3), c.priorityOf(g))
				}
			case 5:
				if c.composites["job"] == nil {
					c.composite("job", "", 1+r.Int32N(2))
				}
			case 6:
				c.q.Advance(c.now)
			case 7:
				if flying != nil {
					break
				}
				e, _ := c.q.Pop(c.now)
				switch {
				case e == nil:
				case e.Members != nil:
					flying = e
				default:
					c.q.Done(e.Pod)
					delete(c.pods, e.Pod.Name)
				}
			case 8:
				for _, e := range binding {
					if _, err := c.q.Return(e, Failure{}, c.now); err != nil {
						require.ErrorIs(t, err, ErrQueued) // another pod of that name
					}
				}
				if binding = nil; flying == nil {
					break
				}
				result := RootResult{Outcome: RootOutcome(r.IntN(3))}
				for _, m := range flying.Members {
					if result.Outcome == RootScheduled && r.IntN(2) == 0 {
						binding = append(binding, m)
					} else {
						result.Failed = append(result.Failed, MemberFailure{m, Failure{Rejecters: []string{"NodeResourcesFit"}}})
					}
				}
				_, err := c.q.ReturnRoot(flying, result, c.now)
				require.NoError(t, err)
				flying = nil
			}
			c.check(fmt.Sprintf("seed %d step %d", seed, step))
		}
	}
}

func (c *clique) priorityOf(group string) int32 {
	if g := c.groups[group]; g != nil {
		return *g.Priority
	}
	return 0
}

// check holds the queue against its invariants.
func (c *clique) check(at string) {
	var listed []string
	counts := Counts{}
	for _, st := range c.q.All(c.now) {
		if p := c.pods[st.Pod.Name]; st.Place != InFlight || p != nil && p.UID == st.Pod.UID {
			listed = append(listed, st.Pod.Name)
		}
		*map[Place]*int{Active: &counts.Active, Backoff: &counts.Backoff, ErrorBackoff: &counts.Backoff, Unschedulable: &counts.Unschedulable,
			Gated: &counts.Gated, InFlight: &counts.InFlight, Incomplete: &counts.Incomplete, Pending: &counts.Pending}[st.Place]++
	}
	slices.Sort(listed)
	require.Equal(c.t, sortedKeys(c.pods), listed, at)
	require.Equal(c.t, counts, c.q.Counts(), at)
	for key, e := range c.q.entries {
		require.Equal(c.t, key, keyOf(e.Pod), at)
		for k, m := range e.Members {
			require.Same(c.t, e, m.root, at)
			require.Same(c.t, m, c.q.members[keyOf(m.Pod)], at)
			stand, err := c.q.standIn(m.Pod)
			require.NoError(c.t, err, at)
			require.Equal(c.t, keyOf(stand), key, at)
			require.True(c.t, k == 0 || podgroup.CompareMembers(e.Members[k-1].asMember(), m.asMember()) <= 0, at)
		}
		require.Equal(c.t, strings.Contains(key.Name, "/"), len(e.Members) > 0, at)
	}
}

// BenchmarkGroups adds a gang of 1,000 pods, pops it and returns it.
func BenchmarkGroups(b *testing.B) {
	needs := int32(1000)
	c := &clique{groups: map[string]*podgroup.Group{"g": {Spec: podgroup.Spec{Minimum: &needs}}}}
	c.groups["g"].Namespace, c.groups["g"].Name = "default", "g"
	known, name := 0, "g"
	var pods []*v1.Pod
	for k := range needs {
		p := testkit.Pod(fmt.Sprint("default/p", k)).Obj()
		p.UID, p.Spec.SchedulingGroup = types.UID(p.Name), &v1.PodSchedulingGroup{PodGroupName: &name}
		pods = append(pods, p)
	}
	o := &GroupOptions{Objects: c, Known: func(*podgroup.Group) int { return known }}
	for b.Loop() {
		known = 0
		q, err := New(Options{Groups: o, Profiles: map[string]Profile{defaultScheduler: {Gates: []Gate{SchedulingGates(), o.Gate()}, Events: append(o.Events(), DefaultEvents(nil, 0)...)}}})
		require.NoError(b, err)
		for _, p := range pods {
			known++
			_, err := q.Add(p, noon)
			require.NoError(b, err)
			q.Move(Change{Event: Event{Resource: unscheduledPod, Action: Add}, New: p}, noon)
		}
		e, _ := q.Pop(noon)
		require.Len(b, e.Members, len(pods))
		var failed []MemberFailure
		for _, m := range e.Members {
			failed = append(failed, MemberFailure{m, Failure{Rejecters: []string{"NodeResourcesFit"}}})
		}
		_, err = q.ReturnRoot(e, RootResult{RootUnschedulable, failed}, noon)
		require.NoError(b, err)
	}
}

// Counts counts pods, Entities pods without a group apart from trees, and a root moves with all its members (PG7.7).
func TestEntities(t *testing.T) {
	c := newClique(t, podgroup.Gates{})
	alone := testkit.Pod("default/alone").Obj()
	_, err := c.q.Add(alone, c.now)
	require.NoError(t, err)
	c.come("late", "i")
	c.group("g", "", 2, 0)
	c.come("g", "a")
	pods, trees := c.q.Entities()
	require.Equal(t, Counts{Active: 1}, pods)
	require.Equal(t, Counts{Gated: 1}, trees)
	require.Equal(t, Counts{Active: 1, Gated: 1, Incomplete: 1}, c.q.Counts())
	c.come("g", "b", "c")
	pods, trees = c.q.Entities()
	require.Equal(t, Counts{Active: 1}, pods)
	require.Equal(t, Counts{Active: 1}, trees)
	require.Equal(t, Counts{Active: 4, Incomplete: 1}, c.q.Counts())
	_, _ = c.q.Pop(c.now)
	root, moves := c.q.Pop(c.now)
	require.Equal(t, 3, moves[len(moves)-1].Members)
	c.come("g", "d")
	require.Equal(t, Counts{InFlight: 4, Incomplete: 1, Pending: 1}, c.q.Counts())
	var failed []MemberFailure
	for _, m := range root.Members {
		failed = append(failed, MemberFailure{m, Failure{Pod: m.Pod}})
	}
	moves, err = c.q.ReturnRoot(root, RootResult{Outcome: RootUnschedulable, Failed: failed}, c.now)
	require.NoError(t, err)
	require.Equal(t, 4, moves[len(moves)-1].Members)
	_, trees = c.q.Entities()
	require.Equal(t, Counts{Backoff: 1}, trees)
	require.Equal(t, Counts{InFlight: 1, Incomplete: 1, Backoff: 4}, c.q.Counts())
}
