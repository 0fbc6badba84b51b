package conformance

import (
	"context"
	"encoding/json"
	"math/rand"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/extendedresourcetoleration"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/podtolerationrestriction"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"

	ours "github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/conformance/gen"
)

// chain runs plugins of an API server over a pod, in their order.
type chain struct {
	names   []string
	plugins []admission.Interface
}

// inputs gives plugins their client and informers, and says that the informers are ready.
type inputs struct {
	client  kubernetes.Interface
	factory informers.SharedInformerFactory
}

func (i inputs) Initialize(p admission.Interface) {
	if p, ok := p.(interface{ SetExternalKubeClientSet(kubernetes.Interface) }); ok {
		p.SetExternalKubeClientSet(i.client)
	}
	if p, ok := p.(interface {
		SetExternalKubeInformerFactory(informers.SharedInformerFactory)
	}); ok {
		p.SetExternalKubeInformerFactory(i.factory)
	}
	if p, ok := p.(interface{ InspectFeatureGates(featuregate.FeatureGate) }); ok {
		p.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	}
	if p, ok := p.(interface{ SetReadyFunc(admission.ReadyFunc) }); ok {
		p.SetReadyFunc(func() bool { return true })
	}
}

func newChain(t *testing.T, from inputs, all bool) (c chain) {
	registered := admission.NewPlugins()
	for _, register := range []func(*admission.Plugins){limitranger.Register, priority.Register, defaulttolerationseconds.Register,
		podtolerationrestriction.Register, extendedresourcetoleration.Register, runtimeclass.Register} {
		register(registered)
	}
	for _, name := range []string{"LimitRanger", "Priority", "DefaultTolerationSeconds", "PodTolerationRestriction", "ExtendedResourceToleration", "RuntimeClass"} {
		if !all && (name == "PodTolerationRestriction" || name == "ExtendedResourceToleration") {
			continue
		}
		p, err := registered.InitPlugin(name, nil, from)
		must(t, err)
		c.names, c.plugins = append(c.names, name), append(c.plugins, p)
	}
	return c
}

// create runs the API server's steps for a new pod, up to the validation of its fields.
func (c chain) create(t *testing.T, pod *v1.Pod) (*v1.Pod, error) {
	t.Helper()
	pod = pod.DeepCopy()
	corev1.SetObjectDefaults_Pod(pod)
	in, out := &core.Pod{}, &v1.Pod{}
	must(t, corev1.Convert_v1_Pod_To_core_Pod(pod, in, nil))
	a := admission.NewAttributesRecord(in, nil, core.Kind("Pod").WithVersion("v"), in.Namespace, in.Name,
		core.Resource("pods").WithVersion("v"), "", admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{})
	for _, p := range c.plugins {
		if m, ok := p.(admission.MutationInterface); ok {
			if err := m.Admit(context.Background(), a, nil); err != nil {
				return nil, err
			}
		}
	}
	podregistry.Strategy.PrepareForCreate(genericapirequest.WithNamespace(context.Background(), in.Namespace), in)
	for _, p := range c.plugins {
		if m, ok := p.(admission.ValidationInterface); ok {
			if err := m.Validate(context.Background(), a, nil); err != nil {
				return nil, err
			}
		}
	}
	must(t, corev1.Convert_core_Pod_To_v1_Pod(in, out, nil))
	return out, nil
}

// From template to pod: the pods that an API server makes of new pods, and the texts of refusals.
func TestFromTemplateToPod(t *testing.T) {
	for i := range gen.Count(1000, 2) {
		seed := *gen.Seed + int64(i)
		w := words{rand.New(rand.NewSource(seed))}
		client := fake.NewClientset()
		f := informers.NewSharedInformerFactory(client, 0)
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Value: int32(w.Intn(10)), GlobalDefault: w.Intn(2) == 0, PreemptionPolicy: w.policy()}
		must(t, f.Scheduling().V1().PriorityClasses().Informer().GetStore().Add(class))
		kata := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Overhead: &nodev1.Overhead{PodFixed: w.amounts()}, Scheduling: &nodev1.Scheduling{Tolerations: w.tolerations(), NodeSelector: w.nodeSelector()}}
		must(t, f.Node().V1().RuntimeClasses().Informer().GetStore().Add(kata))
		cluster := ours.Cluster{PriorityClasses: []*schedulingv1.PriorityClass{class}, RuntimeClasses: []*nodev1.RuntimeClass{kata}}
		if w.Intn(3) > 0 {
			r := w.limitRange()
			cluster.LimitRanges = append(cluster.LimitRanges, r)
			stored := r.DeepCopy()
			corev1.SetObjectDefaults_LimitRange(stored)
			must(t, f.Core().V1().LimitRanges().Informer().GetStore().Add(stored))
		}
		n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: w.tolerationAnnotations()}}
		must(t, f.Core().V1().Namespaces().Informer().GetStore().Add(n))
		cluster.Namespaces = []*v1.Namespace{n}
		all := w.Intn(2) == 0
		o := ours.Options{ExtendedResources: all}
		if all {
			o.TolerationRestriction = &ours.TolerationRestriction{}
		}
		pod := w.template()
		got, _, err := ours.Admit(pod, cluster, o)
		mine := stored(got, err)
		real, err := newChain(t, inputs{client, f}, all).create(t, pod)
		differ(t, seed, "admission/template", stored(real, err), mine)
		seen.Case(t.Name(), seed, nil)
	}
}

func (w words) limits(kinds ...string) v1.ResourceList {
	if w.Intn(2) == 0 {
		return nil
	}
	return amountsOf(w.pick(kinds...))
}

func (w words) limitRange() *v1.LimitRange {
	r := &v1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: w.pick("n", "n", "n", "other"), Name: "r"}}
	for range w.Intn(3) {
		item := v1.LimitRangeItem{Type: v1.LimitType(w.pick("Container", "Container", "Pod", "PersistentVolumeClaim"))}
		item.Min, item.Max = w.limits("cpu=100m", "memory=1Mi"), w.limits("cpu=2", "memory=1Gi", "cpu=1,memory=2Gi")
		if item.Type == v1.LimitTypeContainer {
			item.Default, item.DefaultRequest = w.limits("cpu=1", "memory=64Mi"), w.limits("cpu=50m,memory=1Mi", "cpu=200m")
		}
		if w.Intn(4) == 0 {
			item.MaxLimitRequestRatio = amountsOf(w.pick("cpu=2", "memory=4", "cpu=1500m"))
		}
		r.Spec.Limits = append(r.Spec.Limits, item)
	}
	return r
}

func (w words) tolerationAnnotations() map[string]string {
	out := map[string]string{}
	for _, key := range []string{"scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/tolerationsWhitelist"} {
		switch w.Intn(5) {
		case 0:
			data, _ := json.Marshal(append(w.tolerations(), v1.Toleration{Key: "node.kubernetes.io/memory-pressure", Operator: "Exists"}))
			out[key] = string(data)
		case 1:
			out[key] = w.pick("[]", "", "gpu", "{}", `[{"operator":"Exists"}]`)
		}
	}
	return out
}

// template makes a pod as a controller sends it.
func (w words) template() *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", GenerateName: w.pick("p-", ""), Labels: map[string]string{"app": "x", "rev": "1"}}}
	if p.GenerateName == "" {
		p.Name = "p"
	}
	for _, name := range []string{"a", "b"}[:1+w.Intn(2)] {
		c := v1.Container{Name: name, Image: "i"}
		c.Resources.Requests = w.limits("cpu=50m", "cpu=1", "memory=1Mi", "cpu=3,memory=64Mi", "example.com/gpu=1")
		c.Resources.Limits = w.limits("cpu=1", "cpu=4,memory=64Mi", "memory=3Gi")
		if w.Intn(2) == 0 {
			c.Ports = []v1.ContainerPort{{ContainerPort: 80}}
		}
		if w.Intn(4) == 0 {
			p.Spec.InitContainers = append(p.Spec.InitContainers, v1.Container{Name: "i" + name, Resources: v1.ResourceRequirements{Requests: w.limits("cpu=2", "memory=2Gi")}})
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	p.Spec.HostNetwork = w.Intn(4) == 0
	p.Spec.PriorityClassName, p.Spec.PreemptionPolicy = w.pick("", "", "a", "zz"), w.policy()
	p.Spec.Tolerations, p.Spec.NodeSelector = w.tolerations(), w.nodeSelector()
	if w.Intn(3) == 0 {
		name := w.pick("x", "x", "zz")
		p.Spec.RuntimeClassName = &name
	}
	selector := func() *metav1.LabelSelector {
		if w.Intn(5) == 0 {
			return nil
		}
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	}
	if w.Intn(3) == 0 {
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector(), MatchLabelKeys: []string{"rev", "none"}}}
	}
	if w.Intn(3) == 0 {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{TopologyKey: "zone", LabelSelector: selector(), MatchLabelKeys: []string{"rev"}, MismatchLabelKeys: []string{"app"}}}}}
	}
	return p
}

// stored writes what scheduling reads of a pod, or the error with its parts sorted.
func stored(p *v1.Pod, err error) string {
	if err != nil {
		head, list, ok := strings.Cut(err.Error(), ": [")
		if !ok {
			return err.Error()
		}
		for _, begin := range []string{"minimum", "maximum", "cpu max", "memory max"} {
			list = strings.ReplaceAll(list, ", "+begin, "\n"+begin)
		}
		parts := strings.Split(strings.TrimSuffix(list, "]"), "\n")
		slices.Sort(parts)
		return head + ": " + strings.Join(parts, " | ")
	}
	s := p.Spec
	var containers []any
	for _, c := range append(slices.Clone(s.InitContainers), s.Containers...) {
		containers = append(containers, text(c.Resources.Requests), text(c.Resources.Limits), c.Ports)
	}
	data, err := json.Marshal([]any{p.Annotations["kubernetes.io/limit-ranger"], containers, text(s.Overhead), s.Tolerations, len(s.NodeSelector), s.NodeSelector, s.Priority,
		s.PreemptionPolicy, s.PriorityClassName, s.Affinity, s.TopologySpreadConstraints, s.SchedulerName, s.RestartPolicy, s.TerminationGracePeriodSeconds})
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// amountsOf reads "cpu=1,memory=1Gi".
func amountsOf(text string) v1.ResourceList {
	out := v1.ResourceList{}
	for pair := range strings.SplitSeq(text, ",") {
		name, amount, _ := strings.Cut(pair, "=")
		out[v1.ResourceName(name)] = resource.MustParse(amount)
	}
	return out
}
