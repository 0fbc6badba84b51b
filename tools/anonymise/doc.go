// Package anonymise (experimental) replaces the names in a dump so that others may read it: the programs give the same answers about it,
// with the new names in them.
//
//	objects, err := dump.Read(paths, os.Stdin, dump.Options{})
//	…
//	list, names, err := anonymise.Objects(objects, nil)
//	// names.Node["node-00001"] is the old name
//
// These get new names: nodes, namespaces, pods and all other objects, UIDs, label keys that Kubernetes does not define, label values,
// images, volumes and containers. Equal names stay equal and different names different, and new names sort as the old names do, because
// ties end in names. These stay as they are: resources, devices and their attributes, drivers and provisioners, keys of labels and taints
// in the domains kubernetes.io and k8s.io, values that are numbers, "true" and "false", the values of the labels for operating system and
// architecture, and what kubelets measure. Numbers are compared by node affinity (Gt, Lt).
//
// Names that are spelled alike get new names that are alike where program lint suggests one for the other. Where that cannot be kept,
// [Names.Unlike] has the name.
//
// What no program reads is left out: environment, commands, probes, mounts, addresses, messages, most annotations, and fields that the
// package does not know.
//
// Objects refuses where it cannot keep the answers: a CEL expression that names something with a new name, and names whose order
// it would change. The functions hold no state. They do not change their arguments. The cost is O(n log n) in the size of the dump.
package anonymise
