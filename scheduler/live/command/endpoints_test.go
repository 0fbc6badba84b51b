package command

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/scheduler/live/internal/apitest"
)

// certificates returns a folder in which the processes of a test keep their certificate, because making one takes long.
var certificates = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "podberth-command-")
	if err != nil {
		panic(err)
	}
	return dir
})

// process is a command that runs.
type process struct {
	t       *testing.T
	address string
	client  *http.Client
	ended   chan error
	stop    context.CancelFunc
}

// run runs the command with an HTTPS server at a free port, until the test ends.
func run(t *testing.T, args ...string) *process {
	t.Helper()
	o := parsed(t, append([]string{"--kube-api-content-type=application/json", "--cert-dir=" + certificates()}, args...)...) // the server of the test reads JSON
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	o.serving.Listener = listener
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the certificate is made by the process
	p := &process{t: t, address: listener.Addr().String(), client: &http.Client{Transport: transport}, ended: make(chan error, 1), stop: cancel}
	go func() { p.ended <- o.run(ctx, io.Discard) }()
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		require.NoError(t, p.end())
	})
	return p
}

// end stops the command and returns its error.
func (p *process) end() error {
	p.stop()
	err := <-p.ended
	p.ended <- err // for the next who asks
	return err
}

// ask sends a request with a token, "" for none, and returns code and body.
func (p *process) ask(path, token string) (code int, body string) {
	p.t.Helper()
	r, err := http.NewRequest(http.MethodGet, "https://"+p.address+path, nil)
	require.NoError(p.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := p.client.Do(r) // the listener is open already
	require.NoError(p.t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(p.t, err)
	return answer.StatusCode, string(data)
}

// readyz names what it waits for, while healthz and livez are well; then it is ready. With leader election the lease is a check of
// healthz and readyz.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{Held: map[string]chan struct{}{"nodes": make(chan struct{}), "csinodes": make(chan struct{})}}
		p := bubble(t, api, nil, "--leader-elect=false")
		answers := func(code int, want map[string]string) {
			t.Helper()
			for path, body := range want {
				got, text := p.ask(path)
				require.Equal(t, code, got, path)
				require.Equal(t, body, text, path)
			}
		}
		answers(http.StatusOK, map[string]string{
			"/healthz": "ok", "/livez": "ok", "/healthz?verbose": "[+]ping ok\nhealthz check passed\n", "/livez?verbose": "[+]ping ok\nlivez check passed\n",
		})
		answers(http.StatusInternalServerError, map[string]string{
			"/readyz": "[-]sched-handler-sync failed: waiting for the first list of nodes, csinodes.storage.k8s.io\nreadyz check failed\n",
		})
		close(api.Held["nodes"])
		answers(http.StatusInternalServerError, map[string]string{
			"/readyz": "[-]sched-handler-sync failed: waiting for the first list of csinodes.storage.k8s.io\nreadyz check failed\n",
		})
		close(api.Held["csinodes"])
		answers(http.StatusOK, map[string]string{"/readyz": "ok", "/readyz?verbose": "[+]sched-handler-sync ok\nreadyz check passed\n"})

		p = bubble(t, &apitest.API{}, nil)
		answers(http.StatusOK, map[string]string{
			"/healthz?verbose": "[+]leaderElection ok\nhealthz check passed\n", "/livez?verbose": "[+]ping ok\nlivez check passed\n",
			"/readyz?verbose": "[+]leaderElection ok\n[+]sched-handler-sync ok\nreadyz check passed\n",
		})
	})
}

// While the API server is away at the start, readyz names the error. The process is alive, and a stop ends the wait.
func TestHealthWhileAway(t *testing.T) { // B3.21
	type test struct {
		name, path string // of the question that gets no answer
		mode       string
	}
	testkit.Run(t, []test{
		{"what it serves", "/apis/apps/v1", "--shadow=false"},
		{"what it serves, asked by the shadow", "/apis/apps/v1", "--shadow"},
		{"permissions", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "--shadow=false"},
		{"permissions, asked by the shadow", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "--shadow"},
	}, func(t *testing.T, x test) {
		synctest.Test(t, func(t *testing.T) {
			p := bubble(t, &apitest.API{Answer: func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != x.path {
					return false
				}
				http.Error(w, "", http.StatusServiceUnavailable)
				return true
			}}, nil, "--leader-elect=false", x.mode)
			code, body := p.ask("/readyz")
			require.Equal(t, http.StatusInternalServerError, code)
			require.True(t, strings.HasPrefix(body, "[-]sched-handler-sync failed: asking the API server what it serves and what the account may do (the server is currently unable to handle the request"), body)
			_, body = p.ask("/livez")
			require.Equal(t, "ok", body)
			require.NoError(t, p.end())
		})
	})
}

// With delayCacheUntilActive a replica that waits for the lease watches nothing and is not ready. It is ready once it has the lease.
func TestDelayedCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\ndelayCacheUntilActive: true\n"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		api := &apitest.API{}
		hold := func(holder string) {
			api.Put(t, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-scheduler"},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: ptr.To[int32](3600)},
			})
		}
		hold("somebody")
		p := bubble(t, api, nil, "--config", file)
		for range 3 {
			code, body := p.ask("/readyz")
			require.Equal(t, http.StatusInternalServerError, code)
			require.True(t, strings.HasPrefix(body, "[+]leaderElection ok\n[-]sched-handler-sync failed: waiting for the first list of nodes, namespaces, services, "), body)
			time.Sleep(time.Minute) // of the bubble: the lease is asked for again and again
		}
		require.Zero(t, api.Asked(http.MethodGet, "/api/v1/nodes"))
		hold("")
		time.Sleep(10 * time.Second)
		_, body := p.ask("/readyz")
		require.Equal(t, "ok", body)
	})
}

// Everything but the checks needs a user whom the API server knows and who may read the path. Without --authentication-kubeconfig and
// --authorization-kubeconfig nobody may.
func TestAccess(t *testing.T) {
	kubeconfig := startAPI(t, &apitest.API{})
	p := run(t, "--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig, "--leader-elect=false")
	closed := run(t, "--kubeconfig", kubeconfig, "--leader-elect=false")
	for _, path := range []string{"/metrics", "/configz", "/debug/pprof/", "/healthz/ping", "/nothing"} {
		code, body := p.ask(path, "")
		require.Equal(t, http.StatusForbidden, code, path)
		require.Contains(t, body, `forbidden: User \"system:anonymous\" cannot get path \"`+path+`\"`)
		code, _ = p.ask(path, "stranger")
		require.Equal(t, http.StatusUnauthorized, code, path)
		code, _ = p.ask(path, "operator")
		require.Equal(t, map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[path != "/nothing" && path != "/healthz/ping"], code, path)
		code, _ = closed.ask(path, "operator")
		require.Equal(t, http.StatusForbidden, code, path)
	}
	for _, path := range []string{"/healthz", "/livez"} {
		code, _ := p.ask(path, "stranger")
		require.Equal(t, http.StatusUnauthorized, code, "a token that is no user's")
		code, _ = closed.ask(path, "")
		require.Equal(t, http.StatusOK, code)
	}
}

// The scheduler's metrics have kube-scheduler's names.
func TestMetricNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bubble(t, &apitest.API{}, nil, "--leader-elect=false")
		_, body := p.ask("/metrics")
		for _, name := range []string{`scheduler_pending_pods{queue="active"} 0`, `scheduler_cache_size{type="nodes"} 0`} {
			require.Contains(t, body, name)
		}
	})
}

// configz has the configuration with its defaults, and metrics have what every program of Kubernetes has.
func TestAnswersToOperators(t *testing.T) {
	kubeconfig := startAPI(t, &apitest.API{})
	access := []string{"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig, "--leader-elect=false"}
	p := run(t, access...)
	_, body := p.ask("/configz", "operator")
	var c struct {
		Config struct {
			Kind, APIVersion string
			Parallelism      int
			Profiles         []struct{ SchedulerName string }
		} `json:"componentconfig"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &c))
	require.Equal(t, "KubeSchedulerConfiguration kubescheduler.config.k8s.io/v1", c.Config.Kind+" "+c.Config.APIVersion)
	require.Equal(t, 16, c.Config.Parallelism)
	require.Equal(t, "default-scheduler", c.Config.Profiles[0].SchedulerName)
	_, body = p.ask("/metrics", "operator")
	for _, name := range []string{"rest_client_requests_total", "workqueue_depth", "process_cpu_seconds_total", "go_goroutines"} {
		require.Contains(t, body, name)
	}
	p = run(t, append(access, "--profiling=false")...)
	code, _ := p.ask("/debug/pprof/", "operator")
	require.Equal(t, http.StatusNotFound, code)
}

// The server speaks TLS only. It makes a certificate for localhost, or has that of the flags. It ends with the command.
func TestTLS(t *testing.T) {
	kubeconfig := startAPI(t, &apitest.API{})
	p := run(t, "--kubeconfig", kubeconfig, "--leader-elect=false", "--cert-dir=")
	p.ask("/livez", "")
	plain, err := http.Get("http://" + p.address + "/livez")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, plain.StatusCode, "not TLS")
	require.NoError(t, plain.Body.Close())
	connection, err := tls.Dial("tcp", p.address, p.client.Transport.(*http.Transport).TLSClientConfig)
	require.NoError(t, err)
	certificate := connection.ConnectionState().PeerCertificates[0]
	require.NoError(t, connection.Close())
	require.NoError(t, certificate.VerifyHostname("localhost"))
	require.NoError(t, certificate.VerifyHostname("127.0.0.1"))
	old := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11} //nolint:gosec // must be refused
	_, err = tls.Dial("tcp", p.address, old)
	require.Error(t, err)
	for _, suite := range []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_128_GCM_SHA256} {
		weak := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}} //nolint:gosec // must be refused
		_, err = tls.Dial("tcp", p.address, weak)
		require.Error(t, err, tls.CipherSuiteName(suite))
	}

	p.client.CloseIdleConnections()
	require.NoError(t, p.end(), "a stop is no failure")
	_, err = net.Dial("tcp", p.address)
	require.Error(t, err, "the port is free")

	dir := t.TempDir()
	p = run(t, "--kubeconfig", kubeconfig, "--leader-elect=false", "--cert-dir="+dir)
	p.ask("/livez", "")
	require.FileExists(t, filepath.Join(dir, "podberth-scheduler.crt"), "the certificate is kept for the next start")
}
