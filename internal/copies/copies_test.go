package copies_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/copies"
	"github.com/podberth/podberth/internal/testkit"
)

// A copy has the first free name behind that of the pod in its namespace, and a UID of its own.
func TestOf(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Obj()}, Pods: []*v1.Pod{testkit.Pod("prod/web-1").On("n").Obj(), testkit.Pod("test/web-2").On("n").Obj()}})
	require.NoError(t, err)
	pod := testkit.Pod("prod/web").Nominated("n").Obj()
	pod.GenerateName = "other-"
	type test struct {
		name, why string
		n         int
		used      map[string]bool
		want      string
	}
	testkit.Run(t, []test{
		{"free", "test/web-2 is another pod", 2, nil, "web-2"},
		{"there", "the snapshot has prod/web-1", 1, nil, "web-1-2"},
		{"used", "the caller has given the name away", 2, map[string]bool{"web-2": true, "web-2-2": true}, "web-2-3"},
	}, func(t *testing.T, c test) {
		testkit.Unchanged(t, func() {
			got := copies.Of(s, pod, c.n, c.used)
			require.Equal(t, c.want, got.Name)
			require.EqualValues(t, "prod/"+c.want, got.UID)
			require.Equal(t, "prod", got.Namespace)
			require.Empty(t, got.Status.NominatedNodeName, "the promise is the pod's")
		}, pod)
	})
}

// A copy has a claim of each template, which the snapshot has, or which the claim of the pod tells. RemoveClaims takes them back.
func TestSetClaims(t *testing.T) {
	named := func(name, template string) v1.PodResourceClaim {
		return v1.PodResourceClaim{Name: name, ResourceClaimTemplateName: &template}
	}
	spec := func(request string) resourcev1.ResourceClaimSpec {
		return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: request}}}}
	}
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	own := "web-gone-x"
	pod := testkit.Pod("prod/web").Obj()
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{named("gpu", "there"), named("net", "gone"), named("none", "there"), {Name: "shared", ResourceClaimName: new("common")}}
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "net", ResourceClaimName: &own}, {Name: "none"}}
	s, err := cluster.New(cluster.Objects{
		ResourceClaimTemplates: []*resourcev1.ResourceClaimTemplate{
			{ObjectMeta: meta("prod", "there"), Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec("a")}},
			{ObjectMeta: meta("web", "gone"), Spec: resourcev1.ResourceClaimTemplateSpec{Spec: spec("of another namespace")}},
		},
		ResourceClaims: []*resourcev1.ResourceClaim{{ObjectMeta: meta("prod", own), Spec: spec("b")}, {ObjectMeta: meta("prod", "common"), Spec: spec("c")}},
	})
	require.NoError(t, err)
	claims := func() map[string]string { // the request of each claim by namespace and name
		out := map[string]string{}
		for c := range cluster.List[*resourcev1.ResourceClaim](s).All() {
			out[c.Namespace+"/"+c.Name] = c.Spec.Devices.Requests[0].Name
		}
		return out
	}
	before := claims()
	c := copies.Of(s, pod, 1, nil)
	require.NoError(t, copies.SetClaims(s, c))
	names := map[string]string{}
	for _, x := range c.Status.ResourceClaimStatuses {
		if x.ResourceClaimName != nil {
			names[x.Name] = *x.ResourceClaimName
		} else {
			names[x.Name] = "none"
		}
	}
	require.Len(t, names, 3)
	require.Equal(t, "none", names["none"], "the entry needs no claim")
	require.NotEqual(t, own, names["net"])
	want := map[string]string{"prod/" + names["gpu"]: "a", "prod/" + names["net"]: "b"}
	for name, request := range before {
		want[name] = request
	}
	require.Equal(t, want, claims())
	require.NoError(t, copies.RemoveClaims(s, c))
	require.Equal(t, before, claims())
	require.Len(t, pod.Status.ResourceClaimStatuses, 2, "the status of the pod is its own")
}
