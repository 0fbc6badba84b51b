package queue

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/release"
)

// randomRequests returns a list of requests of up to five resources.
func randomRequests(r *rand.Rand) v1.ResourceList {
	if r.Intn(4) == 0 {
		return nil
	}
	l := v1.ResourceList{}
	for _, n := range []v1.ResourceName{"cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu"} {
		if r.Intn(2) == 0 {
			l[n] = *resource.NewMilliQuantity(int64(r.Intn(5000)), resource.DecimalSI)
		}
	}
	return l
}

// randomPod returns a pod with requests at all places that count. With status the pod is resized.
func randomPod(r *rand.Rand, status bool) *v1.Pod {
	p := &v1.Pod{}
	list := func() v1.ResourceList { return randomRequests(r) }
	container := func(kind string, i int, out *[]v1.ContainerStatus) v1.Container {
		c := v1.Container{Name: fmt.Sprint(kind, i), Resources: v1.ResourceRequirements{Requests: list()}}
		if kind == "init" && r.Intn(2) == 0 {
			c.RestartPolicy = ptr(v1.ContainerRestartPolicyAlways)
		}
		if status && r.Intn(2) == 0 {
			s := v1.ContainerStatus{Name: c.Name, AllocatedResources: list()}
			if r.Intn(3) > 0 {
				s.Resources = &v1.ResourceRequirements{Requests: list()}
			}
			*out = append(*out, s)
		}
		return c
	}
	for i := range r.Intn(4) {
		p.Spec.Containers = append(p.Spec.Containers, container("c", i, &p.Status.ContainerStatuses))
	}
	for i := range r.Intn(4) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, container("init", i, &p.Status.InitContainerStatuses))
	}
	if status && r.Intn(2) == 0 {
		p.Spec.Resources = &v1.ResourceRequirements{Requests: list()}
	}
	if status && r.Intn(2) == 0 {
		p.Status.Resources = &v1.ResourceRequirements{Requests: list()}
		p.Status.AllocatedResources = list()
	}
	if r.Intn(2) == 0 {
		p.Spec.Overhead = list()
	}
	if status && r.Intn(3) == 0 {
		p.Status.Conditions = []v1.PodCondition{{Type: "Other"}, {Type: v1.PodResizePending, Reason: v1.PodReasonInfeasible}}
	}
	return p
}

// changeRequests changes one of the pod's requests, or what decides how they count.
func changeRequests(r *rand.Rand, p *v1.Pod) {
	containers := func(list []v1.Container) {
		if len(list) == 0 {
			return
		}
		c := &list[r.Intn(len(list))]
		switch r.Intn(4) {
		case 0:
			c.RestartPolicy = ptr(v1.ContainerRestartPolicyAlways)
		case 1:
			c.Name = "renamed"
		default:
			c.Resources.Requests = randomRequests(r)
		}
	}
	switch r.Intn(7) {
	case 0:
		containers(p.Spec.Containers)
	case 1:
		containers(p.Spec.InitContainers)
	case 2:
		p.Spec.Overhead = randomRequests(r)
	case 3:
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "more", Resources: v1.ResourceRequirements{Requests: randomRequests(r)}})
	case 4:
		p.Spec.InitContainers = p.Spec.InitContainers[:len(p.Spec.InitContainers)/2]
	case 5:
		p.Spec.Resources = &v1.ResourceRequirements{Requests: randomRequests(r)}
	case 6:
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{Name: "c0", Resources: &v1.ResourceRequirements{Requests: randomRequests(r)}})
	}
}

// A change scales a pod down when a request of package overhead becomes smaller, by whole milli-units, or goes.
func TestScaledDownLikeOverhead(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	down := 0
	for range 3000 {
		a := randomPod(r, r.Intn(2) == 0)
		b := a.DeepCopy()
		changeRequests(r, b)
		o := overhead.Options{UseStatus: true, Release: release.Versions()[r.Intn(4)]}
		after := overhead.Requests(b, o)
		want := false
		for name, q := range overhead.Requests(a, o) {
			left, ok := after[name]
			want = want || !ok || left.MilliValue() < q.MilliValue()
		}
		require.Equal(t, want, scaledDown(a, b, o.Release), "%+v\n%+v", a, b)
		if want {
			down++
		}
	}
	require.Greater(t, down, 500)
}

// Two versions of a pod have certainly the same requests when nothing differs that may count. A resized pod is never certain.
func TestSameRequests(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	base := func() *v1.Pod {
		p := testkit.Pod("a").Request("cpu=1").Obj()
		p.Spec.InitContainers = []v1.Container{{Name: "i", RestartPolicy: &always, Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=1")}}}
		p.Spec.Overhead = testkit.Resources("cpu=1")
		return p
	}
	require.True(t, sameRequests(base(), base()))
	for name, change := range map[string]func(p *v1.Pod){
		"a request":            func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=2") },
		"another resource":     func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = testkit.Resources("memory=1") },
		"a resource more":      func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = testkit.Resources("cpu=1,memory=1") },
		"a name":               func(p *v1.Pod) { p.Spec.Containers[0].Name = "other" },
		"a container more":     func(p *v1.Pod) { p.Spec.Containers = append(p.Spec.Containers, v1.Container{}) },
		"no container":         func(p *v1.Pod) { p.Spec.Containers = nil },
		"an init container's":  func(p *v1.Pod) { p.Spec.InitContainers[0].Resources.Requests = nil },
		"a sidecar no more":    func(p *v1.Pod) { p.Spec.InitContainers[0].RestartPolicy = nil },
		"the overhead":         func(p *v1.Pod) { p.Spec.Overhead = testkit.Resources("cpu=2") },
		"the pod's own":        func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{} },
		"a container's status": func(p *v1.Pod) { p.Status.ContainerStatuses = []v1.ContainerStatus{{}} },
		"both": func(p *v1.Pod) {
			p.Status.ContainerStatuses, p.Status.InitContainerStatuses = []v1.ContainerStatus{{}}, []v1.ContainerStatus{{}}
		},
		"an init container's of": func(p *v1.Pod) { p.Status.InitContainerStatuses = []v1.ContainerStatus{{}} },
	} {
		p := base()
		change(p)
		require.False(t, sameRequests(base(), p), name)
		require.False(t, sameRequests(p, base()), name)
	}
}

// Two lists of amounts are the same when each names what the other names.
func TestSameQuantities(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"", "", true}, {"cpu=1", "cpu=1000m", true}, {"cpu=1", "cpu=2", false}, {"cpu=0", "memory=0", false}, {"cpu=1", "cpu=1,memory=0", false}, {"cpu=1,memory=0", "cpu=1", false}} {
		require.Equal(t, c.want, sameQuantities(testkit.Resources(c.a), testkit.Resources(c.b)), "%+v", c)
	}
}

// Claims that a controller made for a pod are an event when one of them is another than before.
func TestGeneratedClaimsDiffer(t *testing.T) {
	status := func(name string, claim *string) v1.PodResourceClaimStatus {
		return v1.PodResourceClaimStatus{Name: name, ResourceClaimName: claim}
	}
	for _, c := range []struct {
		a, b v1.PodResourceClaimStatus
		want bool
	}{
		{status("a", nil), status("a", nil), true}, {status("a", ptr("x")), status("a", ptr("x")), true}, {status("a", ptr("x")), status("b", ptr("x")), false},
		{status("a", ptr("x")), status("a", ptr("y")), false}, {status("a", nil), status("a", ptr("")), false}, {status("a", ptr("")), status("a", nil), false},
		{status("a", nil), status("b", nil), false},
	} {
		require.Equal(t, c.want, sameClaim(c.a, c.b), "%+v", c)
	}
	extended := func(claim string, requests ...string) *v1.PodExtendedResourceClaimStatus {
		s := &v1.PodExtendedResourceClaimStatus{ResourceClaimName: claim}
		for _, r := range requests {
			s.RequestMappings = append(s.RequestMappings, v1.ContainerExtendedResourceRequest{RequestName: r})
		}
		return s
	}
	for _, c := range []struct {
		a, b *v1.PodExtendedResourceClaimStatus
		want bool
	}{
		{nil, nil, true}, {nil, extended(""), false}, {extended(""), nil, false}, {extended("x"), extended("x"), true}, {extended("x"), extended("y"), false},
		{extended("x", "r"), extended("x", "r"), true}, {extended("x", "r"), extended("x", "s"), false}, {extended("x", "r"), extended("x"), false},
	} {
		require.Equal(t, c.want, sameExtendedClaim(c.a, c.b), "%+v", c)
	}
}
