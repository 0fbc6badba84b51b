package taints_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/taints"
)

// nodes is a cluster in its simplest form. A nil node is a free slot.
type nodes []*v1.Node

func (c nodes) Len() int            { return len(c) }
func (c nodes) Node(i int) *v1.Node { return c[i] }

// newNodes returns n1 to n5: n2 is a spot node, n3 is cordoned, n4 is not ready, n5 has GPUs.
func newNodes() nodes {
	newNode := func(name, zone string, list ...v1.Taint) *v1.Node {
		return &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}},
			Spec:       v1.NodeSpec{Taints: list},
		}
	}
	c := nodes{
		newNode("n1", "a"),
		newNode("n2", "a", v1.Taint{Key: "spot", Value: "true", Effect: v1.TaintEffectPreferNoSchedule}),
		newNode("n3", "b"),
		newNode("n4", "b", v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoSchedule},
			v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}),
		newNode("n5", "c", v1.Taint{Key: "gpu", Value: "a100", Effect: v1.TaintEffectNoSchedule}),
	}
	c[2].Spec.Unschedulable = true
	return c
}

// The pods web and gpu on the node with GPUs.
func ExampleUntolerated() {
	n5 := newNodes()[4]
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	gpu := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec:       v1.PodSpec{Tolerations: []v1.Toleration{{Key: "gpu", Operator: v1.TolerationOpExists}}},
	}
	for _, pod := range []*v1.Pod{web, gpu} {
		if taint := taints.Untolerated(n5, pod.Spec.Tolerations, taints.Options{}); taint != nil {
			fmt.Println(pod.Name, "does not tolerate", taint.ToString())
		} else {
			fmt.Println(pod.Name, "may run on", n5.Name)
		}
	}
	// Output:
	// web does not tolerate gpu=a100:NoSchedule
	// gpu may run on n5
}

// A pod without tolerations on every node: both filters, the explanation and the score.
func ExampleEvaluator_On() {
	cluster := newNodes()
	e := taints.Compile(nil, taints.Options{})
	tainted, cordoned := e.On(cluster), e.OnCordon(cluster)
	for i, node := range cluster {
		if v := cordoned.Check(i); v != 0 {
			fmt.Println(node.Name, cordoned.Reasons(v))
		} else if v := tainted.Check(i); v != 0 {
			fmt.Println(node.Name, tainted.Reasons(v), tainted.Explain(i))
		} else {
			fmt.Println(node.Name, "scores", tainted.Normalize(tainted.Raw(i), 0, 1))
		}
	}
	// Output:
	// n1 scores 100
	// n2 scores 0
	// n3 [node(s) were unschedulable]
	// n4 [node(s) had untolerated taint(s)] [node.kubernetes.io/not-ready:NoSchedule rejects node.kubernetes.io/not-ready:NoExecute rejects]
	// n5 [node(s) had untolerated taint(s)] [gpu=a100:NoSchedule rejects]
}

// How long does a pod stay on a node that is not ready?
func ExampleEvaluator_Deadline() {
	n4, seconds := newNodes()[3], int64(300)
	db := taints.Compile([]v1.Toleration{{
		Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds,
	}}, taints.Options{})
	d := db.Deadline(n4.Spec.Taints)
	fmt.Println(d.Stay == taints.Limited, d.After)
	web := taints.Compile(nil, taints.Options{})
	fmt.Println(web.Deadline(n4.Spec.Taints).Stay == taints.Leave)
	// Output:
	// true 5m0s
	// true
}

func ExampleMatches() {
	taint := &newNodes()[4].Spec.Taints[0]
	for _, t := range []v1.Toleration{
		{Key: "gpu", Value: "t4"},
		{Key: "gpu", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute},
		{Key: "gpu", Operator: v1.TolerationOpExists},
	} {
		fmt.Println(taints.Matches(&t, taint, taints.Options{}))
	}
	// Output:
	// false
	// false
	// true
}
