package httpextender

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// says is a transport that always gives the same answer, without a network.
type says string

func (s says) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
}

// Whatever an extender answers, the result is an error or is about nodes of the request.
func FuzzAnswers(f *testing.F) {
	for _, answer := range []string{
		``, `null`, `{}`, `[]`, `[null]`, `{"NodeNames":["n1"]}`, `{"NodeNames":["n9"]}`, `{"Nodes":{"items":[{"metadata":{"name":"n2"}}]}}`,
		`{"FailedNodes":{"n1":"a"},"FailedAndUnresolvableNodes":{"n1":"b"}}`, `[{"Host":"n1","Score":9223372036854775807},{"Host":"n1","Score":1}]`,
		`{"NodeNameToMetaVictims":{"n1":{"Pods":[null]},"n2":null}}`, `{"Error":"x"}`,
	} {
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		for _, capable := range []bool{true, false} {
			x, err := New(configv1.Extender{URLPrefix: "http://x", FilterVerb: "f", PrioritizeVerb: "p", PreemptVerb: "v", BindVerb: "b", Weight: 1, NodeCacheCapable: capable}, Options{Transport: says(answer)})
			require.NoError(t, err)
			a, err := x.Filter(ctx, web(), nodes("n1", "n2"))
			if err == nil {
				for _, name := range a.Nodes {
					require.Contains(t, []string{"n1", "n2"}, name)
				}
				for name := range a.Unresolvable {
					require.NotContains(t, a.Failed, name)
				}
			}
			require.Len(t, ScoreAll(ctx, []*Client{x}, web(), nodes("n1", "n2")), 2)
			if _, err := x.Preempt(ctx, web(), nil); err != nil {
				require.NotEmpty(t, err.Error())
			}
			if err := x.Bind(ctx, web(), "n1"); err != nil {
				require.NotEmpty(t, err.Error())
			}
		}
	})
}
