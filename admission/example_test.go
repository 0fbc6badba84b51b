package admission_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/taints"
)

// apart makes a pod that must not run in one domain of a topology key with pods of the same app.
func apart(name, key string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}}
	pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		}},
	}}
	return pod
}

// From template to pod: what the API server makes of a pod that a controller sends.
func ExampleAdmit() {
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	web.Spec.PriorityClassName = "high"
	web.Spec.Containers = []v1.Container{{Name: "web"}}
	pod, changes, err := admission.Admit(web, admission.Cluster{
		PriorityClasses: []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}},
		LimitRanges: []*v1.LimitRange{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "small"},
			Spec: v1.LimitRangeSpec{Limits: []v1.LimitRangeItem{{
				Type: v1.LimitTypeContainer, DefaultRequest: v1.ResourceList{"cpu": resource.MustParse("100m")},
			}}},
		}},
	}, admission.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println("cpu", pod.Spec.Containers[0].Resources.Requests.Cpu(), "priority", *pod.Spec.Priority)
	for _, c := range changes {
		fmt.Println(c.By, c.Fields)
	}
	// Output:
	// cpu 100m priority 1000
	// defaults [spec.restartPolicy spec.terminationGracePeriodSeconds spec.schedulerName]
	// LimitRanger [metadata.annotations[kubernetes.io/limit-ranger] spec.containers[0].resources.requests[cpu]]
	// Priority [spec.priority]
	// DefaultTolerationSeconds [spec.tolerations]
}

// matchLabelKeys at the API server: a pod of revision 2 keeps away from pods of its own revision only.
func ExampleMergeLabelKeys() {
	web := apart("web", v1.LabelHostname)
	web.Labels["rev"] = "2"
	web.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].MatchLabelKeys = []string{"rev"}
	web.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, MatchLabelKeys: []string{"rev"}, LabelSelector: &metav1.LabelSelector{},
	}}
	stored := admission.MergeLabelKeys(web)
	fmt.Println(stored.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions)
	merged := stored.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	for _, e := range merged.LabelSelector.MatchExpressions {
		fmt.Println(e.Key, e.Operator, e.Values)
	}
	// Output:
	// [{rev In [2]}]
	// rev In [2]
}

// Pods that must not run on foreign nodes rely on labels that a node may not give itself.
func ExampleRestrictNode() {
	old := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{v1.LabelHostname: "n1"}}}
	changed := old.DeepCopy()
	changed.Labels["example.com/rack"] = "7"
	fmt.Println(admission.RestrictNode("n1", old, changed))
	changed.Labels["example.com.node-restriction.kubernetes.io/fips"] = "true"
	fmt.Println(admission.RestrictNode("n1", old, changed))
	// Output:
	// <nil>
	// node "n1" is not allowed to modify labels: example.com.node-restriction.kubernetes.io/fips
}

func ExampleWarnings() {
	db := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "db"}}
	db.Spec.NodeSelector = map[string]string{"beta.kubernetes.io/os": "linux"}
	fmt.Println(admission.Warnings(db))
	// Output: [spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead]
}

// How long do the pods stay when the kubelet of their node cannot be reached?
func ExampleWithDefaultSeconds() {
	unreachable := []v1.Taint{{Key: v1.TaintNodeUnreachable, Effect: v1.TaintEffectNoExecute}}
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	db := admission.WithDefaultSeconds(web, admission.DefaultSeconds{})
	fmt.Println(taints.Compile(web.Spec.Tolerations, taints.Options{}).Deadline(unreachable).After)
	fmt.Println(taints.Compile(db.Spec.Tolerations, taints.Options{}).Deadline(unreachable).After)
	// Output:
	// 0s
	// 5m0s
}

// With the admission plugin ExtendedResourceToleration, pods that ask for a GPU tolerate the taint of that name.
func ExampleWithExtendedResources() {
	gpu := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	gpu.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{"cpu": resource.MustParse("1"), "nvidia.com/gpu": resource.MustParse("2")},
	}}}
	for _, t := range admission.WithExtendedResources(gpu).Spec.Tolerations {
		fmt.Println(t.Key, t.Operator, t.Effect)
	}
	// Output: nvidia.com/gpu Exists NoSchedule
}

// Scheduling gates can only be removed. While the pod has a gate, its node selector may grow.
func ExampleValidateUpdate_gates() {
	old := &v1.Pod{Spec: v1.PodSpec{SchedulingGates: []v1.PodSchedulingGate{{Name: "example.com/quota"}}}}
	updated := &v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{"pool": "web"}}}
	fmt.Println(len(admission.ValidateUpdate(updated, old, admission.Options{})))
	updated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/budget"}}
	fmt.Println(admission.ValidateUpdate(updated, old, admission.Options{})[0])
	// Output:
	// 0
	// spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'example.com/budget'
}

// What would the API server say about a pod?
func ExampleValidate() {
	web := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	web.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone}}
	fmt.Println(admission.Refusal(web, admission.Validate(web, admission.Options{})))
	// Output:
	// Pod "web" is invalid: spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"
}

// The value of a class does not change.
func ExampleValidateUpdate() {
	old := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 10}
	changed := old.DeepCopy()
	changed.Value = 20
	fmt.Println(admission.Refusal(changed, admission.ValidateUpdate(changed, old, admission.Options{})))
	// Output: PriorityClass.scheduling.k8s.io "high" is invalid: value: Forbidden: may not be changed in an update.
}
