package queue

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The same calls give the same moves in the same order, whatever the order of the maps inside: three profiles, many equal
// pods, events that wake many of them at once.
func TestSameCallsSameMoves(t *testing.T) {
	for name, o := range map[string]Options{"default": {}, "share": {ShareFailures: true, Signature: template}, "counter": {CycleCounter: true}, "flush gated": {FlushGated: true}} {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(15) {
				want := diary(t, o, seed)
				for range 4 {
					require.Equal(t, want, diary(t, o, seed))
				}
			}
		})
	}
}

// diary plays random operations and writes down every answer.
func diary(t *testing.T, o Options, seed int64) (out []string) {
	rnd := rand.New(rand.NewSource(seed))
	shut := map[string]bool{}
	o.Profiles = map[string]Profile{}
	for _, name := range []string{"one", "two", "three"} {
		p := Profile{Gates: []Gate{{"x", func(p *v1.Pod) GateVerdict { return GateVerdict{Refuse: shut[p.Name]} }}}}
		for _, plugin := range []string{"P", "Q", "x"} {
			p.Events = append(p.Events, Registration{plugin, nodeAdd, nil}, Registration{plugin, Event{"Pod", Update, ""}, nil})
		}
		o.Profiles[name] = p
	}
	q, err := New(o)
	require.NoError(t, err)
	now := noon
	note := func(what string, moves []Move) {
		out = append(out, what)
		out = append(out, lines(moves)...)
	}
	var flying []*Entry
	for range 200 {
		pod := testkit.Pod(fmt.Sprint("p", rnd.Intn(30))).Labels(fmt.Sprint("app=", rnd.Intn(2))).Obj()
		pod.Spec.SchedulerName = []string{"one", "two", "three", "none"}[rnd.Intn(4)]
		switch rnd.Intn(9) {
		case 0, 1:
			moves, err := q.Add(pod, now)
			require.NoError(t, err)
			note("add", moves)
		case 2, 3, 4:
			e, moves := q.Pop(now)
			note("pop", moves)
			if e != nil {
				flying = append(flying, e)
			}
		case 5, 6:
			if len(flying) > 0 {
				f := Failure{Unschedulable: [][]string{nil, {"P"}, {"Q", "P"}, {"S"}}[rnd.Intn(4)]}
				moves, err := q.Return(flying[0], f, now)
				flying = flying[1:]
				note(fmt.Sprint("return ", err), moves)
			}
		case 7:
			shut[pod.Name] = rnd.Intn(2) == 0
			note("event", q.Move(Change{Event: fuzzEvents[rnd.Intn(3)]}, now))
		case 8:
			now = now.Add(time.Duration(rnd.Intn(400)) * time.Second / 10)
			note("advance", q.Advance(now))
		}
	}
	for _, s := range q.All(now) {
		out = append(out, fmt.Sprint(s.Pod.Name, s.Place, s.Since, s.Rejectors))
	}
	return out
}
