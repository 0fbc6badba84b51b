// Package kubectl runs the program kubectl podberth against a kube-apiserver, which runs in the test process, and holds what
// the program says of the cluster against what it says of the cluster's dump, of the anonymised dump, and against what kubectl
// describe says of pods that the real kube-scheduler has left pending.
//
//	go test ./kubectl -v -args -nodes 200 -pods 2000
package kubectl
