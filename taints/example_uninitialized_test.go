package taints_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/taints"
)

// The kubelet of a cloud registers its node with the taint node.cloudprovider.kubernetes.io/uninitialized. The cloud controller removes
// the taint when it has filled in what only the cloud knows. Until then only pods that tolerate the taint go there, such as the cloud
// controller itself.
func ExampleUntolerated_uninitialized() {
	const key = "node.cloudprovider.kubernetes.io/uninitialized"
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: key, Value: "true", Effect: v1.TaintEffectNoSchedule}}},
	}
	fmt.Println("web:", taints.Untolerated(node, nil, taints.Options{}).ToString())
	controller := []v1.Toleration{{Key: key, Value: "true", Effect: v1.TaintEffectNoSchedule}}
	fmt.Println("cloud controller:", taints.Untolerated(node, controller, taints.Options{}) == nil)
	// Output:
	// web: node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule
	// cloud controller: true
}
