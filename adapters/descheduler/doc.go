// Package descheduler is a plugin for the descheduler of kubernetes-sigs that asks podberth before a pod is evicted: does the pod fit another
// node ([Fits]), or would the scheduler put it on another node ([Moves])?
//
//	descheduler.Register(pluginregistry.PluginRegistry)   // in a descheduler of one's own, before it reads its policy
//
// The policy enables PodberthFit beside DefaultEvictor:
//
//	plugins:
//	  filter: {enabled: [DefaultEvictor, PodberthFit]}
//	  preevictionfilter: {enabled: [DefaultEvictor, PodberthFit]}
//	pluginConfig:
//	- name: PodberthFit
//	  args: {mode: Moves}
//
// The plugin follows the informers of the descheduler with a snapshot of the cluster. It takes the pod off, makes the pod that its owner would
// make, and decides about that pod as kube-scheduler v1.37 does with its default profile. Pods that it let go before count where they go, until
// the informers show a new pod of their owner on a node, for five minutes at most.
//
// A yes of Moves means: none of the best nodes is the old one, now and when all pods that were let go come back together. It is as sure as the
// scheduler is: a sampled search (percentageOfNodesToScore, from 100 nodes on) may miss the better node, and pods that come meanwhile may take
// it. An answer that is not known is no, with one line in the log: lists that have not come, a pod of another scheduler, an error of a plugin.
//
// [RegisterSpread] lets the descheduler's spread strategy ask [Plugin.FitsAmong]: only pods leave that a domain below the average gets.
//
// Package nodefit has functions with the signatures of the descheduler's own, for forks and tests.
//
// Cost: an eviction asks about the pod and, in both modes, again about each pod that is on its way; the cost of a question is that of
// placement.Plan.Decide. The package is built from a checkout: the descheduler needs a replace line in the main module.
package descheduler
