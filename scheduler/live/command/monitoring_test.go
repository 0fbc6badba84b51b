package command

import (
	"os"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/podberth/podberth/scheduler"

	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// manifest reads a manifest. Fields that into lacks are errors.
func manifest(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("../deploy/" + name)
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(data, into), name)
}

// kind is what every manifest begins with.
type kind struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
}

// The PodMonitor selects the pods of the Deployment and reads the path and port at which they have metrics.
func TestPodMonitor(t *testing.T) {
	var deployment appsv1.Deployment
	manifest(t, "deployment.yaml", &deployment)
	var monitor struct {
		kind `json:",inline"`
		Spec struct {
			Selector            metav1.LabelSelector
			PodMetricsEndpoints []struct {
				Port, Scheme, Path string
				BearerTokenSecret  struct{ Name, Key string }
				TLSConfig          struct{ InsecureSkipVerify bool }
			}
		}
	}
	manifest(t, "monitoring/podmonitor.yaml", &monitor)
	require.Equal(t, "monitoring.coreos.com/v1 PodMonitor", monitor.APIVersion+" "+monitor.Kind)
	selector, err := metav1.LabelSelectorAsMap(&monitor.Spec.Selector)
	require.NoError(t, err)
	require.NotEmpty(t, selector)
	for key, value := range selector {
		require.Equal(t, value, deployment.Spec.Template.Labels[key])
	}
	require.Len(t, monitor.Spec.PodMetricsEndpoints, 1)
	e := monitor.Spec.PodMetricsEndpoints[0]
	require.Equal(t, "https /metrics", e.Scheme+" "+e.Path)
	require.Equal(t, deployment.Spec.Template.Spec.Containers[0].Ports[0].Name, e.Port)
}

var (
	metricName  = regexp.MustCompile(`([a-z_]+)[{\[]([^}\]]*)`)
	metricLabel = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
)

// The process writes every metric that an alert reads, with the labels that the alert reads.
func TestAlerts(t *testing.T) {
	var rules struct {
		kind `json:",inline"`
		Spec struct {
			Groups []struct {
				Name  string
				Rules []struct {
					Alert, Expr, For string
					Annotations      struct{ Summary string }
				}
			}
		}
	}
	manifest(t, "monitoring/alerts.yaml", &rules)
	require.Equal(t, "monitoring.coreos.com/v1 PrometheusRule", rules.APIVersion+" "+rules.Kind)
	var body string
	synctest.Test(t, func(t *testing.T) {
		_, body = bubble(t, &apitest.API{}, nil).ask("/metrics")
	})
	require.Contains(t, body, `leader_election_master_status{name="kube-scheduler"} 1`)
	has := func(name, label string) bool {
		for _, m := range scheduler.MetricTable() { // one that counts nothing yet is not in the answer
			if m.Name == name {
				return label == "" || slices.Contains(m.Labels, label)
			}
		}
		pattern := `(?m)^` + name + `\{`
		if label != "" {
			pattern += `([^}]*,)?` + label + `="`
		}
		return regexp.MustCompile(pattern).MatchString(body)
	}
	require.False(t, has("leader_election_master_status", "nothing"))
	for _, group := range rules.Spec.Groups {
		for _, r := range group.Rules {
			require.NotEmpty(t, r.Annotations.Summary, r.Alert)
			names := metricName.FindAllStringSubmatch(r.Expr, -1)
			require.NotEmpty(t, names, r.Alert)
			for _, m := range names {
				require.True(t, has(m[1], ""), "%s asks for %s", r.Alert, m[1])
				for _, label := range metricLabel.FindAllStringSubmatch(m[2], -1) {
					require.True(t, has(m[1], label[1]), "%s asks for the label %s of %s", r.Alert, label[1], m[1])
				}
			}
		}
	}
}
