// Package httpextender asks scheduler extenders: HTTP servers that filter nodes, score them, change preemption victims or
// bind pods on behalf of a scheduler.
//
//	client, err := httpextender.New(configuration.Extenders[0], httpextender.Options{})
//	if client.Interested(pod) && client.Offers(httpextender.Filter) {
//		answer, err := client.Filter(ctx, pod, nodes)      // answer.Nodes stay, the rest is out
//	}
//	sums := httpextender.ScoreAll(ctx, clients, pod, nodes) // to add to the totals of the plugins
//
// The wire format is that of kube-scheduler v1.36 (k8s.io/kube-scheduler/extender/v1): POST of JSON to
// <urlPrefix>/<verb>. Field names are written capitalised and read whatever their case, so that extenders of the times of
// v1.16 understand and are understood. Any status but 200, an answer that is no JSON, one that comes late, or one with an
// Error is a failure of the extender; what that means for the pod depends on Ignorable, and on the verb:
//
//   - Filter: asked one after the other while nodes are left, the ignorable ones last. The failure of an ignorable one is
//     passed over, that of another ends the attempt. An answer that names no nodes at all leaves none.
//   - Prioritize: asked side by side. Failures are passed over. Scores count times weight times 10, whatever their range;
//     unknown hosts are ignored, a host named twice counts twice.
//   - Preempt: one after the other, each on the answer of the one before. Unknown nodes and pods are failures.
//   - Bind: the first extender that offers it and is interested binds.
//
// A timeout of 0 stands for 5 s. A client keeps its connections and may be used by many goroutines. Pods and nodes are read
// only. Answers are returned as names; Answer.Objects has what the extender sent instead of them (see Options).
//
// Which pods an extender is asked about, the order of extenders, and the arithmetic of scores are package score's.
package httpextender
