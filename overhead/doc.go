// Package overhead computes what a pod really asks for.
package overhead
