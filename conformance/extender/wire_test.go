package extender

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	kubeconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/scheduler/httpextender"
	"github.com/podberth/podberth/score"
)

// recorder is an extender that gives one answer and keeps the requests.
type recorder struct {
	status int
	answer string
	delay  <-chan struct{}
	asked  []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the client went away
	}
	r.asked = append(r.asked, strings.Join([]string{q.Method, q.URL.Path, q.Header.Get("Content-Type"), string(body)}, " "))
	if r.delay != nil {
		<-r.delay
	}
	if r.status != 0 {
		w.WriteHeader(r.status)
	}
	_, _ = io.WriteString(w, r.answer)
}

// both returns the clients of kube-scheduler and of podberth for one configuration.
func both(t *testing.T, x configv1.Extender) (fwk.Extender, *httpextender.Client) {
	t.Helper()
	in := &kubeconfig.Extender{
		URLPrefix: x.URLPrefix, FilterVerb: x.FilterVerb, PreemptVerb: x.PreemptVerb, PrioritizeVerb: x.PrioritizeVerb, BindVerb: x.BindVerb,
		Weight: x.Weight, EnableHTTPS: x.EnableHTTPS, HTTPTimeout: x.HTTPTimeout, NodeCacheCapable: x.NodeCacheCapable, Ignorable: x.Ignorable,
	}
	for _, m := range x.ManagedResources {
		in.ManagedResources = append(in.ManagedResources, kubeconfig.ExtenderManagedResource(m))
	}
	if x.TLSConfig != nil {
		c := kubeconfig.ExtenderTLSConfig(*x.TLSConfig)
		in.TLSConfig = &c
	}
	theirs, theirErr := scheduler.NewHTTPExtender(in)
	ours, ourErr := httpextender.New(x, httpextender.AsKubeScheduler())
	require.Equal(t, textOf(theirErr), textOf(ourErr))
	if theirErr != nil {
		return nil, nil
	}
	require.Equal(t, theirs.Name(), ours.Name())
	require.Equal(t, theirs.IsFilter(), ours.Offers(httpextender.Filter))
	require.Equal(t, theirs.IsPrioritizer(), ours.Offers(httpextender.Prioritize))
	require.Equal(t, theirs.SupportsPreemption(), ours.Offers(httpextender.Preempt))
	require.Equal(t, theirs.IsBinder(), ours.Offers(httpextender.Bind))
	require.Equal(t, theirs.IsIgnorable(), ours.Ignorable())
	return theirs, ours
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func infos(names ...string) ([]fwk.NodeInfo, []*v1.Node) {
	var out []fwk.NodeInfo
	var nodes []*v1.Node
	for _, name := range names {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"a": "b"}}}
		i := framework.NewNodeInfo()
		i.SetNode(n)
		out, nodes = append(out, i), append(nodes, n)
	}
	return out, nodes
}

func webPod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1"},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{"cpu": resource.MustParse("1"), "example.com/gpu": resource.MustParse("0")}}}}},
	}
}

// answers has the answers of extenders. A test gives each answer to every verb.
var answers = []string{
	``, `null`, `{}`, `[]`, `<html>`, `{"NodeNames":["n1"`, `{} trailing`, `3`, `"x"`,
	`{"NodeNames":["n1"]}`, `{"NodeNames":["n2","n1"]}`, `{"NodeNames":["n1","n1"]}`, `{"NodeNames":[]}`, `{"NodeNames":null}`, `{"nodenames":["n2"]}`,
	`{"NodeNames":["n9"]}`, `{"NodeNames":["n1","n9"]}`, `{"NodeNames":"n1"}`, `{"NodeNames":[1]}`, `{"NodeNames":[""]}`,
	`{"Nodes":{"items":[{"metadata":{"name":"n1"}}]}}`, `{"nodes":{"items":[{"metadata":{"name":"n2"}},{"metadata":{"name":"n1"}}]}}`, `{"Nodes":{"items":[]}}`,
	`{"Nodes":{}}`, `{"Nodes":null}`, `{"Nodes":{"items":[{"metadata":{"name":"n9"}}]}}`, `{"Nodes":{"items":[{}]}}`, `{"Nodes":{"items":[{"metadata":{"name":"n1"}}]},"NodeNames":["n2"]}`,
	`{"NodeNames":["n1"],"Error":"busy"}`, `{"error":"busy"}`, `{"Error":3}`,
	`{"NodeNames":["n1"],"FailedNodes":{"n2":"no"}}`, `{"failedNodes":{"n2":"no"},"FailedAndUnresolvableNodes":{"n1":"never","n2":"never"}}`,
	`{"FailedNodes":{"n9":"no"}}`, `{"FailedNodes":["n1"]}`, `{"FailedNodes":null,"FailedAndUnresolvableNodes":{}}`, `{"unknown":1,"NodeNames":["n1"]}`,
	`[{"Host":"n1","Score":5}]`, `[{"host":"n1","score":5},{"Host":"n2","Score":-7},{"Host":"n1","Score":1000}]`, `[{"Host":"n9","Score":1}]`, `[{"Host":"n1","Score":1.5}]`,
	`[{"Host":"n1","Score":"5"}]`, `[null]`, `[{}]`, `{"Host":"n1"}`,
	`{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"}],"NumPDBViolations":2}}}`, `{"nodeNameToMetaVictims":{"n1":{"pods":[{"uid":"b"},{"uid":"a"}]}}}`,
	`{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"z"}]}}}`, `{"NodeNameToMetaVictims":{"n1":{"Pods":[]}}}`, `{"NodeNameToMetaVictims":{"n1":{}}}`,
	`{"NodeNameToMetaVictims":{}}`, `{"NodeNameToMetaVictims":{"n1":3}}`, `{"NodeNameToMetaVictims":{"n2":{"Pods":[{"UID":"c"}]},"n1":{"Pods":[{"UID":"a"},{"UID":"b"}]}}}`,
	`{"NodeNameToVictims":{"n1":{"Pods":[{"metadata":{"uid":"a"}}]}}}`,
}

// Both clients send the same request and return the same result or error, for every answer, status, verb and form.
func TestAnswers(t *testing.T) {
	for _, capable := range []bool{true, false} {
		for _, status := range []int{0, http.StatusCreated, http.StatusInternalServerError} {
			for k, answer := range answers {
				if status != 0 && k > 2 {
					continue // the body does not matter
				}
				r := &recorder{status: status, answer: answer}
				server := httptest.NewServer(r)
				theirs, ours := both(t, configv1.Extender{
					URLPrefix: server.URL + "/x/", FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", BindVerb: "bind", Weight: 3, NodeCacheCapable: capable,
				})
				compareFilter(t, theirs, ours, answer)
				comparePrioritize(t, theirs, ours, answer)
				comparePreempt(t, theirs, ours, answer)
				theirErr := theirs.Bind(&v1.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1"}, Target: v1.ObjectReference{Kind: "Node", Name: "n1"}})
				require.Equal(t, textOf(theirErr), textOf(ours.Bind(context.Background(), webPod(), "n1")), answer)
				server.Close()
				r.asked = slices.DeleteFunc(r.asked, func(text string) bool { return strings.Contains(text, `"priority":5`) }) // of resolved
				require.Len(t, r.asked, 8)
				for k := 0; k < len(r.asked); k += 2 {
					require.Equal(t, r.asked[k], r.asked[k+1], "the same request")
				}
			}
		}
	}
}

func compareFilter(t *testing.T, theirs fwk.Extender, ours *httpextender.Client, answer string) {
	t.Helper()
	nodes, objects := infos("n1", "n2", "n3")
	stay, failed, unresolvable, theirErr := theirs.Filter(webPod(), nodes)
	got, ourErr := ours.Filter(context.Background(), webPod(), objects)
	require.Equal(t, textOf(theirErr), textOf(ourErr), "filter: %s", answer)
	if theirErr != nil {
		return
	}
	var names []string
	for _, n := range stay {
		names = append(names, n.Node().Name)
	}
	require.Equal(t, names, got.Nodes, "filter: %s", answer)
	for k, o := range got.Objects {
		require.Equal(t, stay[k].Node(), o, "the object of the answer")
	}
	want := map[string]string{}
	for name, text := range failed {
		if _, ok := unresolvable[name]; !ok { // the caller of the real client decides so
			want[name] = text
		}
	}
	require.Equal(t, want, got.Failed, "filter: %s", answer)
	require.Equal(t, len(unresolvable), len(got.Unresolvable), "filter: %s", answer)
	for name, text := range unresolvable {
		require.Equal(t, text, got.Unresolvable[name], "filter: %s", answer)
	}
}

func comparePrioritize(t *testing.T, theirs fwk.Extender, ours *httpextender.Client, answer string) {
	t.Helper()
	nodes, objects := infos("n1", "n2", "n3")
	list, weight, theirErr := theirs.Prioritize(webPod(), nodes)
	got, ourErr := ours.Prioritize(context.Background(), webPod(), objects)
	require.Equal(t, textOf(theirErr), textOf(ourErr), "prioritize: %s", answer)
	if theirErr != nil {
		return
	}
	want := score.Column{Plugin: ours.Name(), Weight: weight}
	for _, s := range *list {
		want.Hosts, want.Scores = append(want.Hosts, s.Host), append(want.Scores, s.Score)
	}
	require.Equal(t, want, got, "prioritize: %s", answer)
}

// lister has the nodes n1 with the pods a and b, and n2 with the pod c.
type lister map[string]*framework.NodeInfo

func (l lister) List() ([]fwk.NodeInfo, error)                                 { return nil, nil }
func (l lister) HavePodsWithAffinityList() ([]fwk.NodeInfo, error)             { return nil, nil }
func (l lister) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) { return nil, nil }
func (l lister) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return nil, nil
}
func (l lister) Get(name string) (fwk.NodeInfo, error) { return l[name], nil }

func victims() (lister, map[string]*extenderv1.Victims, map[string]httpextender.Victims) {
	l, theirs, ours := lister{}, map[string]*extenderv1.Victims{}, map[string]httpextender.Victims{}
	for node, names := range map[string][]string{"n1": {"a", "b"}, "n2": {"c"}} {
		var pods []*v1.Pod
		for _, name := range names {
			pods = append(pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}})
		}
		l[node] = framework.NewNodeInfo(pods...)
		l[node].SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
		theirs[node] = &extenderv1.Victims{Pods: pods, NumPDBViolations: 1}
		ours[node] = httpextender.Victims{Pods: pods, Violations: 1}
	}
	return l, theirs, ours
}

func comparePreempt(t *testing.T, theirs fwk.Extender, ours *httpextender.Client, answer string) {
	t.Helper()
	l, in, ourIn := victims()
	out, theirErr := theirs.ProcessPreemption(webPod(), in, l)
	got, ourErr := ours.Preempt(context.Background(), webPod(), ourIn)
	if ourErr == nil && theirErr != nil {
		require.Contains(t, theirErr.Error(), "but the pod is not found on that node", "that is found by package preemption: %s", answer)
		require.Equal(t, theirErr.Error(), textOf(resolved(ours, l)), "preempt: %s", answer)
		return
	}
	require.Equal(t, textOf(theirErr), textOf(ourErr), "preempt: %s", answer)
	if theirErr != nil {
		return
	}
	want := map[string]httpextender.MetaVictims{}
	for node, v := range out {
		m := httpextender.MetaVictims{Violations: v.NumPDBViolations}
		for _, p := range v.Pods {
			m.UIDs = append(m.UIDs, p.UID)
		}
		want[node] = m
	}
	require.Equal(t, want, got, "preempt: %s", answer)
}

// resolved passes the answer to package preemption, over the same nodes, and returns the error.
func resolved(ours *httpextender.Client, l lister) error {
	low, high := int32(0), int32(5)
	c := oneCluster{}
	for _, name := range []string{"n1", "n2"} {
		var pods []*v1.Pod
		for _, p := range l[name].GetPods() {
			q := p.GetPod().DeepCopy()
			q.Spec.Priority = &low
			pods = append(pods, q)
		}
		c = append(c, place{l[name].Node(), pods})
	}
	pod := webPod()
	pod.Spec.Priority = &high
	return preemption.Preempt(preemption.Request{
		Pod: pod, Cluster: c, WhatIf: &gone{}, Rejections: []preemption.Rejection{preemption.Resolvable, preemption.Resolvable},
		Extenders: httpextender.Preempters(context.Background(), []*httpextender.Client{ours}, pod), Now: time.Unix(0, 0),
	}).Err
}

// An answer that comes too late, and an address without a server.
func TestLateAnswers(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(&recorder{delay: release, answer: `{}`})
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	for _, url := range []string{server.URL, "http://127.0.0.1:1", "::bad"} {
		theirs, ours := both(t, configv1.Extender{URLPrefix: url, FilterVerb: "filter", HTTPTimeout: metav1.Duration{Duration: 30 * time.Millisecond}})
		nodes, objects := infos("n1")
		_, _, _, theirErr := theirs.Filter(webPod(), nodes)
		_, ourErr := ours.Filter(context.Background(), webPod(), objects)
		require.Error(t, theirErr)
		require.Equal(t, theirErr.Error(), ourErr.Error())
	}
}

// Both clients accept TLS settings, or refuse them in the same words.
func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(&recorder{answer: `{"NodeNames":["n1"]}`})
	t.Cleanup(server.Close)
	for _, c := range []struct {
		https bool
		tls   *configv1.ExtenderTLSConfig
	}{
		{false, nil}, {true, nil}, {true, &configv1.ExtenderTLSConfig{}}, {true, &configv1.ExtenderTLSConfig{Insecure: true}}, {false, &configv1.ExtenderTLSConfig{Insecure: true}},
		{true, &configv1.ExtenderTLSConfig{Insecure: true, CAData: []byte("x")}}, {true, &configv1.ExtenderTLSConfig{CAData: []byte("x")}}, {false, &configv1.ExtenderTLSConfig{CAFile: "/nope"}},
		{true, &configv1.ExtenderTLSConfig{CertFile: "/nope", KeyFile: "/nope"}}, {true, &configv1.ExtenderTLSConfig{CertData: []byte("x"), KeyData: []byte("x")}},
		{true, &configv1.ExtenderTLSConfig{CertData: []byte("x")}}, {true, &configv1.ExtenderTLSConfig{ServerName: "shop.test"}},
	} {
		theirs, ours := both(t, configv1.Extender{URLPrefix: server.URL, FilterVerb: "filter", NodeCacheCapable: true, EnableHTTPS: c.https, TLSConfig: c.tls})
		if theirs == nil {
			continue
		}
		nodes, objects := infos("n1")
		_, _, _, theirErr := theirs.Filter(webPod(), nodes)
		_, ourErr := ours.Filter(context.Background(), webPod(), objects)
		require.Equal(t, textOf(theirErr), textOf(ourErr))
	}
}

// Both sides ask an extender about the same pods.
func TestInterested(t *testing.T) {
	for _, managed := range [][]string{nil, {"example.com/gpu"}, {"example.com/other"}, {"cpu"}} {
		x := configv1.Extender{}
		for _, name := range managed {
			x.ManagedResources = append(x.ManagedResources, configv1.ExtenderManagedResource{Name: name})
		}
		theirs, ours := both(t, x)
		pods := []*v1.Pod{webPod(), webPod(), webPod(), webPod()}
		pods[1].Spec.InitContainers, pods[1].Spec.Containers = pods[1].Spec.Containers, nil
		pods[2].Spec.Containers[0].Resources.Limits, pods[2].Spec.Containers[0].Resources.Requests = pods[2].Spec.Containers[0].Resources.Requests, nil
		pods[3].Spec.Containers[0].Resources.Requests, pods[3].Spec.Overhead = nil, v1.ResourceList{"example.com/gpu": resource.MustParse("1")}
		for _, p := range pods {
			require.Equal(t, theirs.IsInterested(p), ours.Interested(p))
		}
	}
}
