// Package workload (experimental) decides which pods and claims the controllers of a cluster make: those that Deployments, ReplicaSets,
// ReplicationControllers, StatefulSets, Jobs, CronJobs and DaemonSets ask for and that do not exist, and the claims of these pods.
//
//	made, err := workload.Make(workload.Objects{Deployments: deployments, Nodes: nodes, Pods: pods}, workload.Options{})
//	fmt.Println(made.Pods)                             // pending, not yet admitted
//	fmt.Println(made.Claims)                           // the claims of these pods
//	for _, w := range made.Waiting { fmt.Println(w) }  // what waits, and for what
//
// After a failure, call [Make] with the objects that are left: the result is what comes back.
//
// # The rules
//
//  1. A pod belongs to the controller that its owner reference names, by UID where both have one and by kind, namespace and
//     name otherwise. A pod without a controller belongs to the first controller whose selector matches it. Replicas count
//     while they are neither finished nor terminating.
//  2. A ReplicaSet, a ReplicationController: the replicas that are missing.
//  3. A Deployment: what its ReplicaSets lack. When they ask for fewer pods than the Deployment, the rest belongs to the
//     ReplicaSet with the Deployment's template, which is made if there is none. A rollout that is under way is not continued.
//  4. A StatefulSet: pods by ordinal with the claims of its volumeClaimTemplates. OrderedReady makes the first missing pod,
//     and only when all pods before it are running and ready. Parallel makes all of them.
//  5. A Job: as many pods as may run at a time and are not done. An Indexed Job makes the lowest indexes that are missing.
//  6. A CronJob: the Job of its next run, NAME-next, unless it is suspended or waits for a run.
//  7. A DaemonSet: a pod for each node that its template may run on, bound to that node by node affinity, with the tolerations
//     of the controller.
//  8. The target of a HorizontalPodAutoscaler has at least its minReplicas and at most its maxReplicas. Metrics are not read.
//  9. A pod without a node gets the claims of its generic ephemeral volumes, and its ResourceClaims from their templates.
//
// # Order and cost
//
// Objects that are being deleted make nothing. Order: ReplicaSets, Deployments, ReplicationControllers, StatefulSets, Jobs,
// CronJobs, DaemonSets, each in input order. Controllers end names with five random characters; [Make] ends them with the
// smallest free number.
//
// Cost: O(objects + pods made), for DaemonSets O(DaemonSets x nodes). A selector without matchLabels costs O(pods without a
// controller). What all packages promise is said in [github.com/podberth/podberth].
//
// The package does not admit pods: package admission applies defaults, priority and limit ranges, and the default
// StorageClass to claims. Schedules are not read. The pods of a StatefulSet below its partition are made from the current
// template too, for the objects do not hold the older template. Backoff after failures is not waited for.
//
// Rules: documentation, "Workload Management"; docs/planning.md. The package follows Kubernetes v1.37.
package workload
