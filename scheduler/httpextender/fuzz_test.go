package httpextender

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// says is a transport that gives one answer, without a network.
type says string

func (s says) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
}

// choices makes answers of extenders, mostly ones that can be read.
type choices struct{ *testkit.Bytes }

func (c choices) node() string { return testkit.Pick(c.Bytes, "n1", "n2", "n1", "n2", "n9", "") }

func (c choices) text() string { return testkit.Pick(c.Bytes, "", "", "", "", "", "", "", "no") }

func (c choices) failed() extenderv1.FailedNodesMap {
	m := extenderv1.FailedNodesMap{}
	for range c.Below(3) {
		m[c.node()] = "a reason"
	}
	return m
}

func (c choices) filter() *extenderv1.ExtenderFilterResult {
	r := &extenderv1.ExtenderFilterResult{FailedNodes: c.failed(), FailedAndUnresolvableNodes: c.failed(), Error: c.text()}
	names := []string{}
	list := &v1.NodeList{}
	for range c.Below(3) {
		names = append(names, testkit.Pick(c.Bytes, "n1", "n2"))
		list.Items = append(list.Items, v1.Node{ObjectMeta: metav1.ObjectMeta{Name: testkit.Pick(c.Bytes, "n1", "n2")}})
	}
	if c.OneIn(16) {
		names = append(names, "n9")
	}
	r.NodeNames, r.Nodes = &names, list
	return r
}

func (c choices) scores() extenderv1.HostPriorityList {
	var list extenderv1.HostPriorityList
	for range c.Below(4) {
		list = append(list, extenderv1.HostPriority{Host: c.node(), Score: testkit.Pick(c.Bytes, int64(0), 1, 10, 10, 11, -1, 1<<62)})
	}
	return list
}

func (c choices) victims() *extenderv1.ExtenderPreemptionResult {
	r := &extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for range c.Below(3) {
		m := &extenderv1.MetaVictims{NumPDBViolations: int64(c.Below(3))}
		for range c.Below(3) {
			m.Pods = append(m.Pods, &extenderv1.MetaPod{UID: testkit.Pick(c.Bytes, "u2", "u3", "u9")})
		}
		if c.OneIn(16) {
			m.Pods = append(m.Pods, nil)
		}
		if c.OneIn(8) {
			m = nil
		}
		r.NodeNameToMetaVictims[c.node()] = m
	}
	return r
}

// client returns an extender that gives the value as its answer to everything.
func client(t *testing.T, answer any, capable bool) *Client {
	t.Helper()
	text, err := json.Marshal(answer)
	require.NoError(t, err)
	x, err := New(configv1.Extender{URLPrefix: "http://x", FilterVerb: "f", PrioritizeVerb: "p", PreemptVerb: "v", BindVerb: "b", Weight: 1, NodeCacheCapable: capable}, Options{Transport: says(text)})
	require.NoError(t, err)
	return x
}

// checkAnswers holds that the result is what the extender says: about nodes of the request, with the victims and errors that it
// names. It reports whether the filter's answer could be used.
func checkAnswers(t *testing.T, data []byte) bool {
	t.Helper()
	c := choices{testkit.NewBytes(data)}
	capable := c.OneIn(2)
	bound := &extenderv1.ExtenderBindingResult{Error: c.text()}
	if err := client(t, bound, capable).Bind(ctx, web(), "n1"); bound.Error == "" {
		require.NoError(t, err)
	} else {
		require.EqualError(t, err, bound.Error)
	}

	filtered := c.filter()
	a, err := client(t, filtered, capable).Filter(ctx, web(), nodes("n1", "n2"))
	if err == nil {
		for _, name := range a.Nodes {
			require.Contains(t, []string{"n1", "n2"}, name)
		}
		for name := range a.Unresolvable {
			require.NotContains(t, a.Failed, name)
		}
		require.Empty(t, filtered.Error)
	}

	require.Len(t, ScoreAll(ctx, []*Client{client(t, c.scores(), capable)}, web(), nodes("n1", "n2")), 2)

	victims := c.victims()
	asked := map[string]Victims{"n1": {Pods: []*v1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "low", UID: "u2"}}}, Violations: 1}}
	want, wantErr := expected(victims)
	got, gotErr := client(t, victims, capable).Preempt(ctx, web(), asked)
	require.Equal(t, wantErr != nil, gotErr != nil)
	if wantErr == nil {
		require.Equal(t, want, got)
	}
	return err == nil
}

// expected returns the victims that an answer names, and an error for a victim that is null.
func expected(r *extenderv1.ExtenderPreemptionResult) (map[string]MetaVictims, error) {
	out := map[string]MetaVictims{}
	for node, v := range r.NodeNameToMetaVictims {
		var m MetaVictims
		if v != nil {
			m.Violations = v.NumPDBViolations
			for _, p := range v.Pods {
				if p == nil {
					return nil, errors.New("a null victim")
				}
				m.UIDs = append(m.UIDs, types.UID(p.UID))
			}
		}
		out[node] = m
	}
	return out, nil
}

func TestAnswers(t *testing.T) {
	const inputs = 1000
	reached := 0
	for seed := range uint64(inputs) {
		if checkAnswers(t, testkit.RandomBytes(seed, 64)) {
			reached++
		}
	}
	t.Logf("%d of %d filter answers can be used", reached, inputs)
	require.Greater(t, 2*reached, inputs, "the fuzz target looks at the result of at least half of its inputs")
}

// Whatever an extender answers, the result is an error or is about nodes of the request.
func FuzzAnswers(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(testkit.RandomBytes(seed, 64))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkAnswers(t, data) })
}

// Answers that are no answers are errors or say nothing.
func TestOddAnswers(t *testing.T) {
	for _, answer := range []string{``, `null`, `{}`, `[]`, `[null]`, `"x"`, `{"NodeNames":3}`, `{"NodeNameToMetaVictims":[]}`} {
		for _, capable := range []bool{true, false} {
			x, err := New(configv1.Extender{URLPrefix: "http://x", FilterVerb: "f", PrioritizeVerb: "p", PreemptVerb: "v", BindVerb: "b", Weight: 1, NodeCacheCapable: capable}, Options{Transport: says(answer)})
			require.NoError(t, err)
			if a, err := x.Filter(ctx, web(), nodes("n1", "n2")); err == nil {
				require.Empty(t, a.Failed, answer)
			}
			require.Len(t, ScoreAll(ctx, []*Client{x}, web(), nodes("n1", "n2")), 2)
			if victims, err := x.Preempt(ctx, web(), nil); err == nil {
				require.Empty(t, victims, answer)
			}
			if answer == `[]` || answer == `"x"` || answer == `` {
				require.Error(t, x.Bind(ctx, web(), "n1"), answer)
			}
		}
	}
}
