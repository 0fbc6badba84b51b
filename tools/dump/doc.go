// Package dump (experimental) reads dumps of a cluster: YAML or JSON documents as kubectl prints them, from files, folders and standard
// input. This command prints everything that is read:
//
//	kubectl get nodes,pods,namespaces,services,deployments,replicasets,replicationcontrollers,statefulsets,daemonsets,jobs,cronjobs,horizontalpodautoscalers,poddisruptionbudgets,priorityclasses,runtimeclasses,limitranges,resourcequotas,persistentvolumes,persistentvolumeclaims,storageclasses,csinodes,csidrivers,csistoragecapacities,volumeattachments,deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates -A -o yaml
//
// The objects, and what was strange about them:
//
//	objects, err := dump.Read([]string{"cluster.yaml"}, os.Stdin, dump.Options{})
//	objects.Warnings.Print(os.Stderr)
//
// Lists are flattened. Items of typed lists take the kind of the list. Streams of JSON objects, UTF-16 and packed text are
// read. Unknown kinds and unknown fields are counted in warnings. Equal copies of an object are one object. Claims and claim
// templates get the defaults that the API server sets: a request without allocationMode asks for one device.
//
// A snapshot of kubectl podberth also has objects of kind [Kubelet], which hold what the kubelets measure.
//
// These are errors, which name the file, the document, the field path and the value:
//   - a field of the wrong type, a quantity that is no quantity, negative or beyond int64,
//   - a key twice in an object, text that is not UTF-8,
//   - two different objects of one kind, namespace and name, or of one UID,
//   - text beyond the limits of [Options], objects and lists nested more than 500 deep, Lists nested more than 8 deep,
//   - input without an object of a kind that is read.
//
// Lists are read item by item. A YAML document is read item by item when it is longer than 1 MiB and its items are a block list; an anchor
// is not known in the other items of such a List.
package dump

// Command prints everything that [Read] reads of a cluster. A cluster that lacks some of the types gets a shorter list.
const Command = "kubectl get nodes,pods,namespaces,services,deployments,replicasets,replicationcontrollers,statefulsets,daemonsets,jobs,cronjobs,horizontalpodautoscalers,poddisruptionbudgets,priorityclasses,runtimeclasses,limitranges,resourcequotas,persistentvolumes,persistentvolumeclaims,storageclasses,csinodes,csidrivers,csistoragecapacities,volumeattachments,deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates -A -o yaml"
