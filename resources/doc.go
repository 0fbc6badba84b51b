// Package resources holds amounts of named resources (requests, allocatable, usage) as flat vectors of integers, and the
// verdict type that all filters share.
//
// What is left on a node that runs a pod?
//
//	var schema resources.Schema
//	free := resources.FromList(&schema, node.Status.Allocatable)
//	free.Sub(resources.FromList(&schema, requests))
//	fmt.Println(free.At(resources.CPU), free.Describe(&schema))
//
// A [Vector] has one int64 for each column of its [Schema]. Columns beyond the end of a vector are zero. So a schema may grow,
// and the vectors made before stay valid. The unit of cpu is a thousandth of a core. All other resources are in whole units
// (bytes, pieces). Fractions are rounded up, as kube-scheduler rounds them.
//
// Arithmetic saturates at the ends of int64 and reports saturation; kube-scheduler overflows there. The opposite operation
// cannot undo a saturation: a caller that keeps a running total computes a saturated total again from its parts.
//
// Many goroutines may read a [Schema] while none interns names. The maker of a [Vector] owns it, and only Add and Sub write
// to it. No method allocates except Grow, Describe and Clone. Methods of vectors take O(columns). What all packages promise
// is said in [github.com/podberth/podberth].
//
// Package overhead decides which resources a pod asks for; package filter decides whether a pod fits a node.
//
// This package follows Kubernetes v1.37: "Resource Management for Pods and Containers" in the documentation, and the
// comments of [v1.ResourceList].
package resources
