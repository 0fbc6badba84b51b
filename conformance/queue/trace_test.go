package queue_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/conformance/compare"
	"github.com/podberth/podberth/conformance/trial"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
)

// places has the moves that the tally counts. Every kind of move must happen.
var moves = []string{
	"nowhere -> active", "nowhere -> gated", "active -> in flight", "popped from backoff", "in flight -> backoff", "in flight -> error backoff",
	"in flight -> unschedulable", "in flight -> active", "in flight -> gated", "in flight -> nowhere", "unschedulable -> active",
	"unschedulable -> backoff", "unschedulable -> gated", "gated -> active", "gated -> backoff", "gated -> gated", "backoff -> active",
	"error backoff -> active", "active -> nowhere", "backoff -> nowhere", "error backoff -> nowhere", "unschedulable -> nowhere", "gated -> nowhere",
	"duplicate dropped", "return refused", "nominations seen", "flushed", "popped after close", "metrics compared", "gauges of rejecters compared",
}

// TestTraces plays random operations with random registrations, hints and gates. The metrics are compared in 98 % of the traces, and
// the gauges of rejecters too; in 3 % a gated pod is let go while its backoff lasts.
func TestTraces(t *testing.T) {
	lastMeter = nil // other tests have queues whose metrics nobody has read
	tally, n := trial.Run(t, 3000, 900, func(s *trial.Source) error { return newWorld(s).play() }, moves...)
	for what, percent := range map[string]int{"metrics compared": 98, "gauges of rejecters compared": 98, "gated -> backoff": 3} {
		if addsTwice && n >= 100 && 100*tally[what] < percent*n {
			t.Errorf("%q happened %d times in %d traces, want %d %%", what, tally[what], n, percent)
		}
	}
}

func (w *world) play() error {
	if err := w.readMeter(); err != nil {
		return err
	}
	for w.More() {
		if err := w.step(); err != nil {
			return err
		}
		if err := w.compare(); err != nil {
			return err
		}
		if w.random {
			w.Count("gate order of its own")
			return nil
		}
	}
	if w.miscounts {
		return nil
	}
	return w.compareMeters()
}

func (w *world) now() time.Time { return w.clock.Now() }

func (w *world) note(format string, args ...any) {
	w.Note("%s "+format, append([]any{w.now().Format("15:04:05.000000000")}, args...)...)
}

func (w *world) say(list []queue.Move) {
	w.meter(list)
	for _, m := range list {
		w.Note("    %v", m)
		w.Count(fmt.Sprintf("%v -> %v", m.From, m.To))
		if m.Reason == "PopFromBackoffQ" {
			w.Count("popped from backoff")
		}
		if m.Reason == "Duplicate" {
			w.Count("duplicate dropped")
		}
	}
}

func (w *world) step() error {
	if !w.ties {
		w.clock.SetTime(w.now().Add(time.Nanosecond))
	}
	w.remember()
	slot := w.N(len(w.slots))
	switch w.N(32) {
	case 0, 1, 2, 3, 4:
		return w.add(slot)
	case 5, 6, 7, 8, 9, 10:
		return w.pop()
	case 11, 12, 13, 14, 15, 16:
		return w.fail()
	case 17, 18, 19, 20:
		return w.arrive()
	case 21, 22:
		return w.update(slot)
	case 23:
		w.delete(slot)
	case 24:
		w.activate()
	case 25:
		w.done()
	case 26, 27:
		w.tick()
	case 28:
		switch w.N(5) {
		case 0:
			w.turn(slot)
		case 1, 2:
			return w.shutBehind()
		default:
			return w.openAll()
		}
	case 29:
		w.flush()
	case 30:
		w.nominate(slot)
	case 31:
		return w.rare(slot)
	}
	return nil
}

func (w *world) add(slot int) error {
	p := w.slots[slot]
	if p == nil {
		p = w.pod(slot)
		p.Spec.SchedulerName = w.profiles[[]int{0, 0, 0, 0, 1, 1, 2}[w.N(7)]]
		p.Status.NominatedNodeName = trial.Pick(w.Source, "", "", "", "n1")
		if prio := int32(w.N(4)) - 1; prio >= 0 {
			p.Spec.Priority = &prio
		}
		if w.shape != nil {
			w.shape(p)
		}
		w.slots[slot] = p
		_ = w.store.Add(p)
	} else if !w.Once(8) || w.isAssumed(p) || w.doubles(p) {
		return w.update(slot)
	}
	w.miscounts = w.miscounts || !addsTwice && w.isFlying(p)
	w.note("add %s %s, profile %s, nominated %q", p.Name, p.UID, p.Spec.SchedulerName, p.Status.NominatedNodeName)
	list, err := w.q.Add(p, w.now())
	if len(list) == 0 { // the gate of the ignored pod counts
		w.driftByGates(p)
	}
	w.say(list)
	w.real.Add(w.ctx, p)
	return err
}

func (w *world) update(slot int) error {
	old := w.slots[slot]
	if old == nil || w.isAssumed(old) {
		return nil
	}
	p := w.change(old)
	if w.Once(30) && !w.isFlying(old) && w.mayBeRecreated(old) {
		w.uids++
		p.UID = types.UID(fmt.Sprintf("%s%d", p.Name, w.uids))
		w.miscounts = w.miscounts || !addsTwice
	}
	w.slots[slot] = p
	_ = w.store.Update(p)
	w.note("update %s %s to %s: %v, nominated %q to %q", p.Name, p.ResourceVersion, p.UID, queue.PodUpdateEvents(old, p, release.Current), old.Status.NominatedNodeName, p.Status.NominatedNodeName)
	list, err := w.q.Update(old, p, w.now())
	w.say(list)
	w.real.Update(w.ctx, old, p)
	return err
}

// mayBeRecreated reports whether the real queue finds its way when an update of the pod has another UID.
func (w *world) mayBeRecreated(p *v1.Pod) bool {
	e, queued := w.q.Lookup(p)
	nominated := slices.ContainsFunc(slices.Concat(w.q.NominatedFor("n1"), w.q.NominatedFor("n2")), func(n *v1.Pod) bool { return n.UID == p.UID })
	return addsTwice || !nominated && (!queued || broad(e.Place()) == "unschedulable")
}

// doubles reports whether a second addition would confuse the real queue.
func (w *world) doubles(p *v1.Pod) bool {
	_, queued := w.q.Lookup(p)
	return queued && !addsTwice
}

func (w *world) isFlying(p *v1.Pod) bool {
	return slices.ContainsFunc(w.flying, func(f *flight) bool { return f.info.Pod.UID == p.UID })
}

// isAssumed reports whether the pod's binding has begun. kube-scheduler does not report such pods to the queue.
func (w *world) isAssumed(p *v1.Pod) bool {
	return slices.ContainsFunc(w.flying, func(f *flight) bool { return f.done && f.info.Pod.UID == p.UID })
}

func (w *world) delete(slot int) {
	p := w.slots[slot]
	if p == nil {
		return
	}
	for _, f := range w.flying {
		if f.info.Pod.UID == p.UID {
			f.gone = true
		}
	}
	w.slots[slot] = nil
	_ = w.store.Delete(p)
	w.note("delete %s", p.Name)
	w.say(w.q.Delete(p))
	remove(w.real, p)
}

// pop takes the next pod of both queues. The real queue blocks when it is empty, so pop then adds a pod to it that ends the
// wait.
func (w *world) pop() error {
	w.note("pop")
	entry, list := w.q.Pop(w.now())
	w.say(list)
	if entry != nil {
		if w.closed {
			w.Count("popped after close")
		}
		info, err := popNext(w.real)
		if err != nil || info == nil {
			return fmt.Errorf("pop: podberth has %s, the real one nothing (%v)", entry.Pod.Name, err)
		}
		return w.fly(entry, info)
	}
	got := make(chan *framework.QueuedPodInfo, 1)
	go func() {
		info, _ := popNext(w.real)
		got <- info
	}()
	guest := &v1.Pod{}
	guest.Namespace, guest.Name, guest.UID = "guest", "guest", "guest"
	if !w.closed {
		for w.realReady() {
			time.Sleep(time.Microsecond)
		}
		w.real.Add(w.ctx, guest)
		w.metered["scheduler_queue_incoming_pods_total{event="+string(waitingArrive)+"Add,queue=active}"]++
	}
	info := <-got
	switch {
	case info == nil && w.closed:
	case info == nil:
		return fmt.Errorf("pop: the real one has nothing though it is not closed")
	case info.Pod.UID != guest.UID:
		return fmt.Errorf("pop: podberth has nothing, the real one %s", info.Pod.Name)
	default:
		w.real.Done(guest.UID)
	}
	return nil
}

// realReady reports whether the real queue has pods that a waiting Pop takes. podberth has none.
func (w *world) realReady() bool {
	return len(w.real.PodsInActiveQ()) > 0 || len(w.real.PodsInBackoffQ()) > w.q.Counts().Backoff
}

func (w *world) fly(entry *queue.Entry, info *framework.QueuedPodInfo) error {
	if entry.Pod.UID != info.Pod.UID {
		return fmt.Errorf("pop: podberth %s %s, real %s %s", entry.Pod.Name, entry.Pod.UID, info.Pod.Name, info.Pod.UID)
	}
	w.Note("    popped %s", info.Pod.UID)
	gone := w.slots[info.Pod.Name[0]-'a'] == nil
	w.flying = append(w.flying, &flight{entry: entry, info: info, gone: gone})
	return same(entry, info)
}

func (w *world) fail() error {
	if len(w.flying) == 0 {
		return nil
	}
	return w.giveBack(w.N(len(w.flying)), w.N(5))
}

// giveBack ends an attempt: kind 0 by an error, the others by rejections.
func (w *world) giveBack(i, kind int) error {
	f := w.flying[i]
	w.flying = slices.Delete(w.flying, i, i+1)
	latest := w.slots[f.info.Pod.Name[0]-'a']
	failure := queue.Failure{}
	if kind > 0 {
		failure.Rejecters = w.subset(w.rejecters...)
	}
	if kind == 4 {
		failure.Pending = w.subset(w.rejecters[:3]...)
	}
	w.note("return %s: unschedulable %v, pending %v (done %v, deleted %v)", f.info.Pod.UID, failure.Rejecters, failure.Pending, f.done, f.gone)
	if !f.gone && (latest == nil || latest.UID != f.info.Pod.UID) { // the pod was bound by an earlier attempt, or replaced by an Update
		w.q.Done(f.info.Pod)
		w.real.Done(f.info.Pod.UID)
		return nil
	}
	if f.gone { // kube-scheduler looks into its store first; podberth knows it until Done is called
		w.real.Done(f.info.Pod.UID)
		if f.done || w.closed {
			w.q.Done(f.info.Pod)
			return nil
		}
		list, err := w.q.Return(f.entry, failure, w.now())
		w.say(list)
		if err != nil {
			w.Count("return of a deleted pod refused")
		}
		return nil
	}
	if w.N(4) > 0 {
		failure.Pod = latest
		info, err := framework.NewPodInfo(latest)
		if err != nil {
			return err
		}
		f.info.PodInfo = info
	}
	f.info.ClearRejectorPlugins()
	f.info.UnschedulablePlugins = sets.New(failure.Rejecters...)
	f.info.PendingPlugins = sets.New(failure.Pending...)
	if w.N(2) == 0 {
		f.info.UnschedulablePlugins.Insert(failure.Pending...)
	}
	nominating := &fwk.NominatingInfo{NominatingMode: fwk.ModeNoop}
	if w.Once(4) {
		node := trial.Pick(w.Source, "", "n1", "n2")
		failure.Nomination = queue.Nomination{Override: true, Node: node}
		nominating = &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: node}
	}
	list, err := w.q.Return(f.entry, failure, w.now())
	w.say(list)
	realErr := handBack(w.real, f.info)
	if (err == nil) != (realErr == nil) {
		return fmt.Errorf("return: podberth %v, real %v", err, realErr)
	}
	if err != nil {
		w.Count("return refused")
		if err.Error() != realErr.Error() {
			return fmt.Errorf("return: podberth says %q, real %q", err, realErr)
		}
		return nil
	}
	w.real.AddNominatedPod(w.log, f.info.PodInfo, nominating)
	return nil
}

// done ends an attempt. The pod is bound, or the binding fails later.
func (w *world) done() {
	if len(w.flying) == 0 {
		return
	}
	i := w.N(len(w.flying))
	f := w.flying[i]
	w.note("done %s", f.info.Pod.UID)
	w.say(w.q.Done(f.info.Pod))
	w.real.Done(f.info.Pod.UID)
	if _, queued := w.q.Lookup(f.info.Pod); w.N(3) == 0 && !f.gone && !queued { // the binding fails later
		f.done = true
		return
	}
	w.flying = slices.Delete(w.flying, i, i+1)
	slot := f.info.Pod.Name[0] - 'a'
	if p := w.slots[slot]; p != nil && p.UID == f.info.Pod.UID {
		if _, queued := w.q.Lookup(p); queued {
			return
		}
		w.slots[slot] = nil
		_ = w.store.Delete(p)
		w.q.Nominate(p, queue.Nomination{Override: true})
		w.real.DeleteNominatedPodIfExists(p)
		w.Note("    it is bound")
	}
}

func (w *world) event() error {
	return w.eventOf(fwk.ClusterEvent{Resource: trial.Pick(w.Source, arriving...), ActionType: trial.Pick(w.Source, masks...)})
}

func (w *world) eventOf(e fwk.ClusterEvent) error {
	var old, new any
	switch e.Resource {
	case fwk.Node:
		n := &v1.Node{}
		n.Name = trial.Pick(w.Source, "n1", "n2", "n3", "n4", "n5")
		new = n
		if w.Once(3) {
			old, new = n, nil
		}
	case "AssignedPod", waitingArrive:
		p := &v1.Pod{}
		p.Name, p.UID = "other"+fmt.Sprint(w.N(4)), "other"
		new = p
		if other := w.slots[w.N(len(w.slots))]; other != nil {
			old = other
		}
	case fwk.WildCard:
		e.ActionType = trial.Pick(w.Source, fwk.All, fwk.Add, fwk.Update)
		if p := w.slots[w.N(len(w.slots))]; p != nil && w.Once(2) {
			new = p
		}
	}
	var check func(*v1.Pod) bool
	if w.Once(4) {
		limit := int32(w.N(3))
		check = func(p *v1.Pod) bool { return p.Spec.Priority == nil || *p.Spec.Priority <= limit }
	}
	w.note("event %s/%d, old %s, new %s, check %v", e.Resource, e.ActionType, nameOf(old), nameOf(new), check != nil)
	w.labels[compare.Event(e).String()] = e.Label()
	w.refusals = 0
	list := w.q.Move(queue.Change{Event: compare.Event(e), Old: old, New: new, PreCheck: check}, w.now())
	w.meterRefusals(e.Label())
	w.say(list)
	w.mixed = w.mixed || len(list) > 1 && e.Resource == waitingArrive // new pods take their nominations from their status
	w.real.MoveAllToActiveOrBackoffQueue(w.log, e, old, new, check)
	return nil
}

func nameOf(o any) string {
	switch o := o.(type) {
	case *v1.Node:
		return o.Name
	case *v1.Pod:
		return o.Name
	}
	return "-"
}

func (w *world) activate() {
	pods := map[string]*v1.Pod{}
	var list []*v1.Pod
	bits := w.N(256)
	for i, p := range w.slots {
		if p != nil && bits>>i&1 == 1 {
			pods[p.Namespace+"/"+p.Name] = p
			list = append(list, p)
		}
	}
	if bits>>6&1 == 1 {
		p := &v1.Pod{}
		p.Namespace, p.Name, p.UID = "n", "unknown", "unknown"
		pods["n/unknown"] = p
		list = append(list, p)
	}
	w.note("activate %v", slices.Sorted(maps.Keys(pods)))
	w.say(w.q.Activate(w.now(), list...))
	w.real.Activate(w.log, pods)
}

func (w *world) tick() {
	steps := []time.Duration{time.Nanosecond, time.Millisecond, 100 * time.Millisecond, 700 * time.Millisecond, time.Second, 1001 * time.Millisecond,
		2 * time.Second, 9 * time.Second, 11 * time.Second, time.Minute, 5 * time.Minute, 5*time.Minute + time.Nanosecond, time.Hour}
	w.clock.SetTime(w.now().Add(trial.Pick(w.Source, steps...)))
	if w.ties && w.Once(20) {
		w.clock.SetTime(w.now().Add(-trial.Pick(w.Source, steps...)))
	}
	w.note("tick")
}

// turn opens or closes a gate for a pod.
func (w *world) turn(slot int) {
	key := trial.Pick(w.Source, "A", "B") + string(rune('a'+slot))
	w.shut[key] = !w.shut[key]
	w.note("gate %s is shut: %v", key, w.shut[key])
}

// shutBehind shuts a gate for a pod in flight, and its attempt ends with an error: the pod rests and is gated.
func (w *world) shutBehind() error {
	if len(w.flying) == 0 {
		return nil
	}
	f := w.flying[w.N(len(w.flying))]
	w.shut["A"+f.info.Pod.Name] = true
	w.note("gate A is shut for %s", f.info.Pod.Name)
	return w.giveBack(slices.Index(w.flying, f), 0)
}

// openAll opens gate A, and the events come for which the gate waits. Some of the pods still rest.
func (w *world) openAll() error {
	for _, p := range w.slots {
		if p != nil {
			delete(w.shut, "A"+p.Name)
		}
	}
	w.note("gate A is open")
	for _, r := range w.opens {
		e := r.event
		e.ActionType &= -e.ActionType // events come with one action
		if err := w.eventOf(e); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) flush() {
	if w.N(2) == 0 {
		w.note("flush backoff")
		ourFlushBackoff(w.q, w.now())
		w.say(w.q.Activate(w.now())) // no pod: only the moves of the flush
		flushBackoff(w.real, w.log)
		return
	}
	w.note("flush leftover")
	w.refusals = 0
	ourFlushLeftover(w.q, w.now(), w.now())
	list := w.q.Activate(w.now())
	w.meterRefusals("UnschedulableTimeout")
	w.say(list)
	flushLeftover(w.real, w.log)
	if len(list) > 0 {
		w.Count("flushed")
	}
}

func (w *world) nominate(slot int) {
	p := w.slots[slot]
	if p == nil {
		return
	}
	if w.Once(3) {
		w.note("unnominate %s", p.Name)
		w.q.Nominate(p, queue.Nomination{Override: true})
		w.real.DeleteNominatedPodIfExists(p)
		return
	}
	info, _ := framework.NewPodInfo(p)
	node := trial.Pick(w.Source, "", "n1", "n2")
	if w.Once(4) { // the store already knows the pod's node
		assigned := p.DeepCopy()
		assigned.Spec.NodeName = "n1"
		_ = w.store.Update(assigned)
		defer func() { _ = w.store.Update(p) }()
	}
	w.note("nominate %s to %q", p.Name, node)
	w.q.Nominate(p, queue.Nomination{Override: true, Node: node})
	w.real.AddNominatedPod(w.log, info, &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: node})
}

func (w *world) rare(slot int) error {
	switch w.N(4) {
	case 0:
		p := w.slots[slot]
		if p == nil {
			return nil
		}
		info, can := popNamed(w.real, p)
		if !can {
			return nil
		}
		w.note("pop specific %s", p.Name)
		entry, list := w.q.PopPod(p, w.now())
		w.say(list)
		if (entry == nil) != (info == nil) {
			return fmt.Errorf("pop specific: podberth nothing is %v, real %v", entry == nil, info == nil)
		}
		if entry != nil {
			w.Count("popped specifically")
			return w.fly(entry, info)
		}
	case 1:
		if w.closed || !w.Once(4) {
			return nil
		}
		w.note("close")
		w.closed = true
		w.say(w.q.Close())
		w.real.Close()
	case 2: // Done of a pod that is not in flight does nothing
		if p := w.slots[slot]; p != nil && !w.isFlying(p) {
			w.note("done %s", p.UID)
			w.q.Done(p)
			w.real.Done(p.UID)
		}
	}
	return nil
}
