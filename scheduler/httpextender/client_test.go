package httpextender

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

var ctx = context.Background()

// stub is an extender that gives one answer and keeps the requests.
type stub struct {
	status int
	answer string
	asked  []string // path and body
	header http.Header
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.asked = append(s.asked, r.Method+" "+r.URL.Path+" "+string(body))
	s.header = r.Header
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	_, _ = io.WriteString(w, s.answer) // the client may have gone
}

// serve starts a stub and returns a client for it with all verbs.
func serve(t *testing.T, s http.Handler, change func(*configv1.Extender)) *Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	x := configv1.Extender{
		URLPrefix: server.URL + "/podberth/", FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", BindVerb: "bind", Weight: 3,
	}
	if change != nil {
		change(&x)
	}
	c, err := New(x, Options{})
	require.NoError(t, err)
	return c
}

func cached(x *configv1.Extender) { x.NodeCacheCapable = true }

func nodes(names ...string) []*v1.Node {
	var list []*v1.Node
	for _, name := range names {
		list = append(list, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return list
}

func web() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u1"}}
}

// Names in requests are capitalised, and one of the two forms is null.
func TestRequests(t *testing.T) {
	pod := `{"metadata":{"name":"web-1","namespace":"shop","uid":"u1"},"spec":{"containers":null},"status":{}}`
	victims := map[string]Victims{"n1": {Pods: []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "low", UID: "u2"}}}, Violations: 1}}
	type test struct {
		name, answer string
		change       func(*configv1.Extender)
		call         func(*Client) error
		want         string
	}
	testkit.Run(t, []test{
		{"filter by names", `{"NodeNames":[]}`, cached, func(x *Client) error { _, err := x.Filter(ctx, web(), nodes("n1", "n2")); return err },
			`POST /podberth/filter {"Pod":` + pod + `,"Nodes":null,"NodeNames":["n1","n2"]}`},
		{"filter by objects", `{}`, nil, func(x *Client) error { _, err := x.Filter(ctx, web(), nodes("n1")); return err },
			`POST /podberth/filter {"Pod":` + pod + `,"Nodes":{"metadata":{},"items":[{"metadata":{"name":"n1"},"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}}]},"NodeNames":null}`},
		{"prioritize by names", `[]`, cached, func(x *Client) error { _, err := x.Prioritize(ctx, web(), nodes("n1")); return err },
			`POST /podberth/prioritize {"Pod":` + pod + `,"Nodes":null,"NodeNames":["n1"]}`},
		{"preempt by UIDs", `{}`, cached, func(x *Client) error { _, err := x.Preempt(ctx, web(), victims); return err },
			`POST /podberth/preempt {"Pod":` + pod + `,"NodeNameToVictims":null,"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"u2"}],"NumPDBViolations":1}}}`},
		{"preempt by objects", `{}`, nil, func(x *Client) error { _, err := x.Preempt(ctx, web(), victims); return err },
			`POST /podberth/preempt {"Pod":` + pod + `,"NodeNameToVictims":{"n1":{"Pods":[{"metadata":{"name":"low","uid":"u2"},"spec":{"containers":null},"status":{}}],"NumPDBViolations":1}},"NodeNameToMetaVictims":null}`},
		{"bind", `{}`, nil, func(x *Client) error { return x.Bind(ctx, web(), "n1") },
			`POST /podberth/bind {"PodName":"web-1","PodNamespace":"shop","PodUID":"u1","Node":"n1"}`},
	}, func(t *testing.T, c test) {
		s := &stub{answer: c.answer}
		require.NoError(t, c.call(serve(t, s, c.change)))
		require.Equal(t, []string{c.want}, s.asked)
		require.Equal(t, "application/json", s.header.Get("Content-Type"))
	})
}

func TestFilterAnswers(t *testing.T) {
	none := map[string]string{}
	type test struct {
		name, why, answer string
		cached            bool
		want              rules.Filtered
		err               string
	}
	testkit.Run(t, []test{
		{"names", "a cache-capable extender answers with names", `{"NodeNames":["n2"],"FailedNodes":{"n1":"no"}}`, true, rules.Filtered{Nodes: []string{"n2"}, Unresolvable: none, Failed: map[string]string{"n1": "no"}}, ""},
		{"lower case", "as extenders of v1.16 write", `{"nodenames":["n2"],"failedNodes":{"n1":"no"},"error":""}`, true, rules.Filtered{Nodes: []string{"n2"}, Unresolvable: none, Failed: map[string]string{"n1": "no"}}, ""},
		{"order of the extender", "the order of the answer counts", `{"NodeNames":["n2","n1"]}`, true, rules.Filtered{Nodes: []string{"n2", "n1"}, Unresolvable: none, Failed: none}, ""},
		{"no list", "none stays, and there are no reasons", `{}`, true, rules.Filtered{Unresolvable: none, Failed: none}, ""},
		{"empty list", "the extender rejects every node", `{"NodeNames":[]}`, true, rules.Filtered{Unresolvable: none, Failed: none}, ""},
		{"null", "an answer without anything", `null`, true, rules.Filtered{Unresolvable: none, Failed: none}, ""},
		{"objects instead of names", "they count when there are no names", `{"Nodes":{"items":[{"metadata":{"name":"n1"}}]}}`, true, rules.Filtered{Nodes: []string{"n1"}, Unresolvable: none, Failed: none}, ""},
		{"names before objects", "names win over objects for a cache-capable extender", `{"Nodes":{"items":[{"metadata":{"name":"n1"}}]},"NodeNames":["n2"]}`, true, rules.Filtered{Nodes: []string{"n2"}, Unresolvable: none, Failed: none}, ""},
		{"names instead of objects", "without nodeCacheCapable they do not count", `{"NodeNames":["n2"]}`, false, rules.Filtered{Unresolvable: none, Failed: none}, ""},
		{"unresolvable wins", "a node in both maps", `{"NodeNames":[],"FailedNodes":{"n1":"a","n2":"b"},"FailedAndUnresolvableNodes":{"n1":"c"}}`, true,
			rules.Filtered{Unresolvable: map[string]string{"n1": "c"}, Failed: map[string]string{"n2": "b"}}, ""},
		{"unknown name", "the node was not in the request", `{"NodeNames":["n9"]}`, true, rules.Filtered{}, `claims a filtered node "n9" which is not found in the input node list`},
		{"unknown object", "mapped back by name", `{"Nodes":{"items":[{"metadata":{"name":"n9"}}]}}`, false, rules.Filtered{}, `claims a filtered node "n9" which is not found in the input node list`},
		{"error", "an error makes the rest of the answer void", `{"NodeNames":["n1"],"Error":"busy"}`, true, rules.Filtered{}, "busy"},
		{"not JSON", "a page of a proxy is no answer", `<html>`, true, rules.Filtered{}, "invalid character '<' looking for beginning of value"},
		{"cut off", "the value is incomplete", `{"NodeNames":["n1"`, true, rules.Filtered{}, "unexpected EOF"},
		{"nothing", "the body has no value", ``, true, rules.Filtered{}, "EOF"},
		{"wrong type", "NodeNames must be a list", `{"NodeNames":"n1"}`, true, rules.Filtered{}, "json: cannot unmarshal string into Go struct field ExtenderFilterResult.NodeNames of type []string"},
		{"a list", "the answer must be an object", `[]`, true, rules.Filtered{}, "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"},
	}, func(t *testing.T, c test) {
		x := serve(t, &stub{answer: c.answer}, func(x *configv1.Extender) { x.NodeCacheCapable = c.cached })
		a, err := x.Filter(ctx, web(), nodes("n1", "n2"))
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, Answer{Filtered: c.want}, a)
	})
}

// Options.ReplaceView does what v1.36 does: it uses the objects of an answer as they are.
func TestReplaceView(t *testing.T) {
	s := &stub{answer: `{"Nodes":{"items":[{"metadata":{"name":"n1","labels":{"a":"b"}}},{"metadata":{"name":"n9"}}]}}`}
	x := serve(t, s, nil)
	x.options.ReplaceView = true
	a, err := x.Filter(ctx, web(), nodes("n1", "n2"))
	require.NoError(t, err, "nothing checks that n9 was asked about")
	require.Equal(t, []string{"n1", "n9"}, a.Nodes)
	require.Equal(t, map[string]string{"a": "b"}, a.Objects[0].Labels)
	require.Equal(t, "n9", a.Objects[1].Name)
	all, err := FilterAll(ctx, []*Client{x, x}, web(), nodes("n1", "n2"))
	require.NoError(t, err)
	require.Equal(t, a.Objects, all.Objects)
	require.Contains(t, s.asked[2], `"labels":{"a":"b"}`, "the next extender gets them")

	names := serve(t, &stub{answer: `{"NodeNames":["n9"]}`}, cached)
	names.options.ReplaceView = true
	_, err = names.Filter(ctx, web(), nodes("n1"))
	require.Error(t, err, "names are checked all the same")
}

// silent gives no answer before the request ends.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Failures of the transport, of any verb.
func TestFailures(t *testing.T) {
	call := map[string]func(*Client) error{
		"filter":     func(x *Client) error { _, err := x.Filter(ctx, web(), nodes("n1")); return err },
		"prioritize": func(x *Client) error { _, err := x.Prioritize(ctx, web(), nodes("n1")); return err },
		"preempt":    func(x *Client) error { _, err := x.Preempt(ctx, web(), nil); return err },
		"bind":       func(x *Client) error { return x.Bind(ctx, web(), "n1") },
	}
	for verb, do := range call {
		t.Run("status of "+verb, func(t *testing.T) {
			for _, status := range []int{http.StatusCreated, http.StatusNotFound, http.StatusInternalServerError} {
				s := &stub{status: status, answer: `{}`}
				x := serve(t, s, nil)
				require.EqualError(t, do(x), "failed "+verb+" with extender at URL "+strings.TrimSuffix(x.Name(), "/")+"/"+verb+", code "+strconv.Itoa(status))
			}
		})
		t.Run("nobody there for "+verb, func(t *testing.T) {
			x := serve(t, &stub{}, func(x *configv1.Extender) { x.URLPrefix = "http://127.0.0.1:1" })
			require.ErrorContains(t, do(x), "connection refused")
		})
		t.Run("malformed URL for "+verb, func(t *testing.T) {
			require.Error(t, do(serve(t, &stub{}, func(x *configv1.Extender) { x.URLPrefix = "::bad" })))
		})
		t.Run("malformed answer to "+verb, func(t *testing.T) {
			require.Error(t, do(serve(t, &stub{answer: "<html>"}, nil)))
		})
		t.Run("late answer to "+verb, func(t *testing.T) {
			x := serve(t, &stub{}, func(x *configv1.Extender) { x.HTTPTimeout.Duration = 20 * time.Second })
			synctest.Test(t, func(t *testing.T) {
				x.http.Transport = silent{}
				began := time.Now()
				require.ErrorIs(t, do(x), context.DeadlineExceeded)
				require.Equal(t, 20*time.Second, time.Since(began))
			})
		})
		t.Run("cancelled "+verb, func(t *testing.T) {
			background := ctx
			defer func() { ctx = background }()
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			release := make(chan struct{})
			x := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				cancel()
				<-release
			}), nil)
			t.Cleanup(func() { close(release) }) // closed before the server
			require.ErrorIs(t, do(x), context.Canceled)
		})
	}
	require.Equal(t, 5*time.Second, serve(t, &stub{}, nil).http.Timeout, "0 means 5 s")
}

// A verb that is not configured does nothing.
func TestVerbs(t *testing.T) {
	s := &stub{}
	x := serve(t, s, func(x *configv1.Extender) { x.FilterVerb, x.PrioritizeVerb, x.PreemptVerb, x.BindVerb = "", "", "", "" })
	for _, v := range []Verb{Filter, Prioritize, Preempt, Bind, "other"} {
		require.False(t, x.Offers(v))
		require.Equal(t, v != "other", serve(t, s, nil).Offers(v))
	}
	a, err := x.Filter(ctx, web(), nodes("n1"))
	require.NoError(t, err)
	require.Equal(t, []string{"n1"}, a.Nodes, "all stay")
	scores, err := x.Prioritize(ctx, web(), nodes("n1"))
	require.NoError(t, err)
	require.Zero(t, scores.Weight)
	require.Empty(t, scores.Scores)
	_, err = x.Preempt(ctx, web(), nil)
	require.ErrorContains(t, err, "preempt verb is not defined for extender")
	require.EqualError(t, x.Bind(ctx, web(), "n1"), "unexpected empty bindVerb in extender")
	require.Empty(t, s.asked)
}

func TestPrioritizeAnswers(t *testing.T) {
	x := serve(t, &stub{answer: `[{"Host":"n1","Score":1000},{"host":"n2","score":-5},{"Host":"n1","Score":1},{"Host":"n9","Score":3}]`}, nil)
	got, err := x.Prioritize(ctx, web(), nodes("n1", "n2"))
	require.NoError(t, err)
	require.Equal(t, score.Column{Plugin: x.Name(), Weight: 3, Hosts: []string{"n1", "n2", "n1", "n9"}, Scores: []int64{1000, -5, 1, 3}}, got)
	require.Equal(t, []int64{30030, -150}, ScoreAll(ctx, []*Client{x}, web(), nodes("n1", "n2")), "the range does not matter, a repeated host counts twice, unknown hosts do not count")
	for _, answer := range []string{`{"Host":"n1"}`, `[{"Host":"n1","Score":1.5}]`, `[{"Host":1}]`} {
		_, err := serve(t, &stub{answer: answer}, nil).Prioritize(ctx, web(), nodes("n1"))
		require.Error(t, err, answer)
	}
}

func TestPreemptAnswers(t *testing.T) {
	x := serve(t, &stub{answer: `{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"a"},{"UID":"b"}],"NumPDBViolations":2},"n2":null,"n3":{}}}`}, nil)
	got, err := x.Preempt(ctx, web(), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]MetaVictims{"n1": {UIDs: []types.UID{"a", "b"}, Violations: 2}, "n2": {}, "n3": {}}, got)
	_, err = serve(t, &stub{answer: `{"NodeNameToMetaVictims":{"n1":{"Pods":[null]}}}`}, nil).Preempt(ctx, web(), nil)
	require.ErrorContains(t, err, "null victim on node n1")
	got, err = serve(t, &stub{answer: `{"nodeNameToMetaVictims":{"n1":{"pods":[{"uid":"a"}]}}}`}, nil).Preempt(ctx, web(), nil)
	require.NoError(t, err)
	require.Equal(t, map[string]MetaVictims{"n1": {UIDs: []types.UID{"a"}}}, got, "lower case")
}

func TestBindAnswers(t *testing.T) {
	require.NoError(t, serve(t, &stub{answer: `{"Error":""}`}, nil).Bind(ctx, web(), "n1"))
	require.EqualError(t, serve(t, &stub{answer: `{"error":"no such node"}`}, nil).Bind(ctx, web(), "n1"), "no such node")
	var malformed *json.SyntaxError
	require.True(t, errors.As(serve(t, &stub{answer: `no`}, nil).Bind(ctx, web(), "n1"), &malformed))
}

func TestInterested(t *testing.T) {
	x := serve(t, &stub{}, func(x *configv1.Extender) {
		x.ManagedResources = []configv1.ExtenderManagedResource{{Name: "example.com/gpu"}}
	})
	p := web()
	require.False(t, x.Interested(p))
	require.False(t, x.Interested(nil))
	p.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Limits: v1.ResourceList{"example.com/gpu": resource.MustParse("0")}}}}
	require.True(t, x.Interested(p), "the name counts, whatever the amount")
	require.True(t, serve(t, &stub{}, nil).Interested(web()), "without managed resources every pod")
}
