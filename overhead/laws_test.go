package overhead

import (
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
)

// randomPods yields pods with amounts of one sign, as the API accepts them.
func randomPods(t *testing.T, n int, check func(r *rand.Rand, pod *v1.Pod)) {
	r := rand.New(rand.NewSource(2))
	for range n {
		data := make([]byte, 100+r.Intn(300))
		r.Read(data)
		pod, _ := newDecoder(data).pod()
		if !negative(pod) {
			check(r, pod)
		}
	}
}

// negative reports whether an amount of the pod is below 0.
func negative(pod *v1.Pod) bool {
	below := func(list v1.ResourceList) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(list)), func(q resource.Quantity) bool { return q.Sign() < 0 })
	}
	any := below(pod.Spec.Overhead)
	if r := pod.Spec.Resources; r != nil {
		any = any || below(r.Limits) || below(r.Requests)
	}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		any = any || below(c.Resources.Limits) || below(c.Resources.Requests)
	}
	return any
}

func atMost(t *testing.T, a, b v1.ResourceList) {
	t.Helper()
	for name, q := range a {
		other, ok := b[name]
		require.True(t, ok && q.Cmp(other) <= 0, "%s: %s, %s", name, testkit.ShowResources(a), testkit.ShowResources(b))
	}
}

// The order of containers does not matter. The order of init containers does not matter when none is a sidecar.
func TestContainersInAnyOrder(t *testing.T) {
	randomPods(t, 500, func(r *rand.Rand, pod *v1.Pod) {
		pod.Spec.InitContainers = slices.DeleteFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return IsSidecar(&c) })
		other := pod.DeepCopy()
		for _, list := range [][]v1.Container{other.Spec.Containers, other.Spec.InitContainers} {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		require.True(t, equal(Requests(pod, onNode), Requests(other, onNode)))
		require.True(t, equal(Limits(pod, onNode), Limits(other, onNode)))
	})
}

// A sidecar that starts earlier never lowers the request.
func TestEarlierSidecar(t *testing.T) {
	randomPods(t, 500, func(r *rand.Rand, pod *v1.Pod) {
		at := slices.IndexFunc(pod.Spec.InitContainers, func(c v1.Container) bool { return IsSidecar(&c) })
		if at < 1 {
			return
		}
		early := pod.DeepCopy()
		list := early.Spec.InitContainers
		list[at-1], list[at] = list[at], list[at-1]
		atMost(t, Requests(pod, Options{}), Requests(early, Options{}))
	})
}

// Overhead adds its amounts and changes nothing else. Another container never lowers what its pod asks for.
func TestOverheadIsAdded(t *testing.T) {
	randomPods(t, 500, func(_ *rand.Rand, pod *v1.Pod) {
		bare := Requests(pod, Options{IgnoreOverhead: true})
		require.True(t, equal(Requests(pod, Options{}), total(bare, pod.Spec.Overhead)))
		more := pod.DeepCopy()
		more.Spec.Containers = append(more.Spec.Containers, v1.Container{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("1")}}})
		atMost(t, Requests(pod, Options{}), Requests(more, Options{}))
	})
}

// Defaulting twice gives the same pod as defaulting once. Defaulting never lowers a request of a resource that
// spec.resources does not name.
func TestDefaultingLaws(t *testing.T) {
	randomPods(t, 500, func(_ *rand.Rand, pod *v1.Pod) {
		once := Default(pod)
		require.Equal(t, testkit.ShowResources(Requests(once, Options{})), testkit.ShowResources(Requests(Default(once), Options{})))
		if pod.Spec.Resources == nil {
			atMost(t, Requests(pod, Options{}), Requests(once, Options{}))
		}
	})
}

// total returns the sum of the lists.
func total(lists ...v1.ResourceList) v1.ResourceList {
	sum := v1.ResourceList{}
	for _, list := range lists {
		add(sum, list)
	}
	return sum
}

// equal reports whether both lists have the same resources with the same amounts.
func equal(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(p, q resource.Quantity) bool { return p.Cmp(q) == 0 })
}
