package daemon

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
	"github.com/podberth/podberth/scheduler/live/shadow"
)

// What is wrong with the server, the account or the configuration is said before anything runs.
func TestNewErrors(t *testing.T) {
	refuse := func(resource, verb string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if resource != "" && strings.HasSuffix(r.URL.Path, "/apis/"+resource) {
				apitest.Refuse(w, http.StatusNotFound, "NotFound")
				return true
			}
			if verb != "" && strings.HasSuffix(r.URL.Path, "selfsubjectaccessreviews") {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return false
				}
				r.Body = io.NopCloser(bytes.NewReader(body)) // for the server, unless it is refused
				if strings.Contains(string(body), verb) {
					apitest.Refuse(w, http.StatusForbidden, "Forbidden")
					return true
				}
			}
			return false
		}
	}
	taken, watched := prometheus.NewRegistry(), prometheus.NewRegistry()
	_, err := scheduler.NewPrometheusMetrics(taken)
	require.NoError(t, err)
	watched.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "podberth_watch_age_seconds"}))
	const old = "does not serve poddisruptionbudgets.policy in version policy/v1"
	type test struct {
		name         string
		change       func(*Config)
		answer       func(http.ResponseWriter, *http.Request) bool
		want, shadow string // parts of the errors; "": none
	}
	none := func(*Config) {}
	checked := func(c *Config) { c.Permissions = true }
	testkit.Run(t, []test{
		{"nothing", none, nil, "", ""},
		{"host", func(c *Config) { c.REST.Host = "http://[" }, nil, "host must be a URL", "host must be a URL"},
		{"resource", none, refuse("policy/v1", ""), old, old},
		{"no devices", none, refuse("resource.k8s.io/v1", ""), "", ""},
		{"allowed", checked, nil, "", ""},
		{"writing", checked, refuse("", `"create"`), "asking whether the account may create pods/binding", ""},
		{"listing", checked, refuse("", `"list"`), "asking whether the account may list nodes", "asking whether the account may list nodes"},
		{"watching", checked, refuse("", `"watch"`), "asking whether the account may watch nodes", "asking whether the account may watch nodes"},
		{"not asked", none, refuse("", `"watch"`), "", ""},
		{"metrics of the scheduler", func(c *Config) { c.Registry = taken }, nil, "duplicate metrics collector registration attempted", ""},
		{"metrics of the feed", func(c *Config) { c.Registry = watched }, nil, "podberth_watch_age_seconds", ""},
		{"extender", func(c *Config) {
			c.Configuration.Extenders = []configv1.Extender{{URLPrefix: "https://x", TLSConfig: &configv1.ExtenderTLSConfig{CAFile: "/nonexistent"}}}
		}, nil, "couldn't build extenders", ""},
		{"profile", func(c *Config) { c.Configuration.Profiles[0].Placement.Sampling.Percentage = ptr.To[int32](101) }, nil, "profile \"mine\": ", "profile mine: "},
	}, func(t *testing.T, x test) {
		c := configure(t, &apitest.API{Answer: x.answer})
		x.change(&c)
		check := func(want string, err error) {
			t.Helper()
			if want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, want)
			}
		}
		d, err := New(t.Context(), c)
		check(x.want, err)
		if x.want == "" {
			d.end()
			d.recorder.Flush(t.Context())
		}
		s, err := NewShadow(t.Context(), c, func(shadow.Report) {})
		check(x.shadow, err)
		require.Equal(t, x.shadow == "", s != nil)
	})
}

// A daemon has 10 s to finish and 2 s to flush, unless it is given other times.
func TestTimesOfStop(t *testing.T) {
	for _, given := range []time.Duration{0, 1} {
		c := configure(t, &apitest.API{})
		c.FinishTimeout, c.FlushTimeout = given, given
		d, err := New(t.Context(), c)
		require.NoError(t, err)
		defer d.end()
		want := []time.Duration{10 * time.Second, 2 * time.Second}
		if given != 0 {
			want = []time.Duration{given, given}
		}
		require.Equal(t, want, []time.Duration{d.c.FinishTimeout, d.c.FlushTimeout})
	}
}

// What goes wrong while the daemon runs is a line of the log.
func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged.take()
		api := &apitest.API{Answer: func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPatch {
				return false
			}
			apitest.Refuse(w, http.StatusForbidden, "Forbidden")
			return true
		}}
		api.Put(t, node("m", "1"), node("n", "1"), pod("a"), pod("b"), pod("c"))
		c := configure(t, api)
		c.Configuration.Profiles[0].Warnings = []string{"careful"}
		c.Configuration.Extenders = []configv1.Extender{{URLPrefix: "http://127.0.0.1:1/x", FilterVerb: "filter", Ignorable: true}}
		c.Tie = func(int) int { panic("no choice") }
		d := start(t, c)
		require.Equal(t, map[string]scheduler.Outcome{"a": scheduler.Scheduled, "b": scheduler.Scheduled, "c": scheduler.Rejected}, d.outcomes(3))
		d.stop()
		require.NoError(t, <-d.ended)
		lines := slices.DeleteFunc(strings.Split(logged.take(), "\n"), func(line string) bool {
			return strings.Contains(line, "level=DEBUG") || strings.Contains(line, `"the first lists"`) // of client-go
		})
		text := strings.Join(lines, "\n")
		for _, line := range []string{
			`level=INFO msg=Configuration warning="profile mine: careful"`,
			`level=INFO msg="Extender passed over" extender=http://127.0.0.1:1/x err=`,
			`level=ERROR msg="Error updating pod" err="updating the status of pod default/c: `,
		} {
			require.Contains(t, text, line)
		}
		require.Regexp(t, `level=ERROR msg=Scheduling err=.*no choice`, text)
	})
}
