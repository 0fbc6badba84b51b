// Package preemption decides which pods give way to a pod of higher priority, and resolves priorities.
package preemption
