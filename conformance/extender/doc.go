// Package extender compares podberth and kube-scheduler where configurations and HTTP extenders are concerned: random
// configurations loaded on both sides, examples/extender driven by the real HTTP extender client, and podberth's client
// against the same answers, well-formed and not, as the real one.
package extender
