package lint_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/diagnose/lint"
)

// Five nodes in three zones, and a Deployment that must be spread over a label that no node has.
func ExampleCheck() {
	objects := cluster.Objects{}
	for _, x := range [][2]string{{"n1", "a"}, {"n2", "a"}, {"n3", "b"}, {"n4", "b"}, {"n5", "c"}} {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: x[0], Labels: map[string]string{v1.LabelHostname: x[0], v1.LabelTopologyZone: x[1]}}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("110")}
		objects.Nodes = append(objects.Nodes, n)
	}
	three, labels := int32(3), map[string]string{"app": "web"}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: appsv1.DeploymentSpec{Replicas: &three}}
	web.Spec.Template.Labels = labels
	web.Spec.Template.Spec = v1.PodSpec{
		Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi")}}}},
		TopologySpreadConstraints: []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zones", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		}},
	}
	findings, err := lint.Check(lint.Input{Deployments: []*appsv1.Deployment{web}, Cluster: &objects})
	if err != nil {
		panic(err)
	}
	for _, f := range findings {
		fmt.Println(f.Severity, f.Rule, f.Object)
		fmt.Println(f.Path)
		fmt.Println(f.Explanation)
	}
	// Output:
	// error spread-key-missing Deployment default/web
	// spec.template.spec.topologySpreadConstraints[0].topologyKey
	// no node has the label topology.kubernetes.io/zones, near: topology.kubernetes.io/zone
}
