// Package extender (experimental) serves podberth's filters, scores and preemption to a stock kube-scheduler, in the wire format of scheduler
// extenders. A [Handler] answers POST /filter, /prioritize and /preempt, and GET /healthz. It decides of the cluster that it was given,
// which has the objects that the wire format does not carry: the pods on the nodes, namespaces, services, volumes and so on. Node
// objects in requests replace those of the cluster. In kube-scheduler's configuration:
//
//	extenders:
//	- urlPrefix: http://127.0.0.1:8888
//	  filterVerb: filter
//	  prioritizeVerb: prioritize
//	  weight: 1
//	  preemptVerb: preempt
//	  nodeCacheCapable: true
//
// The command podberth-extender serves a dump. A program that watches a cluster calls Set with newer objects.
package extender
