package httpextender

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/score"
)

// with returns a client of the same extender with other options.
func (c *Client) with(t *testing.T, o Options) *Client {
	t.Helper()
	x, err := New(c.config, o)
	require.NoError(t, err)
	return x
}

// An answer longer than the limit is a failure, at every limit.
func TestAnswerLimit(t *testing.T) {
	answer := `{"NodeNames":["n1"],"FailedNodes":{"n2":"` + strings.Repeat("x", 1000) + `"}}`
	x := serve(t, &stub{answer: answer}, cached)
	type test struct {
		name, why string
		limit     int64
		fails     bool
	}
	testkit.Run(t, []test{
		{"one byte", "the first byte is the limit", 1, true},
		{"one byte too few", "the last byte is over the limit", int64(len(answer)) - 1, true},
		{"exactly", "the last byte is within the limit", int64(len(answer)), false},
		{"more", "the limit is not reached", int64(len(answer)) + 1, false},
		{"default", "0 is 256 MiB", 0, false},
		{"none", "a negative limit is none", -1, false},
	}, func(t *testing.T, c test) {
		_, err := x.with(t, Options{AnswerLimit: c.limit}).Filter(ctx, web(), nodes("n1", "n2"))
		if !c.fails {
			require.NoError(t, err)
			return
		}
		require.ErrorAs(t, err, new(*tooLong))
		require.ErrorContains(t, err, "Options.AnswerLimit")
	})
	spaces := serve(t, &stub{answer: `{}` + strings.Repeat(" ", 5000)}, cached)
	_, err := spaces.with(t, Options{AnswerLimit: 4000}).Filter(ctx, web(), nodes("n1"))
	require.ErrorAs(t, err, new(*tooLong), "spaces behind the answer count")
}

// An endless answer ends at the limit.
func TestEndlessAnswer(t *testing.T) {
	endless := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat("[", 1<<16))
		for {
			if _, err := w.Write(chunk); err != nil {
				return // the client has gone
			}
		}
	})
	_, err := serve(t, endless, cached).with(t, Options{AnswerLimit: 1 << 20}).Filter(ctx, web(), nodes("n1"))
	require.Error(t, err)
}

// A redirect to another host is followed only with the option; a redirect to the same host always.
func TestRedirects(t *testing.T) {
	other := &stub{answer: `{"NodeNames":["n1"]}`}
	away := httptest.NewServer(other)
	t.Cleanup(away.Close)
	type test struct {
		name, why, to string
		options       Options
		err           string
	}
	testkit.Run(t, []test{
		{"other host", "the pod would be sent to a server that nobody configured", away.URL + "/filter", Options{}, "redirect to another host: " + away.URL + " (Options.OtherHosts)"},
		{"other host by choice", "as v1.36", away.URL + "/filter", AsKubeScheduler(), ""},
		{"same host", "it is the configured server", "/second", Options{}, ""},
		{"for ever", "as the standard library", "/podberth/filter", Options{}, "stopped after 10 redirects"},
	}, func(t *testing.T, c test) {
		other.asked = nil
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/second" {
				other.ServeHTTP(w, r)
				return
			}
			http.Redirect(w, r, c.to, http.StatusTemporaryRedirect)
		})
		_, err := serve(t, h, cached).with(t, c.options).Filter(ctx, web(), nodes("n1"))
		if c.err == "" {
			require.NoError(t, err)
			require.Len(t, other.asked, 1)
			return
		}
		require.ErrorContains(t, err, c.err)
		require.Empty(t, other.asked)
	})
}

func TestNegativeTimeout(t *testing.T) {
	x := configv1.Extender{URLPrefix: "http://x"}
	x.HTTPTimeout.Duration = -time.Second
	_, err := New(x, Options{})
	require.EqualError(t, err, `httpTimeout: Invalid value: "-1s": must be greater than or equal to 0`)
	_, err = NewAll([]configv1.Extender{x}, Options{})
	require.EqualError(t, err, `couldn't build extenders: httpTimeout: Invalid value: "-1s": must be greater than or equal to 0`)
	c, err := New(x, AsKubeScheduler())
	require.NoError(t, err)
	require.Negative(t, c.http.Timeout, "v1.36 accepts negative time-outs, which mean none")
}

func TestTrailingData(t *testing.T) {
	for answer, trails := range map[string]bool{
		`{} `: false, "{}\n\n": false, `{} {}`: true, `{}]`: true, `{}x`: true, `{},`: true, `null null`: true,
	} {
		x := serve(t, &stub{answer: answer}, cached)
		_, err := x.Filter(ctx, web(), nodes("n1"))
		if trails {
			require.ErrorIs(t, err, errTrailing, answer)
		} else {
			require.NoError(t, err, answer)
		}
		_, err = x.with(t, AsKubeScheduler()).Filter(ctx, web(), nodes("n1"))
		require.NoError(t, err, answer)
	}
}

// All scores count, as in v1.36. StrictScores refuses scores that an extender should not send.
func TestStrictScores(t *testing.T) {
	type test struct {
		name, answer string
		sums         []int64
		err          string
	}
	testkit.Run(t, []test{
		{"fine", `[{"Host":"n1","Score":10},{"Host":"n2","Score":0}]`, []int64{300, 0}, ""},
		{"a host left out", `[{"Host":"n2","Score":1}]`, []int64{0, 30}, ""},
		{"twice", `[{"Host":"n1","Score":1},{"Host":"n1","Score":2}]`, []int64{90, 0}, `scores host "n1" twice`},
		{"too high", `[{"Host":"n1","Score":11}]`, []int64{330, 0}, `scores host "n1" with 11, which is not in valid range [0-10]`},
		{"negative", `[{"Host":"n2","Score":-1}]`, []int64{0, -30}, `scores host "n2" with -1, which is not in valid range [0-10]`},
		{"unknown", `[{"Host":"n9","Score":1}]`, []int64{0, 0}, `scores host "n9", which it was not asked about`},
	}, func(t *testing.T, c test) {
		x := serve(t, &stub{answer: c.answer}, nil)
		require.Equal(t, c.sums, ScoreAll(ctx, []*Client{x}, web(), nodes("n1", "n2")))
		strict := x.with(t, Options{StrictScores: true})
		got, err := strict.Prioritize(ctx, web(), nodes("n1", "n2"))
		if c.err == "" {
			require.NoError(t, err)
			require.Equal(t, c.sums, ScoreAll(ctx, []*Client{strict}, web(), nodes("n1", "n2")))
			return
		}
		require.ErrorContains(t, err, c.err)
		require.Equal(t, score.Column{Plugin: x.Name()}, got)
		require.Equal(t, []int64{0, 0}, ScoreAll(ctx, []*Client{strict}, web(), nodes("n1", "n2")), "a failure is ignored")
	})
}
