// Package scheduler is the scheduling framework of kube-scheduler over the library: profiles of plugins at extension
// points, one scheduling cycle after the other, binding cycles beside them.
//
//	snapshot, err := cluster.New(cluster.Objects{Nodes: nodes, Pods: running})
//	s, err := scheduler.New(snapshot, scheduler.Options{Client: client, Plugins: scheduler.Registry{"Mine": newMine}})
//	s.AddPod(pod)               // and UpdatePod, AddNode, Set …: what the informers see
//	err = s.Run(ctx)            // or, step by step: s.TryScheduleOne(ctx), s.Tick at s.Next
//
// Read cycle.go first: it is one attempt from the queue to the bound pod, or back. plugins.go has the extension points,
// framework.go and profile.go say which plugins run where, filtering.go, scoring.go and binding.go run them, batch.go spares
// equal pods the search:
//
//	queue: PreEnqueue, QueueSort
//	scheduling cycle: PreFilter, Filter, PostFilter, PreScore, Score, NormalizeScore, Reserve, Permit
//	binding cycle: PreBindPreFlight, the wait on Permit, PreBind, Bind, PostBind
//
// A plugin implements any of the interfaces. What its plugins know about an attempt stands in State under typed keys. The
// default plugins are adapters over package placement; a profile that has no others, and no extender, is decided by a
// placement.Plan as a whole, with the work shared between equal pods, and to the same end.
//
// A Client stands for the API server, a Clock for the time, Options.Go for goroutines: a simulator gives all three and is
// deterministic to the byte (examples/simulate). A Scheduler is safe for concurrent use; its plugins must be, from Permit
// on. Objects that it was given must not be changed any more. Plugins that panic, answer with an unknown code, or block
// longer than Options.PluginTimeout fail the attempt and leave cache and queue as they were.
//
// Cost: an attempt costs a decision of package placement; without a plan, nodes x plugins calls.
//
// What it does not do: watching the API server, leader election, reading configuration files (examples/config), dynamic
// resource allocation.
//
// It follows Kubernetes 1.36 with default feature gates; docs/fidelity/framework.md lists the rules and the differences:
// filters run one after the other, equal totals go to the first node found, gangs are left out.
package scheduler
