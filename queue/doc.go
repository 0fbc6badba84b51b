// Package queue (experimental) decides which pending pod the scheduler tries next, and when a pod that failed is worth another try.
//
// Which pod is next, and what follows the attempt?
//
//	q, err := queue.New(queue.Options{})
//	moves, err := q.Add(pod, now)
//	e, moves := q.Pop(now)                    // e.Pod is the pod to try; e is nil when there is no pod to try
//	moves = q.Done(e.Pod)                     // the pod found a node, or
//	moves, err = q.Return(e, queue.Failure{Rejecters: []string{"NodeResourcesFit"}}, now)
//	moves = q.Move(queue.Change{Event: queue.Event{Resource: "Node", Action: queue.Add}, New: node}, now)
//	moves = q.Advance(now)                    // at q.Next(now), or every second
//
// # How an attempt ends
//
//   - The pod found a node: call Done when the binding has ended. The move is in flight -> nowhere.
//   - Plugins rejected the pod: call Return with their names. The pod becomes unschedulable, or goes to backoff when an
//     event during the attempt concerns it.
//   - The attempt ended with an error (a plugin failed, there are no nodes, the binding failed): call Return with
//     Failure{}. The pod goes to error backoff. The end of its backoff makes it active again; no event is needed.
//   - The pod was deleted meanwhile: call Delete when the watch reports it, and Done or Return when the attempt ends.
//
// With [Options.Groups] the waiting pods of a tree of groups are one entry, which Pop returns with its Members and ReturnRoot puts back
// (rules PG2 and PG7, v1.37 behind feature gates).
//
// # Where a pod can be
//
//	active         ordered by priority, then by the time of its last arrival or return, then by arrival
//	backoff        rests min(initial << failures-1, max), up to a second longer; Pop takes it early when nothing is active
//	error backoff  the same, but Pop never takes it early
//	unschedulable  until an event helps; 5 minutes at most
//	gated          until its gate allows it
//	incomplete     with Options.Groups: until the object of its group comes
//	pending        with Options.Groups: until the attempt of its root ends
//	in flight      popped; the queue logs events until the attempt ends, so that no wake-up is lost
//
// # What wakes a pod
//
// Each plugin lists the events that may help a pod which the plugin rejected: a [Registration]. A registration may have a
// [Hint], a function that looks at one event and agrees when this pod may be helped. Move wakes an unschedulable pod when a
// plugin that rejected the pod has registered the event and the hint agrees, or when there is no hint.
//
// # Calls, order, cost
//
// The queue is a data structure without goroutine, lock or clock. Time is an argument, and any start is allowed. No call
// blocks. Every call that changes the queue returns the moves with their reasons, so that the caller can count, log and
// wake. Gates and hints are functions of the caller; they must not call the queue. The same calls give the same answers:
// arrival breaks ties. A [Queue] belongs to one goroutine. What all packages promise is said in
// [github.com/podberth/podberth].
//
// Cost: Add, Pop, Return, Delete and Activate take O(log n). An event visits only the pods that wait for it, and takes some
// microseconds for each pod that it moves. Beside 1,000,000 waiting pods, Add, Pop, Return and Delete of one pod take 1 µs together, and
// an event for 1,000 of them takes 17 µs (go test ./queue -run NONE -bench Million).
//
// This package does not decide whether a pod fits a node (filter, taints, affinity, spread), and has no hints of those
// plugins (package placement). Informers, metrics, blocking and retries of bindings are in scheduler.
//
// This package follows Kubernetes v1.37 with default feature gates. docs/fidelity/queue.md lists the rules and the
// differences. [Options.Legacy] brings back earlier rules, and [Options] offers later or corrected rules.
package queue
