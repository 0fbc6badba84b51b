// Package conformance holds podberth against kube-scheduler itself, run in process over generated clusters:
//
//	go test ./...                                              // the short mode, for continuous integration
//	go test -timeout 3h . -args -clusters 200000 -seed 1000    // the long mode
//
// A failing test prints the seed and the smallest failing cluster as YAML that `podberth place` reads. The folders: real runs
// kube-scheduler over given objects, gen makes clusters, compare holds the two sides against each other. judge is kube-scheduler of
// another version as a program, and remote asks it.
package conformance
