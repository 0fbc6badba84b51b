// Package view finds the optional interfaces of a cluster and has a fallback for each of them. It also holds the scan order
// of nodes (ScanOrder, Zones) and the zone key.
//
//	verdicts := view.Classify(cluster, reads, decide) // one decision for each class of equal nodes
//	ids, domains, have := view.Domains(cluster, key)  // the numbered values of a node label
//
// A package declares what it needs of a cluster on its own side and passes the cluster on. The package gets the same
// answers from a cluster without the optional interfaces, only slower. Nothing here keeps a cluster or modifies one.
package view

import v1 "k8s.io/api/core/v1"

// Nodes is the part of a cluster that every view needs. Node(i) == nil marks a free slot.
type Nodes interface {
	Len() int
	Node(i int) *v1.Node
}
