package dump_test

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/tools/dump"
)

// What `kubectl get nodes,pods -o yaml` prints comes from standard input.
func ExampleRead() {
	objects, err := dump.Read([]string{"-"}, strings.NewReader(`
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4"}}}
- {apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: web}, spec: {containers: [{name: c}]}}
- {apiVersion: v1, kind: Secret, metadata: {namespace: shop, name: key}}
`), dump.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(objects.Nodes[0].Name, objects.Nodes[0].Status.Allocatable.Cpu())
	fmt.Println(objects.Pods[0].Namespace, objects.Pods[0].Name)
	fmt.Println(objects.Warnings.Lines())

	_, err = dump.Read([]string{"-"}, strings.NewReader(`{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: four}}}`), dump.Options{})
	fmt.Println(err)
	// Output:
	// n1 4
	// shop web
	// [1 object(s) of kind Secret left aside: the kind is not read]
	// standard input: document 1 (Node n1): status.allocatable[cpu]: Invalid value: "four": must be a quantity such as 500m, 2 or 1Gi
}
