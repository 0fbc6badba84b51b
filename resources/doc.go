// Package resources holds amounts of named resources (requests, allocatable, usage) as flat integer vectors.
//
// The flow:
//
//	schema := resources.NewSchema()                       // cpu, memory, ephemeral-storage, pods
//	gpu := schema.Intern("nvidia.com/gpu")                // a column for every further name
//	free := resources.FromList(schema, node.Status.Allocatable)
//	free.Sub(used)
//	fits := request.FitsIn(free)                          // request[c] <= free[c] wherever request[c] > 0
//	short := request.Short(nil, free)                     // the columns in which it does not fit
//
// A vector has one int64 for each column of its Schema. Columns that a vector is too short for are zero, so a schema may
// grow without touching the vectors made before. Units: cpu in thousandths of a core, everything else in whole units
// (bytes, pieces), both rounded up as kube-scheduler rounds.
//
// Arithmetic saturates at the ends of int64 and says so, where kube-scheduler overflows. Saturation cannot be undone by
// the opposite operation: a running total that saturated must be computed anew from its parts.
//
// A Schema may be read by many goroutines as long as none interns. A Vector is a slice: whoever made it owns it, and only
// the methods Add, Sub and Max write to it. None of the verbs on existing vectors allocates; all are O(columns).
//
// Which resources a pod asks for is decided by package overhead; whether a pod fits a node by package filter.
//
// The rules follow Kubernetes v1.36: the documentation's "Resource Management for Pods and Containers" and the comments of
// v1.ResourceList.
package resources
