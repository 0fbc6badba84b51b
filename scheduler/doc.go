// Package scheduler (experimental) is the scheduling framework of kube-scheduler over the library: profiles of plugins at extension
// points, one scheduling cycle after the other, binding cycles beside them.
//
//	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: running})
//	s, err := scheduler.New(snapshot, scheduler.Options{Client: client, Plugins: scheduler.Registry{"Mine": newMine}})
//	s.AddPod(pod)               // and UpdatePod, AddNode, Set …: what the informers see
//	err = s.Run(ctx)            // or, step by step: s.TryScheduleOne(ctx), s.Tick at s.Next
//
// # The order in which to read the files
//
//  1. scheduler.go: Options and [Client]; run.go: the loop; events.go: what the caller reports of the cluster.
//  2. cycle.go: one attempt, from the queue to the bound pod or back to the queue.
//  3. plugins.go: the interfaces of the extension points; status.go, cycle_state.go, node_info.go and handle.go: what plugins
//     return, keep, see and call.
//  4. profile.go, defaults.go, registry.go and framework.go: which plugins run at which point.
//  5. filtering.go, scoring.go, preempt.go, waiting_pods.go and binding.go: the points in the order in which they run.
//  6. library_plugins.go, volumes.go and devices.go: the default plugins, which are adapters over package [placement];
//     placement_plugins.go: the caller's plugins of package placement.
//  7. cache.go, namespaces.go and status_patch.go: the state of the cluster, and what is written back.
//  8. batch.go and signatures.go: equal pods share the search. extenders.go: extenders.
//  9. guarded_calls.go, client_calls.go, blocking_queue.go and queue_callbacks.go: plugins and functions of the caller that
//     panic, block or call back.
//  10. clock.go, metrics.go and prometheus.go: time and measurements.
//
// # The extension points
//
//	queue: PreEnqueue, QueueSort
//	scheduling cycle: PreFilter, Filter, PostFilter, PreScore, Score, NormalizeScore, Reserve, Permit
//	binding cycle: PreBindPreFlight, the wait on Permit, PreBind, Bind, PostBind
//
// A plugin implements any of the interfaces. Plugins keep their values of an attempt in a [State], under typed keys. If a
// profile has only default plugins and those of [FromPlacement] at the points from [PreFilter] to [Score], and no extender, a
// [placement.Plan] makes the whole decision. The plan shares work between equal pods and makes the same decisions.
//
// # Determinism, failures, cost
//
// [Client] replaces the API server, [Clock] replaces the real time, and [Options.Go] replaces goroutines. A simulator that
// sets all three is deterministic to the byte (tools/place). A [Scheduler] is safe for concurrent use. Plugins must be safe
// for concurrent use from [Permit] on. Callers must not change objects that they have given to a [Scheduler]. What the packages
// under it promise is said in [github.com/podberth/podberth].
//
// A plugin or a function of the caller fails if it panics, returns an unknown code, or blocks longer than
// [Options.PluginTimeout]. After a failure that ends an attempt, the pod is back in the queue and its room is free.
//
// Cost: an attempt costs a decision of package placement; without a plan, nodes x plugins calls.
//
// What it does not do: watching the API server, leader election, reading configuration files (scheduler/config), evaluating CEL
// ([Options.Selectors] takes the compiler of devices/cel).
//
// It follows Kubernetes 1.37 with default feature gates; docs/fidelity/framework.md lists the rules and the differences:
// filters run one after the other, equal totals go to the first node found, gangs are left out.
package scheduler
