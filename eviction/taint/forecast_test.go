package taint

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

func after(seconds float64) metav1.Duration {
	return metav1.Duration{Duration: time.Duration(seconds * float64(time.Second))}
}

// lines prints the entries of some kinds: "at what pod-or-node cause until".
func lines(l Timeline, kinds string) []string {
	var out []string
	for _, e := range l.Entries {
		if !strings.Contains(kinds, e.What) {
			continue
		}
		s := fmt.Sprintf("%v %s %s %s", e.At.Seconds(), e.What, e.Node+e.Zone, strings.TrimPrefix(e.Pod, "d/"))
		if e.Until != nil {
			s += fmt.Sprint(" ", e.Until.Seconds())
		}
		out = append(out, strings.ReplaceAll(s+" "+e.Cause, "node.kubernetes.io/", ""))
	}
	return out
}

func played(t *testing.T, in Input) Timeline {
	t.Helper()
	got, err := Forecast(in)
	require.NoError(t, err)
	return got
}

const podEntries = "started moved cancelled evicted"

// TestDocuments has the worked examples over time of the documentation chapter "Taints and Tolerations".
func TestDocuments(t *testing.T) {
	nodes := []*v1.Node{ready("node1", "a", "True"), ready("node2", "b", "True")}
	stop := []Event{{Node: "node1", Heartbeats: HeartbeatsStop}}
	defaults := admission.WithDefaultSeconds(podOn("node1", "web", nil), admission.DefaultSeconds{})
	daemon := admission.WithDefaultSeconds(admission.WithDaemonSet(podOn("node1", "agent", nil)), admission.DefaultSeconds{})

	t.Run("300 seconds by default", func(t *testing.T) {
		two := append(nodes[:1:1], ready("node3", "a", "True"))
		l := played(t, Input{Nodes: two, Pods: []*v1.Pod{defaults}, Events: stop, Until: time.Hour})
		require.Equal(t, []string{
			"55 started node1 web 355 unreachable:NoExecute",
			"355 evicted node1 web unreachable:NoExecute: time is up; stays Terminating while the kubelet is silent",
		}, lines(l, podEntries))
	})
	t.Run("tolerationSeconds 6000", func(t *testing.T) {
		pod := podOn("node1", "state", tolerationsOf("node.kubernetes.io/unreachable:6000"))
		l := played(t, Input{Nodes: nodes, Pods: []*v1.Pod{pod}, Events: stop, Until: 2 * time.Hour})
		require.Equal(t, "6055 evicted node1 state unreachable:NoExecute: time is up; stays Terminating while the kubelet is silent", lines(l, "evicted")[0])
	})
	t.Run("tolerationSeconds 3600", func(t *testing.T) {
		pod := podOn("node1", "p", tolerationsOf("key1:3600"))
		set := Event{Node: "node1", Taint: "key1=value1:NoExecute"}
		l := played(t, Input{Nodes: nodes, Pods: []*v1.Pod{pod}, Events: []Event{set}, Until: 2 * time.Hour})
		require.Equal(t, []string{"3600 evicted node1 p key1=value1:NoExecute: time is up"}, lines(l, "evicted"))
		removed := Event{At: after(3599), Node: "node1", Taint: "key1:NoExecute-"}
		l = played(t, Input{Nodes: nodes, Pods: []*v1.Pod{pod}, Events: []Event{removed, set}, Until: 2 * time.Hour})
		require.Empty(t, l.Evictions(), "removed before: not evicted")
		require.Equal(t, []string{"3599 cancelled node1 p 3600 no NoExecute taint is left"}, lines(l, "cancelled"))
	})
	t.Run("DaemonSet pods stay", func(t *testing.T) {
		l := played(t, Input{Nodes: nodes, Pods: []*v1.Pod{daemon, defaults}, Events: stop, Until: 24 * time.Hour})
		require.Len(t, l.Evictions(), 1)
		require.Equal(t, "d/web", l.Evictions()[0].Pod)
	})
	t.Run("three taints of node1", func(t *testing.T) {
		pod := podOn("node1", "p", []v1.Toleration{
			{Key: "key1", Operator: v1.TolerationOpEqual, Value: "value1", Effect: v1.TaintEffectNoSchedule},
			{Key: "key1", Operator: v1.TolerationOpEqual, Value: "value1", Effect: v1.TaintEffectNoExecute}})
		events := []Event{{Node: "node1", Taint: "key1=value1:NoSchedule"}, {Node: "node1", Taint: "key1=value1:NoExecute"},
			{Node: "node1", Taint: "key2=value2:NoSchedule"}}
		l := played(t, Input{Nodes: nodes, Pods: []*v1.Pod{pod, podOn("node1", "other", nil)}, Events: events, Until: time.Hour})
		require.Equal(t, []string{"0 evicted node1 other key1=value1:NoExecute: not tolerated"}, lines(l, podEntries))
	})
	t.Run("memory pressure evicts nobody", func(t *testing.T) {
		event := Event{At: after(1), Node: "node1", Condition: v1.NodeMemoryPressure, Status: v1.ConditionTrue}
		best, burst := podOn("node1", "best", nil), admission.WithMemoryPressure(podOn("node1", "burst", nil), v1.PodQOSBurstable)
		l := played(t, Input{Nodes: nodes, Pods: []*v1.Pod{best, burst}, Events: []Event{event}, Until: time.Hour})
		require.Empty(t, lines(l, podEntries))
		require.Equal(t, []string{"1 tainted node1  memory-pressure:NoSchedule"}, lines(l, "tainted"))
		pressed := nodeWith("n", taintsOf("node.kubernetes.io/memory-pressure:NoSchedule"))
		require.False(t, taints.Compile(best.Spec.Tolerations, taints.Options{}).Tolerates(pressed), "new BestEffort pods are kept away")
		require.True(t, taints.Compile(burst.Spec.Tolerations, taints.Options{}).Tolerates(pressed))
	})
	t.Run("condition back to normal", func(t *testing.T) {
		events := append(stop, Event{At: after(200), Node: "node1", Heartbeats: HeartbeatsResume})
		l := played(t, Input{Nodes: nodes, Pods: []*v1.Pod{defaults}, Events: events, Until: time.Hour})
		require.Equal(t, []string{"55 started node1 web 355 unreachable:NoExecute", "200 cancelled node1 web 355 no NoExecute taint is left"}, lines(l, podEntries))
	})
}

func TestForecast(t *testing.T) {
	nodes := []*v1.Node{ready("n1", "a", "True"), ready("n2", "a", "True"), ready("n3", "a", "True"), ready("n4", "a", "True"),
		ready("n5", "a", "True"), ready("n6", "a", "True"), ready("n7", "a", "True"), ready("n8", "a", "True")}
	yes, no := true, false
	pods := func(on ...string) (list []*v1.Pod) {
		for _, n := range on {
			list = append(list, admission.WithDefaultSeconds(podOn(n, "on-"+n, nil), admission.DefaultSeconds{}))
		}
		return list
	}
	silent := func(names ...string) (list []Event) {
		for _, n := range names {
			list = append(list, Event{At: after(1), Node: n, Heartbeats: HeartbeatsStop})
		}
		return list
	}
	type test struct {
		name   string
		pods   []*v1.Pod
		events []Event
		kinds  string
		want   []string
		why    string
	}
	cases := []test{
		{"fourth node", pods("n1", "n4"), silent("n1", "n2", "n3", "n4"), "evicted unknown tainted", []string{
			"55 unknown n1  Kubelet stopped posting node status.", "55 tainted n1  unreachable:NoSchedule",
			"55 unknown n2  Kubelet stopped posting node status.", "55 tainted n2  unreachable:NoSchedule",
			"55 unknown n3  Kubelet stopped posting node status.", "55 tainted n3  unreachable:NoSchedule",
			"55 unknown n4  Kubelet stopped posting node status.", "55 tainted n4  unreachable:NoSchedule",
			"55 tainted n1  unreachable:NoExecute", "65 tainted n2  unreachable:NoExecute", "75 tainted n3  unreachable:NoExecute",
			"85 tainted n4  unreachable:NoExecute",
			"355 evicted n1 on-n1 unreachable:NoExecute: time is up; stays Terminating while the kubelet is silent",
			"385 evicted n4 on-n4 unreachable:NoExecute: time is up; stays Terminating while the kubelet is silent",
		}, "half of eight is normal; each node ahead in the zone costs 10 s"},
		{"all down", pods("n1"), silent("n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"), "evicted started zone", []string{
			"55 zone /a  Normal to FullDisruption, 0 nodes a second, all zones are down"}, "nobody is evicted"},
		{"not ready then unknown", pods("n1"), append(silent("n1"), Event{Node: "n1", Condition: v1.NodeReady, Status: v1.ConditionFalse}),
			podEntries + "notReady", []string{"0 notReady n1  its pods get Ready=False", "0 started n1 on-n1 300 not-ready:NoExecute",
				"300 evicted n1 on-n1 not-ready:NoExecute: time is up; stays Terminating while the kubelet is silent"}, "the swap at 55 s keeps the time"},
		{"cordoned", pods("n1"), []Event{{At: after(1), Node: "n1", Unschedulable: &yes}, {At: after(2), Node: "n1", Unschedulable: &no}},
			podEntries + "tainted untainted event", []string{"1 event n1  cordoned", "1 tainted n1  unschedulable:NoSchedule", "2 event n1  uncordoned",
				"2 untainted n1  unschedulable:NoSchedule"}, "nobody leaves"},
		{"node deleted", []*v1.Pod{podOn("n1", "p", tolerationsOf("x:3"))}, []Event{{Node: "n1", Taint: "x:NoExecute"}, {At: after(1), Node: "n1", Deleted: true},
			{At: after(2), Node: "n1", Taint: "x-"}}, podEntries + "event", []string{"0 event n1  taint x:NoExecute", "0 started n1 p 3 x:NoExecute", "1 event n1  node deleted",
			"3 evicted n1 p x:NoExecute: time is up"}, "the time runs on; events on a deleted node do nothing"},
		{"no time", []*v1.Pod{podOn("n1", "p", tolerationsOf("x:0"))}, []Event{{At: after(1), Node: "n1", Taint: "x:NoExecute"}}, podEntries,
			[]string{"1 evicted n1 p x:NoExecute: tolerated for no time"}, "0 seconds"},
		{"another taint", []*v1.Pod{podOn("n1", "p", tolerationsOf("x:9"))}, []Event{{At: after(1), Node: "n1", Taint: "x:NoExecute"}, {At: after(2), Node: "n1", Taint: "y:NoExecute"}}, podEntries,
			[]string{"1 started n1 p 10 x:NoExecute", "2 cancelled n1 p 10 y:NoExecute is not tolerated", "2 evicted n1 p y:NoExecute: not tolerated"}, "cancelled and deleted"},
		{"tolerated for ever", []*v1.Pod{podOn("n1", "p", tolerationsOf("x:9 y:inf"))}, []Event{{At: after(1), Node: "n1", Taint: "x:NoExecute"},
			{At: after(2), Node: "n1", Taint: "x-"}, {At: after(2), Node: "n1", Taint: "y:NoExecute"}}, podEntries,
			[]string{"1 started n1 p 10 x:NoExecute", "2 cancelled n1 p 10 what is left is tolerated without limit"}, "replaced by one without limit"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		testkit.Unchanged(t, func() {
			l := played(t, Input{Nodes: nodes, Pods: c.pods, Events: c.events, Until: 10 * time.Minute})
			require.Equal(t, c.want, lines(l, c.kinds))
		}, append(append([]*v1.Pod{}, c.pods...), podOn("x", "x", nil))...)
	})
}

func TestForecastErrors(t *testing.T) {
	n := ready("n1", "", "True")
	yes := true
	_, err := Forecast(Input{
		Nodes: []*v1.Node{n, n, ready("", "", "")}, Pods: []*v1.Pod{nil}, Until: -1,
		Events: []Event{
			{Node: "n2", Deleted: true},
			{Node: "n1"},
			{Node: "n1", At: after(-1), Taint: "x"},
			{Node: "n1", Heartbeats: "maybe"},
			{Node: "n1", Status: "Sometimes", Unschedulable: &yes},
			{Node: "n1", Condition: v1.NodeReady, Unschedulable: &yes},
		},
	})
	for _, want := range []string{
		`nodes[1].metadata.name: Duplicate value: "n1"`, "nodes[2].metadata.name: Required value", "pods[0]: Required value", "until: Invalid value",
		`events[0].node: Not found: "n2"`, "events[1]: Invalid value: 0: exactly one of", `events[2].at: Invalid value: "-1s": must not be negative`,
		`events[2].taint: Invalid value: "x": invalid taint spec: x`, `events[3].heartbeats: Unsupported value: "maybe"`,
		`events[4].status: Unsupported value: "Sometimes"`, "events[4].condition: Required value", "events[4]: Invalid value: 2: exactly one of",
		`events[5].status: Unsupported value: ""`, "events[5]: Invalid value: 2: exactly one of",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = Forecast(Input{Nodes: []*v1.Node{nil}})
	require.ErrorContains(t, err, "nodes[0]: Required value")
}

func TestTimelineForms(t *testing.T) {
	in := Input{
		Nodes:  []*v1.Node{ready("n1", "a", ""), ready("n2", "a", "")},
		Pods:   []*v1.Pod{podOn("n1", "p", tolerationsOf("x:90")), podOn("n1", "q", tolerationsOf("x:30"))},
		Events: []Event{{At: after(10), Node: "n1", Taint: "x=1:NoExecute"}},
		Until:  time.Minute,
	}
	l := played(t, in)
	want := `AT    NODE  POD  WHAT     CAUSE
10s   n1    -    event    taint x=1:NoExecute
10s   n1    d/p  started  x=1:NoExecute, until 1m40s
10s   n1    d/q  started  x=1:NoExecute, until 40s
40s   n1    d/q  evicted  x=1:NoExecute: time is up
1m0s  n1    d/p  pending  until 1m40s
`
	require.Equal(t, want, l.String())
	text, err := json.Marshal(l)
	require.NoError(t, err)
	require.Contains(t, string(text), `{"at":"40s","what":"evicted","node":"n1","pod":"d/q","cause":"x=1:NoExecute: time is up"}`)
	require.Contains(t, string(text), `"pending":[{"pod":"d/p","node":"n1","until":"1m40s"}]`)
	var back Timeline
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, l, back)
	var e Event
	require.NoError(t, json.Unmarshal([]byte(`{"at":"10s","node":"n1","taint":"x=1:NoExecute"}`), &e))
	require.Equal(t, in.Events[0], e)
	empty := played(t, Input{})
	text, err = json.Marshal(empty)
	require.NoError(t, err)
	require.JSONEq(t, `{"until":"0s","entries":[]}`, string(text))
}

// Extreme durations neither overflow nor make a forecast run for hours.
func TestForecastBounds(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	slow, never := float32(1e-38), float32(0)
	silent := []Event{{Node: "n1", Heartbeats: HeartbeatsStop}}
	type test struct {
		name, why    string
		until        time.Duration
		start        time.Time
		config       Config
		pod, taint   string
		evicted, err string
		pending      time.Duration
	}
	testkit.Run(t, []test{
		{name: "short period", until: 10 * time.Second, config: Config{MonitorPeriod: time.Millisecond}, why: "10 s by milliseconds"},
		{name: "one period too many", until: (maxPasses + 1) * 5 * time.Second, why: "the default period is 5 s",
			err: `until: Invalid value: "13888h53m25s": must be at most 10000000 monitor periods of 5s`},
		{name: "tiny period", until: time.Second, config: Config{MonitorPeriod: 1}, why: "a billion passes",
			err: `until: Invalid value: "1s": must be at most 10000000 monitor periods of 1ns`},
		{name: "largest until with the default period", until: math.MaxInt64, why: "1.8 billion passes",
			err: `until: Invalid value: "2562047h47m16.854775807s": must be at most 10000000 monitor periods of 5s`},
		{name: "largest until", until: math.MaxInt64, config: Config{MonitorPeriod: century}, pod: "x:3", taint: "x:NoExecute", evicted: "3s", why: "the pass after the last is beyond any Duration"},
		{name: "largest until and period", until: math.MaxInt64, config: Config{MonitorPeriod: math.MaxInt64}, pod: "x:3", taint: "x:NoExecute", evicted: "3s", why: "one pass"},
		{name: "largest grace period", until: time.Hour, config: Config{GracePeriod: math.MaxInt64, StartupGrace: math.MaxInt64}, why: "silence never counts"},
		{name: "rate that serves after the end of time", until: 24 * time.Hour, config: Config{EvictionRate: &slow, FullDisruptionRate: &slow}, why: "the turn of the second node never comes"},
		{name: "rate 0", until: 24 * time.Hour, config: Config{EvictionRate: &never}, why: "no turn ever comes"},
		{name: "largest limited toleration", until: time.Minute, pod: "x:9223372036", taint: "x:NoExecute", pending: 9223372036 * time.Second, why: "292 years"},
		{name: "larger toleration", until: time.Minute, pod: "x:9223372037", taint: "x:NoExecute", why: "for ever"},
		{name: "year 9999", until: math.MaxInt64, start: year(9999), config: Config{MonitorPeriod: century}, pod: "x:9223372036", taint: "x:NoExecute", evicted: "2562047h47m16s", why: "ends in the year 10291"},
		{name: "year 200000", until: time.Hour, start: year(200000), pod: "x:60", taint: "x:NoExecute", evicted: "1m0s", why: "no year is special"},
	}, func(t *testing.T, c test) {
		in := Input{Nodes: []*v1.Node{ready("n1", "a", "True"), ready("n2", "b", "True"), ready("n3", "b", "True")}, Events: silent, Start: c.start, Until: c.until, Config: c.config}
		if c.pod != "" {
			in.Pods = []*v1.Pod{podOn("n2", "p", tolerationsOf(c.pod))}
			in.Events = []Event{{Node: "n2", Taint: c.taint}}
		}
		line, err := Forecast(in)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			return
		}
		require.NoError(t, err)
		var evicted string
		for _, e := range line.Evictions() {
			evicted += e.At.Duration.String()
		}
		require.Equal(t, c.evicted, evicted)
		var pending time.Duration
		for _, p := range line.Pending {
			pending += p.Until.Duration
		}
		require.Equal(t, c.pending, pending)
		for i, e := range line.Entries {
			require.True(t, e.At.Duration >= 0 && e.At.Duration <= c.until, e)
			require.True(t, i == 0 || line.Entries[i-1].At.Duration <= e.At.Duration, "in order: %v", e)
		}
	})
}

func TestTick(t *testing.T) {
	for _, c := range []struct{ at, period, want time.Duration }{
		{0, 5, 5}, {4, 5, 5}, {5, 5, 10}, {0, math.MaxInt64, math.MaxInt64}, {math.MaxInt64 - 1, 1, math.MaxInt64},
		{math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64 - 1, 5, math.MaxInt64}, {math.MaxInt64 / 2, math.MaxInt64/2 + 1, math.MaxInt64/2 + 1},
	} {
		require.Equal(t, c.want, tick(c.at, c.period), "after %d by %d", c.at, c.period)
	}
}

// Timers of one instant are listed by name.
func TestPendingOrder(t *testing.T) {
	var pods []*v1.Pod
	seconds := int64(100)
	want := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	for _, name := range append(slices.Clone(want[13:]), want[:13]...) {
		pods = append(pods, podOn("n1", name, []v1.Toleration{{Key: "x", Operator: v1.TolerationOpExists, TolerationSeconds: &seconds}}))
	}
	line, err := Forecast(Input{Nodes: []*v1.Node{ready("n1", "a", "True")}, Pods: pods, Events: []Event{{Node: "n1", At: after(1), Taint: "x:NoExecute"}}, Until: 10 * time.Second})
	require.NoError(t, err)
	var names []string
	for _, p := range line.Pending {
		names = append(names, p.Pod[len(p.Pod)-1:])
	}
	require.Equal(t, want, names)
}
