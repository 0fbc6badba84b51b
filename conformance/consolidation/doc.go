// Package consolidation replays plans of package planning/consolidation: a kube-apiserver is asked for each eviction, and
// kube-scheduler for each new pod. No step may be refused.
package consolidation
