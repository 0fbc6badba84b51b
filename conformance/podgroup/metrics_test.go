package podgroup

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/podberth/podberth/internal/testkit/situation"
	own "github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/scheduler"
)

// measured are the metrics whose values both sides must agree on: of durations how often they were observed.
var measured = []string{
	scheduler.GroupAttempts, scheduler.GroupAttemptDuration, scheduler.GroupAlgorithmDuration, scheduler.GroupPreemptionAttempts, scheduler.GroupPreemptionVictims,
	scheduler.PreemptionGroupDisruptions, scheduler.PreemptionBudgetViolations, scheduler.PreemptionEvaluationDuration, scheduler.PreemptionExecutionDuration,
	scheduler.GeneratedPlacements, scheduler.PlacementEvaluations, scheduler.PlacementEvaluationDuration,
	scheduler.PendingPods, scheduler.QueuedEntities, scheduler.ScheduleAttempts, scheduler.AttemptDuration, scheduler.AlgorithmDuration,
	scheduler.PreemptionAttempts, scheduler.PreemptionVictims, scheduler.PreemptionTasks, scheduler.PreemptionTaskDuration,
}

// tally is scheduler.Metrics that keeps what is measured, by name and labels.
type tally map[string]float64

func (c tally) key(name string, values []string) string {
	for _, m := range scheduler.MetricTable() {
		if m.Name != name {
			continue
		}
		var labels []string
		for k, l := range m.Labels {
			labels = append(labels, l+"="+values[k])
		}
		slices.Sort(labels)
		return name + "{" + strings.Join(labels, ",") + "}"
	}
	return name
}

func (c tally) Add(name string, n float64, values ...string) { c[c.key(name, values)] += n }
func (c tally) Set(name string, n float64, values ...string) { c[c.key(name, values)] = n }
func (c tally) Observe(name string, n float64, values ...string) {
	c.Add(name, 1, values...)
	if !strings.HasSuffix(name, "_seconds") {
		c[c.key(name, values)+" sum"] += n
	}
}

// since returns what changed after another moment, of what is measured.
func (c tally) since(before tally) map[string]float64 {
	out := map[string]float64{}
	for k, v := range c {
		name, _, _ := strings.Cut(k, "{")
		if d := v - before[k]; d != 0 && slices.Contains(measured, name) {
			out[k] = d
		}
	}
	return out
}

// counted returns what kube-scheduler has counted in this process.
func counted() (tally, error) {
	out := tally{}
	families, err := legacyregistry.DefaultGatherer.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			slices.Sort(labels)
			key := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			out[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			if m.GetHistogram() != nil && !strings.HasSuffix(f.GetName(), "_seconds") {
				out[key+" sum"] = m.GetHistogram().GetSampleSum()
			}
		}
	}
	return out, err
}

var registerMetrics sync.Once

// tale is what happens to a cluster: steps in batches.
type tale struct {
	name    string
	gates   *own.Gates // nil: groups are off
	nodes   []*v1.Node
	batches [][]step
}

// Both schedulers have the same metrics of groups, and count the same: attempts, placements, preemptions and who waits where, in virtual time.
func TestMetrics(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2) // the first call starts what must be outside of a bubble
	require.NoError(t, switchGates(&own.Gates{Topology: true, Composites: true}, true))
	registerMetrics.Do(metrics.Register)
	seen := map[string]bool{}
	for _, c := range tales() {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for name := range playTale(t, c) {
					seen[name] = true
				}
			})
		})
	}
	for _, name := range measured {
		require.True(t, seen[name], name)
	}
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	shapes := map[string]string{}
	for _, f := range families {
		shapes[f.GetName()] = shapeOf(f)
	}
	for _, m := range scheduler.MetricTable() {
		if slices.Contains(measured, m.Name) {
			slices.Sort(m.Labels)
			require.Equal(t, shapes[m.Name], fmt.Sprint([]string{"COUNTER", "GAUGE", "HISTOGRAM"}[m.Kind], m.Labels, m.Buckets), m.Name)
		} else {
			require.False(t, m.Groups, m.Name)
		}
	}
}

// shapeOf returns the type of a metric, the names of its labels and its buckets.
func shapeOf(f *dto.MetricFamily) string {
	var labels []string
	var buckets []float64
	for _, l := range f.GetMetric()[0].GetLabel() {
		labels = append(labels, l.GetName())
	}
	slices.Sort(labels)
	for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
		buckets = append(buckets, b.GetUpperBound())
	}
	return fmt.Sprint(f.GetType().String(), labels, buckets)
}

// playTale lets both schedulers live through a tale, and returns the names of what they counted.
func playTale(t *testing.T, c tale) map[string]bool {
	theirs, err := newTheirs(context.Background(), c.gates, true, c.nodes...)
	require.NoError(t, err)
	defer theirs.close()
	ours, err := newOurs(c.gates, c.nodes...)
	require.NoError(t, err)
	began, err := counted()
	require.NoError(t, err)
	seen := map[string]bool{}
	for k, batch := range c.batches {
		for _, s := range batch {
			require.NoError(t, theirs.do(s))
			require.NoError(t, ours.do(s))
		}
		theirs.rest()
		ours.rest()
		now, err := counted()
		require.NoError(t, err)
		ours.(*ownPlayer).s.Gauges()
		if c.gates == nil { // they were registered for the gates of the process
			for _, name := range []string{scheduler.PreemptionEvaluationDuration, scheduler.PreemptionExecutionDuration} {
				maps.DeleteFunc(now, func(key string, _ float64) bool { return strings.HasPrefix(key, name) })
			}
		}
		want, got := now.since(began), ours.(*ownPlayer).counts.since(nil)
		shown := theirs.shown()
		for i := range shown { // v1.37.2 names the domains in random order
			shown[i] = strings.ReplaceAll(shown[i], "found for pod group: b, a", "found for pod group: a, b")
		}
		require.Equal(t, sorted(shown), sorted(ours.shown()), "step %d", k)
		require.Equal(t, lines(want), lines(got), "step %d", k)
		for key := range want {
			name, _, _ := strings.Cut(key, "{")
			seen[name] = true
		}
	}
	return seen
}

func lines(m map[string]float64) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s %v", k, m[k]))
	}
	return strings.Join(out, "\n")
}

// tales are those of the test.
func tales() []tale {
	none, trees := &own.Gates{}, &own.Gates{Topology: true, Composites: true}
	small, zones := []*v1.Node{nodeOf("a1", "2", "a")}, []*v1.Node{nodeOf("a1", "2", "a"), nodeOf("b1", "4", "b")}
	group := func(name string, minimum, priority int32, change ...func(*own.Group)) step {
		g := &own.Group{ObjectMeta: metav1.ObjectMeta{Namespace: situation.Namespace, Name: name, UID: types.UID(name)}, Spec: own.Spec{Priority: &priority}}
		if minimum > 0 {
			g.Minimum = &minimum
		}
		for _, f := range change {
			f(g)
		}
		return step{group: g}
	}
	composite := func(name string, minimum int32, keys ...string) step {
		c := &own.Composite{ObjectMeta: metav1.ObjectMeta{Namespace: situation.Namespace, Name: name, UID: types.UID(name)}}
		c.Minimum = &minimum
		if len(keys) > 0 {
			c.Constraints = &own.Constraints{Topology: keys}
		}
		return step{composite: c}
	}
	byZone := func(g *own.Group) { g.Constraints = &own.Constraints{Topology: []string{"zone"}} }
	byRack := func(g *own.Group) { g.Constraints = &own.Constraints{Topology: []string{"rack"}} }
	whole := func(g *own.Group) { g.DisruptAll = true }
	in := func(parent string) func(*own.Group) { return func(g *own.Group) { g.Parent = parent } }
	pods := 0
	pod := func(name, group, cpu string, priority int32, change ...func(*v1.Pod)) step {
		pods++
		p := podOf(name, group, cpu, priority, pods)
		for _, f := range change {
			f(p)
		}
		return step{pod: p}
	}
	on := func(node string) func(*v1.Pod) { return func(p *v1.Pod) { p.Spec.NodeName = node } }
	guarded := func(p *v1.Pod) { p.Labels = map[string]string{"app": "x"} }
	gate := func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}} }
	never := func(p *v1.Pod) { p.Spec.PreemptionPolicy = new(v1.PreemptNever) }
	leaving := func(p *v1.Pod) {
		at := metav1.NewTime(situation.Noon)
		p.DeletionTimestamp, p.Finalizers = &at, []string{"example.com/f"}
	}
	preempted := func(p *v1.Pod) {
		leaving(p)
		p.Status.Conditions = []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: v1.PodReasonPreemptionByScheduler}}
	}
	nominated := func(p *v1.Pod) { p.Status.NominatedNodeName = "a1" }
	budget := func(allowed int32) step {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: situation.Namespace, Name: "b", UID: "b"}}
		b.Spec.Selector, b.Status.DisruptionsAllowed = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}, allowed
		return step{budget: b}
	}
	gang := func(n int, cpu string, priority int32) (out []step) {
		for k := range n {
			out = append(out, pod(fmt.Sprintf("m%d", k), "g", cpu, priority))
		}
		return out
	}
	return []tale{
		{"a gang", none, zones, [][]step{{group("g", 2, 0)}, gang(2, "1", 0)}},
		{"a gang in one placement", trees, zones, [][]step{{group("g", 2, 0)}, gang(2, "1", 0)}},
		{"no room", none, small, [][]step{{group("g", 3, 0)}, gang(3, "1", 0)}},
		{"no room in one placement", trees, small, [][]step{{group("g", 3, 0)}, gang(3, "1", 0)}},
		{"one member too many", none, small, [][]step{{group("g", 0, 0)}, gang(3, "1", 0)}},
		{"one zone of two", trees, zones, [][]step{{group("g", 3, 0, byZone)}, gang(3, "1", 0)}},
		{"both zones", trees, zones, [][]step{{group("g", 2, 0, byZone)}, gang(2, "1", 0)}},
		{"no zone", trees, zones, [][]step{{group("g", 2, 0, byZone)}, gang(2, "5", 0)}}, // one text for both: v1.37.2 names a zone at random
		{"no placement", trees, zones, [][]step{{group("g", 1, 0, byRack)}, gang(1, "1", 0)}},
		{"no node", trees, nil, [][]step{{group("g", 1, 0)}, gang(1, "1", 0)}},
		{"nobody is tried", none, small, [][]step{{group("g", 2, 0)}, {pod("x", "g", "1", 0, leaving), pod("y", "g", "1", 0)}}},
		{"all leave", none, small, [][]step{{group("g", 1, 0)}, {pod("x", "g", "1", 0, leaving)}}},
		{"members in two domains", trees, zones, [][]step{{group("g", 1, 0, byZone), pod("r", "g", "1", 0, on("a1")), pod("s", "g", "1", 0, on("b1"))}, gang(1, "1", 0)}},
		{"members disagree", none, small, [][]step{{group("g", 1, 0)}, gang(1, "1", 10)}},
		{"incomplete", none, small, [][]step{gang(2, "1", 0)}},
		{"too few", none, small, [][]step{{group("g", 3, 0)}, gang(2, "1", 0)}},
		{"gated", none, small, [][]step{{group("g", 2, 0)}, {pod("x", "g", "1", 0, gate), pod("y", "g", "1", 0)}}},
		{"pods without group", none, small, [][]step{{pod("x", "", "1", 0), pod("y", "", "5", 0), pod("z", "", "1", 0, gate)}}},
		{"a gang preempts", none, small, [][]step{{pod("v", "", "1", 0, on("a1")), pod("w", "", "1", 0, on("a1")), group("g", 2, 10)}, gang(2, "1", 10)}},
		{"a gang preempts in a placement", trees, small, [][]step{{pod("v", "", "1", 0, on("a1")), pod("w", "", "1", 0, on("a1")), group("g", 2, 10)}, gang(2, "1", 10)}},
		{"a gang preempts groups", none, small, [][]step{{
			group("low", 1, 0), group("all", 2, 0, whole), pod("v", "low", "500m", 0, on("a1")), pod("u", "", "500m", 0, on("a1")),
			pod("w", "all", "500m", 0, on("a1")), pod("x", "all", "500m", 0, on("a1")), group("g", 2, 10),
		}, gang(2, "1", 10)}},
		{"a gang preempts against a budget", none, small, [][]step{{
			budget(1), group("all", 2, 0, whole), pod("v", "all", "1", 0, on("a1"), guarded), pod("w", "all", "1", 0, on("a1"), guarded), group("g", 2, 10),
		}, gang(2, "1", 10)}},
		{"the trial fails", none, small, [][]step{{pod("v", "", "1", 0, on("a1")), group("g", 3, 10)}, gang(3, "1", 10)}},
		{"must not preempt", none, small, [][]step{{pod("v", "", "2", 0, on("a1")), group("g", 1, 10)}, {pod("x", "g", "1", 10, never)}}},
		{"an earlier preemption goes on", none, small, [][]step{{pod("v", "", "2", 0, on("a1"), preempted), group("g", 1, 10)}, {pod("x", "g", "1", 10, nominated)}}},
		{"the victim leaves already", none, small, [][]step{{pod("v", "", "2", 0, on("a1"), leaving), group("g", 1, 10)}, gang(1, "1", 10)}},
		{"the victim of a pod leaves already", none, small, [][]step{{pod("v", "", "2", 0, on("a1"), leaving)}, {pod("x", "", "1", 10)}}},
		{"the victim of a pod leaves already, and another does not", none, small, [][]step{{pod("v", "", "1", 0, on("a1"), leaving), pod("w", "", "1", 0, on("a1"))}, {pod("x", "", "2", 10)}}},
		{"one victim leaves already", none, small, [][]step{{pod("v", "", "1", 0, on("a1"), leaving), pod("w", "", "1", 0, on("a1")), group("g", 1, 10)}, gang(1, "2", 10)}},
		{"groups are off, and the victim leaves already", nil, small, [][]step{{pod("v", "", "2", 0, on("a1"), leaving)}, {pod("x", "", "1", 10)}}},
		{"groups are off, and one victim leaves already", nil, small, [][]step{{pod("v", "", "1", 0, on("a1"), leaving), pod("w", "", "1", 0, on("a1"))}, {pod("x", "", "2", 10)}}},
		{"groups are off, the victim leaves already, and a lower pod is nominated", nil, small, [][]step{{pod("v", "", "2", 0, on("a1"), leaving), pod("p", "", "2", 10, nominated)}, {pod("x", "", "2", 20)}}},
		{"groups are off, a lower pod preempts first", nil, small, [][]step{{pod("v", "", "2", 0, on("a1"))}, {pod("p", "", "2", 10)}, {pod("x", "", "2", 20)}}},
		{"groups are off", nil, small, [][]step{{group("all", 2, 0, whole), pod("v", "all", "1", 0, on("a1"))}, gang(2, "1", 10)}},
		{"a tree preempts", trees, small, [][]step{{pod("v", "", "2", -5, on("a1")), composite("job", 1), group("g", 1, 0, in("job"))}, gang(1, "1", 0)}},
		{"a tree in zones", trees, zones, [][]step{{composite("job", 2, "zone"), group("x", 1, 0, in("job")), group("y", 1, 0, in("job"), byZone), pod("xa", "x", "1", 0), pod("ya", "y", "1", 0)}}},
		{"a child fails", trees, small, [][]step{{composite("job", 1), group("x", 1, 0, in("job")), group("y", 1, 0, in("job"), byZone), pod("xa", "x", "1", 0), pod("ya", "y", "5", 0)}}},
		{"a pod preempts a group", none, small, [][]step{{group("all", 2, 0, whole), pod("v", "all", "1", 0, on("a1")), pod("w", "all", "1", 0, on("a1"))}, {pod("x", "", "1", 10)}}},
		{"a pod preempts against a budget", none, small, [][]step{{budget(0), pod("v", "", "1", 0, on("a1"), guarded), pod("w", "", "1", 0, on("a1"), guarded)}, {pod("x", "", "2", 10)}}},
		{"a pod finds nobody", none, small, [][]step{{pod("v", "", "2", 50, on("a1"))}, {pod("x", "", "2", 10), pod("y", "", "1", 60, never)}}},
	}
}

// nodeOf makes a node in a zone.
func nodeOf(name, cpu, zone string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"zone": zone}}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110")}
	n.Status.Capacity = n.Status.Allocatable
	return n
}
