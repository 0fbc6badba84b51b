package taint

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// expect takes the deletions of pods that are there, the earliest of each pod, and records those that wait as timers.
func (f *forecast) expect() {
	first := map[types.NamespacedName]Deletion{}
	for _, d := range f.in.Deletions {
		if old, ok := first[d.Pod]; f.timers.pods[d.Pod] != nil && (!ok || compareDeletions(d, old) < 0) {
			first[d.Pod] = d
		}
	}
	for _, d := range first {
		f.deletions = append(f.deletions, d)
	}
	slices.SortFunc(f.deletions, compareDeletions)
	for _, d := range f.deletions {
		if d.At.After(f.in.Start) {
			f.add(Entry{What: EntryStarted, Node: f.timers.pods[d.Pod].node, Pod: d.Pod.String(), Cause: d.Cause, Until: offset(d.At.Sub(f.in.Start))})
		}
	}
}

// compareDeletions orders deletions:
//
//  1. by time
//  2. by namespace
//  3. by name
//  4. by cause
func compareDeletions(a, b Deletion) int {
	return cmp.Or(a.At.Compare(b.At), compareNames(a.Pod, b.Pod), cmp.Compare(a.Cause, b.Cause))
}

// nextDeletion returns the next deletion of a pod that is still there.
func (f *forecast) nextDeletion() (Deletion, bool) {
	for len(f.deletions) > 0 {
		if f.timers.pods[f.deletions[0].Pod] != nil {
			return f.deletions[0], true
		}
		f.deletions = f.deletions[1:]
	}
	return Deletion{}, false
}

// delete carries out the deletions that are due.
func (f *forecast) delete(at time.Duration) {
	for {
		d, ok := f.nextDeletion()
		if !ok || d.At.After(f.time(at)) {
			return
		}
		f.deletions = f.deletions[1:]
		e := Entry{At: metav1.Duration{Duration: at}, What: EntryEvicted, Node: f.timers.pods[d.Pod].node, Pod: d.Pod.String(), Cause: d.Cause}
		if f.silent[e.Node] {
			e.Cause += staysTerminating
		}
		f.timers.DeletePod(d.Pod, f.time(at)) // the controller of nodes says nothing of a pod that is gone
		f.add(e)
	}
}
