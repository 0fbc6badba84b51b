package overhead

import (
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

func kataFC(t testing.TB) *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata-fc"}, Handler: "kata-fc",
		Overhead: &nodev1.Overhead{PodFixed: amountsOf(t, "cpu=250m,memory=120Mi")}}
}

func TestAdmitRuntimeClass(t *testing.T) {
	plain := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "runc"}, Handler: "runc"}
	empty := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "empty"}, Overhead: &nodev1.Overhead{}}
	unnamed := &nodev1.RuntimeClass{}
	classes := []*nodev1.RuntimeClass{nil, plain, empty, kataFC(t)}
	const mismatch = `pods "test-pod" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`
	const without = `pods "test-pod" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`
	for _, c := range []struct {
		name, why, class, overhead string
		classes                    []*nodev1.RuntimeClass
		want, err                  string
	}{
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
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podOf(t, "container a")
			pod.Spec.Overhead = amountsOf(t, c.overhead)
			if c.class != "-" {
				pod.Spec.RuntimeClassName = &c.class
			}
			testkit.Unchanged(t, func() {
				got, err := AdmitRuntimeClass(pod, c.classes)
				if c.err != "" {
					require.EqualError(t, err, c.err, c.why)
					require.True(t, apierrors.IsForbidden(err))
					require.Nil(t, got)
					return
				}
				require.NoError(t, err)
				require.Equal(t, c.want, show(got.Spec.Overhead), c.why)
			}, pod)
		})
	}
	t.Run("empty overhead without class", func(t *testing.T) {
		pod := podOf(t, "container a")
		pod.Spec.Overhead = v1.ResourceList{}
		_, err := AdmitRuntimeClass(pod, classes)
		require.EqualError(t, err, without)
	})
	t.Run("the copy is the pod's own", func(t *testing.T) {
		class, name := kataFC(t), "kata-fc"
		pod := podOf(t, "container a")
		pod.Spec.RuntimeClassName = &name
		got, err := AdmitRuntimeClass(pod, []*nodev1.RuntimeClass{class})
		require.NoError(t, err)
		class.Overhead.PodFixed["cpu"] = *milli(9)
		require.Equal(t, "cpu=250m,memory=120Mi", show(got.Spec.Overhead))
	})
}

func TestAdmitScheduling(t *testing.T) {
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "kata"}, Scheduling: &nodev1.Scheduling{
		NodeSelector: map[string]string{"runtime": "kata", "arch": "amd64"},
		Tolerations:  []v1.Toleration{{Key: "kata", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}},
	}}
	for _, c := range []struct {
		name, why string
		selector  map[string]string
		want      map[string]string
		err       string
	}{
		{"no selector", "the class's", nil, map[string]string{"runtime": "kata", "arch": "amd64"}, ""},
		{"merged selector", "both", map[string]string{"disk": "ssd", "arch": "amd64"}, map[string]string{"disk": "ssd", "runtime": "kata", "arch": "amd64"}, ""},
		{"conflict", "rejected", map[string]string{"runtime": "runc"}, nil, `pods "test-pod" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[runtime] = kata; pod.spec.nodeSelector[runtime] = runc`},
		{"two conflicts", "the smallest key is named", map[string]string{"runtime": "runc", "arch": "arm64"}, nil, `pods "test-pod" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[arch] = amd64; pod.spec.nodeSelector[arch] = arm64`},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podOf(t, "container a")
			pod.Spec.RuntimeClassName, pod.Spec.NodeSelector = &class.Name, c.selector
			testkit.Unchanged(t, func() {
				testkit.Unchanged(t, func() {
					got, err := AdmitRuntimeClass(pod, []*nodev1.RuntimeClass{class})
					if c.err != "" {
						require.EqualError(t, err, c.err, c.why)
						return
					}
					require.NoError(t, err)
					require.Equal(t, c.want, got.Spec.NodeSelector, c.why)
					require.Equal(t, class.Scheduling.Tolerations, got.Spec.Tolerations)
				}, class)
			}, pod)
		})
	}
}

func TestMergeTolerations(t *testing.T) {
	ten, twenty := int64(10), int64(20)
	all := v1.Toleration{Operator: v1.TolerationOpExists}
	kataExists := v1.Toleration{Key: "kata", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}
	kataEqual := v1.Toleration{Key: "kata", Operator: v1.TolerationOpEqual, Value: "v", Effect: v1.TaintEffectNoSchedule}
	kataPlain := v1.Toleration{Key: "kata", Value: "v", Effect: v1.TaintEffectNoSchedule}
	kataAnyEffect := v1.Toleration{Key: "kata", Operator: v1.TolerationOpEqual, Value: "v"}
	z := v1.Toleration{Key: "z", Operator: v1.TolerationOpExists}
	evict := v1.Toleration{Key: "e", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
	evict10, evict20 := evict, evict
	evict10.TolerationSeconds, evict20.TolerationSeconds = &ten, &twenty
	list := func(l ...v1.Toleration) []v1.Toleration { return l }
	for _, c := range []struct {
		name, why        string
		pod, class, want []v1.Toleration
	}{
		{"an earlier one covers", "the example: Exists without key covers all", list(all), list(kataExists), list(all)},
		{"a later one covers", "the example: order of survivors is kept", list(kataEqual, z), list(kataExists), list(z, kataExists)},
		{"the same twice", "the first stays", list(kataExists, z), list(kataExists), list(kataExists, z)},
		{"nothing to merge", "disjoint", list(z), list(kataExists), list(z, kataExists)},
		{"empty operator is not covered by Equal", "a quirk: Equal and an empty operator are different words", list(kataPlain), list(kataAnyEffect), list(kataPlain, kataAnyEffect)},
		{"Equal is covered by Equal", "of every effect", list(kataEqual), list(kataAnyEffect), list(kataAnyEffect)},
		{"empty operator covers Equal", "the other way round", list(kataPlain, kataEqual), nil, list(kataPlain)},
		{"empty operator is covered by Exists", "Exists takes every operator", list(kataPlain), list(kataExists), list(kataExists)},
		{"longer seconds cover shorter", "20 s include 10 s", list(evict10), list(evict20), list(evict20)},
		{"shorter seconds do not cover", "both stay, the later covers none", list(evict20), list(evict10), list(evict20)},
		{"seconds do not cover for ever", "the later one tolerates for ever and covers", list(evict10), list(evict), list(evict)},
		{"other value", "Equal compares values", list(kataEqual), list(v1.Toleration{Key: "kata", Operator: v1.TolerationOpEqual, Value: "w", Effect: v1.TaintEffectNoSchedule}), list(kataEqual, v1.Toleration{Key: "kata", Operator: v1.TolerationOpEqual, Value: "w", Effect: v1.TaintEffectNoSchedule})},
		{"other effect", "an effect covers itself only", list(kataExists), list(v1.Toleration{Key: "kata", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}), list(kataExists, v1.Toleration{Key: "kata", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute})},
		{"unknown operator covers nothing", "Gt neither", list(v1.Toleration{Key: "kata", Operator: "Gt", Value: "v", Effect: v1.TaintEffectNoSchedule}), list(kataEqual), list(v1.Toleration{Key: "kata", Operator: "Gt", Value: "v", Effect: v1.TaintEffectNoSchedule}, kataEqual)},
		{"none", "nil", nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, MergeTolerations(c.pod, c.class), c.why)
		})
	}
}

func TestRuntimeClassUpdate(t *testing.T) {
	old := kataFC(t)
	class := old.DeepCopy()
	class.Overhead.PodFixed = amountsOf(t, "cpu=1")
	class.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{"vm": "true"}}
	name := "kata-fc"
	pod := podOf(t, kata)
	pod.Spec.RuntimeClassName, pod.Spec.Overhead = &name, nil
	before, err := AdmitRuntimeClass(pod, []*nodev1.RuntimeClass{old})
	require.NoError(t, err)
	require.Empty(t, ValidateRuntimeClassUpdate(old, class, nil), "overhead and scheduling may change")
	require.Equal(t, "cpu=250m,memory=120Mi", show(before.Spec.Overhead), "a pod keeps what it was given")
	class.Handler = "runc"
	require.Equal(t, `handler: Invalid value: "runc": field is immutable`, ValidateRuntimeClassUpdate(old, class, nil).ToAggregate().Error())
	require.Empty(t, ValidateRuntimeClassUpdate(nil, class, nil))
}

// The rule stands twice, so that neither package needs the other; it must be one rule.
func TestMergeTolerationsIsThatOfTaints(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	random := func() []v1.Toleration {
		list := make([]v1.Toleration, r.Intn(4))
		for i := range list {
			list[i] = v1.Toleration{
				Key: []string{"", "a", "b"}[r.Intn(3)], Operator: []v1.TolerationOperator{"", "Equal", "Exists", "Gt"}[r.Intn(4)],
				Value: []string{"", "v"}[r.Intn(2)], Effect: []v1.TaintEffect{"", "NoSchedule", "NoExecute"}[r.Intn(3)],
			}
			if n := int64(r.Intn(3)); n > 0 {
				list[i].TolerationSeconds = &n
			}
		}
		return list
	}
	shorter := 0
	for range 20000 {
		pod, class := random(), random()
		got := MergeTolerations(pod, class)
		require.Equal(t, taints.MergeTolerations(pod, class), got, "%v %v", pod, class)
		shorter += bit(len(got) < len(pod)+len(class))
	}
	require.Greater(t, shorter, 1000, "tolerations are covered")
}

func TestValidateOverhead(t *testing.T) {
	const standard, containers, extended = "must be a standard resource type or fully qualified", "must be a standard resource for containers", "doesn't follow extended resource name standard"
	for _, c := range []struct{ name, why, list, want string }{
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
	} {
		t.Run(c.name, func(t *testing.T) {
			text := []string{}
			for _, e := range ValidateOverhead(amountsOf(t, c.list), field.NewPath("overhead")) {
				text = append(text, e.Error())
			}
			require.Equal(t, c.want, strings.Join(text, "\n"), c.why)
		})
	}
	require.Len(t, ValidateOverhead(amountsOf(t, "-x/y=1"), nil), 2, "neither a qualified name nor an extended resource")
	require.NotEmpty(t, ValidateOverhead(amountsOf(t, "cpu=1,hugepages-0=1"), nil), "no division by a size of zero")
}

func TestQuotaUsage(t *testing.T) {
	for _, c := range []struct{ name, why, pod, want string }{
		{"kata quota", "everything with overhead", kata, "count/pods=1,cpu=2250m,limits.cpu=2250m,limits.memory=320Mi,memory=320Mi,pods=1,requests.cpu=2250m,requests.memory=320Mi"},
		{"best effort quota", "overhead is charged, limits there are none", "container a\noverhead cpu=250m,memory=120Mi", "count/pods=1,cpu=250m,memory=120Mi,pods=1,requests.cpu=250m,requests.memory=120Mi"},
		{"other resources", "extended ones as requests only, unknown ones not", "container a requests example.com/x=1,hugepages-2Mi=2Mi,ephemeral-storage=1Gi,deviceclass.resource.kubernetes.io/gpu=1,foo=1,kubernetes.io/y=1 limits example.com/x=1,hugepages-2Mi=2Mi,ephemeral-storage=2Gi",
			"count/pods=1,ephemeral-storage=1Gi,hugepages-2Mi=2Mi,limits.ephemeral-storage=2Gi,pods=1,requests.deviceclass.resource.kubernetes.io/gpu=1,requests.ephemeral-storage=1Gi,requests.example.com/x=1,requests.hugepages-2Mi=2Mi"},
		{"quota of a resized container", "the container's status counts", "container a requests cpu=1\nstatus a requests cpu=3", "count/pods=1,cpu=3,pods=1,requests.cpu=3"},
		{"quota of a resized pod", "the status of the whole pod does not", "container a\nwhole requests cpu=1\nwholestatus requests cpu=3", "count/pods=1,cpu=1,pods=1,requests.cpu=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podOf(t, c.pod)
			testkit.Unchanged(t, func() { require.Equal(t, c.want, show(QuotaUsage(pod, testkit.Epoch)), c.why) }, pod)
		})
	}
}

func TestQuotaOfEndingPods(t *testing.T) {
	grace := int64(30)
	for _, c := range []struct {
		name, why string
		phase     v1.PodPhase
		deleted   bool
		grace     *int64
		after     time.Duration
		charged   bool
	}{
		{"running", "charged", v1.PodRunning, false, nil, 0, true},
		{"succeeded", "has ended", v1.PodSucceeded, false, nil, 0, false},
		{"failed", "has ended", v1.PodFailed, false, nil, 0, false},
		{"deleted", "still in its grace period", v1.PodRunning, true, &grace, 0, true},
		{"grace counted twice", "deletionTimestamp has the period in it already", v1.PodRunning, true, &grace, 30 * time.Second, true},
		{"should be gone", "past the second grace period", v1.PodRunning, true, &grace, 30*time.Second + 1, false},
		{"deleted without grace period", "charged", v1.PodRunning, true, nil, time.Hour, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podOf(t, kata)
			pod.Status.Phase, pod.DeletionGracePeriodSeconds = c.phase, c.grace
			if c.deleted {
				at := metav1.NewTime(testkit.Epoch)
				pod.DeletionTimestamp = &at
			}
			usage := QuotaUsage(pod, testkit.Epoch.Add(c.after))
			require.Equal(t, c.charged, len(usage) > 1, c.why)
			require.True(t, has(usage, "count/pods"))
		})
	}
}

func TestCheckQuota(t *testing.T) {
	for _, c := range []struct{ name, why, pod, hard, used, want string }{
		{"within", "3 of 3", kata, "cpu=3,pods=2", "cpu=750m,pods=1", ""},
		{"over", "only exceeded names are told, sorted", kata, "requests.memory=1Gi,cpu=3,limits.cpu=3,pods=9", "cpu=1,limits.cpu=1,requests.memory=100Mi", `pods "test-pod" is forbidden: exceeded quota: team, requested: cpu=2250m,limits.cpu=2250m, used: cpu=1,limits.cpu=1, limited: cpu=3,limits.cpu=3`},
		{"nothing used yet", "zero", kata, "memory=300Mi", "", `pods "test-pod" is forbidden: exceeded quota: team, requested: memory=320Mi, used: memory=0, limited: memory=300Mi`},
		{"must specify", "overhead is no substitute; containers and init containers", "container b requests cpu=1\ncontainer a\ninit i limits cpu=1\noverhead cpu=1", "cpu=9,limits.cpu=9,requests.storage=1", "", `pods "test-pod" is forbidden: failed quota: team: must specify cpu for: a,i; limits.cpu for: a,b`},
		{"requests names", "requests.cpu is cpu", "container a requests cpu=1", "requests.cpu=1,requests.memory=1,memory=1,limits.memory=1", "", `pods "test-pod" is forbidden: failed quota: team: must specify limits.memory for: a; memory for: a; requests.memory for: a`},
		{"pod level instead", "supported resources of the whole pod satisfy it", "container a\nwhole limits cpu=1", "memory=1Gi", "", ""},
		{"pod level of another name", "is no substitute", "container a\nwhole limits example.com/x=1", "memory=1Gi", "", `pods "test-pod" is forbidden: failed quota: team: must specify memory for: a`},
		{"quota of other things", "not of this pod", "container a", "services=0", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := CheckQuota("team", amountsOf(t, c.hard), amountsOf(t, c.used), podOf(t, c.pod), testkit.Epoch)
			if c.want == "" {
				require.NoError(t, err, c.why)
				return
			}
			require.EqualError(t, err, c.want, c.why)
			require.True(t, apierrors.IsForbidden(err))
		})
	}
}
