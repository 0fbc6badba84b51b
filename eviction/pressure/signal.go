package pressure

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Signal names a resource of the node that can run short.
type Signal string

// The signals, in the order in which thresholds act: memory first as the kubelet does, the others in a fixed order where
// the kubelet has none.
const (
	MemoryAvailable            Signal = "memory.available"
	AllocatableMemoryAvailable Signal = "allocatableMemory.available" // of the cgroup that holds all pods
	NodeFsAvailable            Signal = "nodefs.available"
	NodeFsInodesFree           Signal = "nodefs.inodesFree"
	ImageFsAvailable           Signal = "imagefs.available"
	ImageFsInodesFree          Signal = "imagefs.inodesFree"
	ContainerFsAvailable       Signal = "containerfs.available"
	ContainerFsInodesFree      Signal = "containerfs.inodesFree"
	PIDAvailable               Signal = "pid.available"
)

var signals = []Signal{MemoryAvailable, AllocatableMemoryAvailable, NodeFsAvailable, NodeFsInodesFree, ImageFsAvailable,
	ImageFsInodesFree, ContainerFsAvailable, ContainerFsInodesFree, PIDAvailable}

// Signals returns all signals in the order in which their thresholds act.
func Signals() []Signal { return slices.Clone(signals) }

// Known reports whether the kubelet has the signal.
func (s Signal) Known() bool { return slices.Contains(signals, s) }

// Resource returns the word for the resource in messages: memory, ephemeral-storage, inodes or pids; empty for an unknown
// signal.
func (s Signal) Resource() string {
	switch s {
	case MemoryAvailable, AllocatableMemoryAvailable:
		return "memory"
	case NodeFsAvailable, ImageFsAvailable, ContainerFsAvailable:
		return "ephemeral-storage"
	case NodeFsInodesFree, ImageFsInodesFree, ContainerFsInodesFree:
		return "inodes"
	case PIDAvailable:
		return "pids"
	}
	return ""
}

// Condition returns the node condition that the signal raises, empty for an unknown signal.
func (s Signal) Condition() v1.NodeConditionType {
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

// Quantity returns an amount of the signal as the kubelet prints it: bytes in powers of 1024, inodes and processes in
// powers of 1000.
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
