package overhead

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func TestLimits(t *testing.T) {
	type test struct {
		name, why, pod string
		o              Options
		want           string
	}
	testkit.Run(t, []test{
		{"limits of the kata pod", "overhead is added to limits that exist", testkit.Kata, Options{}, "cpu=2250m,memory=320Mi"},
		{"limits walk", "the same maximum as for requests", "sidecar s limits cpu=1\ninit i limits cpu=5\ncontainer a limits cpu=2", Options{}, "cpu=6"},
		{"no limit stays none", "overhead makes no limit", "container a\noverhead cpu=250m,memory=120Mi", Options{}, ""},
		{"zero limit stays zero", "overhead is added to positive limits only", "container a limits cpu=0,memory=1Gi\noverhead cpu=250m,memory=120Mi", Options{}, "cpu=0,memory=1144Mi"},
		{"a container without limit", "it adds nothing", "container c requests cpu=1 limits memory=1Gi\ncontainer d limits memory=1Gi,cpu=2\noverhead cpu=250m,memory=120Mi,ephemeral-storage=1Gi,example.com/x=1", Options{}, "cpu=2250m,memory=2168Mi"},
		{"pod level limits", "they replace", "container a requests cpu=1,memory=1Gi\nwhole requests cpu=500m limits cpu=2,memory=4Gi", Options{}, "cpu=2,memory=4Gi"},
		{"pod level requests only", "container limits stay", "container a limits cpu=3\nwhole requests cpu=500m", Options{}, "cpu=3"},
		{"pod level limit of another name", "unsupported names are ignored", "container a limits example.com/x=1\nwhole limits cpu=1,example.com/x=5", Options{}, "cpu=1,example.com/x=1"},
		{"resize", "max(spec, actuated); allocated is not consulted", "container a limits cpu=1\nstatus a limits cpu=2 allocated cpu=9", onNode, "cpu=2"},
		{"resize up of limits", "the desired amount", "container a limits cpu=4\nstatus a limits cpu=2", onNode, "cpu=4"},
		{"infeasible resize of limits", "actuated alone", "container a limits cpu=4,memory=1\nstatus a limits cpu=2 allocated cpu=3\nresize Infeasible", onNode, "cpu=2"},
		{"infeasible pod level limits in v1.36", "a name that is not there is zero", "container a limits cpu=1\nwhole limits cpu=4\nwholestatus limits memory=1\nresize Infeasible", before, "cpu=0"},
		{"infeasible pod level limits", "the status alone counts", "container a limits cpu=1\nwhole limits cpu=4\nwholestatus limits memory=1\nresize Infeasible", onNode, "memory=1"},
		{"infeasible pod level without limits in v1.36", "a status without limits is the spec", "container a\nwhole limits cpu=4\nwholestatus requests cpu=1\nresize Infeasible", before, "cpu=4"},
		{"infeasible pod level without limits", "the status alone counts", "container a\nwhole limits cpu=4\nwholestatus requests cpu=1\nresize Infeasible", onNode, ""},
		{"pod level resize of limits", "max(spec, actuated)", "container a\nwhole requests cpu=1 limits cpu=1\nwholestatus requests cpu=2 limits cpu=2 allocated cpu=3", onNode, "cpu=2"},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers(c.pod)
		testkit.Unchanged(t, func() { require.Equal(t, c.want, testkit.ShowResources(Limits(pod, c.o))) }, pod)
		compare(t, pod, c.o)
	})
}

func TestExplain(t *testing.T) {
	type test struct{ name, why, pod, want string }
	testkit.Run(t, []test{
		{"kata explained", "containers and overhead", testkit.Kata, "cpu 2250m: the containers 2 + overhead 250m\nmemory 320Mi: the containers 200Mi + overhead 120Mi\n"},
		{"starting sets the maximum", "of memory only", "init ic1 requests cpu=2,memory=1G\ninit ic2 requests cpu=2,memory=3G\ncontainer c1 requests cpu=2,memory=1G\ncontainer c2 requests cpu=1,memory=1G", "cpu 3: the containers 3\nmemory 3G: init container ic2 needs 3G, the containers 2G\n"},
		{"a tie", "running is preferred, the first step named", "init i requests cpu=1\ncontainer a requests cpu=1", "cpu 1: the containers 1\n"},
		{"two steps alike", "the first of them is named", "init i1 requests cpu=2\ninit i2 requests cpu=2\ncontainer a requests cpu=1", "cpu 2: init container i1 needs 2, the containers 1\n"},
		{"nothing but overhead", "no phase", "container a\noverhead memory=120Mi", "memory 120Mi: overhead 120Mi\n"},
		{"pod level explained", "what the pod as a whole asks for", "container a requests cpu=1\nwhole requests cpu=500m\noverhead cpu=1", "cpu 1500m: the pod as a whole 500m + overhead 1\n"},
		{"sidecars before the step", "the step of i1 needs 1+5", "sidecar s1 requests cpu=1\ninit i1 requests cpu=5\ncontainer a requests cpu=1", "cpu 6: init container i1 needs 6, the containers 2\n"},
	}, func(t *testing.T, c test) {
		text := ""
		for _, p := range Explain(testkit.Containers(c.pod), Options{}) {
			text += p.String() + "\n"
		}
		require.Equal(t, c.want, text)
	})
	require.Equal(t, "none running starting pod level unknown", None.String()+" "+Running.String()+" "+Starting.String()+" "+PodLevel.String()+" "+Phase(9).String())
}

func TestDefault(t *testing.T) {
	type test struct{ name, why, pod, containers, whole string }
	testkit.Run(t, []test{
		{"limits become requests", "of containers and init containers, per name", "container a requests cpu=1 limits cpu=2,memory=1Gi\ninit i limits memory=2Gi", "cpu=1,memory=1Gi;memory=2Gi;", ""},
		{"no limits", "nothing to default", "container a requests cpu=1", "cpu=1;", ""},
		{"pod requests from containers", "aggregated cpu and memory first, then the pod's limit", "container a requests cpu=1\ncontainer b requests cpu=1\nwhole limits cpu=4,memory=4Gi", "cpu=1;cpu=1;", "cpu=2,memory=4Gi / cpu=4,memory=4Gi"},
		{"pod requests without overhead", "overhead is no part of what the containers ask for", "container a requests cpu=1\noverhead cpu=250m\nwhole limits cpu=4", "cpu=1;", "cpu=1 / cpu=4"},
		{"pod requests that exist", "are kept", "container a requests cpu=1\nwhole requests cpu=3 limits cpu=4", "cpu=1;", "cpu=3 / cpu=4"},
		{"only pod requests", "nothing is defaulted", "container a requests memory=1Gi limits memory=2Gi\nwhole requests cpu=1", "memory=1Gi;", "cpu=1 / "},
		{"huge pages of containers", "limits become limits and requests of the pod", "container a requests cpu=1 limits hugepages-2Mi=4Mi\nwhole limits cpu=2", "cpu=1,hugepages-2Mi=4Mi;", "cpu=1,hugepages-2Mi=4Mi / cpu=2,hugepages-2Mi=4Mi"},
		{"huge pages beside pod requests", "their limit makes the other requests, too", "container a requests memory=1Gi limits hugepages-2Mi=4Mi\nwhole requests cpu=1", "hugepages-2Mi=4Mi,memory=1Gi;", "cpu=1,hugepages-2Mi=4Mi,memory=1Gi / hugepages-2Mi=4Mi"},
		{"huge pages requested by the pod", "a request of the pod stands, and makes no limit", "container a requests memory=1Gi limits hugepages-2Mi=4Mi\nwhole requests hugepages-2Mi=8Mi", "hugepages-2Mi=4Mi,memory=1Gi;", "hugepages-2Mi=8Mi / "},
		{"thousandths", "finer amounts are rounded up in the end: the sum of two is one thousandth", "container a requests cpu=100u\ncontainer b requests cpu=100u\nwhole limits cpu=2", "cpu=1m;cpu=1m;", "cpu=1m / cpu=2"},
		{"empty pod level", "nothing is defaulted", "container a limits hugepages-2Mi=4Mi\nwhole", "hugepages-2Mi=4Mi;", " / "},
		{"unsupported pod limit", "is no request", "container a requests cpu=1,ephemeral-storage=1Gi\nwhole limits cpu=2,ephemeral-storage=4Gi", "cpu=1,ephemeral-storage=1Gi;", "cpu=1 / cpu=2,ephemeral-storage=4Gi"},
		{"huge pages named by the pod", "a request or limit of the pod stands", "container a limits hugepages-2Mi=4Mi\nwhole limits hugepages-2Mi=8Mi", "hugepages-2Mi=4Mi;", "hugepages-2Mi=8Mi / hugepages-2Mi=8Mi"},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers(c.pod)
		var out *v1.Pod
		testkit.Unchanged(t, func() { out = Default(pod) }, pod)
		text := ""
		for _, list := range [][]v1.Container{out.Spec.Containers, out.Spec.InitContainers} {
			for _, c := range list {
				text += testkit.ShowResources(c.Resources.Requests) + ";"
			}
		}
		require.Equal(t, c.containers, text)
		if c.whole != "" {
			require.Equal(t, c.whole, testkit.ShowResources(out.Spec.Resources.Requests)+" / "+testkit.ShowResources(out.Spec.Resources.Limits))
		}
		require.Equal(t, out, Default(out), "defaulting twice is defaulting once")
	})
}

func TestDefaultHostPorts(t *testing.T) {
	pod := testkit.Containers("container a\ninit i")
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, HostPort: 8081}}
	pod.Spec.InitContainers[0].Ports = []v1.ContainerPort{{ContainerPort: 82}}
	require.Zero(t, Default(pod).Spec.Containers[0].Ports[0].HostPort)
	pod.Spec.HostNetwork = true
	testkit.Unchanged(t, func() {
		out := Default(pod)
		require.EqualValues(t, 80, out.Spec.Containers[0].Ports[0].HostPort)
		require.EqualValues(t, 8081, out.Spec.Containers[0].Ports[1].HostPort)
		require.EqualValues(t, 82, out.Spec.InitContainers[0].Ports[0].HostPort)
	}, pod)
}

// Of equal amounts in different notations the first counts. Up to v1.36 that is the spec, then what is actuated, then what is
// allocated; in v1.37 what is allocated, then what is actuated, then the spec.
func TestNotationOfEqualAmounts(t *testing.T) {
	const one, other = "memory=1Gi", "memory=1073741824"
	type test struct {
		name, why, pod string
		o              Options
		amounts        func(*v1.Pod, Options) v1.ResourceList
	}
	testkit.Run(t, []test{
		{"spec and actuated", "the spec is first", "container a requests " + one + "\nstatus a requests " + other, before, Requests},
		{"actuated and allocated", "the spec does not name it", "container a\nstatus a requests " + one + " allocated " + other, before, Requests},
		{"infeasible", "the spec does not count", "container a requests memory=5Gi\nstatus a requests " + one + " allocated " + other + "\nresize Infeasible", before, Requests},
		{"pod level", "the spec is smaller", "container a\nwhole requests memory=1\nwholestatus requests " + one + " allocated " + other, before, Requests},
		{"infeasible pod level", "the spec does not count", "container a\nwhole requests memory=5Gi\nwholestatus requests " + one + " allocated " + other + "\nresize Infeasible", before, Requests},
		{"limits", "the spec is first", "container a limits " + one + "\nstatus a limits " + other, before, Limits},
		{"limits at pod level", "the spec is first", "container a\nwhole limits " + one + "\nwholestatus limits " + other, before, Limits},
		{"allocated and actuated in v1.37", "what is allocated is first", "container a\nstatus a requests " + other + " allocated " + one, onNode, Requests},
		{"limits in v1.37", "what is actuated is first", "container a limits " + other + "\nstatus a limits " + one, onNode, Limits},
		{"limits at pod level in v1.37", "the status is first", "container a\nwhole limits " + other + "\nwholestatus limits " + one, onNode, Limits},
	}, func(t *testing.T, c test) {
		require.Equal(t, one, testkit.ShowResources(c.amounts(testkit.Containers(c.pod), c.o)))
	})
}
