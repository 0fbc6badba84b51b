package queue

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// diary plays random operations on a queue and writes down every answer.
type diary struct {
	t     *testing.T
	q     *Queue
	rnd   *rand.Rand
	now   time.Time
	shut  map[string]bool
	pods  map[string]*v1.Pod // the last version of each pod
	tried []*Entry
	out   []string
}

type diaryOption struct {
	name string
	o    Options
}

// diaryOptions are the options under which the diaries of every release are kept.
var diaryOptions = []diaryOption{
	{"default", Options{}},
	{"wait out", Options{Legacy: Legacy{WaitOutBackoff: true}, MaxBackoff: ptr(5 * time.Second)}},
	{"no backoff", Options{Legacy: Legacy{WaitOutBackoff: true}, MaxBackoff: new(time.Duration)}},
	{"flush gated", Options{FlushGated: true, Leftover: 40 * time.Second, LeftoverPeriod: 7 * time.Second}},
	{"split", Options{SplitRecreated: true, WholeNominations: true}},
	{"gangs", Options{GangScheduling: true, ExactRegistrations: true}},
	{"share", Options{ShareFailures: true}},
	{"counter", Options{Legacy: Legacy{CycleCounter: true}}},
	{"share and counter", Options{Legacy: Legacy{CycleCounter: true}, ShareFailures: true}},
}

func newDiary(t *testing.T, o Options, seed int64) *diary {
	d := &diary{t: t, rnd: rand.New(rand.NewSource(seed)), now: noon, shut: map[string]bool{}, pods: map[string]*v1.Pod{}}
	o.PodKey = func(pod *v1.Pod) string { return pod.Labels["app"] }
	o.Known = func(pod *v1.Pod) (string, bool) { return pod.Spec.NodeName, pod.Labels["lost"] == "" }
	o.Profiles = map[string]Profile{}
	for k, name := range []string{"one", "two"} {
		p := Profile{Gates: []Gate{d.gate("x"), d.gate("y")}}
		for _, plugin := range []string{"P", "Q", "x"} {
			p.Events = append(p.Events, Registration{plugin, nodeAdd, diaryHint(plugin)}, Registration{plugin, Event{"Pod", Update, ""}, diaryHint(plugin)})
		}
		p.Events = append(p.Events, Registration{"R", Event{"Node", Add | UpdateNodeLabel, ""}, nil}, Registration{"Q", Event{"Pod", Delete, ""}, nil})
		if k == 1 {
			p.Events = append(p.Events, Registration{"y", Event{"*", All, ""}, nil})
		}
		o.Profiles[name] = p
	}
	var err error
	d.q, err = New(o)
	require.NoError(t, err)
	return d
}

// diaryHint depends on all that a hint is told.
func diaryHint(plugin string) Hint {
	return func(pod *v1.Pod, old, new any) (bool, error) {
		h := fnv.New32a()
		for _, object := range []any{pod, old, new} {
			switch o := object.(type) {
			case *v1.Node:
				fmt.Fprint(h, o.Name)
			case *v1.Pod:
				fmt.Fprint(h, o.Name, o.UID, o.Labels)
			}
			fmt.Fprint(h, plugin, "/")
		}
		switch h.Sum32() % 5 {
		case 0, 1:
			return true, nil
		case 2:
			return false, errBroken
		}
		return false, nil
	}
}

func (d *diary) gate(name string) Gate {
	return Gate{name, func(p *v1.Pod) GateVerdict {
		switch {
		case !d.shut[name+p.Name]:
			return GateVerdict{}
		case p.Name == "p3":
			return GateVerdict{Err: errBroken}
		}
		return GateVerdict{Refuse: true, Message: name + " is shut"}
	}}
}

func (d *diary) one(in int) bool { return d.rnd.Intn(in) == 0 }

// pod makes the first version of a pod.
func (d *diary) pod(name string) *v1.Pod {
	p := testkit.Pod(name).Labels(fmt.Sprint("app=", d.rnd.Intn(2))).Priority(int32(d.rnd.Intn(3))).Request("cpu=2").Obj()
	p.UID = types.UID(fmt.Sprint(name, "-", d.rnd.Intn(2)))
	p.Spec.SchedulerName = []string{"one", "one", "two", "none"}[d.rnd.Intn(4)]
	if d.one(5) {
		p.Status.NominatedNodeName = fmt.Sprint("n", d.rnd.Intn(2))
	}
	if d.one(5) {
		p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{}
	}
	if d.one(8) {
		delete(p.Labels, "app")
	}
	if d.one(8) {
		p.Labels["lost"] = "yes"
	}
	if d.one(4) {
		term := testkit.Term("zone", "app=1")
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	}
	return p
}

// changed returns the next version of a pod.
func (d *diary) changed(p *v1.Pod) *v1.Pod {
	p = p.DeepCopy()
	switch d.rnd.Intn(8) {
	case 0, 1:
		p.Labels["step"] = fmt.Sprint(d.rnd.Intn(3))
	case 2:
		p.Spec.Containers[0].Resources.Requests = testkit.Resources(fmt.Sprint("cpu=", d.rnd.Intn(3)))
	case 3:
		p.Status.NominatedNodeName = []string{"", "n0", "n1"}[d.rnd.Intn(3)]
	case 4:
		p.Spec.Priority = ptr(int32(d.rnd.Intn(3)))
	case 5:
		p.UID = types.UID(fmt.Sprint(p.Name, "-", d.rnd.Intn(2)))
	case 6:
		p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Operator: v1.TolerationOpExists})
	case 7:
		p.Status.Phase = v1.PodPending
	}
	return p
}

func (d *diary) note(what string, moves []Move) {
	d.out = append(d.out, what)
	for _, m := range moves {
		line := m.String()
		if m.Pod != nil {
			line += " " + string(m.Pod.UID)
		}
		d.out = append(d.out, "  "+line)
	}
}

func (d *diary) step() {
	q, now := d.q, d.now
	name := fmt.Sprint("p", d.rnd.Intn(10))
	pod := d.pods[name]
	if pod == nil || d.one(20) {
		pod = d.pod(name)
	}
	d.pods[name] = pod
	switch d.rnd.Intn(20) {
	case 0, 1, 2:
		moves, err := q.Add(pod, now)
		require.NoError(d.t, err)
		d.note("add "+name, moves)
	case 3, 4, 5:
		e, moves := q.Pop(now)
		d.take(e)
		d.note("pop", moves)
	case 6:
		e, moves := q.PopPod(pod, now)
		d.take(e)
		d.note("pop "+name, moves)
	case 7, 8, 9, 10:
		d.giveBack()
	case 11, 12:
		d.event()
	case 13, 14, 15:
		d.update(name, pod)
	case 16:
		gate := []string{"x", "y"}[d.rnd.Intn(2)] + name
		d.shut[gate] = !d.shut[gate]
		d.note("activate "+name, q.Activate(now, pod))
	case 17:
		d.note("delete "+name, q.Delete(pod))
	case 18:
		q.Nominate(pod, Nomination{Override: d.one(2), Node: []string{"", "n0", "n1"}[d.rnd.Intn(3)]})
		d.note("nominate "+name, nil)
	case 19:
		d.now = now.Add([]time.Duration{time.Millisecond, time.Second / 2, time.Second, 3 * time.Second, 20 * time.Second, 2 * time.Minute, 6 * time.Minute, -time.Minute}[d.rnd.Intn(8)])
		d.note("advance to "+d.now.Format(time.TimeOnly), q.Advance(d.now))
	}
	if d.one(4) {
		d.ask(pod)
	}
}

func (d *diary) take(e *Entry) {
	if e != nil {
		d.tried = append(d.tried, e)
	}
}

// giveBack ends the attempt of a pod that was popped.
func (d *diary) giveBack() {
	if len(d.tried) == 0 {
		return
	}
	k := d.rnd.Intn(len(d.tried))
	e := d.tried[k]
	d.tried = slices.Delete(d.tried, k, k+1)
	if d.one(6) {
		d.note("done "+e.Pod.Name, d.q.Done(e.Pod))
		return
	}
	f := Failure{Rejecters: [][]string{nil, {"P"}, {"Q", "P"}, {"R"}, {"S"}}[d.rnd.Intn(5)]}
	if d.one(4) {
		f.Pending = []string{"Q"}
	}
	if d.one(4) {
		f.Pod = d.changed(e.Pod)
	}
	if d.one(4) {
		f.Nomination = Nomination{Override: true, Node: []string{"", "n0", "n1"}[d.rnd.Intn(3)]}
	}
	if d.one(4) {
		f.Cycle = max(1, d.q.cycle-int64(d.rnd.Intn(4)))
	}
	moves, err := d.q.Return(e, f, d.now)
	d.note(fmt.Sprint("return ", e.Pod.Name, f.Rejecters, f.Pending, " ", err), moves)
	require.True(d.t, err == nil || errors.Is(err, ErrQueued) || errors.Is(err, ErrOtherPod))
}

// event sends an event about a node or about a pod.
func (d *diary) event() {
	c := Change{Event: fuzzEvents[d.rnd.Intn(len(fuzzEvents))]}
	object := func() any {
		if c.Event.Resource == nodeKind {
			return testkit.Node(fmt.Sprint("n", d.rnd.Intn(4))).Obj()
		}
		return d.pod(fmt.Sprint("p", d.rnd.Intn(14)))
	}
	if c.Event.Action != Delete {
		c.New = object()
	}
	if c.Event.Action != Add {
		c.Old = object()
	}
	if d.one(4) {
		c.PreCheck = func(p *v1.Pod) bool { return p.Name > "p3" }
	}
	d.note("event "+c.Event.String(), d.q.Move(c, d.now))
}

func (d *diary) update(name string, pod *v1.Pod) {
	newer := d.changed(pod)
	d.pods[name] = newer
	if d.one(8) {
		pod = nil
	}
	moves, err := d.q.Update(pod, newer, d.now)
	require.NoError(d.t, err)
	d.note("update "+name, moves)
}

// ask writes down what the queue says about itself and about a pod.
func (d *diary) ask(pod *v1.Pod) {
	next, ok := d.q.Next(d.now)
	x := d.q.Explain(pod, d.now)
	d.out = append(d.out, fmt.Sprint("  next ", next.Format(time.RFC3339Nano), ok, d.q.Counts(), d.q.InFlightEvents(), d.q.Nominations(), x,
		x.Ahead, x.UnschedulableCount, x.ConsecutiveErrorsCount, x.Backoff, x.Pending, x.GateErr, x.WasFlushed, x.Concern))
	for _, node := range []string{"n0", "n1"} {
		for _, p := range d.q.NominatedFor(node) {
			d.out = append(d.out, fmt.Sprint("  ", node, " ", p.Name, p.UID, p.Spec.Priority != nil, p.Labels))
		}
	}
}

// finish closes the queue and takes out what is left.
func (d *diary) finish() []string {
	for _, s := range d.q.All(d.now) {
		d.out = append(d.out, fmt.Sprint(s.Pod.Name, s.Place, s.Since, s.Rejecters, s.Until, s.Timestamp, s.Attempts, s.Gate, s.Nominated))
	}
	for _, profile := range []string{"one", "two", "none"} {
		for _, plugin := range []string{"P", "Q", "R", "S", "x", "y"} {
			d.out = append(d.out, fmt.Sprint(profile, plugin, d.q.Rejected(profile, plugin)))
		}
	}
	d.note("close", d.q.Close())
	for range 3 {
		e, moves := d.q.Pop(d.now)
		d.note(fmt.Sprint("pop ", e == nil), moves)
	}
	return d.out
}

// writeDiary plays 400 random operations.
func writeDiary(t *testing.T, o Options, seed int64) []string {
	d := newDiary(t, o, seed)
	for range 400 {
		d.step()
		if d.one(25) {
			checkLists(t, d.q)
		}
	}
	return d.finish()
}

// The same calls give the same moves in the same order, whatever the order of the maps inside.
func TestSameCallsSameMoves(t *testing.T) {
	testkit.Run(t, diaryOptions, func(t *testing.T, c diaryOption) {
		for seed := range int64(2) {
			want := writeDiary(t, c.o, seed)
			for range 2 {
				require.Equal(t, want, writeDiary(t, c.o, seed))
			}
		}
	})
}

// The answers to random operations stay what they are, under all options and in all releases. The file has the hashes of the
// diaries, and the operations of one.
func TestDiaries(t *testing.T) {
	var all strings.Builder
	seed := int64(0)
	for _, c := range diaryOptions {
		for _, v := range release.Versions() {
			c.o.Release = v
			h := testkit.Hash64(t, c.name+", "+v.String())
			for range 2 {
				seed++
				fmt.Fprintln(h, strings.Join(writeDiary(t, c.o, seed), "\n"))
			}
			fmt.Fprintf(&all, "%s, %s: %x\n", c.name, v, h.Sum64())
		}
	}
	for _, line := range writeDiary(t, Options{}, 1) {
		if !strings.HasPrefix(line, "  next") && all.Len() < 5_000 {
			fmt.Fprintln(&all, line)
		}
	}
	testkit.Golden(t, "testdata/diaries.txt", all.String())
}
