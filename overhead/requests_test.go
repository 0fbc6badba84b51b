package overhead

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/resources"
)

type requestCase struct {
	name, why, pod string
	o              Options
	want           string
}

var (
	onNode = Options{UseStatus: true}
	before = Options{UseStatus: true, Release: release.V1_36} // what v1.37 does otherwise is L4.1 to L4.3
)

var requestCases = []requestCase{
	{"no containers", "an empty pod asks for nothing", "", Options{}, ""},
	{"sum per name", "a name absent in one container adds nothing", "container a requests cpu=1\ncontainer b requests cpu=500m,memory=1Gi", Options{}, "cpu=1500m,memory=1Gi"},
	{"exact sums", "nothing is rounded before the end", "container a requests cpu=100u\ncontainer b requests cpu=100u", Options{}, "cpu=200u"},
	{"init maximum", "the documents' example: each resource has its own maximum", "init i1 requests cpu=2,memory=1G\ninit i2 requests cpu=2,memory=3G\ncontainer c1 requests cpu=2,memory=1G\ncontainer c2 requests cpu=1,memory=1G", Options{}, "cpu=3,memory=3G"},
	{"name of an init container only", "it appears in the result", "init i requests example.com/x=2\ncontainer a requests cpu=1", Options{}, "cpu=1,example.com/x=2"},
	{"sidecars in order", "max(1+1+2, 1, 1+5, 3, 3+2)", "sidecar s1 requests cpu=1\ninit i1 requests cpu=5\nsidecar s2 requests cpu=2\ninit i2 requests cpu=2\ncontainer a requests cpu=1", Options{}, "cpu=6"},
	{"init before the sidecars", "a sidecar declared later does not raise an init container's need", "init i1 requests cpu=5\nsidecar s1 requests cpu=1\nsidecar s2 requests cpu=2\ninit i2 requests cpu=2\ncontainer a requests cpu=1", Options{}, "cpu=5"},
	{"pod level replaces", "it is no maximum: the pod becomes cheaper than its containers", "container a requests cpu=1,memory=1Gi\nwhole requests cpu=500m limits cpu=2,memory=4Gi", Options{}, "cpu=500m,memory=1Gi"},
	{"pod level ignores other names", "only cpu, memory and huge pages are supported for a whole pod", "container a requests cpu=1,example.com/gpu=1\nwhole requests cpu=2,example.com/gpu=5,ephemeral-storage=1Gi", Options{}, "cpu=2,example.com/gpu=1"},
	{"pod level of an unsupported name only", "then there are no requests for the whole pod", "container a requests cpu=1\nwhole requests ephemeral-storage=1Gi", Options{}, "cpu=1"},
	{"pod level huge pages", "any size is supported", "container a requests hugepages-2Mi=2Mi\nwhole requests hugepages-2Mi=8Mi", Options{}, "hugepages-2Mi=8Mi"},
	{"pod level limits alone", "API defaulting, not the sum, makes requests of them", "container a requests cpu=1\nwhole limits cpu=4", Options{}, "cpu=1"},
	{"pod level ignored", "option IgnorePodLevel", "container a requests cpu=1\nwhole requests cpu=4", Options{IgnorePodLevel: true}, "cpu=1"},
	{"overhead last", "added once, after the maximum and the pod level", "init i requests cpu=5\ncontainer a requests cpu=1\nwhole requests memory=1Gi\noverhead cpu=250m,memory=120Mi", Options{}, "cpu=5250m,memory=1144Mi"},
	{"overhead of new names", "overhead adds a resource that no container asks for", "container a requests cpu=1\noverhead example.com/x=1", Options{}, "cpu=1,example.com/x=1"},
	{"overhead ignored", "option IgnoreOverhead", "container a requests cpu=1\noverhead cpu=1", Options{IgnoreOverhead: true}, "cpu=1"},
	{"kata", "the documents' example whole", testkit.Kata, Options{}, "cpu=2250m,memory=320Mi"},
	{"kata without defaulting", "limits are not requests before defaulting", "container a limits cpu=500m,memory=100Mi\noverhead cpu=250m,memory=120Mi", Options{}, "cpu=250m,memory=120Mi"},
	{"best effort with overhead", "overhead alone", "container a\noverhead cpu=250m,memory=120Mi", Options{}, "cpu=250m,memory=120Mi"},
	{"mixed limits with overhead", "overhead makes requests of new names", "container c requests cpu=1 limits memory=1Gi\ncontainer d limits memory=1Gi,cpu=2\noverhead cpu=250m,memory=120Mi,ephemeral-storage=1Gi,example.com/x=1", Options{}, "cpu=1250m,ephemeral-storage=1Gi,example.com/x=1,memory=120Mi"},
	{"negative amounts", "added as they are", "init i requests memory=-1\ncontainer a requests cpu=1\ncontainer b requests cpu=-3", Options{}, "cpu=-2,memory=-1"},
	{"missing defaults", "each container that does not name the resource; an explicit zero stays", "container a requests cpu=0\ncontainer b\ninit i\nsidecar s", Options{Missing: v1.ResourceList{"cpu": *milli(100)}}, "cpu=200m"},

	{"resize up in progress", "the desired amount counts", "container a requests cpu=4\nstatus a requests cpu=2 allocated cpu=2", onNode, "cpu=4"},
	{"resize up deferred", "a deferred resize is charged at the desired amount", "container a requests cpu=4\nstatus a requests cpu=2 allocated cpu=2\nresize Deferred", onNode, "cpu=4"},
	{"resize down", "what is still actuated counts", "container a requests cpu=1\nstatus a requests cpu=3 allocated cpu=2", onNode, "cpu=3"},
	{"resize infeasible", "the desired amount does not count", "container a requests cpu=4\nstatus a requests cpu=2 allocated cpu=3\nresize Infeasible", onNode, "cpu=3"},
	{"resize infeasible without resources in v1.36", "a status without resources is the spec", "container a requests cpu=4\nresize Infeasible", before, "cpu=4"},
	{"resize infeasible without resources", "the desired amount does not count", "container a requests cpu=4\nresize Infeasible", onNode, ""},
	{"resize infeasible loses names", "a name of the spec only disappears", "container a requests cpu=4,memory=1Gi\nstatus a requests cpu=2 allocated cpu=3\nresize Infeasible", onNode, "cpu=3"},
	{"only the first pending condition", "the second says infeasible", "container a requests cpu=4\nstatus a requests cpu=2 allocated cpu=3\nresize Deferred\nresize Infeasible", onNode, "cpu=4"},
	{"incoming ignores the status", "filtering reads the spec", "container a requests cpu=1\nstatus a requests cpu=3 allocated cpu=2", Options{}, "cpu=1"},
	{"init container ignores its status in v1.36", "a plain init container counts by its spec", "init i requests cpu=1\ninitstatus i requests cpu=3 allocated cpu=3\ncontainer a", before, "cpu=1"},
	{"init container uses its status", "a plain init container can be resized", "init i requests cpu=1\ninitstatus i requests cpu=3 allocated cpu=3\ncontainer a", onNode, "cpu=3"},
	{"sidecar uses its status", "a sidecar runs on", "sidecar i requests cpu=1\ninitstatus i requests cpu=3 allocated cpu=3\ncontainer a", onNode, "cpu=3"},
	{"duplicate status names", "init statuses after the others, the last wins", "container a requests cpu=1\nstatus a requests cpu=9\nstatus a requests cpu=5\ninitstatus a requests cpu=7\ninitstatus a requests cpu=3", onNode, "cpu=3"},
	{"request above its limit", "the limit does not bound it", "container a requests cpu=2 limits cpu=1", Options{}, "cpu=2"},
	{"pod level resize", "max(spec, actuated, allocated)", "container a\nwhole requests cpu=1 limits cpu=1\nwholestatus requests cpu=2 limits cpu=2 allocated cpu=3", onNode, "cpu=3"},
	{"pod level resize of the spec's names in v1.36", "a name of the status only is not read", "container a\nwhole requests cpu=1\nwholestatus requests cpu=2,memory=5Gi allocated cpu=2", before, "cpu=2"},
	{"pod level resize of the status's names", "a name of the status only is read, too", "container a\nwhole requests cpu=1\nwholestatus requests cpu=2,memory=5Gi allocated cpu=2", onNode, "cpu=2,memory=5Gi"},
	{"pod level infeasible in v1.36", "the name is there with zero", "container a requests cpu=1\nwhole requests cpu=4\nwholestatus requests memory=1\nresize Infeasible", before, "cpu=0"},
	{"pod level infeasible", "the name is not there", "container a requests cpu=1\nwhole requests cpu=4\nwholestatus requests memory=1\nresize Infeasible", onNode, "memory=1"},
	{"pod level infeasible without resources", "the spec, even then", "container a\nwhole requests cpu=4\nresize Infeasible", onNode, "cpu=4"},
	{"pod status ignored", "quota reads container statuses only", "container a\nwhole requests cpu=1\nwholestatus requests cpu=2", Options{UseStatus: true, IgnorePodStatus: true}, "cpu=1"},
}

func TestRequests(t *testing.T) {
	testkit.Run(t, requestCases, func(t *testing.T, c requestCase) {
		pod := testkit.Containers(c.pod)
		testkit.Unchanged(t, func() {
			require.Equal(t, c.want, testkit.ShowResources(Requests(pod, c.o)))
		}, pod)
		compare(t, pod, c.o)
	})
}

// The deprecated field and other conditions have no effect, nor has the status of the condition.
func TestResizeConditions(t *testing.T) {
	pod := testkit.Containers("container a requests cpu=4\nstatus a requests cpu=2 allocated cpu=3")
	pod.Status.Resize = v1.PodResizeStatusInfeasible
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizeInProgress, Reason: v1.PodReasonInfeasible, Status: v1.ConditionTrue}}
	require.Equal(t, "cpu=4", testkit.ShowResources(Requests(pod, onNode)))
	pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodResizePending, Reason: v1.PodReasonInfeasible, Status: v1.ConditionFalse})
	require.Equal(t, "cpu=3", testkit.ShowResources(Requests(pod, onNode)))
}

// An init container whose restart policy is not Always, even an unknown policy, is no sidecar.
func TestPlainInitPolicies(t *testing.T) {
	for _, policy := range []v1.ContainerRestartPolicy{v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure, "Sometimes"} {
		pod := testkit.Containers("init i requests cpu=1\ncontainer a requests cpu=1")
		pod.Spec.InitContainers[0].RestartPolicy = &policy
		require.Equal(t, "cpu=1", testkit.ShowResources(Requests(pod, Options{})), policy)
	}
}

func TestEphemeralContainersNeverCount(t *testing.T) {
	pod := testkit.Containers("container a requests cpu=1 limits cpu=1")
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Resources: v1.ResourceRequirements{Requests: testkit.Resources("cpu=9"), Limits: testkit.Resources("cpu=9")}}}}
	require.Equal(t, "cpu=1", testkit.ShowResources(Requests(pod, Options{})))
	require.Equal(t, "cpu=1", testkit.ShowResources(Limits(pod, Options{})))
	require.Equal(t, "memory=1", testkit.ShowResources(Default(testkit.Containers("container a limits memory=1")).Spec.Containers[0].Resources.Requests))
}

func TestNilPod(t *testing.T) {
	require.Equal(t, v1.ResourceList{}, Requests(nil, onNode))
	require.Equal(t, v1.ResourceList{}, Limits(nil, onNode))
	require.Empty(t, Explain(nil, onNode))
	cpu, memory := NonZero(nil, release.Current)
	require.Zero(t, cpu+memory)
	require.Nil(t, Default(nil))
}

func TestRow(t *testing.T) {
	type test struct{ name, why, pod, want string }
	testkit.Run(t, []test{
		{"rounded up once", "the total of 200u is 1m, not 2m", "container a requests cpu=100u\ncontainer b requests cpu=100u", "cpu=1m"},
		{"fractions of bytes", "twice 1.5 bytes are 3", "container a requests memory=1500m\ncontainer b requests memory=1500m", "memory=3"},
		{"fraction of a scalar", "1.5 become 2", "container a requests example.com/x=1500m", "example.com/x=2"},
		{"scalar names", "extended, huge pages, kubernetes.io/ anywhere, attachable volumes", "container a requests example.com/x=1,hugepages-2Mi=2Mi,kubernetes.io/y=3,a.kubernetes.io/z=4,attachable-volumes-csi=5", "a.kubernetes.io/z=4 attachable-volumes-csi=5 example.com/x=1 hugepages-2Mi=2097152 kubernetes.io/y=3"},
		{"dropped names", "unknown, wrong case, quota names and pods", "container a requests foo=1,CPU=1,Memory=1,storage=1,requests.example.com/x=1,pods=7,-x/y=3", "none"},
		{"storage on the node", "ephemeral-storage has its own column", "container a requests ephemeral-storage=1Gi", "ephemeral-storage=1073741824"},
		{"huge memory saturates", "where a server's sum would turn negative", "container a requests memory=9223372036854775807\ncontainer b requests memory=1", "memory=9223372036854775807"},
		{"huge cpu saturates", "where a server's sum would turn zero", "container a requests cpu=9223372036854775807", "cpu=9223372036854775807m"},
		{"kata", "the documents' example in integers", testkit.Kata, "cpu=2250m memory=335544320"},
		{"init maximum in integers", "the documents' example in integers", "init i1 requests cpu=2,memory=1G\ninit i2 requests cpu=2,memory=3G\ncontainer c1 requests cpu=2,memory=1G\ncontainer c2 requests cpu=1,memory=1G", "cpu=3000m memory=3000000000"},
		{"more names than fit", "the way over quantities gives the same", "container a requests cpu=1,memory=1,ephemeral-storage=1,a.b/1=1,a.b/2=1,a.b/3=1,a.b/4=1,a.b/5=1,a.b/6=1", "cpu=1000m memory=1 ephemeral-storage=1 a.b/1=1 a.b/2=1 a.b/3=1 a.b/4=1 a.b/5=1 a.b/6=1"},
	}, func(t *testing.T, c test) {
		schema := &resources.Schema{}
		row := AppendRequests(nil, schema, testkit.Containers(c.pod), Options{})
		require.Equal(t, c.want, row.Describe(schema))
		require.Len(t, row, schema.Len())
	})
}

// A scalar with amount zero has a column.
func TestZeroScalar(t *testing.T) {
	schema := &resources.Schema{}
	AppendRequests(nil, schema, testkit.Containers("container a requests example.com/x=0"), Options{})
	_, ok := schema.Column("example.com/x")
	require.True(t, ok)
}

// AppendRequests does not change the part of dst before the row.
func TestRowIsAppended(t *testing.T) {
	schema := new(resources.Schema)
	schema.Intern("example.com/x")
	pod := testkit.Containers("container a requests cpu=1,example.com/y=7")
	row := AppendRequests(resources.Vector{math.MaxInt64, -1}, schema, pod, Options{})
	require.Equal(t, resources.Vector{math.MaxInt64, -1, 1000, 0, 0, 0, 0, 7}, row)
}

func TestRowDoesNotAllocate(t *testing.T) {
	for _, text := range []string{
		testkit.Kata,
		"container a requests cpu=500m,memory=100Mi,example.com/gpu=1,ephemeral-storage=1Gi",
		"init i requests cpu=2\nsidecar s requests memory=1Gi\ncontainer a requests cpu=100m\nwhole requests memory=2Gi\noverhead cpu=1m",
		"container a requests cpu=4\nstatus a requests cpu=2 allocated cpu=3\nresize Infeasible",
		"init i requests cpu=2\nstatus i requests cpu=3 allocated cpu=1\nsidecar s requests memory=1Gi\nstatus s requests memory=2Gi\ncontainer a requests cpu=100m\nstatus a requests cpu=1 allocated cpu=2\noverhead cpu=1m",
		"container a requests cpu=1\nstatus a requests cpu=9\nwhole requests memory=1\nwholestatus requests cpu=2 allocated cpu=3",
		"container a requests cpu=1\nwhole requests cpu=2\nwholestatus requests cpu=2 allocated cpu=3\nresize Infeasible",
	} {
		for _, o := range []Options{onNode, before} {
			pod, schema := testkit.Containers(text), new(resources.Schema)
			schema.Intern("example.com/gpu")
			row := make(resources.Vector, 0, 8)
			require.Zero(t, testing.AllocsPerRun(100, func() { row = AppendRequests(row[:0], schema, pod, o) }), text)
			require.Zero(t, testing.AllocsPerRun(100, func() { NonZero(pod, o.Release); NonZeroIncoming(pod) }), text)
		}
	}
}

func TestNonZero(t *testing.T) {
	type test struct {
		name, why, pod            string
		cpu, memory               int64
		incomingCPU, incomingByte int64
	}
	testkit.Run(t, []test{
		{"best effort", "the defaults", "container a", 100, 200 << 20, 100, 200 << 20},
		{"init and sidecar", "defaults follow the maximum: sidecar and container run together", "sidecar s\ninit i\ncontainer a", 200, 419430400, 200, 419430400},
		{"explicit zero", "zero is an answer", "container a requests cpu=0,memory=0", 0, 0, 0, 0},
		{"overhead on top", "100m + 250m", "container a\noverhead cpu=250m,memory=120Mi", 350, 335544320, 350, 335544320},
		{"pod level memory", "cpu is missing altogether; an incoming pod ignores the pod level", "container a\nwhole requests memory=1Gi", 100, 1 << 30, 100, 200 << 20},
		{"pod level with overhead", "the overhead names cpu, so nothing is filled in", "container a\nwhole requests memory=1Gi\noverhead cpu=10m", 10, 1 << 30, 110, 200 << 20},
		{"pod level both", "nothing is missing", "container a\ncontainer b\nwhole requests cpu=1,memory=1Gi", 1000, 1 << 30, 200, 400 << 20},
		{"resized", "a pod on a node counts by its status", "container a requests cpu=1,memory=1\nstatus a requests cpu=3,memory=3", 3000, 3, 1000, 1},
		{"fractions", "the way over quantities fills in, too", "container a requests cpu=100u\ncontainer b requests cpu=100u", 1, 400 << 20, 1, 400 << 20},
	}, func(t *testing.T, c test) {
		pod := testkit.Containers(c.pod)
		cpu, memory := NonZero(pod, release.Current)
		require.Equal(t, [2]int64{c.cpu, c.memory}, [2]int64{cpu, memory})
		cpu, memory = NonZeroIncoming(pod)
		require.Equal(t, [2]int64{c.incomingCPU, c.incomingByte}, [2]int64{cpu, memory})
	})
}

// Filters never use the defaults of scoring. Resources other than cpu and memory have no defaults.
func TestNoDefaultsElsewhere(t *testing.T) {
	pod := testkit.Containers("container a requests example.com/x=1")
	Each(pod, onNode, func(name v1.ResourceName, value int64) {
		require.Equal(t, v1.ResourceName("example.com/x"), name)
		require.EqualValues(t, 1, value)
	})
}

// The order of two names does not depend on which of them comes first in the pod.
func TestOrderOfTwoNames(t *testing.T) {
	for _, pod := range []string{"container a requests memory=1\ncontainer b requests cpu=1", "container a requests cpu=1\ncontainer b requests memory=1"} {
		var names []v1.ResourceName
		Each(testkit.Containers(pod), Options{}, func(name v1.ResourceName, _ int64) { names = append(names, name) })
		require.Equal(t, []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}, names)
	}
}
