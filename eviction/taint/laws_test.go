package taint

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.Intn(len(of))] }

func randomTaints(r *rand.Rand) string {
	list := make([]string, r.Intn(4))
	for i := range list {
		list[i] = pick(r, "x", "y", "z", "x=1", "s:NoSchedule")
	}
	return strings.Join(append([]string{"-"}, list...), " ")
}

func randomTolerations(r *rand.Rand) string {
	list := make([]string, r.Intn(5))
	for i := range list {
		list[i] = pick(r, "x", "y", "z") + ":" + pick(r, "inf", "inf", "-3", "0", "1", "2", "3", "5", "8", "10000000000")
	}
	return strings.Join(append([]string{"-"}, list...), " ")
}

// oracle applies a script of taints and tolerations rule by rule, slowly: one pod, whole seconds.
type oracle struct {
	taints, tolerations string
	seenNode, gone      bool
	last                string // the NoExecute taints at the last evaluation
	created, fire       int    // below 0: no timer
	log                 []string
}

func (o *oracle) say(format string, args ...any) { o.log = append(o.log, fmt.Sprintf(format, args...)) }

func (o *oracle) evaluate(now int) {
	if o.gone || !o.seenNode {
		return
	}
	cancel := func() {
		if o.fire >= 0 {
			o.say("%d cancelled", now)
			o.fire = -1
		}
	}
	var limits []int64
	infinite, any := false, false
	for _, tn := range taintsOf(o.taints) {
		if tn.Effect != v1.TaintEffectNoExecute {
			continue
		}
		any = true
		found := false
		for _, tl := range tolerationsOf(o.tolerations) {
			if tl.Key == tn.Key {
				found = true
				if tl.TolerationSeconds == nil || *tl.TolerationSeconds > math.MaxInt64/int64(time.Second) {
					infinite = true
				} else {
					limits = append(limits, max(0, *tl.TolerationSeconds))
				}
				break
			}
		}
		if !found {
			cancel()
			o.say("%d evicted", now)
			o.gone = true
			return
		}
	}
	switch {
	case !any, len(limits) == 0 && infinite:
		cancel()
	case o.fire >= 0 && o.created < now: // a running timer keeps its end
	default:
		cancel()
		m := int(slices.Min(limits))
		if m == 0 {
			o.say("%d evicted", now)
			o.gone = true
			return
		}
		o.created, o.fire = now, now+m
		o.say("%d started %d", now, o.fire)
	}
}

func (o *oracle) advance(now int) {
	if !o.gone && o.fire >= 0 && o.fire <= now {
		o.say("%d evicted", o.fire)
		o.gone = true
	}
}

func checkScript(t *testing.T, r *rand.Rand) {
	first := randomTolerations(r)
	o := &oracle{tolerations: first, fire: -1}
	var script []string
	now := 0
	for range 1 + r.Intn(6) {
		now += r.Intn(4)
		o.advance(now)
		change := "taints " + randomTaints(r)
		if r.Intn(3) == 0 && !o.gone { // an update after the deletion would make the pod known again
			change = "pod " + randomTolerations(r)
		}
		script = append(script, fmt.Sprint(now, " ", change))
		what, value, _ := strings.Cut(change, " ")
		if what == "taints" {
			o.seenNode = true
			o.taints = value
		} else {
			if slices.EqualFunc(tolerationsOf(o.tolerations), tolerationsOf(value), func(a, b v1.Toleration) bool { return a.String() == b.String() }) {
				continue
			}
			o.tolerations = value
		}
		o.evaluateChanged(now, what)
	}
	o.advance(1000)
	text := strings.Join(script, ";")
	require.Equal(t, strings.Join(o.log, "; "), playOnce(t, first, text), "%s | %s", first, text)
}

// evaluateChanged evaluates the pod unless the NoExecute taints are those of the last evaluation.
func (o *oracle) evaluateChanged(now int, what string) {
	if what == "taints" {
		var kept []string
		for _, tn := range taintsOf(o.taints) {
			if tn.Effect == v1.TaintEffectNoExecute {
				kept = append(kept, tn.String())
			}
		}
		text := "seen " + strings.Join(kept, "|")
		if text == o.last {
			return
		}
		o.last = text
	}
	o.evaluate(now)
}

// playOnce runs a script. A deleted pod does not come back.
func playOnce(t *testing.T, tolerations, script string) string {
	log := play(t, tolerations, script, 1000, Options{})
	if i := strings.Index(log, "evicted"); i >= 0 {
		log = log[:i+len("evicted")] // the timers still know a pod that was deleted by an evaluation
	}
	return log
}

func TestTimersAgainstOracle(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range testkit.Rounds(1500) {
		checkScript(t, r)
	}
}

func FuzzTimers(f *testing.F) {
	f.Add(testkit.RandomBytes(3, 200))
	f.Fuzz(func(t *testing.T, data []byte) { checkScript(t, rand.New(testkit.NewBytes(data))) })
}

// end returns when the script's pod is deleted, or infinity when the pod stays.
func end(t *testing.T, tolerations, script string, o Options) float64 {
	log := play(t, tolerations, script, 1e6, o)
	if !strings.HasSuffix(log, "evicted") {
		return math.Inf(1)
	}
	var at float64
	_, err := fmt.Sscan(log[strings.LastIndex(log, ";")+1:], &at)
	require.NoError(t, err)
	return at
}

// checkCancel checks that removing all taints for a while and adding them again never makes a pod leave earlier.
func checkCancel(t *testing.T, r *rand.Rand) {
	tolerations, list := randomTolerations(r), randomTaints(r)
	away := r.Intn(6)
	back := away + r.Intn(6)
	for _, o := range []Options{{}, {RecomputeOnChange: true}} {
		plain := end(t, tolerations, "0 taints "+list, o)
		again := end(t, tolerations, fmt.Sprintf("0 taints %s; %d taints -; %d taints %s", list, away, back, list), o)
		require.GreaterOrEqual(t, again, plain, "%s | %s | %d %d", tolerations, list, away, back)
	}
}

func TestCancelNeverShortens(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range testkit.Rounds(1000) {
		checkCancel(t, r)
	}
}

func FuzzCancelNeverShortens(f *testing.F) {
	f.Add(testkit.RandomBytes(5, 200))
	f.Fuzz(func(t *testing.T, data []byte) { checkCancel(t, rand.New(testkit.NewBytes(data))) })
}

func randomInput(r *rand.Rand) Input {
	in := Input{Start: start, Until: time.Duration(100+r.Intn(300)) * time.Second}
	statuses := []v1.ConditionStatus{"True", "True", "True", "False", "Unknown", ""}
	for i := range 1 + r.Intn(12) {
		n := ready(fmt.Sprint("n", i), pick(r, "", "a", "b", "b"), pick(r, statuses...))
		n.Spec.Taints = taintsOf(randomTaints(r))
		if r.Intn(10) == 0 {
			n.Labels = map[string]string{excludeLabel: ""}
		}
		in.Nodes = append(in.Nodes, n)
		for j := range r.Intn(3) {
			text := randomTolerations(r)
			if r.Intn(2) == 0 {
				text += " node.kubernetes.io/not-ready:30 node.kubernetes.io/unreachable:" + pick(r, "20", "60", "inf")
			}
			in.Pods = append(in.Pods, podOn(n.Name, fmt.Sprint("p", i, j), tolerationsOf(text)))
		}
	}
	yes, no := true, false
	for range r.Intn(20) {
		e := Event{At: after(float64(r.Intn(8)) * pick(r, 0.05, 1, 5, 30)), Node: pick(r, in.Nodes...).Name}
		switch r.Intn(8) {
		case 0, 1, 2:
			e.Heartbeats = pick(r, HeartbeatsStop, HeartbeatsStop, HeartbeatsResume)
		case 3:
			e.Condition, e.Status = pick(r, v1.NodeReady, v1.NodeDiskPressure), pick(r, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown)
		case 4, 5:
			e.Taint = pick(r, "x:NoExecute", "y:NoExecute", "x=2:NoExecute", "x-", "y:NoExecute-", "s:NoSchedule")
		case 6:
			e.Unschedulable = pick(r, &yes, &no)
		case 7:
			if e.Deleted = r.Intn(3) == 0; !e.Deleted {
				e.Taint = "z:NoExecute"
			}
		}
		in.Events = append(in.Events, e)
	}
	if r.Intn(2) == 0 {
		fast, second := pick(r, float32(0.1), 1, 3), pick(r, float32(0.01), 0.5)
		small := r.Intn(4)
		in.Config = Config{EvictionRate: &fast, SecondaryRate: &second, LargeCluster: &small, GracePeriod: 12 * time.Second}
	}
	in.Options.RecomputeOnChange = r.Intn(4) == 0
	return in
}

func checkForecast(t *testing.T, r *rand.Rand) {
	in := randomInput(r)
	l := played(t, in)

	shuffled := in
	shuffled.Events, shuffled.Nodes, shuffled.Pods = slices.Clone(in.Events), slices.Clone(in.Nodes), slices.Clone(in.Pods)
	r.Shuffle(len(in.Events), func(i, j int) {
		shuffled.Events[i], shuffled.Events[j] = shuffled.Events[j], shuffled.Events[i]
	})
	r.Shuffle(len(in.Nodes), func(i, j int) { shuffled.Nodes[i], shuffled.Nodes[j] = shuffled.Nodes[j], shuffled.Nodes[i] })
	r.Shuffle(len(in.Pods), func(i, j int) { shuffled.Pods[i], shuffled.Pods[j] = shuffled.Pods[j], shuffled.Pods[i] })
	require.Equal(t, l.String(), played(t, shuffled).String(), "the order of the input does not matter")

	earlier := in
	earlier.Until = in.Until / 2
	prefix := played(t, earlier).Entries
	require.Equal(t, prefix, l.Entries[:len(prefix)], "a shorter forecast is the beginning of a longer one")

	running, gone := map[string]time.Duration{}, map[string]bool{}
	last := time.Duration(0)
	for _, e := range l.Entries {
		require.GreaterOrEqual(t, e.At.Duration, last, "in order of time")
		last = e.At.Duration
		if e.Pod == "" {
			continue
		}
		require.False(t, gone[e.Pod], "%s is gone", e.Pod)
		until, runs := running[e.Pod]
		switch e.What {
		case EntryStarted:
			require.False(t, runs, "a pod has at most one timer")
			running[e.Pod] = e.Until.Duration
			require.Greater(t, e.Until.Duration, e.At.Duration)
		case EntryMoved:
			require.True(t, runs && in.Options.RecomputeOnChange)
			running[e.Pod] = e.Until.Duration
		case EntryCancelled:
			require.True(t, runs)
			require.Equal(t, until, e.Until.Duration)
			delete(running, e.Pod)
		case EntryEvicted:
			if runs {
				require.Equal(t, until, e.At.Duration, "a timer that is not moved ends at its time")
			}
			delete(running, e.Pod)
			gone[e.Pod] = true
		}
	}
	require.Len(t, l.Pending, len(running))
	for _, p := range l.Pending {
		require.Equal(t, running[p.Pod], p.Until.Duration)
		require.Greater(t, p.Until.Duration, l.Until.Duration)
	}
	checkRates(t, in, l)
}

// checkRates checks that in any window of w seconds at most 1 + rate*w nodes of a zone are tainted from the queue.
func checkRates(t *testing.T, in Input, l Timeline) {
	rate := 0.1
	if in.Config.EvictionRate != nil {
		rate = float64(max(*in.Config.EvictionRate, *in.Config.SecondaryRate))
	}
	zone := map[string]string{}
	for _, n := range in.Nodes {
		zone[n.Name] = zoneKey(n)
	}
	tainted := map[string][]float64{}
	failing := func(e Entry, what string) bool {
		return e.What == what && strings.HasPrefix(e.Cause, "node.kubernetes.io/") && strings.HasSuffix(e.Cause, ":NoExecute")
	}
	for _, e := range l.Entries {
		swapped := slices.ContainsFunc(l.Entries, func(o Entry) bool {
			return failing(o, EntryUntainted) && o.Node == e.Node && o.At == e.At
		})
		if !failing(e, EntryTainted) || swapped { // swaps happen at once, outside the queue
			continue
		}
		tainted[zone[e.Node]] = append(tainted[zone[e.Node]], e.At.Seconds())
	}
	for key, times := range tainted {
		for i := range times {
			for j := i; j < len(times); j++ {
				require.LessOrEqual(t, float64(j-i+1), 1+rate*(times[j]-times[i])+1e-6, "zone %q: %v", key, times)
			}
		}
	}
}

func TestForecastLaws(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for range testkit.Rounds(200) {
		checkForecast(t, r)
	}
}

func FuzzForecast(f *testing.F) {
	f.Add(testkit.RandomBytes(7, 200))
	f.Fuzz(func(t *testing.T, data []byte) { checkForecast(t, rand.New(testkit.NewBytes(data))) })
}
