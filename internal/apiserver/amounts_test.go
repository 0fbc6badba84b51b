package apiserver_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/apiserver"
	"github.com/podberth/podberth/internal/testkit"
)

// list reads "cpu=1 memory=1Gi".
func list(text string) v1.ResourceList {
	out := v1.ResourceList{}
	for _, entry := range strings.Fields(text) {
		name, amount, _ := strings.Cut(entry, "=")
		out[v1.ResourceName(name)] = resource.MustParse(amount)
	}
	return out
}

func TestValidate(t *testing.T) {
	const gpu, own = "example.com/gpu", "kubernetes.io/thing"
	type test struct {
		name, why        string
		limits, requests string
		want             string // the errors, each in a line
	}
	testkit.Run(t, []test{
		{"nothing", "a container need not ask", "", "", ""},
		{"requests below limits", "native resources overcommit", "cpu=2 memory=1Gi", "cpu=1 memory=1Mi", ""},
		{"nothing of a resource", "0 is an amount", "cpu=0", "cpu=0", ""},
		{"requests without limits", "native resources need none", "", "cpu=1 ephemeral-storage=1Gi", ""},
		{"negative", "both lists are checked", "memory=-1", "cpu=-1m",
			"r.limits[memory]: Invalid value: \"-1\": must be greater than or equal to 0\nr.requests[cpu]: Invalid value: \"-1m\": must be greater than or equal to 0"},
		{"requests above limits", "the limit is the most", "cpu=1", "cpu=2", "r.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"},
		{"extended resource", "request and limit are equal", gpu + "=2", gpu + "=2", ""},
		{"extended resource below its limit", "it does not overcommit", gpu + "=2", gpu + "=1", "r.requests: Invalid value: \"1\": must be equal to example.com/gpu limit of 2"},
		{"extended resource without limit", "it needs one", "", gpu + "=1", "r.limits: Required value: Limit must be set for non overcommitable resources"},
		{"extended resource in parts", "it is counted in whole numbers", gpu + "=1500m", "", "r.limits[example.com/gpu]: Invalid value: \"1500m\": must be an integer"},
		{"resource of kubernetes.io", "it overcommits", "", own + "=1", ""},
		{"resource below kubernetes.io", "it overcommits as well", "x.kubernetes.io/thing=2", "x.kubernetes.io/thing=1", ""},
		{"huge pages with cpu", "cpu suffices", "hugepages-2Mi=4Mi cpu=1", "hugepages-2Mi=4Mi", ""},
		{"huge pages with memory", "memory suffices, in requests too", "hugepages-2Mi=4Mi", "hugepages-2Mi=4Mi memory=1", ""},
		{"huge pages alone", "limits are seen", "hugepages-2Mi=4Mi", "", "r: Forbidden: HugePages require cpu or memory"},
		{"requests of huge pages alone", "requests are seen", "", "hugepages-2Mi=4Mi",
			"r.limits: Required value: Limit must be set for non overcommitable resources\nr: Forbidden: HugePages require cpu or memory"},
		{"huge pages below their limit", "they do not overcommit", "hugepages-2Mi=4Mi cpu=1", "hugepages-2Mi=2Mi", "r.requests: Invalid value: \"2Mi\": must be equal to hugepages-2Mi limit of 4Mi"},
		{"half a page", "only whole pages are given", "hugepages-2Mi=3Mi cpu=1", "", "r.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi"},
		{"parts of a byte", "the amount is rounded up for the page size only", "hugepages-1=1500m cpu=1", "", "r.limits[hugepages-1]: Invalid value: \"1500m\": 1500m is not positive integer multiple of hugepages-1"},
		{"pages of no size", "a page is larger than 0", "hugepages-0=0 cpu=1", "", "r.limits[hugepages-0]: Invalid value: \"0\": 0 is not positive integer multiple of hugepages-0"},
		{"pages of negative size", "a page is larger than 0", "hugepages--1=1 cpu=1", "", "r.limits[hugepages--1]: Invalid value: \"1\": 1 is not positive integer multiple of hugepages--1"},
		{"pages of a word", "the size is a quantity", "hugepages-big=1 cpu=1", "", "r.limits[hugepages-big]: Invalid value: \"1\": 1 is not positive integer multiple of hugepages-big"},
	}, func(t *testing.T, c test) {
		var got []string
		for _, err := range apiserver.ValidateResources(list(c.limits), list(c.requests), apiserver.ResourceName, field.NewPath("r")) {
			got = append(got, err.Error())
		}
		require.Equal(t, c.want, strings.Join(got, "\n"))
	})
}

func TestNames(t *testing.T) {
	const standard, container, extended = "must be a standard resource type or fully qualified", "must be a standard resource for containers", "doesn't follow extended resource name standard"
	type test struct {
		name, why         string
		plain, containers []string // what is wrong
	}
	testkit.Run(t, []test{
		{"cpu", "containers have it", nil, nil},
		{"memory", "containers have it", nil, nil},
		{"hugepages-2Mi", "containers have it", nil, nil},
		{"pods", "only quotas limit it", nil, []string{container}},
		{"requests.cpu", "only quotas limit it", nil, []string{container}},
		{"requests.hugepages-2Mi", "only quotas limit it", nil, []string{container}},
		{"gpu", "without a domain it must be known", []string{standard}, []string{standard, container}},
		{"example.com/gpu", "an extended resource", nil, nil},
		{"kubernetes.io/gpu", "the project's own domain", nil, nil},
		{"requests.example.com/gpu", "a quota's name of an extended resource", nil, []string{extended}},
	}, func(t *testing.T, c test) {
		texts := func(errs field.ErrorList) (out []string) {
			for _, err := range errs {
				require.Equal(t, c.name, err.BadValue)
				out = append(out, err.Detail)
			}
			return out
		}
		require.Equal(t, c.plain, texts(apiserver.PlainName(v1.ResourceName(c.name), field.NewPath("r"))))
		require.Equal(t, c.containers, texts(apiserver.ResourceName(v1.ResourceName(c.name), field.NewPath("r"))))
	})
	for _, bad := range []string{"-x", "a b", "x/"} { // no qualified names: nothing else is said about the name itself
		errs := apiserver.PlainName(v1.ResourceName(bad), field.NewPath("r"))
		require.NotEmpty(t, errs, bad)
		for _, err := range errs {
			require.Equal(t, bad, err.BadValue)
			require.NotContains(t, err.Detail, standard)
		}
	}
}
