package taint

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// wideInput is randomInput with all parameters, large and small zones, nodes that were never ready, and taints with a time.
func wideInput(r *rand.Rand) Input {
	in := randomInput(r)
	if r.Intn(3) == 0 { // a zone that may be disrupted partially
		for i := range 4 + r.Intn(6) {
			in.Nodes = append(in.Nodes, ready(fmt.Sprint("m", i), "c", "True"))
			if r.Intn(2) == 0 {
				in.Events = append(in.Events, Event{At: after(float64(r.Intn(40))), Node: fmt.Sprint("m", i), Heartbeats: HeartbeatsStop})
			}
			in.Pods = append(in.Pods, podOn(fmt.Sprint("m", i), fmt.Sprint("m", i), tolerationsOf(randomTolerations(r))))
		}
	}
	for _, n := range in.Nodes {
		n.CreationTimestamp = metav1.NewTime(start.Add(-time.Duration(r.Intn(100)) * time.Second))
		for i := range n.Spec.Taints {
			if r.Intn(3) == 0 {
				added := metav1.NewTime(start.Add(-time.Duration(r.Intn(6)) * time.Second))
				n.Spec.Taints[i].TimeAdded = &added
			}
		}
		if r.Intn(8) == 0 {
			n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: pick(r, v1.TaintNodeNotReady, v1.TaintNodeUnreachable), Effect: v1.TaintEffectNoExecute})
		}
		if r.Intn(8) == 0 {
			n.Spec.Unschedulable = true
		}
		if r.Intn(6) == 0 {
			n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: pick(r, v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure, v1.NodeNetworkUnavailable), Status: pick(r, v1.ConditionTrue, v1.ConditionUnknown)})
		}
	}
	for range r.Intn(6) {
		e := Event{At: after(float64(r.Intn(90))), Node: pick(r, in.Nodes...).Name}
		switch r.Intn(3) {
		case 0:
			e.Taint = pick(r, v1.TaintNodeNotReady, v1.TaintNodeUnreachable) + pick(r, ":NoExecute", "-", ":NoSchedule")
		case 1:
			e.Condition, e.Status = pick(r, v1.NodeReady, v1.NodeMemoryPressure, v1.NodePIDPressure, v1.NodeNetworkUnavailable), pick(r, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown)
		default:
			e.Heartbeats = pick(r, HeartbeatsStop, HeartbeatsResume)
		}
		in.Events = append(in.Events, e)
	}
	if r.Intn(2) == 0 {
		rate, share, full, size := pick(r, float32(0), 0.2, 2), pick(r, float32(0), 0.3, 1), pick(r, float32(0), 0.7), r.Intn(8)
		in.Config = Config{MonitorPeriod: pick(r, 0, time.Second, 7*time.Second), GracePeriod: pick(r, 0, 9*time.Second), StartupGrace: pick(r, 0, 15*time.Second), EvictionRate: &rate, UnhealthyThreshold: &share}
		if r.Intn(2) == 0 {
			in.Config.FullDisruptionRate = &full
		}
		if r.Intn(2) == 0 {
			in.Config.LargeCluster, in.Config.SecondaryRate = &size, &full
		}
	}
	in.Options.UseTimeAdded = r.Intn(3) == 0
	return in
}

// The forecasts of random clusters stay what they are. The file has the hashes of 30 forecasts each, and one forecast.
func TestForecastsOfRandomClusters(t *testing.T) {
	var out strings.Builder
	forecast := func(seed int64) string {
		line, err := Forecast(wideInput(rand.New(rand.NewSource(seed))))
		require.NoError(t, err)
		text, err := json.Marshal(line)
		require.NoError(t, err)
		return line.String() + string(text) + fmt.Sprintln(len(line.Evictions()), cancelled(line))
	}
	for k := range int64(15) {
		h := testkit.Hash64(t, k)
		for seed := range int64(30) {
			fmt.Fprint(h, forecast(30*k+seed))
		}
		fmt.Fprintf(&out, "%d: %x\n", k, h.Sum64())
	}
	text, _, _ := strings.Cut(forecast(1), "{")
	testkit.Golden(t, "testdata/forecasts.txt", out.String()+text)
}

// The answers of timers to random nodes and pods stay what they are. The file has their hashes, and the first answers.
func TestTimersOfRandomPods(t *testing.T) {
	var out, first strings.Builder
	for seed := range int64(30) {
		h := testkit.Hash64(t, seed)
		for _, line := range timersDiary(rand.New(rand.NewSource(seed))) {
			fmt.Fprintln(h, line)
			if seed == 0 && first.Len() < 3000 {
				fmt.Fprintln(&first, line)
			}
		}
		fmt.Fprintf(&out, "%d: %x\n", seed, h.Sum64())
	}
	testkit.Golden(t, "testdata/timers.txt", out.String()+first.String())
}

func timersDiary(r *rand.Rand) (out []string) {
	o := Options{RecomputeOnChange: r.Intn(2) == 0, UseTimeAdded: r.Intn(2) == 0}
	o.Matching = pick(r, taints.Options{}, taints.Options{ComparisonOperators: true})
	timers := NewTimers(o)
	now := start
	note := func(what string, actions []Action) {
		out = append(out, now.Format("15:04:05.0 ")+what)
		for _, a := range actions {
			out = append(out, fmt.Sprint("  ", a.What, " ", a.At.Sub(start), " ", a.Pod, a.UID, a.Node, " ", a.Fire.Format(time.TimeOnly), " ", a.Cause.ToString(), " ", a.Event()))
		}
	}
	for range 150 {
		node, name := pick(r, "n", "m", ""), pick(r, "a", "b", "c")
		switch r.Intn(7) {
		case 0, 1:
			list := taintsOf(randomTaints(r))
			for i := range list {
				if r.Intn(3) == 0 {
					added := metav1.NewTime(now.Add(-time.Second))
					list[i].TimeAdded = &added
				}
			}
			note("node "+node, timers.SetNode(nodeWith(node, list), now))
		case 2, 3:
			p := podOn(node, name, tolerationsOf(randomTolerations(r)))
			p.Namespace, p.UID = pick(r, "d", "e"), pick(r, types.UID("1"), "1", "2")
			note("pod "+name, timers.SetPod(p, now))
		case 4:
			if r.Intn(2) == 0 {
				timers.DeleteNode(node)
			}
			note("gone "+name, timers.DeletePod(types.NamespacedName{Namespace: pick(r, "d", "e"), Name: name}, now))
		default:
			now = now.Add(time.Duration(r.Intn(5)) * 500 * time.Millisecond)
			note("advance", timers.Advance(now))
		}
		next, ok := timers.Next()
		out = append(out, fmt.Sprint("  next ", next.Format(time.TimeOnly), ok, len(timers.running()), timers.timer(types.NamespacedName{Namespace: "d", Name: name}).Running()))
	}
	return out
}

func cancelled(line Timeline) (n int) {
	for _, e := range line.Entries {
		if e.What == EntryCancelled {
			n++
		}
	}
	return n
}
