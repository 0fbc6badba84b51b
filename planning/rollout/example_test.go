package rollout_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/rollout"
)

func node(name, zone, cpu string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: zone}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(cpu), v1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

// app returns a ReplicaSet and a pod of it on each of the nodes.
func app(name, cpu string, nodes ...string) (*appsv1.ReplicaSet, []*v1.Pod) {
	replicas, yes := int32(len(nodes)), true
	labels := map[string]string{"app": name}
	template := v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: name, Image: name, Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)},
		}}}},
	}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	var pods []*v1.Pod
	for i, n := range nodes {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("%s-%d", name, i+1), Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, Controller: &yes}},
		}, Spec: template.Spec}
		p.Spec.NodeName = n
		pods = append(pods, p)
	}
	return set, pods
}

// The cluster of all examples: five nodes in three zones with pods web, db and gpu.
func snapshot() *cluster.Snapshot {
	web, webPods := app("web", "1", "n1", "n2", "n3")
	db, dbPods := app("db", "2", "n3", "n5")
	gpu, gpuPods := app("gpu", "3500m", "n4")
	pods := append(append(webPods, dbPods...), gpuPods...)
	s, err := cluster.New(cluster.Objects{
		Nodes:       []*v1.Node{node("n1", "a", "4"), node("n2", "a", "4"), node("n3", "b", "4"), node("n4", "b", "4"), node("n5", "c", "4")},
		Pods:        pods,
		ReplicaSets: []*appsv1.ReplicaSet{web, db, gpu},
	})
	if err != nil {
		panic(err)
	}
	return s
}

// All five nodes are replaced, one after the other, behind a surge node that comes first and leaves last. Pods prefer new nodes,
// so only the pod that goes to the surge node moves twice.
func ExamplePlanner_Plan() {
	planner, err := rollout.New(rollout.Input{Snapshot: snapshot()})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Plan(rollout.Options{
		Surge: 1,
		Start: func(*v1.Pod, string) time.Duration { return 5 * time.Second },
		Renew: func(*v1.Node) time.Duration { return time.Minute },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range plan.Steps {
		fmt.Println(step.Begin, step.Action, step.Nodes)
		for _, wave := range step.Waves {
			for _, m := range wave.Moves {
				fmt.Printf("  %s -> %s\n", m.Pod, m.To)
			}
		}
	}
	fmt.Println(plan.Total, plan.Evictions, "evictions,", len(plan.Again), "pods move twice")
	// Output:
	// 0s surge [n1-surge-1]
	// 1m0s replace [n1]
	//   shop/web-1 -> n1-surge-1
	// 2m30s replace [n2]
	//   shop/web-2 -> n1
	// 4m0s replace [n4]
	//   shop/gpu-1 -> n2
	// 5m30s replace [n5]
	//   shop/db-2 -> n1
	// 7m0s replace [n3]
	//   shop/db-1 -> n5
	//   shop/web-3 -> n4
	// 8m30s retire [n1-surge-1]
	//   shop/web-1-moved-1 -> n3
	// 9m0s 7 evictions, 1 pods move twice
}

// The budget of db demands both of its pods: their nodes are blocked, and the other nodes are replaced.
func ExamplePlan_Complete() {
	cluster := snapshot()
	minimum := intstr.FromInt32(2)
	if err := cluster.Set(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &minimum, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		},
	}); err != nil {
		fmt.Println(err)
		return
	}
	planner, err := rollout.New(rollout.Input{Snapshot: cluster})
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Plan(rollout.Options{Remedies: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Complete(), plan.Replaced)
	for _, d := range plan.Blocked {
		fmt.Println(d.Nodes, d.Kind, d.Pods)
		fmt.Println(d.Proof)
		fmt.Println(d.Remedies[0].Text, d.Remedies[0].Holds)
	}
	// Output:
	// false 3
	// [n5 n3] never [shop/db-2 shop/db-1]
	// budget shop/db demands 2 healthy pods of 2 expected: 2 - 2 leaves none to disrupt
	// minAvailable 1 in place of 2 in budget shop/db true
}
