package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler/live/command"
)

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
`

// A mistake is one clear line and exit code 2.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	good := file("kubeconfig", kubeconfig)
	type test struct {
		name, why string
		args      []string
		want      string
	}
	testkit.Run(t, []test{
		{"unknown flag", "the flag is named", []string{"--nonsense"}, "error: unknown flag: --nonsense"},
		{"arguments", "there are none", []string{"extra"}, `error: "podberth-scheduler" does not take any arguments, got ["extra"]`},
		{"no server", "outside a cluster somebody must say where it is", nil, "error: no API server: give --kubeconfig or --master, or run in a pod with a service account"},
		{"no kubeconfig", "the file is named", []string{"--kubeconfig", dir + "/x"}, "error: --kubeconfig " + dir + "/x: stat " + dir + "/x: no such file or directory"},
		{"no kubeconfig of the configuration", "the file and who names it", []string{"--config", file("reach", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nclientConnection: {kubeconfig: /none}\n")}, "error: clientConnection.kubeconfig /none: stat /none: no such file or directory"},
		{"broken kubeconfig", "the file is named", []string{"--kubeconfig", file("broken", "{")}, "error: --kubeconfig " + dir + "/broken: error loading config file"},
		{"no config", "the file is named", []string{"--config", dir + "/x"}, "error: --config: open " + dir + "/x: no such file or directory"},
		{"old config", "an API version that is not supported", []string{"--config", file("old", "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n")}, "error: --config " + dir + "/old: "},
		{"bad config", "kube-scheduler's words", []string{"--config", file("bad", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: -1\n")}, "error: --config " + dir + "/bad: parallelism: Invalid value: -1: should be an integer value greater than zero"},
		{"escape sequences", "the terminal is not the file's", []string{"--config", file("hostile", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: \"K\\e[2J\\u202e\"\n")}, "error: --config " + dir + `/hostile: no kind "K\x1b[2J\u202e" is registered`},
		{"lock of the configuration", "the configuration is good as long as no lock is taken", []string{"--kubeconfig", good, "--leader-elect", "--config", file("lock", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {leaderElect: false, resourceLock: endpoints}\n")}, "error: --leader-elect-resource-lock endpoints: only leases is supported"},
		{"port", "kube-scheduler's words", []string{"--kubeconfig", good, "--secure-port", "99999"}, "error: --secure-port 99999 must be between 1 and 65535, inclusive. It cannot be turned off with 0"},
		{"lease", "the renewal must come before the end", []string{"--kubeconfig", good, "--leader-elect-lease-duration", "5s"}, "error: leader election: leaseDuration must be greater than renewDeadline"},
		{"lock", "endpoints are gone since v1.24", []string{"--kubeconfig", good, "--leader-elect-resource-lock", "endpoints"}, "error: --leader-elect-resource-lock endpoints: only leases is supported"},
	}, func(t *testing.T, c test) {
		var out, errs bytes.Buffer
		require.Equal(t, 2, command.Run(t.Context(), c.args, &out, &errs))
		require.Empty(t, out.String())
		require.True(t, strings.HasPrefix(errs.String(), c.want), errs.String())
		require.Equal(t, 1, strings.Count("\n"+errs.String(), "\nerror: "), errs.String())
	})
}

// Help and version are answers, not mistakes.
func TestAnswers(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, command.Run(t.Context(), []string{"--version"}, &out, &errs))
	require.Contains(t, out.String(), "decides as Kubernetes v1.37.2")
	require.Zero(t, command.Run(t.Context(), []string{"--help"}, &out, &errs))
	for _, flag := range []string{"--config", "--kubeconfig", "--leader-elect-lease-duration", "--secure-port", "--shadow", "--logging-format", "--authentication-kubeconfig"} {
		require.Contains(t, out.String(), flag)
	}
	require.Empty(t, errs.String())
}
