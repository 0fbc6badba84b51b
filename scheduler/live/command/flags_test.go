package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/podberth/podberth/internal/testkit"
)

// parsed returns the options of a command line.
func parsed(t *testing.T, args ...string) *options {
	t.Helper()
	o, fs := newOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
	o.addFlags(fs)
	require.NoError(t, fs.Parse(args))
	return o
}

// A flag that kube-scheduler has too has kube-scheduler's default, and every flag says what it does.
func TestFlags(t *testing.T) {
	o := parsed(t)
	for name, value := range map[string]string{
		"config": "", "kubeconfig": "", "master": "",
		"kube-api-qps": "50", "kube-api-burst": "100", "kube-api-content-type": "application/vnd.kubernetes.protobuf",
		"leader-elect": "true", "leader-elect-lease-duration": "15s", "leader-elect-renew-deadline": "10s", "leader-elect-retry-period": "2s",
		"leader-elect-resource-lock": "leases", "leader-elect-resource-name": "kube-scheduler", "leader-elect-resource-namespace": "kube-system",
		"pod-max-in-unschedulable-pods-duration": "5m0s", "profiling": "true",
		"secure-port": "10259", "cert-dir": "", "authentication-kubeconfig": "", "authorization-kubeconfig": "", "logging-format": "text",
		"check-permissions": "true", "shadow": "false", "shadow-output": "-", "pending-causes": "0s", // kube-scheduler lacks these
	} {
		f := o.given.Lookup(name)
		require.NotNil(t, f, name)
		require.Equal(t, value, f.DefValue, name)
		require.NotEmpty(t, f.Usage, name)
	}
}

// testdata/flags.txt has the name of every flag, also of those that libraries declare. internal/testkit reads it.
func TestFlagNames(t *testing.T) {
	var names []string
	parsed(t).given.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	testkit.Golden(t, filepath.Join("testdata", "flags.txt"), strings.Join(names, "\n")+"\n")
}

// Everything that is wrong with the flags of the server and of the logs is reported, each in a line.
func TestValidate(t *testing.T) {
	o := parsed(t, "--secure-port=99999", "--requestheader-username-headers= ", "--logging-format=none", "--tls-cert-file=c.pem", "--pending-causes=-1s", "--shadow-output=o.json")
	o.authorization.WebhookRetryBackoff = &wait.Backoff{}
	got := lines(usage{o.validate()})
	require.Len(t, got, 7)
	for k, want := range []string{"--secure-port 99999 must be", "requestheader-username-headers", "number of webhook retry attempts", `format: Invalid value: "none"`,
		"--tls-cert-file, --tls-private-key-file: give both or none", "--pending-causes -1s: must not be below 0", "--shadow-output o.json: needs --shadow"} {
		require.Contains(t, got[k], want)
	}
}

// In a pod the service account says how to reach the API server.
func TestInCluster(t *testing.T) {
	const token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	if _, err := os.Stat(token); err == nil {
		t.Skip("the test runs in a pod")
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "1")
	o := parsed(t)
	c, err := o.load()
	require.NoError(t, err)
	_, err = o.rest(c.Document)
	require.EqualError(t, err, "open "+token+": no such file or directory")
}

// Who holds the lease is known by its host, and no two are the same.
func TestIdentity(t *testing.T) {
	o := parsed(t)
	c, err := o.load()
	require.NoError(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	seen := map[string]bool{}
	for range 3 {
		l, err := o.leaseOf(c)
		require.NoError(t, err)
		require.NotNil(t, l.WatchDog)
		id, ok := strings.CutPrefix(l.Identity, host+"_")
		require.True(t, ok, l.Identity)
		require.Len(t, id, 36)
		seen[id] = true
	}
	require.Len(t, seen, 3)
}

// What keeps the HTTPS server from starting is an error.
func TestServeErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	type test struct {
		name, why, flag, want string
	}
	testkit.Run(t, []test{
		{"certificates", "the folder is a file", "--cert-dir=" + file, file},
		{"authentication", "nobody could be known", "--authentication-kubeconfig=/none", "/none"},
		{"authorization", "nobody could be allowed", "--authorization-kubeconfig=/none", "/none"},
	}, func(t *testing.T, c test) {
		o := parsed(t, c.flag)
		o.serving.Listener = listen(t)
		_, err := o.serve(newServer(t))
		require.ErrorContains(t, err, c.want, c.why)
	})
}

// Without a port there is no server, and nothing to stop.
func TestNoPort(t *testing.T) {
	stop, err := parsed(t, "--secure-port=0").serve(newServer(t))
	require.NoError(t, err)
	stop()
}
