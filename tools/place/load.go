package place

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/report"
)

// load reads the input and sorts the pods into running, pending and left aside. It prints the warnings when it returns no
// error.
func load(o options, profiles []scheduler.Profile, timeline []event, stdin io.Reader, stderr io.Writer) (*world, error) {
	objects, err := dump.Read(o.Files, stdin, o.Input)
	if err != nil {
		return nil, err
	}
	objects.Tolerations = o.admission.Tolerations
	added, err := o.change(objects, stdin)
	if err != nil {
		return nil, err
	}
	counted := map[string]int{}
	if o.expand {
		expanded, err := objects.Expand(o.makesAll(objects))
		if err != nil {
			return nil, err
		}
		added = append(added, expanded.Pods...)
		for _, c := range expanded.Counted {
			counted[key(c.Pod)] = c.More
		}
	}
	if o.admit {
		objects.DefaultClasses()
	}
	made := map[*v1.Pod]bool{}
	for _, p := range added {
		made[p] = true
	}
	bad := o.checkInput(objects, timeline)
	identify(objects.Pods)
	w := newWorld(objects, o)
	w.counted = counted
	if w.groups, err = objects.Groups(o.featureGates); err != nil {
		return nil, err
	}
	if w.snapshot, err = cluster.New(objects.Cluster()); err != nil {
		return nil, err
	}
	if o.strict {
		if err := errors.Join(unknownFields(objects), orphans(w.snapshot), bad, o.unadmitted(objects)); err != nil {
			return nil, err
		}
	}
	_ = objects.Orphans(collected) // a warning
	misfits(w.snapshot, o.admission.Tolerations, &objects.Warnings)
	objects.Absent(dump.Asks{Placed: dump.Pending})
	others := map[string]int{}
	w.gate = objects.Gate(dump.Checks{Options: o.admission, Whole: o.admit, New: waits, Now: w.now})
	for _, p := range objects.Pods {
		pending := waits(p)
		switch {
		case pending && !slices.ContainsFunc(profiles, func(x scheduler.Profile) bool { return x.SchedulerName == dump.SchedulerName(p) }):
			others[p.Spec.SchedulerName] += 1 + counted[key(p)]
			w.noteStranger(p)
			continue
		case pending && (made[p] || o.admits(p)):
			admitted, text := w.gate.Admit(p)
			if text != "" {
				w.refused = append(w.refused, dump.Refusal{Pod: p, Text: text})
				continue
			}
			p = admitted
		}
		if !cluster.Finished(p) {
			w.keep(p)
		}
		if pending {
			w.pending = append(w.pending, p)
		} else if w.dies(p) {
			w.dying = append(w.dying, p)
		}
	}
	for _, name := range sortedKeys(others) {
		objects.Warnings.Add(fmt.Sprintf("%d pending pod(s) of scheduler %q left alone", others[name], name))
	}
	if text := o.nothing(w); text != "" && len(timeline) == 0 {
		objects.Warnings.Add(text)
	}
	slices.SortStableFunc(w.pending, comparePods)
	before, after := objects.Warnings.Part()
	before.Print(stderr)
	w.asides = after
	return w, nil
}

// makesAll reports whether all pods are made that workloads ask for, also those for which the nodes have no room: where nodes come, and where
// other rules decide.
func (o options) makesAll(objects *dump.Objects) bool {
	return o.pack || o.against != "" || o.timeline != "" || o.config != "" || o.preemption != defaultPreemption ||
		len(objects.PodGroups)+len(objects.CompositePodGroups) > 0
}

// nothing says why there is no pod to decide about, when the flag -expand would make pods; "" otherwise.
func (o options) nothing(w *world) string {
	if o.expand || len(w.pending) > 0 || len(w.objects.Pods) > 0 && len(w.objects.Nodes) > 0 {
		return ""
	}
	makers := 0
	for object := range w.objects.Others() {
		if isWorkload(object) {
			makers++
		}
	}
	if makers == 0 {
		return ""
	}
	return fmt.Sprintf("no pod waits for a node; -expand makes the pods of %s of the input", report.Count(makers, "workload"))
}

// newWorld returns the world at its beginning, which is the latest time in the input, rounded up to a second.
func newWorld(objects *dump.Objects, o options) *world {
	w := &world{
		states: map[string]metav1.Condition{}, grace: o.grace, pods: map[string]*v1.Pod{}, nodes: map[string]*v1.Node{}, others: map[string]metav1.Object{},
		now:   time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC),
		scale: disruption.NewScale(objects.Workloads()), objects: objects,
	}
	for _, n := range objects.Nodes {
		w.nodes[n.Name] = n
	}
	for _, b := range objects.PodDisruptionBudgets {
		w.addBudget(b)
	}
	for o := range objects.Others() {
		w.others[named(o)] = o
	}
	var last time.Time
	for _, p := range objects.Pods {
		last = later(last, p.CreationTimestamp.Time)
		if p.Status.StartTime != nil {
			last = later(last, p.Status.StartTime.Time)
		}
	}
	if !last.IsZero() {
		w.now = last.Add(time.Second - 1).Truncate(time.Second).UTC()
	}
	return w
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// identify gives a UID to pods that have none.
func identify(pods []*v1.Pod) {
	for _, p := range pods {
		if p.UID == "" {
			p.UID = types.UID(key(p))
		}
	}
}

// collected is what becomes of a pod whose node is not there. Pod garbage collection looks every 20 s, and once more 40 s after it
// has missed the node.
const collected = "counted nowhere; if the input is complete, pod garbage collection deletes it 40 to 60 s after its node is gone"

// unknownFields returns an error with a line for every field of the input that the API does not have.
func unknownFields(objects *dump.Objects) error {
	var errs []error
	for _, text := range objects.UnknownFields {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// orphans returns an error with a line for every pod whose node is not in the input.
func orphans(c *cluster.Snapshot) error {
	var errs []error
	for _, p := range c.Orphans() {
		errs = append(errs, fmt.Errorf("pod %s: spec.nodeName: Invalid value: %q: no such node in the input", key(p), p.Spec.NodeName))
	}
	return errors.Join(errs...)
}

// comparePods is the order of the queue:
//
//  1. higher priority first,
//  2. older first,
//  3. input order (by a stable sort).
func comparePods(a, b *v1.Pod) int {
	return cmp.Or(cmp.Compare(preemption.Priority(b), preemption.Priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
}

// waits reports whether the pod is one to decide.
func waits(p *v1.Pod) bool {
	return p.Spec.NodeName == "" && !cluster.Finished(p) && p.DeletionTimestamp == nil
}

// dies reports whether the pod is a member of a group that is being deleted before it had a node.
func (w *world) dies(p *v1.Pod) bool {
	_, member := podgroup.Of(p)
	return w.groups != nil && member && p.Spec.NodeName == "" && !cluster.Finished(p) && p.DeletionTimestamp != nil
}

// noteStranger notes a member of a group that another scheduler tries.
func (w *world) noteStranger(p *v1.Pod) {
	if _, member := podgroup.Of(p); member {
		w.strangers = append(w.strangers, p)
	}
}

// admits reports whether a pod of the input goes through admission: it shows no sign of having been there, or -admit asks.
func (o options) admits(p *v1.Pod) bool { return o.admit || p.Spec.Priority == nil }

func namespace(name string) *v1.Namespace {
	n := &v1.Namespace{}
	n.Name, n.Labels = name, map[string]string{v1.LabelMetadataName: name}
	return n
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
