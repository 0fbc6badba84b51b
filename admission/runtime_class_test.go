package admission

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// The overhead of a RuntimeClass is checked like the limits of a container.
func TestOverheadOfClass(t *testing.T) {
	const standard, containers, extended = "must be a standard resource type or fully qualified", "must be a standard resource for containers", "doesn't follow extended resource name standard"
	errors := func(list string) string {
		var text []string
		for _, e := range Validate(&nodev1.RuntimeClass{Overhead: &nodev1.Overhead{PodFixed: testkit.Resources(list)}}, Options{}) {
			text = append(text, e.Error())
		}
		return strings.Join(text, "\n")
	}
	type test struct{ name, why, list, want string }
	testkit.Run(t, []test{
		{"a good overhead", "cpu, memory, whole extended resources", "cpu=250m,memory=120Mi,example.com/x=1,hugepages-2Mi=4Mi,kubernetes.io/y=1", ""},
		{"negative overhead", "not negative", "cpu=-1", `overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0`},
		{"fraction of an extended resource", "whole", "example.com/x=1500m", `overhead.limits[example.com/x]: Invalid value: "1500m": must be an integer`},
		{"fraction of a byte", "memory may be fractional", "memory=1500m", ""},
		{"unknown name", "standard or qualified", "foo=1", `overhead.limits[foo]: Invalid value: "foo": ` + standard + "\n" + `overhead.limits[foo]: Invalid value: "foo": ` + containers},
		{"name of a quota", "known, but not of containers", "pods=1", `overhead.limits[pods]: Invalid value: "pods": ` + containers},
		{"quota name with a domain", "no extended resource", "requests.example.com/x=1", `overhead.limits[requests.example.com/x]: Invalid value: "requests.example.com/x": ` + extended},
		{"huge pages alone", "with cpu or memory", "hugepages-2Mi=2Mi", "overhead: Forbidden: HugePages require cpu or memory"},
		{"part of a huge page", "multiples", "cpu=1,hugepages-2Mi=3Mi", `overhead.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`},
		{"huge pages of no size", "the name has the size", "cpu=1,hugepages-foo=1", `overhead.limits[hugepages-foo]: Invalid value: "1": 1 is not positive integer multiple of hugepages-foo`},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.want, errors(c.list))
	})
	require.Equal(t, 1, strings.Count(errors("-x/y=1"), "\n"), "neither a qualified name nor an extended resource")
	require.NotEmpty(t, errors("cpu=1,hugepages-0=1"), "no division by a size of zero")
}

// The handler of a RuntimeClass stays; its overhead and scheduling may change.
func TestHandlerOfClass(t *testing.T) {
	old := &nodev1.RuntimeClass{Handler: "kata-fc", Overhead: &nodev1.Overhead{PodFixed: testkit.Resources("cpu=250m,memory=120Mi")}}
	class := old.DeepCopy()
	class.Overhead.PodFixed = testkit.Resources("cpu=1")
	class.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{"vm": "true"}}
	require.Empty(t, ValidateUpdate(class, old, Options{}))
	class.Handler = "runc"
	require.EqualError(t, ValidateUpdate(class, old, Options{}).ToAggregate(), "handler: Invalid value: null: field is immutable")
	require.Empty(t, ValidateUpdate(class, &v1.Node{}, Options{}), "no RuntimeClass before")
}

// A request, limit or overhead of zero is valid and one below is not, wherever it stands.
func TestNegativeAmounts(t *testing.T) {
	paths := func(amount string) (out []string) {
		list := testkit.Resources("memory=" + amount + ",cpu=" + amount)
		both := v1.ResourceRequirements{Requests: list, Limits: list}
		pod := plain()
		pod.Spec.Containers = []v1.Container{{Name: "a"}, {Name: "b", Resources: both}}
		pod.Spec.InitContainers = []v1.Container{{Name: "i", Resources: both}}
		pod.Spec.Resources, pod.Spec.Overhead = &both, list
		for _, e := range Validate(pod, Options{}) {
			if e.Detail == "must be greater than or equal to 0" {
				out = append(out, e.Field)
			}
		}
		return out
	}
	require.Empty(t, paths("0"))
	var want []string
	for _, at := range []string{"containers[1].resources.limits", "containers[1].resources.requests", "initContainers[0].resources.limits", "initContainers[0].resources.requests",
		"resources.limits", "resources.requests", "overhead.limits"} {
		want = append(want, "spec."+at+"[cpu]", "spec."+at+"[memory]")
	}
	require.ElementsMatch(t, want, paths("-1"))
}
