// Package eviction (experimental) names the ways in which a running pod has to leave its node. It holds no code. Each way is a package that
// can be imported alone and does not import the others.
//
//	var policy *pressure.Policy                                          // pressure: a resource of the node runs short
//	_, d := policy.Observe(state, observation, now)
//	fmt.Println(d.Eviction.Pod, d.Eviction.Message)                      // which pod the kubelet evicts, and its message
//
//	answer := disruption.Decide(pod, budgets, disruption.Request{}, now) // disruption: a client asks the Eviction API
//	fmt.Println(answer.Code, answer.Cause, answer.Remedies())            // 201, or why not and what helps
//
//	timers := taint.NewTimers(taint.Options{})                           // taint: the node got a NoExecute taint
//	fmt.Println(timers.SetNode(node, now))                               // pods that leave now, later, or stay
//
//	taints := devicetaint.New(slices, rules, now)                        // devicetaint: a device has a NoExecute taint
//	eviction, ok := taints.Eviction(pod, claims)
//	fmt.Println(eviction.At, eviction, ok)                               // when the pod leaves, and why
//
// Which pod leaves depends on who evicts:
//
//	package     who evicts                    which pod                                       budgets
//	pressure    the kubelet                   far above its request, of low priority          not asked
//	disruption  a client (kubectl drain)      the pod that the client names                   decide
//	taint       the taint controller          a pod that does not tolerate the taint (or not  not asked
//	                                          any longer)
//	devicetaint the device taint controller   a pod whose claim does not tolerate the taint   not asked
//	                                          of its device (or not any longer)
//
// A pod that one way spares may be evicted in another way. The kubelet never evicts static pods and pods of the highest
// priorities, but a taint deletes them. A budget stops only the Eviction API.
//
// Grace periods are in seconds. The comments of each package state concurrency and cost. What all packages promise is said
// in [github.com/podberth/podberth].
//
// Other packages do the rest: preemption (which asks eviction/disruption about budgets), placement (the new node), taints
// (which taints a pod tolerates), taints/edit (which taints a node's conditions bring), overhead/kubelet (the order in which
// the kernel kills). The caller deletes the pods.
//
// The packages follow the kubelet, the API server and the controllers of Kubernetes 1.37. docs/eviction.md describes the
// packages and their programs; docs/fidelity has their rules and known differences.
package eviction
