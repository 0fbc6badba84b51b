package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

// The texts of the API server about pods that it refuses, and what is made of them.
func TestRefused(t *testing.T) {
	s, err := cluster.New(cluster.Objects{
		Nodes:           []*v1.Node{testkit.Node("n").Capacity("cpu=5,memory=8Gi,pods=10").Obj()},
		PriorityClasses: []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7}, {ObjectMeta: metav1.ObjectMeta{Name: "low"}}},
	})
	require.NoError(t, err)
	type test struct {
		name, why, text string
		want            Cause
		do              string
	}
	testkit.Run(t, []test{
		{"quota", "the quota is used up", `pods "p" is forbidden: exceeded quota: team, requested: requests.cpu=4, used: requests.cpu=8, limited: requests.cpu=10`,
			Cause{Type: "Refused", Object: "ResourceQuota default/team", Field: "spec.hard[requests.cpu]", Wanted: "4", Found: "8 of 10 used", Text: "quota team: requests.cpu 8 of 10 used, asks for 4", Not: "a higher priority: no pod gives way to one that does not exist"},
			"Pod default/p, made again: requests.cpu from 4 to 2: then it goes to n | ResourceQuota default/team: spec.hard[requests.cpu] from 10 to 12: then it goes to n"},
		{"less than half is left", "no request goes below half", `pods "p" is forbidden: exceeded quota: team, requested: requests.cpu=4, used: requests.cpu=9, limited: requests.cpu=10`,
			Cause{Type: "Refused", Object: "ResourceQuota default/team", Field: "spec.hard[requests.cpu]", Wanted: "4", Found: "9 of 10 used", Text: "quota team: requests.cpu 9 of 10 used, asks for 4", Not: "a higher priority: no pod gives way to one that does not exist"},
			"ResourceQuota default/team: spec.hard[requests.cpu] from 10 to 13: then it goes to n"},
		{"limit range", "the request goes to the bound", `pods "p" is forbidden: maximum cpu usage per Pod is 2, but request is 4`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.containers", Wanted: "4", Found: "maximum 2", Text: "a LimitRange refuses it: maximum cpu usage per Pod is 2, but request is 4"},
			"Pod default/p, made again: spec.containers[0].resources.requests.cpu from 4 to 2: then it goes to n"},
		{"limit range, too low", "no request goes below half", `pods "p" is forbidden: maximum cpu usage per Container is 1, but request is 4`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.containers", Wanted: "4", Found: "maximum 1", Text: "a LimitRange refuses it: maximum cpu usage per Container is 1, but request is 4"}, ""},
		{"limit range, two amounts", "one is missing, one is too low", `pods "p" is forbidden: [minimum cpu usage per Container is 4500m, but request is 4, minimum memory usage per Container is 1Gi.  No request is specified]`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.containers", Wanted: "4", Found: "minimum 4500m", Text: "a LimitRange refuses it: minimum cpu usage per Container is 4500m, but request is 4, minimum memory usage per Container is 1Gi.  No request is specified"},
			"Pod default/p, made again: set spec.containers[0].resources.requests.cpu, at least 4500m; set spec.containers[0].resources.requests.memory, at least 1Gi: then it goes to n"},
		{"two amounts", "the remedy mends both", `pods "p" is forbidden: exceeded quota: team, requested: pods=1,requests.cpu=4, used: pods=3,requests.cpu=8, limited: pods=3,requests.cpu=10`,
			Cause{Type: "Refused", Object: "ResourceQuota default/team", Field: "spec.hard[pods]", Wanted: "1", Found: "3 of 3 used", Text: "quota team: pods 3 of 3 used, asks for 1; requests.cpu 8 of 10 used, asks for 4", Not: "a higher priority: no pod gives way to one that does not exist"},
			"ResourceQuota default/team: spec.hard[pods] from 3 to 4; spec.hard[requests.cpu] from 10 to 12: then it goes to n"},
		{"amounts that are no pairs", "nothing is made of them", `pods "p" is forbidden: exceeded quota: team, requested: pods=1,requests.cpu=4, used: pods=3, limited: pods=3`,
			Cause{Type: "Refused", Object: "Pod default/p", Text: "the API server refuses it: exceeded quota: team, requested: pods=1,requests.cpu=4, used: pods=3, limited: pods=3"}, ""},
		{"an amount must be there", "the quota counts it", `pods "p" is forbidden: failed quota: team: must specify limits.cpu for: c`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.containers", Wanted: "limits.cpu for: c", Text: "quota team refuses pods without limits.cpu of container c"}, ""},
		{"several amounts must be there", "each with its containers", `pods "p" is forbidden: failed quota: team: must specify limits.cpu for: a,b; memory for: b`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.containers", Wanted: "limits.cpu for: a,b; memory for: b", Text: "quota team refuses pods without limits.cpu of containers a and b, memory of container b"}, ""},
		{"near class", "the name looks alike", `pods "p" is forbidden: no PriorityClass with name higj was found`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.priorityClassName", Wanted: "higj", Found: "high", Text: "there is no PriorityClass higj; near: high"},
			"Pod default/p, made again: did you mean high? (spec.priorityClassName has higj): then it goes to n"},
		{"no class", "the names that exist", `pods "p" is forbidden: no PriorityClass with name production was found`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.priorityClassName", Wanted: "production", Found: "high and low", Text: "there is no PriorityClass production (high and low exist)"}, ""},
		{"runtime class", "the name looks alike", `pods "p" is forbidden: pod rejected: RuntimeClass "gvisr" not found`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.runtimeClassName", Wanted: "gvisr", Found: "gvisor", Text: "there is no RuntimeClass gvisr; near: gvisor"},
			"Pod default/p, made again: did you mean gvisor? (spec.runtimeClassName has gvisr): then it goes to n"},
		{"a field", "without a value", `Pod "p" is invalid: spec.containers: Required value`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.containers", Text: `the API server refuses Pod default/p: spec.containers is required`}, ""},
		{"several fields", "two with their values, each once; the rest is counted", `Deployment.apps "w" is invalid: [spec.replicas: Invalid value: -1: must be greater than or equal to 0, spec.template.spec.a[0].key: Invalid value: "": name part must be non-empty, spec.template.spec.a[0].key: Invalid value: "": name part must consist of alphanumeric characters (e.g. 'MyName',  or 'my.name'), spec.template.spec.b: Forbidden: may not be set, spec.c: Unsupported value: "x, y": supported values: "A", "B"]`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.replicas", Wanted: "-1", Found: "must be greater than or equal to 0", Text: `the API server refuses Pod default/p: spec.replicas -1: must be greater than or equal to 0; spec.template.spec.a[0].key "": name part must be non-empty; and 2 more fields`}, ""},
		{"a value with signs", "the value ends at its quote", `Pod "p" is invalid: spec.b: Unsupported value: "x, y: z": supported values: "A", "B"`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.b", Wanted: `"x, y: z"`, Found: `supported values: "A", "B"`, Text: `the API server refuses Pod default/p: spec.b "x, y: z": supported values: "A", "B"`}, ""},
		{"a value that is there twice", "the API server has no words for it", `Pod "p" is invalid: [spec.b[1]: Duplicate value: "a", spec.c: Forbidden: may not be set]`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.b[1]", Wanted: `"a"`, Text: `the API server refuses Pod default/p: spec.b[1] "a" is there twice; spec.c: may not be set`}, ""},
		{"a long value", "its beginning stands there", `Pod "p" is invalid: spec.b: Invalid value: "` + strings.Repeat("x", 200) + `": must be short`,
			Cause{Type: "Refused", Object: "Pod default/p", Field: "spec.b", Wanted: `"` + strings.Repeat("x", 109) + "...", Found: "must be short", Text: `the API server refuses Pod default/p: spec.b "` + strings.Repeat("x", 109) + `...: must be short`}, ""},
		{"an object without fields", "it is said as it is", `Pod "p" is invalid: something`,
			Cause{Type: "Refused", Object: "Pod default/p", Text: `the API server refuses it: Pod "p" is invalid: something`}, ""},
	}, func(t *testing.T, c test) {
		cause, list, err := Refused(Input{Snapshot: s, RuntimeClasses: []*nodev1.RuntimeClass{nil, {ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}}}}, testkit.Pod("p").Request("cpu=4").Obj(), c.text)
		require.NoError(t, err)
		require.Equal(t, &c.want, cause)
		require.Equal(t, c.do, remedyTexts(list))
	})
	_, _, err = Refused(Input{}, testkit.Pod("p").Obj(), "")
	require.ErrorIs(t, err, cluster.ErrNoSnapshot)
	_, list, err := Refused(Input{Snapshot: s}, testkit.Pod("p").Request("cpu=6").Obj(), `pods "p" is forbidden: no PriorityClass with name higj was found`)
	require.NoError(t, err)
	require.Empty(t, list, "the class alone does not help")
}

// remedyTexts joins remedies.
func remedyTexts(list []Remedy) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Text)
	}
	return strings.Join(out, " | ")
}

// The remedy counts all pods of the owner: those that the API server refuses with the same text, those that wait, and those that run. A pod that
// is more important takes its room first.
func TestRefusedSiblings(t *testing.T) {
	web := func(name string) testkit.PodBuilder {
		return testkit.Pod(name).Owner("apps/v1", "ReplicaSet", "web").Request("cpu=1")
	}
	const quota = `pods "web-1" is forbidden: exceeded quota: team, requested: requests.cpu=1, used: requests.cpu=2, limited: requests.cpu=2`
	const class = `pods "web-1" is forbidden: no PriorityClass with name higj was found`
	refused := func(n int) (out []*v1.Pod) {
		for i := range n {
			p := web(fmt.Sprintf("web-%d", i+1)).Obj()
			p.Spec.PriorityClassName = "higj"
			out = append(out, p)
		}
		return out
	}
	gated := testkit.Pod("first").Priority(9).Request("cpu=1").Obj()
	gated.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
	type test struct {
		name, why string
		cpu       string
		pods      []*v1.Pod
		pending   []*v1.Pod
		more      int
		text, do  string
	}
	testkit.Run(t, []test{
		{"all", "one runs and two come", "8", refused(2), nil, 0, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 4: then 3 of 3 run | ReplicaSet default/web: spec.replicas 1: then 1 of 1 runs"},
		{"counted pods", "three more are like the first", "8", refused(1), nil, 3, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 6: then 2 of 5 run | ReplicaSet default/web: spec.replicas 1: then 1 of 1 runs"},
		{"no room for all", "the node takes two of three", "3", refused(3), nil, 0, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 5: then 3 of 4 run | ReplicaSet default/web: spec.replicas 1: then 1 of 1 runs"},
		{"one that waits", "it is the owner's too", "8", refused(1), []*v1.Pod{web("web-9").Obj(), nil, web("web-1").Obj()}, 0, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 3: then 3 of 3 run"},
		{"a more important one", "it takes the room", "2", refused(1), []*v1.Pod{testkit.Pod("first").Priority(9).Request("cpu=1").Obj()}, 0, quota, "ReplicaSet default/web: spec.replicas 1: then 1 of 1 runs"},
		{"a less important one", "the class makes the pods more important", "3", refused(2), []*v1.Pod{testkit.Pod("last").Request("cpu=2").Obj()}, 0, class,
			"ReplicaSet default/web: did you mean high? (spec.template.spec.priorityClassName has higj): then 3 of 3 run; also: default/last then waits"},
		{"gates", "a gated pod takes no room", "2", refused(1), []*v1.Pod{gated}, 0, quota, "ResourceQuota default/team: spec.hard[requests.cpu] from 2 to 3: then 2 of 2 run | ReplicaSet default/web: spec.replicas 1: then 1 of 1 runs"},
	}, func(t *testing.T, c test) {
		s, err := cluster.New(cluster.Objects{
			Nodes:           []*v1.Node{testkit.Node("n").Capacity("cpu=" + c.cpu + ",pods=10").Obj()},
			Pods:            []*v1.Pod{web("web-0").On("n").Obj()},
			PriorityClasses: []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7}},
		})
		require.NoError(t, err)
		in := Input{Snapshot: s, Pending: c.pending, More: func(p *v1.Pod) int {
			if p.Name == c.pods[0].Name {
				return c.more
			}
			return 0
		}}
		_, list, err := Refused(in, c.pods[0], c.text, c.pods[1:]...)
		require.NoError(t, err)
		require.Equal(t, c.do, remedyTexts(list))
		require.Nil(t, s.Pod("default", "web-1"), "the snapshot stays")
	})
}

// What a quota demands is as large as the quota and the nodes take for all pods of the owner. Without a judge, and with one that takes the pods as they
// are, nothing is said: then the quota is not known.
func TestDemands(t *testing.T) {
	const text = `pods "web-1" is forbidden: failed quota: team: must specify limits.memory for: c; requests.cpu for: c`
	pod := func(name string) *v1.Pod {
		p := testkit.Pod(name).Owner("apps/v1", "ReplicaSet", "web").Obj()
		p.Spec.Containers[0].Name = "c"
		return p
	}
	judge := func(cpu, memory string) func(pods []*v1.Pod, raised map[string]v1.ResourceList) error {
		q := &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "team"}, Spec: v1.ResourceQuotaSpec{Hard: testkit.Resources("requests.cpu=" + cpu + ",limits.memory=" + memory)}}
		return func(pods []*v1.Pod, _ map[string]v1.ResourceList) error {
			left := admission.NewQuotas([]*v1.ResourceQuota{q}, nil, testkit.Epoch, release.Current)
			for _, p := range pods {
				if err := left.Charge(p); err != nil {
					return err
				}
			}
			return nil
		}
	}
	type test struct {
		name, why string
		accept    func(pods []*v1.Pod, raised map[string]v1.ResourceList) error
		more      int
		do        string
	}
	const set = "ReplicaSet default/web: set spec.template.spec.containers[0].resources.limits.memory, at most %s; set spec.template.spec.containers[0].resources.requests.cpu, at most %s: then %d of %d run"
	testkit.Run(t, []test{
		{"nobody knows", "the text has no numbers", nil, 0, ""},
		{"it takes them", "the quota is not of the input", func([]*v1.Pod, map[string]v1.ResourceList) error { return nil }, 0, ""},
		{"the quota ends it", "two pods share what is left", judge("3", "3Gi"), 0, fmt.Sprintf(set, "1536Mi", "1500m", 2, 2)},
		{"counted pods", "four pods share it", judge("3", "3Gi"), 2, fmt.Sprintf(set, "768Mi", "750m", 2, 4)},
		{"the nodes end it", "the node has four cpu for two pods", judge("64", "64Gi"), 0, fmt.Sprintf(set, "4224Mi", "2", 2, 2)},
		{"too many", "they are not tried", judge("3", "3Gi"), mostQueued, ""},
		{"nothing is left", "no amount helps", judge("0", "0"), 0, ""},
	}, func(t *testing.T, c test) {
		s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=4,memory=8Gi,pods=10").Obj()}})
		require.NoError(t, err)
		in := Input{Snapshot: s, Accept: c.accept, More: func(p *v1.Pod) int {
			if p.Name == "web-2" {
				return c.more
			}
			return 0
		}}
		_, list, err := Refused(in, pod("web-1"), text, pod("web-2"))
		require.NoError(t, err)
		require.Equal(t, c.do, remedyTexts(list))
	})
}

// A limit goes down with the request that is larger than it, and what admission adds to a request is no part of the pod.
func TestLowered(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=8,memory=8Gi,pods=10").Obj()}})
	require.NoError(t, err)
	const over = `pods "p" is forbidden: exceeded quota: team, requested: %s=%s, used: %[1]s=7, limited: %[1]s=10`
	two := testkit.Pod("p").Request("cpu=3").Limit("cpu=3").Obj()
	other := testkit.Pod("q").Limit("cpu=1").Obj().Spec.Containers[0]
	two.Spec.Containers = append(two.Spec.Containers, other)
	type test struct {
		name, why       string
		text            string
		requests, limit string // of the pod's first container then
		second          string
	}
	testkit.Run(t, []test{
		{"requests", "the second container asks for its limit; each gives a quarter", fmt.Sprintf(over, "requests.cpu", "4"), "2250m", "3", "750m"},
		{"overhead", "one cpu is of a RuntimeClass", fmt.Sprintf(over, "cpu", "5"), "1500m", "3", "500m"},
		{"limits", "the requests are not above them", fmt.Sprintf(over, "limits.cpu", "4"), "2250m", "2250m", "750m"},
	}, func(t *testing.T, c test) {
		_, list, err := Refused(Input{Snapshot: s}, two, c.text)
		require.NoError(t, err)
		require.Equal(t, LowerRequest, list[0].Changes[0].Kind)
		for range 2 { // once more changes nothing
			two := edited(edited(two, list[0].Changes), list[0].Changes)
			first, second := two.Spec.Containers[0].Resources, two.Spec.Containers[1].Resources
			if second.Requests.Cpu().IsZero() {
				second.Requests = second.Limits
			}
			require.Equal(t, []string{c.requests, c.limit, c.second}, []string{first.Requests.Cpu().String(), first.Limits.Cpu().String(), second.Requests.Cpu().String()})
		}
	})
}

// A class that exists is no remedy when the API server refuses the pod for something else too.
func TestRefusedTwice(t *testing.T) {
	s, err := cluster.New(cluster.Objects{
		Nodes:           []*v1.Node{testkit.Node("n").Capacity("cpu=4,pods=10").Obj()},
		PriorityClasses: []*schedulingv1.PriorityClass{{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7}},
	})
	require.NoError(t, err)
	p := testkit.Pod("p").Request("cpu=1").Obj()
	p.Spec.PriorityClassName = "higj"
	for _, quota := range []error{nil, fmt.Errorf("exceeded quota")} {
		in := Input{Snapshot: s, Accept: func(pods []*v1.Pod, _ map[string]v1.ResourceList) error {
			require.Equal(t, "high", pods[0].Spec.PriorityClassName)
			return quota
		}}
		cause, list, err := Refused(in, p, `pods "p" is forbidden: no PriorityClass with name higj was found`)
		require.NoError(t, err)
		require.Equal(t, "there is no PriorityClass higj; near: high", cause.Text)
		require.Len(t, list, map[bool]int{true: 1}[quota == nil])
	}
}

// A larger quota is no remedy while another quota of the namespace refuses the pods: it becomes larger too, for the pods that it has no room for.
func TestRaisedQuotas(t *testing.T) {
	s, err := cluster.New(cluster.Objects{Nodes: []*v1.Node{testkit.Node("n").Capacity("cpu=64,memory=64Gi,pods=100").Obj()}})
	require.NoError(t, err)
	pod := func(name string) *v1.Pod {
		return testkit.Pod(name).Owner("apps/v1", "ReplicaSet", "web").Request("cpu=4,memory=1Gi").Obj()
	}
	quota := func(name string, hard, used v1.ResourceList) *v1.ResourceQuota {
		return &v1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.ResourceQuotaSpec{Hard: hard}, Status: v1.ResourceQuotaStatus{Hard: hard, Used: used}}
	}
	list := testkit.Resources
	first := quota("team", list("requests.cpu=10"), list("requests.cpu=9"))
	type test struct {
		name, why string
		quotas    []*v1.ResourceQuota
		more      int
		bad       error
		do        string
	}
	testkit.Run(t, []test{
		{"one quota", "it is large enough then", nil, 0, nil, "ResourceQuota default/team: spec.hard[requests.cpu] from 10 to 17: then 2 of 2 run"},
		{"a second one is full", "it refuses the first pod", []*v1.ResourceQuota{quota("zoo", list("pods=3"), list("pods=3"))}, 0, nil,
			"ResourceQuota default/team: spec.hard[requests.cpu] from 10 to 17; ResourceQuota default/zoo: spec.hard[pods] from 3 to 5: then 2 of 2 run"},
		{"a second one has room for one", "it refuses the second pod", []*v1.ResourceQuota{quota("zoo", list("pods=4"), list("pods=3"))}, 0, nil,
			"ResourceQuota default/team: spec.hard[requests.cpu] from 10 to 17; ResourceQuota default/zoo: spec.hard[pods] from 4 to 5: then 2 of 2 run"},
		{"three quotas", "each in its turn", []*v1.ResourceQuota{quota("zoo", list("pods=4"), list("pods=3")), quota("yak", list("requests.memory=2Gi"), list("requests.memory=1Gi"))}, 2, nil,
			"ResourceQuota default/team: spec.hard[requests.cpu] from 10 to 25; ResourceQuota default/yak: spec.hard[requests.memory] from 2Gi to 5Gi; ResourceQuota default/zoo: spec.hard[pods] from 4 to 7: then 2 of 4 run"},
		{"something else", "no quota helps", nil, 0, fmt.Errorf("maximum cpu usage per Pod is 2, but request is 4"), ""},
	}, func(t *testing.T, c test) {
		judge := func(pods []*v1.Pod, raised map[string]v1.ResourceList) error {
			left := admission.NewQuotas(append([]*v1.ResourceQuota{first}, c.quotas...), nil, testkit.Epoch, release.Current)
			for name, hard := range raised {
				left.Raise("default", name, hard)
			}
			for _, p := range pods {
				if err := left.Charge(p); err != nil {
					return err
				}
			}
			return c.bad
		}
		in := Input{Snapshot: s, Accept: judge, More: func(p *v1.Pod) int {
			if p.Name == "web-2" {
				return c.more
			}
			return 0
		}}
		const text = `pods "web-1" is forbidden: exceeded quota: team, requested: requests.cpu=4, used: requests.cpu=9, limited: requests.cpu=10`
		_, remedies, err := Refused(in, pod("web-1"), text, pod("web-2"))
		require.NoError(t, err)
		require.Equal(t, c.do, remedyTexts(remedies))
		require.Equal(t, list("requests.cpu=10"), first.Spec.Hard, "the quota stays")
	})
}
