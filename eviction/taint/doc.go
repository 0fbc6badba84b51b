// Package taint (experimental) decides when NoExecute taints delete pods, and when failing nodes get such taints. It has the timers of the
// taint-eviction controller and the health, zone and rate rules of the node lifecycle controller. The time is an argument.
//
// Which pods leave, and when?
//
//	line, err := taint.Forecast(taint.Input{Nodes: nodes, Pods: pods, Events: events, Until: time.Hour})
//	fmt.Print(line)                       // which pod leaves when, and why
//
// The same step by step, for a controller:
//
//	timers := taint.NewTimers(taint.Options{})
//	timers.SetNode(node, now)             // node and pod changes, in any order
//	actions := timers.SetPod(pod, now)    // timers that start or are cancelled, pods deleted now
//	next, ok := timers.Next()             // sleep until then
//	actions = timers.Advance(next)        // deletions that are due
//
// The rules:
//
//  1. A timer starts when pod and taint are first seen together. It ends after the smallest tolerationSeconds of the first
//     tolerations of the node's NoExecute taints (package [taints]).
//  2. A running timer keeps its end. Three things cancel it: the node has no NoExecute taint any more, all taints are
//     tolerated without limit, or a taint is not tolerated. In the last case the pod is deleted at once.
//  3. A node whose kubelet is silent for longer than the grace period gets Ready=Unknown and a NoSchedule taint at once.
//  4. The node gets its NoExecute taint from the queue of its zone. The rate depends on how much of the zone is down. When
//     all zones are down completely, no node gets a NoExecute taint.
//
// Units: [time.Time] and [time.Duration]; rates are nodes per second. [Forecast] makes the monitor's passes (every 5 s) and the
// services of the queues (every 100 ms), and refuses more than 10 million passes. A [Timers] copies what it keeps, and
// belongs to one goroutine. Nodes are handled by name and pods by namespace and name, so that answers do not depend on the
// order of events of equal time. What all packages promise is said in [github.com/podberth/podberth].
//
// Cost: SetPod is O(taints x tolerations), SetNode the same for each pod on the node, Advance O(log timers) for each pod that
// is due. In a [Forecast] a monitor pass is O(nodes).
//
// The package deletes and taints nothing: actions say what a controller does, with its events and conditions. A deletion is
// a plain DELETE: neither disruption budgets (eviction/disruption) nor the kubelet's eviction (eviction/pressure) matter.
//
// The package follows Kubernetes v1.37. Two differences: tolerationSeconds that do not fit into a Duration mean no limit, and
// a zone whose rate changes from 0 to exactly 1 per second starts with an empty bucket (docs/fidelity/taint_eviction.md).
package taint
