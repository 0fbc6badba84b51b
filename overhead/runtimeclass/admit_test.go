package runtimeclass

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func kataFC() *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata-fc"}, Handler: "kata-fc",
		Overhead: &nodev1.Overhead{PodFixed: testkit.Resources("cpu=250m,memory=120Mi")}}
}

func TestAdmit(t *testing.T) {
	plain := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "runc"}, Handler: "runc"}
	empty := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "empty"}, Overhead: &nodev1.Overhead{}}
	unnamed := &nodev1.RuntimeClass{}
	classes := []*nodev1.RuntimeClass{nil, plain, empty, kataFC()}
	const mismatch = `pods "test-pod" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`
	const without = `pods "test-pod" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`
	type test struct {
		name, why, class, overhead string
		classes                    []*nodev1.RuntimeClass
		want, err                  string
	}
	testkit.Run(t, []test{
		{"class sets overhead", "the documents' pod", "kata-fc", "", classes, "cpu=250m,memory=120Mi", ""},
		{"equal overhead", "compared as quantities; the class's writing is kept", "kata-fc", "cpu=0.25,memory=122880Ki", classes, "cpu=250m,memory=120Mi", ""},
		{"preset overhead", "the documents: a pod that defines another one is rejected", "kata-fc", "cpu=300m,memory=120Mi", classes, "", mismatch},
		{"preset part of the overhead", "names must be the same", "kata-fc", "cpu=250m", classes, "", mismatch},
		{"preset other names", "names must be the same", "kata-fc", "cpu=250m,example.com/x=1", classes, "", mismatch},
		{"overhead without class", "there is none to match", "-", "cpu=250m", classes, "", without},
		{"class without overhead", "none to match either", "runc", "cpu=250m", classes, "", without},
		{"class without anything", "the pod stays as it is", "runc", "", classes, "", ""},
		{"empty overhead of the class", "nil and empty are equal", "empty", "", classes, "", ""},
		{"empty overhead does not match", "the class has no amounts", "empty", "cpu=1", classes, "", mismatch},
		{"no class", "the pod stays as it is", "-", "", classes, "", ""},
		{"unknown class", "rejected", "gvisor", "", classes, "", `pods "test-pod" is forbidden: pod rejected: RuntimeClass "gvisor" not found`},
		{"empty name is a name", "it is looked up", "", "", classes, "", `pods "test-pod" is forbidden: pod rejected: RuntimeClass "" not found`},
		{"empty name that exists", "it is found", "", "", []*nodev1.RuntimeClass{unnamed}, "", ""},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers("container a")
		if c.overhead != "" {
			pod.Spec.Overhead = testkit.Resources(c.overhead)
		}
		if c.class != "-" {
			pod.Spec.RuntimeClassName = &c.class
		}
		testkit.Unchanged(t, func() {
			got, err := Admit(pod, c.classes)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.True(t, apierrors.IsForbidden(err))
				require.Nil(t, got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, testkit.ShowResources(got.Spec.Overhead))
		}, pod)
	})
	t.Run("empty overhead of the pod", func(t *testing.T) { // it sets none: the pod gets the overhead of its class
		pod := testkit.Containers("container a")
		pod.Spec.Overhead, pod.Spec.RuntimeClassName = v1.ResourceList{}, new("kata-fc")
		got, err := Admit(pod, classes)
		require.NoError(t, err)
		require.Equal(t, "cpu=250m,memory=120Mi", testkit.ShowResources(got.Spec.Overhead))
	})
	t.Run("empty overhead without class", func(t *testing.T) {
		pod := testkit.Containers("container a")
		pod.Spec.Overhead = v1.ResourceList{}
		_, err := Admit(pod, classes)
		require.EqualError(t, err, without)
	})
	t.Run("the copy is the pod's own", func(t *testing.T) {
		class, name := kataFC(), "kata-fc"
		pod := testkit.Containers("container a")
		pod.Spec.RuntimeClassName = &name
		got, err := Admit(pod, []*nodev1.RuntimeClass{class})
		require.NoError(t, err)
		class.Overhead.PodFixed["cpu"] = resource.MustParse("9")
		require.Equal(t, "cpu=250m,memory=120Mi", testkit.ShowResources(got.Spec.Overhead))
	})
}

func TestAdmitScheduling(t *testing.T) {
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Scheduling: &nodev1.Scheduling{
		NodeSelector: map[string]string{"runtime": "kata", "arch": "amd64"},
		Tolerations:  []v1.Toleration{{Key: "kata", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}},
	}}
	type test struct {
		name, why string
		selector  map[string]string
		want      map[string]string
		err       string
	}
	testkit.Run(t, []test{
		{"no selector", "the class's", nil, map[string]string{"runtime": "kata", "arch": "amd64"}, ""},
		{"merged selector", "both", map[string]string{"disk": "ssd", "arch": "amd64"}, map[string]string{"disk": "ssd", "runtime": "kata", "arch": "amd64"}, ""},
		{"conflict", "rejected", map[string]string{"runtime": "runc"}, nil, `pods "test-pod" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[runtime] = kata; pod.spec.nodeSelector[runtime] = runc`},
		{"two conflicts", "the smallest key is named", map[string]string{"runtime": "runc", "arch": "arm64"}, nil, `pods "test-pod" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[arch] = amd64; pod.spec.nodeSelector[arch] = arm64`},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers("container a")
		pod.Spec.RuntimeClassName, pod.Spec.NodeSelector = &class.Name, c.selector
		testkit.Unchanged(t, func() {
			testkit.Unchanged(t, func() {
				got, err := Admit(pod, []*nodev1.RuntimeClass{class})
				if c.err != "" {
					require.EqualError(t, err, c.err)
					return
				}
				require.NoError(t, err)
				require.Equal(t, c.want, got.Spec.NodeSelector)
				require.Equal(t, class.Scheduling.Tolerations, got.Spec.Tolerations)
			}, class)
		}, pod)
	})
}

// taints.MergeTolerations has the rule; these are the document's two cases, in a pod that is admitted.
func TestAdmitTolerations(t *testing.T) {
	exists := v1.Toleration{Key: "kata", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}
	equal := v1.Toleration{Key: "kata", Operator: v1.TolerationOpEqual, Value: "v", Effect: v1.TaintEffectNoSchedule}
	all := v1.Toleration{Operator: v1.TolerationOpExists}
	other := v1.Toleration{Key: "z", Operator: v1.TolerationOpExists}
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Scheduling: &nodev1.Scheduling{Tolerations: []v1.Toleration{exists}}}
	type test struct {
		name, why string
		pod, want []v1.Toleration
	}
	testkit.Run(t, []test{
		{"an earlier one covers", "Exists without a key covers every toleration", []v1.Toleration{all}, []v1.Toleration{all}},
		{"a later one covers", "the others keep their order", []v1.Toleration{equal, other}, []v1.Toleration{other, exists}},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers("container a")
		pod.Spec.RuntimeClassName, pod.Spec.Tolerations = &class.Name, c.pod
		testkit.Unchanged(t, func() {
			got, err := Admit(pod, []*nodev1.RuntimeClass{class})
			require.NoError(t, err)
			require.Equal(t, c.want, got.Spec.Tolerations)
		}, pod)
	})
}

func TestNilPod(t *testing.T) {
	admitted, err := Admit(nil, nil)
	require.NoError(t, err)
	require.Nil(t, admitted)
}

// Overheads are equal when they have the same resources. A resource that is missing is not one of amount 0.
func TestEqual(t *testing.T) {
	type test struct {
		name, why, a, b string
		want            bool
	}
	testkit.Run(t, []test{
		{"nothing", "no resource differs", "", "", true},
		{"notations", "the amounts are the same", "cpu=1,memory=1Ki", "cpu=1000m,memory=1024", true},
		{"amounts", "one differs", "cpu=1,memory=1", "cpu=1,memory=2", false},
		{"a resource more", "the second has it", "cpu=1", "cpu=1,memory=0", false},
		{"other resources of amount 0", "the names differ", "cpu=0", "memory=0", false},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, equal(testkit.Resources(c.a), testkit.Resources(c.b)))
		require.Equal(t, c.want, equal(testkit.Resources(c.b), testkit.Resources(c.a)))
	})
}
