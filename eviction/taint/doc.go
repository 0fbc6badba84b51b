// Package taint decides when NoExecute taints delete pods, and when failing nodes get such taints: the timers of the
// taint-eviction controller and the health, zone and rate rules of the node lifecycle controller, with the time passed in.
//
//	timers := taint.NewTimers(taint.Options{})
//	timers.SetNode(node, now)             // node and pod changes, in any order
//	actions := timers.SetPod(pod, now)    // what starts, is cancelled, is deleted now
//	next, ok := timers.Next()             // sleep until then
//	actions = timers.Advance(next)        // what is due
//
//	line, err := taint.Forecast(taint.Input{Nodes: nodes, Pods: pods, Events: events, Until: time.Hour})
//	fmt.Print(line)                       // who leaves when, why, and what is cancelled
//
// The rule of a timer: it is fixed when pod and taint are first seen together, at now plus the smallest tolerationSeconds
// of the first toleration of each taint (package taints). While it runs only three things end it: no NoExecute taint is
// left, all are tolerated without limit, or one is not tolerated, which deletes at once. The rule of a node: Ready unknown
// after the grace period, NoSchedule taint at once, NoExecute taint in its turn of the zone's queue, at a rate that
// depends on how much of the zone is down; nothing at all when all zones are down completely.
//
// Units: time.Time and time.Duration; rates are nodes a second. The monitor's passes (5 s) and the queues' services
// (100 ms) are played by Forecast, which refuses more than 10 million passes. Timers is a state machine that owns its
// state and copies what it keeps; it is not safe for concurrent use. Everything else is pure. Arguments
// are never modified. Nodes are handled by name and pods by namespace and name, so that answers do not depend on the
// order of maps or, at equal times, of events.
//
// Cost: SetPod O(taints x tolerations), SetNode the same for each pod on the node, Advance O(log timers) for each pod due;
// Pass O(nodes), Serve O(zones).
//
// The package deletes and taints nothing: actions say what a controller does, with its events, conditions and retries.
// Deletion here is a plain DELETE: neither PodDisruptionBudgets (eviction/disruption) nor the kubelet's own eviction
// (eviction/pressure) take part.
//
// Follows Kubernetes v1.36. Known differences: tolerationSeconds too large for a Duration mean for ever; a zone whose rate
// goes from 0 to exactly 1 a second starts again (docs/fidelity/taint_eviction.md).
package taint
