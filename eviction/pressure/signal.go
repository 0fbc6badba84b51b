package pressure

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Signal names a resource of the node that can run short, in the kubelet's words. Thresholds act in the order of this list.
// Memory is first in the kubelet too; the kubelet has no fixed order for the others:
//
//	memory.available             memory of the node
//	allocatableMemory.available  memory of the cgroup that holds all pods
//	nodefs.available             bytes of the file system of the kubelet's root directory
//	nodefs.inodesFree            inodes of that file system
//	imagefs.available            bytes of the file system of images
//	imagefs.inodesFree           inodes of that file system
//	containerfs.available        bytes of the file system of writable layers
//	containerfs.inodesFree       inodes of that file system
//	pid.available                processes and threads
type Signal string

const (
	memoryAvailable            Signal = "memory.available"
	allocatableMemoryAvailable Signal = "allocatableMemory.available"
	nodeFsAvailable            Signal = "nodefs.available"
	nodeFsInodesFree           Signal = "nodefs.inodesFree"
	imageFsAvailable           Signal = "imagefs.available"
	imageFsInodesFree          Signal = "imagefs.inodesFree"
	containerFsAvailable       Signal = "containerfs.available"
	containerFsInodesFree      Signal = "containerfs.inodesFree"
	pidAvailable               Signal = "pid.available"
)

var signals = []Signal{memoryAvailable, allocatableMemoryAvailable, nodeFsAvailable, nodeFsInodesFree, imageFsAvailable,
	imageFsInodesFree, containerFsAvailable, containerFsInodesFree, pidAvailable}

// Signals returns all signals in the order in which their thresholds act.
func Signals() []Signal { return slices.Clone(signals) }

// known reports whether the kubelet has the signal.
func (s Signal) known() bool { return slices.Contains(signals, s) }

// Resource returns the kubelet's word for the resource in messages: memory, ephemeral-storage, inodes or pids. It returns
// "" for an unknown signal.
func (s Signal) Resource() string {
	switch s {
	case memoryAvailable, allocatableMemoryAvailable:
		return "memory"
	case nodeFsAvailable, imageFsAvailable, containerFsAvailable:
		return "ephemeral-storage"
	case nodeFsInodesFree, imageFsInodesFree, containerFsInodesFree:
		return "inodes"
	case pidAvailable:
		return "pids"
	}
	return ""
}

// condition returns the node condition of the signal, "" for an unknown signal.
func (s Signal) condition() v1.NodeConditionType {
	switch s.Resource() {
	case "memory":
		return v1.NodeMemoryPressure
	case "ephemeral-storage", "inodes":
		return v1.NodeDiskPressure
	case "pids":
		return v1.NodePIDPressure
	}
	return ""
}

// Quantity returns an amount of the signal as the kubelet prints it: bytes with binary suffixes (Ki, Mi), inodes and
// processes with decimal suffixes (k, M).
func (s Signal) Quantity(n int64) resource.Quantity {
	switch s.Resource() {
	case "inodes", "pids":
		return *resource.NewQuantity(n, resource.DecimalSI)
	}
	return *resource.NewQuantity(n, resource.BinarySI)
}

func (s Signal) memory() bool { return s.Resource() == "memory" }
func (s Signal) inodes() bool { return s.Resource() == "inodes" }

func (s Signal) order() int { return slices.Index(signals, s) }

// conditions is the order in which conditions are listed.
var conditions = []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure}
