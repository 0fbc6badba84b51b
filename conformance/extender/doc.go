// Package extender compares configurations and HTTP extenders of podberth and kube-scheduler:
//
//   - Both sides load random configurations.
//   - The HTTP extender client of kube-scheduler drives the program cmd/podberth-extender.
//   - The clients of both sides get the same answers, well-formed and malformed.
package extender
