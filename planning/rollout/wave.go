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
	"github.com/podberth/podberth/internal/podclaims"
	"github.com/podberth/podberth/internal/podinfo"
	"github.com/podberth/podberth/placement"
)

// refusal is why a pod does not leave in a wave: one of its fields is set.
type refusal struct {
	decision *disruption.Decision // of the Eviction API
	pod      *v1.Pod              // the replacement that finds no node, with failure
	failure  *placement.Failure
	waits    string // why the controller makes no pod, or why the plan waits
	gate     string // why the scheduler does not try the replacement
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

// wave lets pods leave that may leave now. It returns the pods that did not leave and why.
func (x *run) wave(waiting []*item) (Wave, []*item, map[*item]refusal, error) {
	w := &wave{run: x, refused: map[*item]refusal{}}
	w.Begin = x.now
	if err := w.place(); err != nil {
		return Wave{}, nil, nil, err
	}
	x.budgets.sync(x.scale, x.clock())
	if err := w.play(waiting); err != nil {
		return Wave{}, nil, nil, err
	}
	if err := w.gone(w.End); err != nil {
		return Wave{}, nil, nil, err
	}
	x.advance(w.End)
	left := slices.DeleteFunc(slices.Clone(waiting), func(it *item) bool { _, stays := w.refused[it]; return !stays })
	return w.Wave, left, w.refused, nil
}

// play evicts in the order of the plan: first pods that are replaced at once, then the others by the time that they take.
func (w *wave) play(waiting []*item) error {
	slices.SortFunc(waiting, leaveOrder)
	var late []departure
	for _, it := range waiting {
		at := w.Begin + w.stop(it)
		if it.unit.late() {
			late = append(late, departure{it, at})
			continue
		}
		d, ok := w.ask(it)
		if !ok {
			continue
		}
		s, j := w.snapshot.Mark(), len(w.journal)
		stays := at > w.Begin
		if err := w.take(it, stays); err != nil {
			return err
		}
		n, err := w.replace(it)
		if err != nil {
			return err
		}
		if r, refused := w.refused[it]; refused {
			w.undo(j)
			w.snapshot.Rollback(s)
			if r.failure != nil && stays {
				late = append(late, departure{it, at}) // the replacement may fit when the old pod is gone
			}
			continue
		}
		w.snapshot.Release(s)
		w.budgets.charge(it, d)
		if stays {
			w.leaving = append(w.leaving, departure{it, at})
		}
		if err := w.record(it, d, n, at, w.Begin); err != nil {
			return err
		}
	}
	slices.SortStableFunc(late, func(a, b departure) int { return cmp.Compare(a.at, b.at) })
	return w.late(late)
}

// late evicts pods that are replaced when they are gone. They become terminating together, and each leaves at its time. A pod
// whose replacement finds no node then is left out, and the others are tried again.
func (w *wave) late(all []departure) error {
	out := map[*item]refusal{}
	for {
		before, leaving, moves := w.saved(), slices.Clone(w.leaving), len(w.Moves)
		s, j := w.snapshot.Mark(), len(w.journal)
		failed, err := w.together(all, out)
		if err != nil {
			return err
		}
		if failed == nil {
			w.snapshot.Release(s)
			return nil
		}
		out[failed] = w.refused[failed]
		w.undo(j)
		w.snapshot.Rollback(s)
		w.restore(before)
		w.leaving, w.Moves = leaving, w.Moves[:moves]
	}
}

// together evicts the pods that are not out. It returns the first pod whose replacement finds no node.
func (w *wave) together(all []departure, out map[*item]refusal) (failed *item, err error) {
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
			continue
		}
		w.budgets.charge(s.it, d)
		if err := w.take(s.it, true); err != nil {
			return nil, err
		}
		sets[s.it.unit] = s.it.unit.ordered
		group, decisions = append(group, s), append(decisions, d)
	}
	w.budgets.sync(w.scale, w.clock()) // forgets the disrupted pods, whose names come again
	for k, s := range group {
		if err := w.gone(s.at); err != nil {
			return nil, err
		}
		if err := w.remove(s.it); err != nil {
			return nil, err
		}
		n, err := w.replace(s.it)
		if err != nil {
			return nil, err
		}
		if _, refused := w.refused[s.it]; refused {
			return s.it, nil
		}
		if err := w.record(s.it, decisions[k], n, s.at, s.at); err != nil {
			return nil, err
		}
	}
	return nil, nil
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
func (w *wave) take(it *item, stays bool) error {
	switch {
	case !stays:
		return w.remove(it)
	case it.seen.DeletionTimestamp == nil:
		return w.terminate(it)
	}
	return nil
}

// replacement is what takes the place of a pod: nothing, a pod on a node, or a pod of another scheduler.
type replacement struct {
	next     *item
	decision placement.Decision
}

// replace looks for a node for the pod that takes the place of a pod. refused says why there is none.
func (w *wave) replace(it *item) (replacement, error) {
	next, waits, err := w.remake(it)
	if waits != "" {
		w.refused[it] = refusal{waits: waits}
	}
	if err != nil || next == nil {
		return replacement{}, err
	}
	n := w.newItem(next, "")
	n.origin, n.moves, n.path = it.origin, it.moves+1, it.path
	if !w.schedules(next) {
		return replacement{next: n, decision: placement.Decision{Slot: -1}}, nil
	}
	if gate, gated := filter.Gated(next); gated {
		w.refused[it] = refusal{pod: next, gate: gate}
		return replacement{}, nil
	}
	for _, claim := range podinfo.EphemeralClaims(next) {
		if err := w.snapshot.Set(claim); err != nil {
			return replacement{}, err
		}
	}
	if err := podclaims.Make(w.snapshot, next, "moved"); err != nil {
		return replacement{}, err
	}
	d := w.placer.Decide(next, placement.Options{})
	if !d.Placed() {
		w.refused[it] = refusal{pod: next, failure: d.Failure}
	}
	return replacement{next: n, decision: d}, nil
}

// record writes a move and puts the replacement on its node.
func (w *wave) record(it *item, d *disruption.Decision, r replacement, gone, made time.Duration) error {
	move := Move{Pod: podinfo.Name(it.obj), From: it.node, Bypass: d.Bypass, Gone: gone}
	for _, k := range it.budgets {
		move.Budgets = append(move.Budgets, w.budgets.name(k))
	}
	w.End = max(w.End, gone)
	if r.next != nil {
		move.Replacement, move.To, move.Placed = podinfo.Name(r.next.obj), r.decision.Node, made
		move.Ready = made + w.o.start(r.next.obj, r.decision.Node)
		w.End = max(w.End, move.Ready)
		if err := w.put(r.next, r.decision); err != nil {
			return err
		}
	}
	w.Moves = append(w.Moves, move)
	return nil
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
	return max(0, time.Duration(d.GraceSeconds)*time.Second)
}

// gone removes the old pods that have left at a time.
func (w *wave) gone(at time.Duration) error {
	var later []departure
	for _, d := range w.leaving {
		if d.at > at {
			later = append(later, d)
			continue
		}
		if err := w.remove(d.it); err != nil {
			return err
		}
	}
	w.leaving = later
	return nil
}

// place tries the pods that wait for a node, in the order of the queue.
func (w *wave) place() error {
	var still []*item
	w.End = w.Begin
	for _, it := range w.pending {
		d := w.placer.Decide(it.obj, placement.Options{})
		if !d.Placed() {
			still = append(still, it)
			continue
		}
		at := w.Begin + w.o.start(it.obj, d.Node)
		w.delist(it)
		w.do(func() { w.enlist(it) })
		if err := w.put(it, d); err != nil {
			return err
		}
		w.Placed = append(w.Placed, Arrival{podinfo.Name(it.obj), d.Node, at})
		w.End = max(w.End, at)
	}
	w.pending = still
	return nil
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
