package taints_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/taints"
)

// The documentation's pod with two tolerations and its node with three taints: the third taint is not tolerated, so a new pod
// does not come to the node. A pod that runs there stays, because NoExecute is tolerated. With tolerationSeconds 3600 it stays
// for an hour.
func Example_threeTaintsTwoTolerations() {
	node := &v1.Node{Spec: v1.NodeSpec{Taints: []v1.Taint{
		{Key: "key1", Value: "value1", Effect: v1.TaintEffectNoSchedule},
		{Key: "key1", Value: "value1", Effect: v1.TaintEffectNoExecute},
		{Key: "key2", Value: "value2", Effect: v1.TaintEffectNoSchedule},
	}}}
	tolerations := []v1.Toleration{
		{Key: "key1", Operator: v1.TolerationOpEqual, Value: "value1", Effect: v1.TaintEffectNoSchedule},
		{Key: "key1", Operator: v1.TolerationOpEqual, Value: "value1", Effect: v1.TaintEffectNoExecute},
	}
	fmt.Println("not tolerated:", taints.Untolerated(node, tolerations, taints.Options{}).ToString())
	running := taints.Compile(tolerations, taints.Options{}).Deadline(node.Spec.Taints)
	fmt.Println("stays:", running.Stay == taints.Forever)

	hour := int64(3600)
	tolerations[1].TolerationSeconds = &hour
	running = taints.Compile(tolerations, taints.Options{}).Deadline(node.Spec.Taints)
	fmt.Println("leaves after", running.After)
	// Output:
	// not tolerated: key2=value2:NoSchedule
	// stays: true
	// leaves after 1h0m0s
}
