package admission

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// Spec.resources after admission.
func TestPodLevelOfReleases(t *testing.T) {
	list := testkit.Resources
	type test struct {
		name, why        string
		containers       []v1.ResourceRequirements
		given            *v1.ResourceRequirements
		before, requests string // up to v1.36: requests and limits; in v1.37: requests
		limits           string // in v1.37
	}
	full := v1.ResourceRequirements{Requests: list("cpu=1,memory=1Gi"), Limits: list("cpu=1,memory=1Gi")}
	open := v1.ResourceRequirements{Requests: list("memory=1Gi")}
	requests := func(text string) *v1.ResourceRequirements { return &v1.ResourceRequirements{Requests: list(text)} }
	testkit.Run(t, []test{
		{"L15.4", "the request of memory and both limits are filled in", []v1.ResourceRequirements{full}, requests("cpu=2"), "cpu=2 | ", "cpu=2,memory=1Gi", "cpu=2,memory=1Gi"},
		{"L15.4 a container without limits", "requests only", []v1.ResourceRequirements{full, open}, requests("cpu=2"), "cpu=2 | ", "cpu=2,memory=2Gi", ""},
		{"L15.4 limits", "nothing differs", []v1.ResourceRequirements{{}}, &v1.ResourceRequirements{Limits: list("cpu=2")}, "cpu=2 | cpu=2", "cpu=2", "cpu=2"},
		{"L15.4 larger limits of containers", "the larger counts", []v1.ResourceRequirements{{Requests: list("cpu=1"), Limits: list("cpu=3")}}, requests("cpu=2"), "cpu=2 | ", "cpu=2", "cpu=3"},
		{"L15.4 nothing given", "nothing is filled in", []v1.ResourceRequirements{full}, &v1.ResourceRequirements{}, " | ", "", ""},
	}, func(t *testing.T, c test) {
		for _, v := range release.Versions() {
			pod := testkit.Pod("default/p").Obj()
			pod.Spec.Containers = nil
			for _, r := range c.containers {
				pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Name: "c", Resources: r})
			}
			pod.Spec.Resources = c.given.DeepCopy()
			var out *v1.Pod
			testkit.Unchanged(t, func() {
				var err error
				out, _, err = Admit(pod, Cluster{}, Options{Release: v})
				require.NoError(t, err)
			}, pod)
			got := out.Spec.Resources
			if v.AtLeast(release.V1_37) {
				require.Equal(t, c.requests+" | "+c.limits, testkit.ShowResources(got.Requests)+" | "+testkit.ShowResources(got.Limits), "%s: %s", v, c.why)
			} else {
				require.Equal(t, c.before, testkit.ShowResources(got.Requests)+" | "+testkit.ShowResources(got.Limits), "%s: %s", v, c.why)
			}
		}
	})
}

// What binding writes to the pod.
func TestBoundOfReleases(t *testing.T) {
	pod := testkit.Pod("default/p").Labels("a=b,topology.kubernetes.io/zone=old").Obj()
	pod.Status.NominatedNodeName = "n1"
	n := node("n1", "topology.kubernetes.io/zone=z,topology.kubernetes.io/region=r,rack=1")
	for _, v := range release.Versions() {
		var got *v1.Pod
		testkit.Unchanged(t, func() { got = Bound(pod, n, v) }, pod)
		require.Equal(t, "n1", got.Spec.NodeName)
		if v.AtLeast(release.V1_35) {
			require.Equal(t, testkit.Pairs("a=b,topology.kubernetes.io/zone=z,topology.kubernetes.io/region=r"), got.Labels, "L15.1")
			require.Empty(t, got.Status.NominatedNodeName, "L8.2")
		} else {
			require.Equal(t, pod.Labels, got.Labels, "L15.1")
			require.Equal(t, "n1", got.Status.NominatedNodeName, "L8.2")
		}
	}
	require.Nil(t, Bound(nil, n, release.Current))
	require.Equal(t, pod, Bound(pod, nil, release.Current))
	require.Empty(t, Bound(testkit.Pod("default/p").Obj(), node("n1", ""), release.Current).Labels)
}
