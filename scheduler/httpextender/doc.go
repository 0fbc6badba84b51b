// Package httpextender (experimental) asks scheduler extenders: HTTP servers that filter nodes, score them, change preemption victims or
// bind pods on behalf of a scheduler.
//
//	client, err := httpextender.New(extender, httpextender.Options{})
//	if client.Interested(pod) && client.Offers(httpextender.Filter) {
//		answer, err := client.Filter(ctx, pod, nodes)      // answer.Nodes stay, the rest is out
//	}
//	sums := httpextender.ScoreAll(ctx, clients, pod, nodes) // to add to the totals of the plugins
//
// The wire format is that of kube-scheduler v1.37 (k8s.io/kube-scheduler/extender/v1): POST of JSON to
// <urlPrefix>/<verb>. Requests have capitalised keys. Answers may have keys in any case, as extenders for v1.16 send them.
//
// An extender fails if it does not answer in time, if the status is not 200, if the answer is not JSON of the right shape,
// or if the answer has an Error. The verb and Ignorable decide what a failure means for the pod:
//
//   - Filter: extenders are asked one after the other while nodes are left, the ignorable ones last. The failure of an
//     ignorable extender is passed over. Any other failure ends the attempt. An answer without nodes leaves no node.
//   - Prioritize: extenders are asked side by side. Failures are passed over. A score is multiplied by the weight and by 10, whatever its
//     range. Unknown hosts are ignored. A host that is named twice gets both scores.
//   - Preempt: each extender is asked about the answer of the one before. Unknown nodes and pods are failures.
//   - Bind: the first extender that offers the verb and is interested binds.
//
// Limits that v1.37 does not have: an answer has at most 256 MiB, redirects stay on the host, no data follow the JSON
// value, and a negative httpTimeout is refused. [AsKubeScheduler] returns the options without these limits.
//
// A time-out of 0 means 5 s. A client keeps its connections. Many goroutines may use one client. A client only reads the
// pods and nodes that it gets.
//
// Package [rules] has the rules without the wire: which pods an extender is asked about, the order of extenders, and what an
// answer means.
//
// This package follows Kubernetes v1.37.
package httpextender
