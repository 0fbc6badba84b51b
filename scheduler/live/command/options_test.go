package command

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"

	"github.com/podberth/podberth/scheduler/live/lead"
)

// A flag that is given counts before the configuration, and the configuration before the defaults.
func TestOptions(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	kubeconfig := func(server string) string {
		return file(server, `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "https://`+server+`"}}]}`)
	}
	config := file("config", `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: `+kubeconfig("of-config")+`, qps: 7, burst: 9, contentType: application/json}
leaderElection: {leaseDuration: 60s, renewDeadline: 40s, retryPeriod: 5s, resourceName: mine, resourceNamespace: here}
`)
	none := file("none", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {leaderElect: false}\n")
	const protobuf = "application/vnd.kubernetes.protobuf"
	defaults := lead.Lease{Namespace: "kube-system", Name: "kube-scheduler", Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}
	configured := lead.Lease{Namespace: "here", Name: "mine", Duration: time.Minute, RenewDeadline: 40 * time.Second, RetryPeriod: 5 * time.Second}
	changed := func(l lead.Lease, change func(*lead.Lease)) *lead.Lease { change(&l); return &l }
	type test struct {
		name, host  string
		args        []string
		qps         float32
		burst       int
		contentType string
		lease       *lead.Lease
	}
	testkit.Run(t, []test{
		{"defaults", "https://of-flag", []string{"--kubeconfig", kubeconfig("of-flag")}, 50, 100, protobuf, &defaults},
		{"master", "https://master", []string{"--master", "https://master"}, 50, 100, protobuf, &defaults},
		{"master and kubeconfig", "https://master", []string{"--kubeconfig", kubeconfig("of-flag"), "--master", "https://master"}, 50, 100, protobuf, &defaults},
		{"configuration", "https://of-config", []string{"--config", config}, 7, 9, "application/json", &configured},
		{"kubeconfig before configuration", "https://of-flag", []string{"--config", config, "--kubeconfig", kubeconfig("of-flag")}, 7, 9, "application/json", &configured},
		{"qps", "https://of-config", []string{"--config", config, "--kube-api-qps", "3"}, 3, 9, "application/json", &configured},
		{"burst", "https://of-config", []string{"--config", config, "--kube-api-burst", "100"}, 7, 100, "application/json", &configured},
		{"no limit", "https://of-config", []string{"--config", config, "--kube-api-qps=-3"}, -3, 9, "application/json", &configured},
		{"client-go's limit", "https://of-config", []string{"--config", config, "--kube-api-qps=0", "--kube-api-burst=0"}, 0, 0, "application/json", &configured},
		{"content type", "https://of-config", []string{"--config", config, "--kube-api-content-type", protobuf}, 7, 9, protobuf, &configured},
		{"no election", "https://of-config", []string{"--config", config, "--leader-elect=false"}, 7, 9, "application/json", nil},
		{"no election in the configuration", "https://x", []string{"--config", none, "--kubeconfig", kubeconfig("x")}, 50, 100, protobuf, nil},
		{"election by flag", "https://x", []string{"--config", none, "--kubeconfig", kubeconfig("x"), "--leader-elect"}, 50, 100, protobuf, &defaults},
		{"name", "https://of-config", []string{"--config", config, "--leader-elect-resource-name", "n"}, 7, 9, "application/json", changed(configured, func(l *lead.Lease) { l.Name = "n" })},
		{"namespace", "https://of-config", []string{"--config", config, "--leader-elect-resource-namespace", "n"}, 7, 9, "application/json", changed(configured, func(l *lead.Lease) { l.Namespace = "n" })},
		{"duration", "https://of-config", []string{"--config", config, "--leader-elect-lease-duration", "50s"}, 7, 9, "application/json", changed(configured, func(l *lead.Lease) { l.Duration = 50 * time.Second })},
		{"deadline", "https://of-config", []string{"--config", config, "--leader-elect-renew-deadline", "30s"}, 7, 9, "application/json", changed(configured, func(l *lead.Lease) { l.RenewDeadline = 30 * time.Second })},
		{"retry", "https://of-config", []string{"--config", config, "--leader-elect-retry-period", "3s"}, 7, 9, "application/json", changed(configured, func(l *lead.Lease) { l.RetryPeriod = 3 * time.Second })},
	}, func(t *testing.T, c test) {
		o := parsed(t, c.args...)
		require.NoError(t, o.validate())
		require.Equal(t, 10259, o.serving.BindPort)
		loaded, err := o.load()
		require.NoError(t, err)
		r, err := o.rest(loaded.Document)
		require.NoError(t, err)
		require.Equal(t, c.host, r.Host)
		require.Equal(t, c.qps, r.QPS)
		require.Equal(t, c.burst, r.Burst)
		require.Equal(t, c.contentType, r.ContentType)
		require.Equal(t, "application/vnd.kubernetes.protobuf,application/json", r.AcceptContentTypes)
		require.True(t, r.DisableCompression)
		lease, err := o.leaseOf(loaded)
		require.NoError(t, err)
		if c.lease == nil {
			require.Nil(t, lease)
			return
		}
		require.Equal(t, "default-scheduler", lease.Component)
		lease.Identity, lease.Component, lease.WatchDog = "", "", nil // TestIdentity
		require.Equal(t, c.lease, lease)
	})
}

// A pod may wait as unschedulable for no time: it is tried each time that the queue looks, as with kube-scheduler.
func TestLeftover(t *testing.T) {
	for text, want := range map[string]time.Duration{"0s": 1, "-1s": 1, "1h": time.Hour} {
		p, err := parsed(t, "--master=http://127.0.0.1:1", "--pod-max-in-unschedulable-pods-duration="+text).prepare()
		require.NoError(t, err)
		require.Equal(t, want, p.daemon.Leftover, text)
	}
}
