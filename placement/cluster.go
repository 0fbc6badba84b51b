package placement

import (
	"iter"

	"github.com/podberth/podberth/resources"
)

// Cluster is what placement must see of a cluster. [cluster.Snapshot] has these methods and all the optional ones; Rows makes
// a Cluster of three methods.
//
// A node's handle is its slot. The vectors have the columns of Schema: column [resources.Pods] of Allocatable is the number of
// pods that a node allows, that of Requested the number of pods there. NonZero counts 100m cpu and 200Mi memory for
// containers that name none.
//
// Optional methods, each found by type assertion:
//
//   - Order() []int32, Slot(name string) int and Namespace(name string) (labels map[string]string, ok bool) save time.
//   - The methods of [spread.Owners] give services and controllers, from which default spread constraints take their
//     selectors. Without them a pod has no default constraints.
//   - VolumeObjects() [volumes.Objects] gives the storage objects. Without it there are none, and pods with claims are rejected.
//   - DeviceObjects() [tracker.Objects] gives claims, slices and classes of devices. Without it there are none, and pods with
//     spec.resourceClaims are rejected.
//   - A change log with pod sets and term sets, as cluster.Snapshot has them, lets a [Plan] share work between equal pods.
//   - The optional methods that the packages of the rules name.
//
// A *cluster.Snapshot needs neither the methods of spread.Owners nor VolumeObjects nor DeviceObjects: its objects are read
// directly.
type Cluster interface {
	View
	Namespaces() iter.Seq2[string, map[string]string]
	Schema() *resources.Schema
	Allocatable(i int) resources.Vector
	Requested(i int) resources.Vector
	NonZero(i int) (cpuMilli, memoryBytes int64)
}
