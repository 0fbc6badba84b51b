// Package consolidation replays plans of package planning/consolidation: a kube-apiserver v1.36.3 is asked for each eviction, and
// kube-scheduler v1.36.3 for each new pod. No step may be refused.
package consolidation
