package rollout

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/disruption"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/decider"
	"github.com/podberth/podberth/internal/must"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/resources"
)

// refusal is why a pod does not leave in a wave: one of its fields is set.
type refusal struct {
	decision *disruption.Decision // of the Eviction API
	pod      *v1.Pod              // the replacement that finds no node, with failure
	failure  *placement.Failure
	waits    string  // why the controller makes no pod, or why the plan waits
	gate     string  // why the scheduler does not try the replacement
	unit     []*item // the group that leaves whole, because of whose pod by it stays; nil for a pod alone
	by       *item
}

// departure is a pod that leaves at a time.
type departure struct {
	it *item
	at time.Duration
}

// wave is one wave that is under way.
type wave struct {
	*run
	Wave
	leaving []departure // old pods, until they are gone
	refused map[*item]refusal
}

// arrive begins a wave: the pods that wait for a node are tried.
func (x *run) arrive() *wave {
	w := &wave{run: x, refused: map[*item]refusal{}}
	w.Begin = x.now
	w.place()
	x.budgets.sync(x.scale, x.clock())
	return w
}

// wave lets pods leave that may leave now. It returns the pods that did not leave and why.
func (x *run) wave(waiting []*item) (Wave, []*item, map[*item]refusal) {
	w := x.arrive()
	w.play(waiting)
	w.gone(w.End)
	x.advance(w.End)
	left := slices.DeleteFunc(slices.Clone(waiting), func(it *item) bool { _, stays := w.refused[it]; return !stays })
	return w.Wave, left, w.refused
}

// play evicts in the order of the plan: first pods that are replaced at once, then the others by the time that they take.
func (w *wave) play(waiting []*item) {
	waiting = w.whole(waiting)
	slices.SortFunc(waiting, leaveOrder)
	var late []departure
	for _, it := range waiting {
		at := later(w.Begin, w.stop(it))
		if it.unit.late() || w.together(it) != "" {
			late = append(late, departure{it, at})
			continue
		}
		d, ok := w.ask(it)
		if !ok {
			continue
		}
		s, j := w.snapshot.Mark(), len(w.journal) // the mark of the batch ends this mark too
		stays := at > w.Begin
		w.take(it, stays)
		n := w.replace(it)
		if r, refused := w.refused[it]; refused {
			w.undo(j)
			w.snapshot.Rollback(s)
			if r.failure != nil && stays {
				late = append(late, departure{it, at}) // the replacement may fit when the old pod is gone
			}
			continue
		}
		w.budgets.charge(it, d)
		if stays {
			w.leaving = append(w.leaving, departure{it, at})
		}
		w.record(it, d, n, at, w.Begin)
	}
	slices.SortStableFunc(late, func(a, b departure) int { return cmp.Compare(a.at, b.at) })
	w.late(late)
}

// late evicts pods that are replaced when they are gone. They become terminating together, and each leaves at its time. A pod
// whose replacement finds no node then is left out, and the others are tried again.
func (w *wave) late(all []departure) {
	out := map[*item]refusal{}
	for {
		before, leaving, moves := w.saved(), slices.Clone(w.leaving), len(w.Moves)
		s, j := w.snapshot.Mark(), len(w.journal)
		failed := w.evictAll(all, out)
		if failed == nil {
			return
		}
		why, mates := w.refused[failed], w.mates(all, failed)
		if why.unit == nil && len(mates) > 1 {
			why.by = failed
			for _, s := range mates {
				why.unit = append(why.unit, s.it)
			}
		}
		for _, s := range mates {
			out[s.it] = why
		}
		w.undo(j)
		w.snapshot.Rollback(s)
		w.restore(before)
		w.leaving, w.Moves = leaving, w.Moves[:moves]
	}
}

// evictAll evicts the pods that are not out. It returns the first pod whose replacement finds no node.
func (w *wave) evictAll(all []departure, out map[*item]refusal) (failed *item) {
	sets := map[*unit]bool{} // StatefulSets with OrderedReady that lose a pod in this wave
	var group []departure
	var decisions []*disruption.Decision
	for _, s := range all {
		delete(w.refused, s.it)
		if r, no := out[s.it]; no {
			w.refused[s.it] = r
			continue
		}
		if sets[s.it.unit] {
			w.refused[s.it] = refusal{waits: s.it.unit.String() + " makes one pod after the other"}
			continue
		}
		d, ok := w.ask(s.it)
		if !ok {
			if w.together(s.it) != "" {
				return s.it // its group stays
			}
			continue
		}
		w.budgets.charge(s.it, d)
		w.take(s.it, true)
		sets[s.it.unit] = s.it.unit != nil && s.it.unit.ordered
		group, decisions = append(group, s), append(decisions, d)
	}
	w.budgets.sync(w.scale, w.clock()) // forgets the disrupted pods, whose names come again
	for k, s := range group {
		w.gone(s.at)
		w.remove(s.it)
		n := w.replace(s.it)
		if _, refused := w.refused[s.it]; refused {
			return s.it
		}
		w.record(s.it, decisions[k], n, s.at, s.at)
	}
	return nil
}

// saved and restore keep what neither the snapshot nor the journal has.
func (w *wave) saved() saved {
	return saved{slices.Clone(w.budgets.list), maps.Clone(w.budgets.rooms), slices.Clone(w.starting), w.End}
}

func (w *wave) restore(s saved) {
	w.budgets.list, w.budgets.rooms, w.starting, w.End = s.list, s.rooms, s.starting, s.end
}

type saved struct {
	list     []*policyv1.PodDisruptionBudget
	rooms    map[int32]Room
	starting []*item
	end      time.Duration
}

// ask asks the Eviction API about a pod. It reports whether the pod may leave; refused has the refusal.
func (w *wave) ask(it *item) (*disruption.Decision, bool) {
	d := disruption.Decide(it.seen, w.asked(it), w.o.request(it.seen), w.clock())
	if !d.Allowed() {
		w.refused[it] = refusal{decision: &d}
	}
	return &d, d.Allowed()
}

// take makes a pod terminating, or takes it away at once.
func (w *wave) take(it *item, stays bool) {
	switch {
	case !stays:
		w.remove(it)
	case it.seen.DeletionTimestamp == nil:
		w.terminate(it)
	}
}

// replacement is what takes the place of a pod: nothing, a pod on a node, or a pod of another scheduler.
type replacement struct {
	next     *item
	decision placement.Decision
}

// replace looks for a node for the pod that takes the place of a pod. refused says why there is none.
func (w *wave) replace(it *item) replacement {
	next, waits := w.remake(it)
	if waits != "" {
		w.refused[it] = refusal{waits: waits}
	}
	if next == nil {
		return replacement{}
	}
	n := w.newItem(next, "")
	n.origin, n.moves, n.path = it.origin, it.moves+1, it.path
	if !w.schedules(next) {
		return replacement{next: n, decision: placement.Decision{Slot: -1}}
	}
	if gate, gated := filter.Gated(next); gated {
		w.refused[it] = refusal{pod: next, gate: gate}
		return replacement{}
	}
	for _, claim := range podinfo.EphemeralClaims(next) {
		must.Do(w.snapshot.Set(claim))
	}
	decider.MakeClaims(w.snapshot, next, "moved")
	d := w.decide(next)
	if !d.Placed() {
		w.refused[it] = refusal{pod: next, failure: d.Failure}
	}
	return replacement{next: n, decision: d}
}

// record writes a move and puts the replacement on its node.
func (w *wave) record(it *item, d *disruption.Decision, r replacement, gone, made time.Duration) {
	move := Move{Pod: podinfo.Name(it.obj), From: it.node, Bypass: d.Bypass, Gone: gone}
	for _, k := range it.budgets {
		move.Budgets = append(move.Budgets, w.budgets.name(k))
	}
	w.End = max(w.End, gone)
	if r.next != nil {
		move.Replacement, move.To, move.Placed = podinfo.Name(r.next.obj), r.decision.Node, made
		move.Ready = later(made, w.o.start(r.next.obj, r.decision.Node))
		w.End = max(w.End, move.Ready)
		w.put(r.next, r.decision)
	}
	w.Moves = append(w.Moves, move)
}

// asked returns the budgets that an eviction of the pod asks.
func (w *wave) asked(it *item) []*policyv1.PodDisruptionBudget {
	if w.o.Drain.DisableEviction {
		return nil
	}
	return w.budgets.covering(it)
}

// request is the eviction of a pod with the grace period of the options.
func (o *Options) request(pod *v1.Pod) disruption.Request {
	return disruption.Request{Eviction: &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: o.Drain.GracePeriodSeconds},
	}}
}

// stop returns how long a pod takes from its eviction until it is gone.
func (x *run) stop(it *item) time.Duration {
	if x.o.Stop != nil {
		return max(0, x.o.Stop(it.seen))
	}
	d := disruption.Decide(it.seen, nil, x.o.request(it.seen), x.clock())
	return max(0, resources.Seconds(d.GraceSeconds))
}

// gone removes the old pods that have left at a time.
func (w *wave) gone(at time.Duration) {
	var later []departure
	for _, d := range w.leaving {
		if d.at > at {
			later = append(later, d)
			continue
		}
		w.remove(d.it)
	}
	w.leaving = later
}

// place tries the pods that wait for a node, in the order of the queue.
func (w *wave) place() {
	var still []*item
	w.End = w.Begin
	pods := make([]*v1.Pod, 0, len(w.pending))
	for _, it := range w.pending {
		pods = append(pods, it.obj)
	}
	of := w.tried(pods)
	for _, it := range w.pending {
		d := of(it.obj)
		if !d.Placed() {
			if !w.held.WaitsForVictims(w.placer, it.obj, d.Failure, w.clock()) {
				w.release(it.obj)
			}
			still = append(still, it)
			continue
		}
		w.release(it.obj)
		at := later(w.Begin, w.o.start(it.obj, d.Node))
		w.delist(it)
		w.do(func() { w.enlist(it) })
		w.put(it, d)
		w.Placed = append(w.Placed, Arrival{podinfo.Name(it.obj), d.Node, at})
		w.End = max(w.End, at)
	}
	w.pending = still
}

// leaveOrder orders pods that leave: pods that are not ready, lower priority, namespace, name, UID.
func leaveOrder(a, b *item) int {
	if ra, rb := ready(a.seen), ready(b.seen); ra != rb {
		if rb {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(podinfo.Priority(a.seen), podinfo.Priority(b.seen)), strings.Compare(a.seen.Namespace, b.seen.Namespace),
		strings.Compare(a.seen.Name, b.seen.Name), strings.Compare(string(a.seen.UID), string(b.seen.UID)))
}
