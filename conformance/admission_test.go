package conformance

import (
	"context"
	"fmt"
	"math/rand"
	"testing"

	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"

	podadmission "github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/conformance/gen"
	podruntimeclass "github.com/podberth/podberth/overhead/runtimeclass"
)

type words struct{ *rand.Rand }

func (w words) pick(list ...string) string { return list[w.Intn(len(list))] }

func (w words) policy() *v1.PreemptionPolicy {
	switch w.Intn(3) {
	case 0:
		return nil
	case 1:
		p := v1.PreemptNever
		return &p
	}
	p := v1.PreemptLowerPriority
	return &p
}

func (w words) tolerations() (out []v1.Toleration) {
	for range w.Intn(4) {
		t := v1.Toleration{Key: w.pick("", "a", "b"), Operator: v1.TolerationOperator(w.pick("", "Equal", "Exists")), Value: w.pick("", "v"),
			Effect: v1.TaintEffect(w.pick("", "NoSchedule", "NoExecute"))}
		if w.Intn(3) == 0 {
			n := int64(w.Intn(3))
			t.TolerationSeconds = &n
		}
		out = append(out, t)
	}
	return out
}

func (w words) amounts() v1.ResourceList {
	switch w.Intn(5) {
	case 0:
		return nil
	case 1:
		return v1.ResourceList{}
	}
	return v1.ResourceList{"cpu": resource.MustParse(w.pick("250m", "0.25", "1"))}
}

func (w words) nodeSelector() map[string]string {
	switch w.Intn(3) {
	case 0:
		return nil
	case 1:
		return map[string]string{"k": w.pick("1", "2")}
	}
	return map[string]string{"l": "1"}
}

// PriorityClass and RuntimeClass admission: the pods that come out, and the texts of refusals.
func TestAdmission(t *testing.T) {
	n := gen.Count(1000, 2)
	for i := range n {
		seed := *gen.Seed + int64(i)
		w := words{rand.New(rand.NewSource(seed))}
		client := fake.NewClientset()
		f := informers.NewSharedInformerFactory(client, 0)
		var priorities []*schedulingv1.PriorityClass
		for k, name := range []string{"a", "b", "c"} {
			c := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: int32(k*10 + w.Intn(10)), GlobalDefault: w.Intn(4) == 0, PreemptionPolicy: w.policy()}
			priorities = append(priorities, c)
			must(t, f.Scheduling().V1().PriorityClasses().Informer().GetStore().Add(c))
		}
		var runtimes []*nodev1.RuntimeClass
		for _, name := range []string{"x", "y"} {
			c := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if w.Intn(3) > 0 {
				c.Overhead = &nodev1.Overhead{PodFixed: w.amounts()}
			}
			if w.Intn(2) == 0 {
				c.Scheduling = &nodev1.Scheduling{NodeSelector: w.nodeSelector(), Tolerations: w.tolerations()}
			}
			runtimes = append(runtimes, c)
			must(t, f.Node().V1().RuntimeClasses().Informer().GetStore().Add(c))
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"}}
		pod.Spec.PriorityClassName, pod.Spec.PreemptionPolicy = w.pick("", "", "a", "b", "zz"), w.policy()
		if w.Intn(3) == 0 {
			n := int32(w.Intn(25))
			pod.Spec.Priority = &n
		}
		pod.Spec.Overhead, pod.Spec.Tolerations, pod.Spec.NodeSelector = w.amounts(), w.tolerations(), w.nodeSelector()
		if name := w.pick("-", "x", "y", "zz"); name != "-" {
			pod.Spec.RuntimeClassName = &name
		}
		p := priority.NewPlugin()
		p.SetExternalKubeClientSet(client)
		p.SetExternalKubeInformerFactory(f)
		p.SetReadyFunc(func() bool { return true })
		ours, err := podadmission.AdmitPriority(pod, priorities)
		differ(t, seed, "admission/priority", prioritized(admitted(t, pod, p.Admit)), prioritized(ours, err))
		r := runtimeclass.NewRuntimeClass()
		r.SetExternalKubeClientSet(client)
		r.SetExternalKubeInformerFactory(f)
		r.SetReadyFunc(func() bool { return true })
		ours, err = podruntimeclass.Admit(pod, runtimes)
		differ(t, seed, "admission/runtimeclass", withRuntime(admitted(t, pod, r.Admit, r.Validate)), withRuntime(ours, err))
		seen.Case(t.Name(), seed, nil)
	}
}

func differ(t *testing.T, seed int64, area, real, podberth string) {
	t.Helper()
	seen.Compared(area)
	if real != podberth {
		t.Errorf("seed %d: %s: Kubernetes %s, podberth %s", seed, area, real, podberth)
	}
}

// admitted runs steps of an admission plugin on a copy of the pod.
func admitted(t *testing.T, pod *v1.Pod, steps ...func(context.Context, admission.Attributes, admission.ObjectInterfaces) error) (*v1.Pod, error) {
	t.Helper()
	in, out := &core.Pod{}, &v1.Pod{}
	must(t, corev1.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), in, nil))
	a := admission.NewAttributesRecord(in, nil, core.Kind("Pod").WithVersion("v"), in.Namespace, in.Name,
		core.Resource("pods").WithVersion("v"), "", admission.Create, &metav1.CreateOptions{}, false, &user.DefaultInfo{})
	for _, step := range steps {
		if err := step(context.Background(), a, nil); err != nil {
			return nil, err
		}
	}
	must(t, corev1.Convert_core_Pod_To_v1_Pod(in, out, nil))
	return out, nil
}

func prioritized(p *v1.Pod, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(p.Spec.PriorityClassName, "/", pointer(p.Spec.Priority), "/", pointer(p.Spec.PreemptionPolicy))
}

func withRuntime(p *v1.Pod, err error) string {
	if err != nil {
		return err.Error()
	}
	out := fmt.Sprint(text(p.Spec.Overhead), p.Spec.NodeSelector)
	for _, t := range p.Spec.Tolerations {
		out += fmt.Sprint(" ", t.Key, t.Operator, t.Value, t.Effect, pointer(t.TolerationSeconds))
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
