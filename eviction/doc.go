// Package eviction is the entrance to the three ways in which a running pod has to leave its node. It holds no code: each
// way is a package of its own, can be imported alone, and knows nothing of the others.
//
//	_, d := policy.Observe(state, observation, now)                      // pressure: the node runs short
//	fmt.Println(d.Eviction.Pod, d.Eviction.Message)                      // whom the kubelet evicts, and what it writes
//	answer := disruption.Decide(pod, budgets, disruption.Request{}, now) // disruption: somebody asks the Eviction API
//	fmt.Println(answer.Code, answer.Cause, answer.Remedies())            // 201, or why not and what helps
//	actions := timers.SetNode(node, now)                                 // taint: the node got a NoExecute taint
//	fmt.Println(actions)                                                 // who leaves now, who later, who stays
//
// Which pod goes depends on who evicts, and each asks something else:
//
//	package     who evicts                   whom                                      budgets
//	pressure    the kubelet                  most above its request, least important   not asked
//	disruption  a client, as kubectl drain   the pod that is named                     decide
//	taint       the taint controller         pods that do not tolerate the taint,      not asked
//	                                         or no longer
//
// A pod that is exempt from one is not exempt from the others: static pods and those of the highest priorities are never
// evicted by the kubelet, but a taint deletes them; a budget holds back the Eviction API and nobody else.
//
// All three take the time as an argument and grace periods in seconds, never write to what they are given, and do no I/O;
// their answers do not depend on the order of maps. Concurrency and cost are in the packages' own comments.
//
// What is not here: preemption by the scheduler (package preemption, which asks eviction/disruption for budgets), the
// choice of a new node (placement), which taints a pod tolerates and which a node's conditions bring (taints), the order
// in which the kernel kills (overhead, OOMScoreAdj), and the deleting itself, which is the caller's.
//
// It follows the kubelet, the API server and the controllers of Kubernetes 1.36; docs/eviction.md leads through the three
// with their programs, and docs/fidelity has their rules and known differences.
package eviction
