// Package overhead computes what a pod really asks for, and what the scheduler, the API server and the kubelet make of it.
//
//	pod = overhead.Default(pod)                                           // as the API server fills it in
//	pod, err = overhead.AdmitRuntimeClass(pod, classes)                   // overhead, node selector, tolerations
//	pod = …                                                               // scheduled
//	row = overhead.AppendRequests(row[:0], schema, pod, overhead.Options{}) // what it asks of a node, in integers
//	for _, part := range overhead.Explain(pod, overhead.Options{}) { … }  // why
//	g := overhead.PodCgroup(pod, overhead.CgroupOptions{})                // what the kubelet writes
//
// The request of a resource is
//
//	max(containers + sidecars, max over init containers i (i + sidecars declared before i)), replaced by spec.resources, + overhead
//
// Requests and Limits are exact quantities by name. Each, AppendRequests and NonZero are the integers that the scheduler
// counts with: thousandths of cpu, bytes, and whole units otherwise, of the pod's total, rounded up once and limited to the
// int64 range (where kube-scheduler wraps around). Options chooses between an incoming pod (the zero value) and one that is
// on a node (UseStatus), and leaves out parts. QoS, QuotaUsage, PodCgroup, OOMScoreAdj and Allocatable are the numbers of the
// other components, Percent and the Describe functions print as kubectl does.
//
// Nothing is modified: admission and defaulting return a changed copy. Results do not share memory with arguments. All
// functions are safe for concurrent use, except that AppendRequests may add columns to the schema. A nil pod is an empty
// one. Amounts that the API rejects (negative ones) are computed with as they are; ValidateQuantities finds them.
//
// Cost is O(containers x resources); the integer forms do not allocate when the amounts are whole, the pod names at most
// eight resources and the schema knows them.
//
// Whether a pod fits is decided by package filter, how well by score, who is evicted by eviction/pressure; priority classes
// are in preemption.
//
// Behaviour is that of Kubernetes v1.36.3 with default feature gates; docs/fidelity/overhead.md lists rules and differences.
package overhead
