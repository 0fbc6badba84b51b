package daemon

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/diagnose"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/scheduler/config"
)

// causesMetric has one series for each set of labels that some pod has.
var causesMetric = prometheus.NewDesc("podberth_pending_pods",
	"Number of pods that wait for a node, by the cause, the kind of the owner and the namespace, as of the last count.", []string{"cause", "owner_kind", "namespace"}, nil)

// The values of the label cause that are no type of a diagnose.Cause.
const (
	causeTurn     = "Turn"     // a node takes the pod: it waits for its turn, for its group or for an extender
	causeNotAsked = "NotAsked" // the pod is beyond mostDecided or mostDiagnosed
	causeUnknown  = "Unknown"  // no node takes the pod, and diagnose says nothing
)

// The bounds of a count. Namespaces beyond mostNamespaces, those with the fewest pods, count as otherNamespaces, which no namespace is called.
const (
	mostDecided     = 1000 // pods for which a node is sought
	mostDiagnosed   = 100  // pods without a node whose cause is sought: 15 ms each at 5,000 nodes
	mostNamespaces  = 100
	otherNamespaces = "_other"
	otherKind       = "other"
	restOfACount    = 50 // a count takes at most this part of the time of one core
)

// ownerKinds are the values of the label owner_kind, beside otherKind. Pod is a pod without a controller.
var ownerKinds = []string{"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job", "Pod"}

// causeLabels are the labels of a series.
type causeLabels struct{ cause, kind, namespace string }

// causes counts the pods that wait by why they wait: the metric podberth_pending_pods. A count works on a fork of the cluster, so that nothing
// waits for it.
type causes struct {
	every    time.Duration
	view     func(look func(c *cluster.Snapshot))
	pods     func() []*v1.Pod // those without a node
	profiles []config.Profile
	all      bool // pods of schedulers without a profile count too, as pods of the first profile
	failed   func(error)

	mu     sync.Mutex
	counts map[causeLabels]int // of the last count
}

// newCauses makes the counter that a configuration asks for, and registers it; nil: none is asked for.
func newCauses(c Config, pods func() []*v1.Pod, view func(look func(c *cluster.Snapshot)), all bool) (*causes, error) {
	if c.Causes <= 0 || c.Registry == nil {
		return nil, nil
	}
	x := &causes{every: c.Causes, view: view, pods: pods, all: all, failed: func(err error) { klog.ErrorS(err, "Counting waiting pods by cause") }}
	compiler := cel.NewCompiler()
	for _, p := range c.Configuration.Profiles {
		var err error
		if p.Placement, err = config.WithSelectors(p.Placement, compiler); err != nil {
			return nil, err
		}
		p.Placement.Sampling = placement.AllNodes()
		x.profiles = append(x.profiles, p)
	}
	return x, c.Registry.Register(x)
}

// run counts until the context ends. The pause after a count is the interval, or longer after a count that took long. A nil counter counts nothing.
func (x *causes) run(ctx context.Context) {
	if x == nil {
		return
	}
	defer x.set(nil) // another replica counts from now on
	for {
		began := time.Now()
		counts, err := x.count()
		if err != nil {
			x.failed(err)
		}
		x.set(counts)
		select {
		case <-time.After(max(x.every, (restOfACount-1)*time.Since(began))):
		case <-ctx.Done():
			return
		}
	}
}

func (x *causes) set(counts map[causeLabels]int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts = counts
}

// Describe makes the counter a [prometheus.Collector].
func (x *causes) Describe(out chan<- *prometheus.Desc) { out <- causesMetric }

// Collect sends the last count.
func (x *causes) Collect(out chan<- prometheus.Metric) {
	x.mu.Lock()
	counts := x.counts
	x.mu.Unlock()
	for l, n := range counts {
		out <- prometheus.MustNewConstMetric(causesMetric, prometheus.GaugeValue, float64(n), l.cause, l.kind, l.namespace)
	}
}

// count asks why each pod waits. A panic is an error: the scheduler goes on without the metric.
func (x *causes) count() (_ map[causeLabels]int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	var snapshot *cluster.Snapshot
	x.view(func(c *cluster.Snapshot) { snapshot = c.Fork() })
	asked, err := newAsked(snapshot, x.profiles)
	if err != nil {
		return nil, err
	}
	counts, spaces := map[causeLabels]int{}, map[string]int{}
	for _, p := range x.waiting(snapshot) {
		cause, err := asked.cause(p)
		if err != nil {
			return nil, err
		}
		counts[causeLabels{cause, ownerKind(snapshot, p), p.Namespace}]++
		spaces[p.Namespace]++
	}
	return bounded(counts, spaces), nil
}

// waiting returns the pods that wait for a node, in the order in which they are tried: higher priority first, then older first, then by UID.
func (x *causes) waiting(snapshot *cluster.Snapshot) (out []*v1.Pod) {
	for _, p := range x.pods() {
		known := slices.ContainsFunc(x.profiles, func(f config.Profile) bool { return f.Placement.Schedules(p) })
		if p.DeletionTimestamp != nil || snapshot.Pod(p.Namespace, p.Name) != nil || !known && !x.all {
			continue // it ends, a binding is under way, or another scheduler decides
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(preemption.Priority(b), preemption.Priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	return out
}

// bounded makes the namespaces with the fewest pods one, when there are more than mostNamespaces. It takes these out of spaces.
func bounded(counts map[causeLabels]int, spaces map[string]int) map[causeLabels]int {
	if len(spaces) <= mostNamespaces {
		return counts
	}
	names := slices.SortedFunc(maps.Keys(spaces), func(a, b string) int { return cmp.Or(cmp.Compare(spaces[b], spaces[a]), cmp.Compare(a, b)) })
	for _, name := range names[mostNamespaces:] {
		delete(spaces, name)
	}
	out := map[causeLabels]int{}
	for l, n := range counts {
		if spaces[l.namespace] == 0 {
			l.namespace = otherNamespaces
		}
		out[l] += n
	}
	return out
}

// ownerKind returns the kind of a pod's controller, or of the Deployment behind it.
func ownerKind(s *cluster.Snapshot, pod *v1.Pod) string {
	c := metav1.GetControllerOfNoCopy(pod)
	if c == nil {
		return "Pod"
	}
	kind := c.Kind
	if set, ok := cluster.List[*appsv1.ReplicaSet](s).Get(pod.Namespace, c.Name); ok && kind == "ReplicaSet" {
		if up := metav1.GetControllerOfNoCopy(set); up != nil {
			kind = up.Kind
		}
	}
	if !slices.Contains(ownerKinds, kind) {
		return otherKind
	}
	return kind
}

// asked answers for one pod after the other. Those that get a node take their room.
type asked struct {
	snapshot           *cluster.Snapshot
	placers            map[string]*placement.Placer
	first              *placement.Placer
	decided, diagnosed int
	known              map[types.UID]string // the cause of the first pod of a controller that gets no node: the others count like it
}

func newAsked(snapshot *cluster.Snapshot, profiles []config.Profile) (*asked, error) {
	x := &asked{snapshot: snapshot, placers: map[string]*placement.Placer{}, known: map[types.UID]string{}}
	for _, p := range profiles {
		placer, err := placement.NewPlacer(snapshot, p.Placement)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.SchedulerName, err)
		}
		x.placers[p.SchedulerName] = placer
		x.first = cmp.Or(x.first, placer)
	}
	return x, nil
}

// cause returns why a pod waits.
func (x *asked) cause(pod *v1.Pod) (string, error) {
	c := metav1.GetControllerOfNoCopy(pod)
	if c != nil {
		if cause, ok := x.known[c.UID]; ok {
			return cause, nil
		}
	}
	if x.decided == mostDecided {
		return causeNotAsked, nil
	}
	x.decided++
	placer := cmp.Or(x.placers[pod.Spec.SchedulerName], x.first)
	if len(pod.Spec.SchedulingGates) == 0 {
		if d := placer.Decide(pod, placement.Options{}); d.Placed() {
			return causeTurn, placer.Assume(pod, d)
		}
	}
	if x.diagnosed == mostDiagnosed {
		return causeNotAsked, nil
	}
	x.diagnosed++
	cause := causeUnknown
	if why := diagnose.CauseOf(placer.Plan, x.snapshot, pod); why != nil { // the type does not depend on the pods that wait beside
		cause = why.Type
	}
	if c != nil {
		x.known[c.UID] = cause
	}
	return cause, nil
}
