package reasons_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/examples/reasons"
)

func Example() {
	c, err := reasons.New()
	if err != nil {
		panic(err)
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"pool": "general"}}}
	node.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	c.OnAdd(node, true)
	for _, name := range []string{"web-1", "web-2"} {
		requests := v1.ResourceList{"cpu": resource.MustParse("500m")}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
		pod.Spec.Containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: requests}}}
		pod.Spec.NodeSelector = map[string]string{"pool": "generall"}
		c.OnAdd(pod, true)
	}
	say := func() {
		text, err := c.Tick()
		if err != nil {
			panic(err)
		}
		fmt.Print(text)
	}
	say()
	fixed := node.DeepCopy()
	fixed.Labels["pool"] = "generall"
	c.OnUpdate(node, fixed)
	say() // nobody waits
	// Output:
	// 2 like shop/web-1: it wants pool=generall, and n1 has general; Pod shop/web-1, made again: did you mean pool=general? (spec.nodeSelector[pool] has pool=generall): then it goes to n1
}
