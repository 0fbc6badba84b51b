// Package affinity decides on which nodes a pod may and would rather run: by node labels (nodeSelector and node
// affinity) and by the pods that run near a node (inter-pod affinity and anti-affinity).
package affinity
