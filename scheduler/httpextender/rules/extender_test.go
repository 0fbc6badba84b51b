package rules_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

const foo = "intel.com/foo"

func pod(requests string) *v1.Pod { return testkit.Pod("web").Request(requests).Obj() }

func TestInterested(t *testing.T) {
	managed := rules.Extender{ManagedResources: []rules.ManagedResource{{Name: foo}}}
	inInit, overhead, podLevel := pod(""), pod(""), pod("")
	overhead.Spec.Overhead = testkit.Resources(foo + "=1")
	podLevel.Spec.Resources = &v1.ResourceRequirements{Requests: testkit.Resources(foo + "=1")}
	inInit.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Limits: testkit.Resources(foo + "=1")}}}
	type test struct {
		name string
		e    rules.Extender
		pod  *v1.Pod
		want bool
	}
	testkit.Run(t, []test{
		{"no managed resources", rules.Extender{}, pod(""), true},
		{"no managed resources and no pod", rules.Extender{}, nil, true},
		{"requested", managed, pod(foo + "=1"), true},
		{"zero requested", managed, pod(foo + "=0"), true},
		{"limited in an init container", managed, inInit, true},
		{"not named", managed, pod("cpu=1"), false},
		{"overhead does not count", managed, overhead, false},
		{"pod level does not count", managed, podLevel, false},
		{"managed and no pod", managed, nil, false},
	}, func(t *testing.T, tc test) {
		require.Equal(t, tc.want, tc.e.Interested(tc.pod))
	})
}

func TestExtenderOrder(t *testing.T) {
	require.Equal(t, []int{1, 3, 0, 2}, rules.Order([]rules.Extender{{Ignorable: true}, {}, {Ignorable: true}, {}}))
	require.Equal(t, []string{"a.io/x", "a.io/z"}, rules.IgnoredByScheduler([]rules.Extender{
		{ManagedResources: []rules.ManagedResource{{Name: "a.io/x", IgnoredByScheduler: true}, {Name: "a.io/y"}}},
		{ManagedResources: []rules.ManagedResource{{Name: "a.io/z", IgnoredByScheduler: true}}},
	}))
}

func TestValidateExtenders(t *testing.T) {
	type test struct {
		name string
		list []rules.Extender
		want string
	}
	testkit.Run(t, []test{
		{"prioritize without weight", []rules.Extender{{PrioritizeVerb: "prioritize"}}, "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"},
		{"two binders", []rules.Extender{{BindVerb: "bind"}, {BindVerb: "bind"}}, `extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind`},
		{"not extended", []rules.Extender{{ManagedResources: []rules.ManagedResource{{Name: "cpu"}}}}, `extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name`},
		{"managed twice", []rules.Extender{{ManagedResources: []rules.ManagedResource{{Name: foo}}}, {ManagedResources: []rules.ManagedResource{{Name: foo}}}},
			`extenders[1].managedResources[0].name: Invalid value: "intel.com/foo": duplicate extender managed resource name`},
		{"valid extenders", []rules.Extender{{FilterVerb: "filter"}, {PrioritizeVerb: "prioritize", Weight: 1, BindVerb: "bind"}}, ""},
	}, func(t *testing.T, tc test) {
		err := rules.ValidateExtenders(tc.list, field.NewPath("extenders")).ToAggregate()
		if tc.want == "" {
			require.NoError(t, err)
			return
		}
		require.EqualError(t, err, tc.want)
	})
}

func TestApplyFilter(t *testing.T) {
	asked := []string{"n1", "n2", "n3"}
	type test struct {
		name   string
		cache  rules.CacheCapability
		answer rules.FilterAnswer
		want   []string
		err    string
	}
	testkit.Run(t, []test{
		{"names", rules.CacheCapable, rules.FilterAnswer{NodeNames: []string{"n3", "n1"}, Nodes: []string{"n2"}}, []string{"n3", "n1"}, ""},
		{"names of one that keeps no nodes", rules.NotCacheCapable, rules.FilterAnswer{NodeNames: []string{"n3"}}, nil, ""},
		{"objects", rules.NotCacheCapable, rules.FilterAnswer{Nodes: []string{"n2"}}, []string{"n2"}, ""},
		{"objects instead of names", rules.CacheCapable, rules.FilterAnswer{Nodes: []string{"n2"}}, []string{"n2"}, ""},
		{"neither", rules.CacheCapable, rules.FilterAnswer{}, nil, ""},
		{"unknown", rules.CacheCapable, rules.FilterAnswer{NodeNames: []string{"n9"}}, nil, `extender "http://e" claims a filtered node "n9" which is not found in the input node list`},
	}, func(t *testing.T, tc test) {
		got, err := rules.ApplyFilter("http://e", tc.cache, asked, tc.answer)
		if tc.err != "" {
			require.EqualError(t, err, tc.err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, tc.want, got.Nodes)
	})
	got, err := rules.ApplyFilter("", rules.CacheCapable, asked, rules.FilterAnswer{NodeNames: []string{"n1"},
		FailedNodes: map[string]string{"n2": "soft", "n3": "soft"}, FailedAndUnresolvableNodes: map[string]string{"n3": "hard"}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"n2": "soft"}, got.Failed)
	require.Equal(t, map[string]string{"n3": "hard"}, got.Unresolvable)
	require.Equal(t, "http://e/x/filter", rules.URL("http://e/x/", "filter"))
}

// The name of a managed resource must be a qualified name of an extended resource, once.
func TestNamesOfManagedResources(t *testing.T) {
	errs := rules.ValidateExtenders([]rules.Extender{{ManagedResources: []rules.ManagedResource{{Name: "a.b/x y"}, {Name: "cpu"}, {Name: "a.b/x"}, {Name: "a.b/x"}}}, {ManagedResources: []rules.ManagedResource{{Name: "cpu"}, {Name: ""}}}}, field.NewPath("extenders"))
	var got []string
	for _, e := range errs {
		got = append(got, e.Field+" "+fmt.Sprint(e.BadValue)+": "+e.Detail)
	}
	want := []string{"extenders[0].managedResources[0].name a.b/x y: "}
	for _, text := range validation.IsQualifiedName("a.b/x y") {
		want[0] += text
	}
	want = append(want, "extenders[0].managedResources[1].name cpu: is an invalid extended resource name", "extenders[0].managedResources[3].name a.b/x: duplicate extender managed resource name",
		"extenders[1].managedResources[0].name cpu: is an invalid extended resource name", "extenders[1].managedResources[0].name cpu: duplicate extender managed resource name")
	for _, text := range validation.IsQualifiedName("") {
		want = append(want, "extenders[1].managedResources[1].name : "+text)
	}
	require.Equal(t, want, got)
	require.Len(t, rules.ValidateExtenders([]rules.Extender{{PrioritizeVerb: "p", Weight: 1, BindVerb: "b"}, {Weight: -1}, {PrioritizeVerb: "p"}, {BindVerb: "c"}}, field.NewPath("x")), 2)
}
