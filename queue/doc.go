// Package queue decides which pending pod is tried next, and when a pod that failed is worth another try.
//
//	q, err := queue.New(queue.Options{})
//	q.Add(pod, now)
//	e, moves := q.Pop(now)                    // e.Pod is the pod to try; nil when there is none
//	q.Done(e.Pod)                             // it found a node, or
//	q.Return(e, queue.Failure{Unschedulable: []string{"NodeResourcesFit"}}, now)
//	q.Move(queue.Change{Event: queue.NodeAdd, New: node}, now)
//	q.Advance(now)                            // at q.Next(now), or every second
//
// A pod is active, backing off, unschedulable, gated or in flight:
//
//	active         by priority, then by the time it last came from outside, then by arrival
//	backoff        rests min(initial << failures-1, max), up to a second longer; tried early when nothing is active
//	unschedulable  until an event that a rejecting plugin registered, and whose hint agrees; 5 minutes at most
//	gated          until its gate lets it pass
//	in flight      popped; events that arrive are kept until its attempt ends, so that no wake-up is lost
//
// The queue is a data structure: it has no goroutine, lock or clock. Time is an argument (a time.Time, any start), nothing
// blocks, and every mutator returns what moved and why, so that the caller counts, logs and wakes. It keeps the pods that
// it is given and never writes to them; callers must not either. It is not safe for concurrent use. The same calls give
// the same answers: ties go by arrival, and no answer depends on the order of a map. Gates and hints are functions of the
// caller and must not call the queue.
//
// Cost: Add, Pop, Return, Delete and Activate are O(log n); an event touches the pods that wait for it and no others. With
// 1,000,000 pods (go test ./queue -run NONE -bench Million, the best of four runs on two busy cores): Add 3.7 µs, Pop and
// Done 5.1 µs; beside a million that wait, one pod's Add, Pop, Return and Delete 0.9 µs; an event for none of them 39 ns, for
// 1,000 of them 17 µs, where a scan of all takes 105 ms; one that moves nearly all 2 µs a pod.
//
// What it does not do: whether a pod fits (filter, taints, affinity, spread), hints of the plugins (the same packages),
// informers, metrics, blocking and retries of binding (the scheduler in examples).
//
// It follows Kubernetes 1.36 with default feature gates; docs/fidelity/queue.md lists the rules and the differences.
// Options brings back earlier rules (CycleCounter, WaitOutBackoff) and offers later or corrected ones.
package queue
