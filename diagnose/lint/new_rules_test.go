package lint

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/podgroup"
)

// newCase is a case of TestRules.
type newCase struct {
	name      string
	fires     func(w *world)
	near      func(w *world)
	severity  Severity
	manifests bool
}

// group adds a gang, and member makes the pods its members.
func (w *world) group(name string, minimum int32) *podgroup.Group {
	g := &podgroup.Group{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: podgroup.Spec{Minimum: &minimum}}
	w.in.Groups = append(w.in.Groups, g)
	return g
}

// groupOfClass adds a group that names a priority class, and the class high.
func (w *world) groupOfClass(name, class string) {
	w.group(name, 1)
	w.in.GroupPriorities = map[string]admission.GroupPriority{"PodGroup default/" + name: {Class: class}}
	w.in.PriorityClasses = []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 5}}
}

// tree adds two groups below a composite group, and the pods to the first.
func (w *world) tree(minimum int32) {
	w.group("train", 1).Parent = "job"
	w.group("serve", 1).Parent = "job"
	w.member("train")
	w.in.Composites = append(w.in.Composites, &podgroup.Composite{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "job"}, Spec: podgroup.Spec{Minimum: &minimum}})
}

func (w *world) member(group string) {
	w.pod.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
}

// quota adds a quota of the namespace.
func (w *world) quota(name v1.ResourceName, amount string) {
	w.in.Quotas = append(w.in.Quotas, &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}, Spec: v1.ResourceQuotaSpec{Hard: v1.ResourceList{name: resource.MustParse(amount)}}})
}

// most adds a LimitRange of the namespace.
func (w *world) most(cpu string) {
	w.in.LimitRanges = append(w.in.LimitRanges, &v1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "l"}, Spec: v1.LimitRangeSpec{Limits: []v1.LimitRangeItem{{Type: v1.LimitTypePod, Max: v1.ResourceList{"cpu": resource.MustParse(cpu)}}}}})
	w.pod.Containers[0].Resources.Limits = v1.ResourceList{"cpu": resource.MustParse("500m")}
}

// storage adds a class; provisioners in the cloud make volumes of one zone.
func (w *world) storage(name string, mode storagev1.VolumeBindingMode) {
	w.in.StorageClasses = append(w.in.StorageClasses, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &mode})
}

// disk gives the pod a claim of a class.
func (w *world) disk(class string) {
	w.claim("data", v1.ReadWriteOnce)
	w.in.Claims[0].Spec.StorageClassName = &class
	w.in.Claims[0].Spec.Resources.Requests = v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	w.mount("data")
	w.replicas(1)
}

// once is disk for an old pod that ends before a new one starts.
func (w *world) once(class string) {
	w.disk(class)
	w.web.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
}

func (w *world) runtime(name string) { w.pod.RuntimeClassName = &name }

func (w *world) tolerate(list ...v1.Toleration) { w.pod.Tolerations = list }

// job turns the Deployment into a Job with its pods.
func (w *world) job(parallelism int32) {
	w.in.Deployments = nil
	w.pod.RestartPolicy = v1.RestartPolicyNever
	w.in.Jobs = []*batchv1.Job{{ObjectMeta: w.web.ObjectMeta, Spec: batchv1.JobSpec{Parallelism: &parallelism, Template: w.web.Spec.Template}}}
}

// daemon turns the Deployment into a DaemonSet that starts new pods first.
func (w *world) daemon(surge int32) {
	w.in.Deployments = nil
	d := &appsv1.DaemonSet{ObjectMeta: w.web.ObjectMeta, Spec: appsv1.DaemonSetSpec{Selector: w.web.Spec.Selector, Template: w.web.Spec.Template}}
	n := intstr.FromInt32(surge)
	d.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: &n}
	w.in.DaemonSets = append(w.in.DaemonSets, d)
}

func (w *world) scale(least int32) {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "h"}}
	h.Spec.MinReplicas, h.Spec.MaxReplicas = &least, 10
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}
	w.in.Autoscalers = append(w.in.Autoscalers, h)
}

// devices gives the pod a claim of a template.
func (w *world) devices(template, class string) {
	w.pod.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpus"}}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}
	w.objs.ResourceClaimTemplates = append(w.objs.ResourceClaimTemplates, t)
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{Driver: "gpu", AllNodes: ptr(true), Pool: resourcev1.ResourcePool{Name: "p", Generation: 1, ResourceSliceCount: 1}}}
	for _, name := range []string{"d0", "d1", "d2"} {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: name})
	}
	w.objs.ResourceSlices = append(w.objs.ResourceSlices, slice)
	w.objs.DeviceClasses = append(w.objs.DeviceClasses, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
}

// live has the Deployment in the cluster, with a selector of an app.
func (w *world) live(app string) {
	old := w.web.DeepCopy()
	old.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	w.in.Live = append(w.in.Live, old)
}

// full has a pod on a node that asks for so many cores.
func (w *world) full(node, cpu int) {
	w.objs.Pods = append(w.objs.Pods, testkit.Pod("full").On(w.objs.Nodes[node].Name).Request(fmt.Sprint("cpu=", cpu)).Obj())
}

// newCases has an example and a near miss of each rule about what the API server stores, and about what comes later.
func newCases() []newCase {
	const wait, now = storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	none := intstr.FromInt32(0)
	first := func(w *world) { // a rollout of one pod starts the new one first
		w.replicas(1)
	}
	seconds := int64(300)
	return []newCase{
		{"group-missing", func(w *world) { w.group("other", 1); w.member("train") }, func(w *world) { w.group("train", 1); w.member("train") }, Warning, true},
		{"group-min-count", func(w *world) { w.group("train", 4); w.member("train") }, func(w *world) { w.group("train", 3); w.member("train") }, Error, true},
		{"group-priority", func(w *world) { w.group("train", 1).Priority = ptr(int32(5)); w.member("train") }, func(w *world) { w.group("train", 1).Priority = ptr(int32(0)); w.member("train") }, Error, true},
		{"group-priority-class", func(w *world) { w.groupOfClass("train", "hig") }, func(w *world) { w.groupOfClass("train", "high") }, Error, true},
		{"group-min-groups", func(w *world) { w.tree(3) }, func(w *world) { w.tree(2) }, Error, true},
		{"group-schedulers", func(w *world) {
			w.group("train", 1)
			w.member("train")
			w.app("more", 1).Spec.Template.Spec = *w.pod.DeepCopy()
			w.in.Deployments[1].Spec.Template.Spec.SchedulerName = "other"
		},
			func(w *world) {
				w.group("train", 1)
				w.member("train")
				w.app("more", 1).Spec.Template.Spec = *w.pod.DeepCopy()
				w.in.Deployments[1].Spec.Template.Spec.SchedulerName = v1.DefaultSchedulerName
			}, Error, true},
		{"group-topology-key", func(w *world) {
			w.group("train", 1).Constraints = &podgroup.Constraints{Topology: []string{"rack"}}
			w.member("train")
		},
			func(w *world) {
				w.group("train", 1).Constraints = &podgroup.Constraints{Topology: []string{zone}}
				w.member("train")
			}, Error, false},
		{"api-refuses", func(w *world) { w.spread(0, zone, v1.DoNotSchedule, "web") }, func(w *world) { w.spread(1, zone, v1.DoNotSchedule, "web") }, Error, true},
		{"runtime-class-missing", func(w *world) {
			w.in.RuntimeClasses = []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}}}
			w.runtime("gvisr")
		},
			func(w *world) {
				w.in.RuntimeClasses = []*nodev1.RuntimeClass{{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}}}
				w.runtime("gvisor")
			}, Error, true},
		{"refused-limit-range", func(w *world) { w.most("400m") }, func(w *world) { w.most("500m") }, Error, true},
		{"refused-quota-needs", func(w *world) { w.quota("limits.memory", "10Gi") }, func(w *world) { w.quota("requests.memory", "10Gi") }, Error, true},
		{"refused-quota", func(w *world) { w.quota("requests.cpu", "1") }, func(w *world) { w.quota("requests.cpu", "1500m") }, Error, true},
		{"gpu-pool-closed", func(w *world) {
			w.request("example.com/gpu", "1")
			w.taint("gpu:NoSchedule", 0)
			w.objs.Nodes[0].Status.Allocatable["example.com/gpu"] = resource.MustParse("4")
		},
			func(w *world) {
				w.request("example.com/gpu", "1")
				w.taint("gpu:NoSchedule", 1)
				w.objs.Nodes[0].Status.Allocatable["example.com/gpu"] = resource.MustParse("4")
			}, Error, false},
		{"class-missing", func(w *world) { w.storage("gp2", wait); w.once("gp3") }, func(w *world) { w.storage("gp3", wait); w.once("gp3") }, Error, false},
		{"class-immediate", func(w *world) { w.storage("gp3", now); w.once("gp3") }, func(w *world) { w.storage("gp3", wait); w.once("gp3") }, Warning, false},
		{"node-name-claim", func(w *world) { w.storage("gp3", wait); w.disk("gp3"); w.pod.NodeName = "n1" }, func(w *world) { w.storage("gp3", wait); w.disk("gp3") }, Error, false},
		{"priority-default-second", func(w *world) { w.defaultClass("silver"); w.defaultClass("gold") }, func(w *world) { w.defaultClass("gold"); w.class("silver", 10) }, Error, true},
		{"storage-default-second", func(w *world) { w.defaultStorage("gp2"); w.defaultStorage("gp3") }, func(w *world) { w.defaultStorage("gp3"); w.storage("gp2", storagev1.VolumeBindingWaitForFirstConsumer) }, Info, true},
		{"device-class-missing", func(w *world) { w.devices("gpu", "gpu") }, func(w *world) { w.devices("gpus", "gpu") }, Error, false},
		{"small-quantity", func(w *world) { w.request("memory", "512m") }, func(w *world) { w.request("memory", "512Mi") }, Warning, true},
		{"renamed-label", func(w *world) { w.pod.NodeSelector = map[string]string{"beta.kubernetes.io/os": "linux"} }, func(w *world) { w.pod.NodeSelector = map[string]string{"kubernetes.io/os": "linux"} }, Warning, true},
		{"tolerates-broken-node", func(w *world) { w.tolerate(v1.Toleration{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists}) },
			func(w *world) {
				w.tolerate(v1.Toleration{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
			}, Warning, true},
		{"rollout-rwop", func(w *world) { first(w); w.claim("data", v1.ReadWriteOncePod); w.mount("data") }, func(w *world) {
			first(w)
			w.claim("data", v1.ReadWriteOncePod)
			w.mount("data")
			w.web.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
		}, Error, true},
		{"rollout-rwo", func(w *world) { first(w); w.claim("data", v1.ReadWriteOnce); w.mount("data") }, func(w *world) { first(w); w.claim("data", v1.ReadWriteMany); w.mount("data") }, Warning, true},
		{"rollout-spread", func(w *world) {
			w.replicas(3).spread(1, zone, v1.DoNotSchedule, "web")
			w.taint("gpu:NoSchedule", 4)
			w.replicas(2)
			w.web.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: &none}
		},
			func(w *world) {
				w.replicas(2).spread(1, zone, v1.DoNotSchedule, "web").MatchLabelKeys = []string{"pod-template-hash"}
				w.taint("gpu:NoSchedule", 4)
				w.web.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: &none}
			}, Error, false},
		{"rollout-host-port-ds", func(w *world) { w.port(80); w.daemon(1) }, func(w *world) { w.port(80); w.daemon(0) }, Error, true},
		{"immutable-field", func(w *world) { w.live("other") }, func(w *world) { w.live("web") }, Error, true},
		{"daemonset-priority", func(w *world) { w.daemon(0); w.full(0, 4); w.request("cpu", "1") }, func(w *world) { w.daemon(0); w.full(0, 3); w.request("cpu", "1") }, Warning, false},
		{"budget-zero", func(w *world) { b := w.budget("b", "web", 0); b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &none }, func(w *world) { w.budget("b", "web", 2) }, Warning, true},
		{"budget-hpa", func(w *world) { w.scale(3); w.budget("b", "web", 3) }, func(w *world) { w.scale(4); w.budget("b", "web", 3) }, Warning, true},
		{"budget-one-replica", func(w *world) { w.replicas(1); w.budget("b", "web", 1) }, func(w *world) { w.replicas(2); w.budget("b", "web", 1) }, Warning, true},
		{"budget-cannot-sync", func(w *world) {
			b := w.budget("b", "web", 0)
			one := intstr.FromInt32(1)
			b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &one
			w.daemon(0)
		}, func(w *world) { w.budget("b", "web", 2); w.daemon(0) }, Error, true},
		{"budget-mixed", func(w *world) {
			w.budget("b", "web", 2)
			d := w.in.Deployments
			w.job(1)
			w.in.Jobs[0].Name = "run"
			w.in.Deployments = d
		}, func(w *world) { w.budget("b", "web", 2) }, Warning, true},
		{"job-turns", func(w *world) { w.request("cpu", "4"); w.job(7) }, func(w *world) { w.request("cpu", "4"); w.job(5) }, Info, false},
		{"together", func(w *world) {
			w.request("cpu", "4")
			w.app("db", 5).Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("4")
		}, func(w *world) {
			w.request("cpu", "4")
			w.app("db", 2).Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("4")
		}, Warning, false},
		{"unplaceable", func(w *world) {
			w.request("cpu", "3")
			for _, n := range w.objs.Nodes[2:] {
				n.Status.Allocatable["cpu"] = resource.MustParse("2")
			}
		}, func(w *world) { w.replicas(2).request("cpu", "3") }, Error, false},
	}
}
