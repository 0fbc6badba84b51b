package workload_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/planning/workload"
)

func node(name, zone string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: zone}}}
}

// The cluster of all examples: five nodes in three zones.
func nodes() []*v1.Node {
	return []*v1.Node{node("n1", "a"), node("n2", "a"), node("n3", "b"), node("n4", "b"), node("n5", "c")}
}

// template is what the pods of an app are made from.
func template(app string) v1.PodTemplateSpec {
	return v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: app, Image: app}}},
	}
}

func selector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// Node n1 fails with one of two web pods, and the ReplicaSet makes another. The agent of n2 is there, those of the other
// nodes are missing.
func ExampleMake() {
	two, yes := int32(2), true
	web := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &two, Selector: selector("web"), Template: template("web")},
	}
	agent := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: selector("agent"), Template: template("agent")},
	}
	pod := func(kind, owner, name, node string) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: name, Labels: map[string]string{"app": owner},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: &yes}},
			},
			Spec: v1.PodSpec{NodeName: node},
		}
	}
	made, err := workload.Make(workload.Objects{
		ReplicaSets: []*appsv1.ReplicaSet{web}, DaemonSets: []*appsv1.DaemonSet{agent},
		Nodes: nodes()[1:], // n1 is gone
		Pods:  []*v1.Pod{pod("ReplicaSet", "web", "web-1", "n3"), pod("DaemonSet", "agent", "agent-1", "n2")},
	}, workload.Options{})
	if err != nil {
		panic(err)
	}
	for _, p := range made.Pods {
		fmt.Println(p.Name, "of", p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name)
	}
	// Output:
	// web-2 of ReplicaSet web
	// agent-2 of DaemonSet agent
	// agent-3 of DaemonSet agent
	// agent-4 of DaemonSet agent
}

// A StatefulSet makes its pods one after the other, each with its claims.
func ExampleMake_statefulSet() {
	three := int32(3)
	db := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &three, ServiceName: "db", Selector: selector("db"), Template: template("db"),
			VolumeClaimTemplates: []v1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
	}
	made, err := workload.Make(workload.Objects{StatefulSets: []*appsv1.StatefulSet{db}}, workload.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(made.Pods[0].Name, made.Claims[0].Name, len(made.Pods))
	fmt.Println(made.Waiting[0])
	// Output:
	// db-0 data-db-0 1
	// StatefulSet shop/db makes no more pods: pod db-0 is not running and ready
}
