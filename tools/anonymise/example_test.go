package anonymise_test

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/tools/anonymise"
	"github.com/podberth/podberth/tools/dump"
)

// The names of a node and a pod, a label and its value are new; the zone's key stays.
func ExampleObjects() {
	objects, err := dump.Read([]string{"-"}, strings.NewReader(`
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: a, team: web}}}
---
{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: web}, spec: {nodeName: n1, nodeSelector: {team: web}, containers: [{name: c, image: web, env: [{name: KEY, value: secret}]}]}}
`), dump.Options{})
	if err != nil {
		panic(err)
	}
	list, names, err := anonymise.Objects(objects, nil)
	if err != nil {
		panic(err)
	}
	for _, object := range list {
		fmt.Println(object["kind"], object["metadata"], object["spec"])
	}
	fmt.Println(names.Back("ns-001/x002 goes to node-001"))
	// Output:
	// Node map[labels:map[key-001:v002 topology.kubernetes.io/zone:v001] name:node-001] map[]
	// Pod map[name:x002 namespace:ns-001] map[containers:[map[image:registry.example/image-001:v1 name:x001 resources:map[]]] nodeName:node-001 nodeSelector:map[key-001:v002]]
	// shop/web goes to n1
}
