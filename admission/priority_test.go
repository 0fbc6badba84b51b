package admission

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
)

func priorityClass(name string, value int32, policy v1.PreemptionPolicy) *schedulingv1.PriorityClass {
	c := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	if policy != "" {
		c.PreemptionPolicy = &policy
	}
	return c
}

func globalDefault(c *schedulingv1.PriorityClass) *schedulingv1.PriorityClass {
	c.GlobalDefault = true
	return c
}

// The classes of the documents' "Pod Priority and Preemption".
var (
	highPriority              = priorityClass("high-priority", 1000000, v1.PreemptLowerPriority)
	highPriorityNonpreempting = priorityClass("high-priority-nonpreempting", 1000000, v1.PreemptNever)
)

func TestAdmitPriority(t *testing.T) {
	documents := []*schedulingv1.PriorityClass{nil, highPriority, highPriorityNonpreempting, priorityClass("plain", 7, "")}
	a := globalDefault(priorityClass("a", 100, v1.PreemptLowerPriority))
	b := globalDefault(priorityClass("b", 50, v1.PreemptNever))
	twin := globalDefault(priorityClass("a-twin", 50, v1.PreemptLowerPriority))
	bare := globalDefault(priorityClass("bare", 10, ""))
	preset := func(v int32) *int32 { return &v }
	const badPriority = `pods "nginx" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed `
	type test struct {
		name, why, class string
		priority         *int32
		policy           v1.PreemptionPolicy
		classes          []*schedulingv1.PriorityClass
		want             string // class/priority/policy
		err              string
	}
	testkit.Run(t, []test{
		{"high-priority", "the documents' class", "high-priority", nil, "", documents, "high-priority/1000000/PreemptLowerPriority", ""},
		{"high-priority-nonpreempting", "the documents' class", "high-priority-nonpreempting", nil, "", documents, "high-priority-nonpreempting/1000000/Never", ""},
		{"neither name nor default", "0 and preempting", "", nil, "", documents, "/0/PreemptLowerPriority", ""},
		{"a default class", "all of the class", "", nil, "", []*schedulingv1.PriorityClass{highPriority, a}, "a/100/PreemptLowerPriority", ""},
		{"two defaults", "the smaller value", "", nil, "", []*schedulingv1.PriorityClass{a, b}, "b/50/Never", ""},
		{"two defaults of one value", "unspecified on a server; here the smaller name", "", nil, "", []*schedulingv1.PriorityClass{b, twin}, "a-twin/50/PreemptLowerPriority", ""},
		{"unknown name", "rejected", "none", nil, "", documents, "", `pods "nginx" is forbidden: no PriorityClass with name none was found`},
		{"unknown system name", "system classes are ordinary objects", systemNodeCritical, nil, "", documents, "", `pods "nginx" is forbidden: no PriorityClass with name system-node-critical was found`},
		{"system-node-critical", "created when the server starts", systemNodeCritical, nil, "", SystemPriorityClasses(), "system-node-critical/2000001000/PreemptLowerPriority", ""},
		{"system-cluster-critical", "created when the server starts", systemClusterCritical, nil, "", SystemPriorityClasses(), "system-cluster-critical/2000000000/PreemptLowerPriority", ""},
		{"preset zero without classes", "equal to the computed one", "", preset(0), "", nil, "/0/PreemptLowerPriority", ""},
		{"preset five without classes", "another than the computed one", "", preset(5), "", nil, "", badPriority + "0 from the given PriorityClass name"},
		{"preset equal", "accepted", "high-priority", preset(1000000), "", documents, "high-priority/1000000/PreemptLowerPriority", ""},
		{"preset other", "rejected", "high-priority", preset(5), "", documents, "", badPriority + "1000000 from the given PriorityClass name"},
		{"preset Never without class", "another than the computed one", "", nil, v1.PreemptNever, nil, "", `pods "nginx" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name`},
		{"preset Never equal", "accepted", "high-priority-nonpreempting", nil, v1.PreemptNever, documents, "high-priority-nonpreempting/1000000/Never", ""},
		{"preset Never against the class", "rejected", "high-priority", nil, v1.PreemptNever, documents, "", `pods "nginx" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name`},
		{"class without policy", "the pod's is kept", "plain", nil, v1.PreemptNever, documents, "plain/7/Never", ""},
		{"default class without policy", "the pod's is kept", "", nil, v1.PreemptNever, []*schedulingv1.PriorityClass{bare}, "bare/10/Never", ""},
		{"neither has a policy", "none is made up", "plain", nil, "", documents, "plain/7/-", ""},
	}, func(t *testing.T, c test) {
		pod := testkit.Pod("nginx").Obj()
		pod.Spec.PriorityClassName, pod.Spec.Priority = c.class, c.priority
		if c.policy != "" {
			pod.Spec.PreemptionPolicy = &c.policy
		}
		testkit.Unchanged(t, func() {
			got, err := AdmitPriority(pod, c.classes)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.True(t, apierrors.IsForbidden(err))
				require.Nil(t, got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, shown(got))
		}, pod)
	})
	got, err := AdmitPriority(nil, documents)
	require.NoError(t, err)
	require.Nil(t, got)
}

func shown(pod *v1.Pod) string {
	policy := "-"
	if p := pod.Spec.PreemptionPolicy; p != nil {
		policy = string(*p)
	}
	priority := "-"
	if p := pod.Spec.Priority; p != nil {
		priority = strconv.Itoa(int(*p))
	}
	return pod.Spec.PriorityClassName + "/" + priority + "/" + policy
}

// The pod has its own copies: changing a class later changes no pod.
func TestClassChangesLater(t *testing.T) {
	class := priorityClass("c", 7, v1.PreemptNever)
	pod := testkit.Pod("p").Obj()
	pod.Spec.PriorityClassName = "c"
	got, err := AdmitPriority(pod, []*schedulingv1.PriorityClass{class})
	require.NoError(t, err)
	class.Value, *class.PreemptionPolicy = 8, v1.PreemptLowerPriority
	require.Equal(t, "c/7/Never", shown(got))
	require.Equal(t, "c/7/Never", shown(AdmitPriorityUpdate(got, got)), "neither does an update")
}

func TestAdmitPriorityUpdate(t *testing.T) {
	never, lower := v1.PreemptNever, v1.PreemptLowerPriority
	old := testkit.Pod("p").Priority(7).Obj()
	old.Spec.PreemptionPolicy = &never
	update := testkit.Pod("p").Obj()
	testkit.Unchanged(t, func() {
		require.Equal(t, "/7/Never", shown(AdmitPriorityUpdate(old, update)), "what is missing is copied")
	}, old, update)
	update = testkit.Pod("p").Priority(9).Obj()
	update.Spec.PreemptionPolicy = &lower
	require.Equal(t, "/9/PreemptLowerPriority", shown(AdmitPriorityUpdate(old, update)), "a value that is there stays")
	require.Equal(t, "/-/-", shown(AdmitPriorityUpdate(testkit.Pod("p").Obj(), testkit.Pod("p").Obj())))
	require.Equal(t, "/-/-", shown(AdmitPriorityUpdate(nil, testkit.Pod("p").Obj())))
	require.Nil(t, AdmitPriorityUpdate(old, nil))
}

func TestValidatePriorityClass(t *testing.T) {
	const reserved = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
	type test struct {
		name, why string
		class     *schedulingv1.PriorityClass
		want      []string
	}
	testkit.Run(t, []test{
		{"the documents' classes", "valid", highPriority, nil},
		{"largest user value", "10^9", priorityClass("c", 1000000000, ""), nil},
		{"above the largest", "reserved for the system", priorityClass("c", 1000000001, ""), []string{"value: Forbidden: maximum allowed value of a user defined priority is 1000000000"}},
		{"smallest value", "there is no lower bound", priorityClass("c", math.MinInt32, ""), nil},
		{"no DNS subdomain", "the name must be the name of a class", priorityClass("C_1", 1, ""), []string{`metadata.name: Invalid value: "C_1": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`}},
		{"no name", "required", priorityClass("", 1, ""), []string{"metadata.name: Required value: name or generateName is required"}},
		{"system prefix", "reserved", priorityClass("system-mine", 1, ""), []string{reserved + "system-mine is not a known system priority class"}},
		{"built-in with another value", "its value is fixed", priorityClass(systemNodeCritical, 5, ""), []string{reserved + "value of system-node-critical PriorityClass must be 2000001000"}},
		{"built-in as default", "never the default", globalDefault(priorityClass(systemClusterCritical, 2000000000, "")), []string{reserved + "globalDefault of system-cluster-critical PriorityClass must be false"}},
		{"policy Never", "valid", priorityClass("c", 1, v1.PreemptNever), nil},
		{"built-in", "valid", priorityClass(systemNodeCritical, 2000001000, v1.PreemptLowerPriority), nil},
		{"empty policy", "not the default", &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, PreemptionPolicy: new(v1.PreemptionPolicy)}, []string{"preemptionPolicy: Required value"}},
		{"unknown policy", "one of two", priorityClass("c", 1, "Sometimes"), []string{`preemptionPolicy: Unsupported value: "Sometimes": supported values: "PreemptLowerPriority", "Never"`}},
	}, func(t *testing.T, c test) {
		var got []string
		for _, e := range Validate(c.class, Options{}) {
			got = append(got, e.Error())
		}
		require.Equal(t, c.want, got)
	})
	for _, c := range SystemPriorityClasses() {
		require.Empty(t, Validate(c, Options{}))
		require.Contains(t, c.Description, "Used for system critical pods", "kubectl describe says what the class is for")
	}
}

func TestValidatePriorityClassUpdate(t *testing.T) {
	described := highPriority.DeepCopy()
	described.Description, described.GlobalDefault = "for XYZ", true
	type test struct {
		name, why string
		class     *schedulingv1.PriorityClass
		want      []string
	}
	testkit.Run(t, []test{
		{"description and default", "may change", described, nil},
		{"value changes", "never", priorityClass("high-priority", 2, v1.PreemptLowerPriority), []string{"value: Forbidden: may not be changed in an update."}},
		{"policy changes", "never", priorityClass("high-priority", 1000000, v1.PreemptNever), []string{`preemptionPolicy: Invalid value: "Never": field is immutable`}},
		{"policy goes to its default", "an absent policy is PreemptLowerPriority", priorityClass("high-priority", 1000000, ""), nil},
	}, func(t *testing.T, c test) {
		var got []string
		for _, e := range ValidateUpdate(c.class, highPriority, Options{}) {
			got = append(got, e.Error())
		}
		require.Equal(t, c.want, got)
	})
}

func TestAdmitPriorityClass(t *testing.T) {
	a := globalDefault(priorityClass("a", 1, ""))
	existing := []*schedulingv1.PriorityClass{highPriority, a}
	require.EqualError(t, AdmitPriorityClass(globalDefault(priorityClass("b", 2, "")), existing), `priorityclasses.scheduling.k8s.io "b" is forbidden: PriorityClass a is already marked as default. Only one default can exist`)
	require.NoError(t, AdmitPriorityClass(a, existing), "an update of the default itself")
	require.NoError(t, AdmitPriorityClass(priorityClass("b", 2, ""), existing), "no default")
	require.NoError(t, AdmitPriorityClass(globalDefault(priorityClass("b", 2, "")), nil), "the first default")
	require.NoError(t, AdmitPriorityClass(nil, existing))
}

// Of default classes the smallest value counts, and of equal values the smallest name, in whatever order they come.
func TestOneDefaultClass(t *testing.T) {
	a, b, c := globalDefault(priorityClass("a", 10, "")), globalDefault(priorityClass("b", 10, "")), globalDefault(priorityClass("c", 9, ""))
	none := priorityClass("0", 1, "")
	for _, list := range [][]*schedulingv1.PriorityClass{{a, b}, {b, a}, {nil, none, b, a, none}} {
		require.Same(t, a, defaultPriorityClass(list))
	}
	for _, list := range [][]*schedulingv1.PriorityClass{{a, c}, {c, a}, {b, c, a}} {
		require.Same(t, c, defaultPriorityClass(list))
	}
	require.Nil(t, defaultPriorityClass([]*schedulingv1.PriorityClass{nil, none}))
}
