// Package reuse is the engine of a plan: it keeps the work done for earlier pods and follows the change log of a cluster.
//
//	e := reuse.New(log, plugins)        // nil: nothing can be kept
//	opened, ok := e.Open(&q)            // what is kept for the pod, up to date
//	answer, ok := e.Decide(&opened, &q) // false, as above: the caller asks node by node
//
// The engine knows no plugin: package hooks has what it asks of them. It keeps seven things. Pods share one of them when they agree in what it depends on:
//
//	statics   answers that only a change of a node can change   by the keys of plugins with KeepByNode
//	classes   the nodes in classes of equal static answers      by what the plugins with KeepByNode read of nodes
//	rows      answers that pods of the same node change too     by the keys with KeepByNodeAndPods
//	states    counts of running pods                            by what Compiled.AppendKey appends; idle ones by AppendIdleKey
//	layout    the nodes in groups of equal signature            by statics, rows and layout keys of the states
//	kind      all of these together                             by pod; with heaps, pods alike in all of these share one (sharing)
//	failures  answers without a node                            by pod, until the next event
//
// The first pod with some requests uses statics and states, and searches the rows of the nodes in boxes (tree), or scans the rows
// of every node once (scan). Later pods with the same requests have heaps over kept rows. On a few nodes a pod may get a verdict of its own: these are
// asked about alone (apart). When a node comes or leaves, states and kinds begin again; statics, rows and layouts follow; a slot more than before ends all. Every answer is the answer that asking each node gives. An Engine belongs to
// one goroutine. docs/engine.md has the way of a decision and a drawing.
//
// What holds for everything whose cursor is that of the present; valid checks it:
//
//	I1  The engine knows the node of each slot.
//	I2  Statics: the class of a node has the verdict and the raw scores that the plugins give the node.
//	I3  Classes by reads: nodes are of one class when the log has them in one class. A class with nodes names one of them.
//	I4  Rows: the key of a node, or its verdict, is what the plugins with KeepByNodeAndPods give.
//	I5  Layout: each node is in one group, a free slot in none. A group counts its nodes and names one of them.
//	I6  Layout with rows: a node is in the heap of its group with its key, or counts with its verdict. Heaps are heaps, unless the group sleeps. Tied nodes have the level.
//	I7  A span that is known has the counts and the best nodes that reading it again gives.
//	I8  Boxes: each node is in one box, whose bounds hold its row.
//	I9  Nodes of one group have equal classes and domains, nodes of different groups do not. Exceptions are the nodes with a count, in groups
//	    by group of the layout and counts. A group of the layout knows how many nodes of its heap are exceptions.
//	I10 A state gives the verdicts that a state gives which counts now, unless pods that came count for the pod that it was made for alone.
package reuse
