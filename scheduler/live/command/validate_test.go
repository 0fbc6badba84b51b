package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// A flag with a value that cannot be meant is named in one line, and the command ends with exit code 2 before its server starts and before
// it asks the API server. kube-scheduler v1.37.2 starts with half of these values, and then asks for ever.
func TestBadValues(t *testing.T) {
	dir := t.TempDir()
	document := func(name, line string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+line+"\n"), 0o600))
		return path
	}
	none := filepath.Join(dir, "none")
	missing := ": open " + none + ": no such file or directory"
	const master = "--master=http://127.0.0.1:1"
	type test struct {
		name, want string
		args       []string
	}
	testkit.Run(t, []test{
		{"qps is no number", "--kube-api-qps NaN: must be a number; below 0 there is no limit", []string{master, "--kube-api-qps=NaN"}},
		{"qps without end", "--kube-api-qps +Inf: must be a number; below 0 there is no limit", []string{master, "--kube-api-qps=Inf"}},
		{"burst below 0", "--kube-api-burst -1: must be between 1 and 2147483647", []string{master, "--kube-api-burst=-1"}},
		{"burst 0", "--kube-api-burst 0: must be between 1 and 2147483647", []string{master, "--kube-api-burst=0"}},
		{"burst above kube-scheduler's type", "--kube-api-burst 2147483648: must be between 1 and 2147483647", []string{master, "--kube-api-burst=2147483648"}},
		{"content type", `--kube-api-content-type (clientConnection.contentType) "text/x": must be one of application/vnd.kubernetes.protobuf, application/json`, []string{master, "--kube-api-content-type=text/x"}},
		{"content type of the configuration", `--kube-api-content-type (clientConnection.contentType) "text/x": must be one of application/vnd.kubernetes.protobuf, application/json`, []string{master, "--config", document("type", "clientConnection: {contentType: text/x}")}},
		{"no address", `the address of the API server: parse "http://::bad": invalid port "::bad" after host`, []string{"--master=::bad"}},
		{"another protocol", "the address of the API server, ftp://x: must begin with https:// or http://", []string{"--master=ftp://x"}},
		{"lease for no time", "--leader-elect-lease-duration 0s: must be above 0", []string{master, "--leader-elect-lease-duration=0s"}},
		{"deadline 0", "--leader-elect-renew-deadline 0s: must be above 0", []string{master, "--leader-elect-renew-deadline=0s"}},
		{"retry period below 0", "--leader-elect-retry-period -1s: must be above 0", []string{master, "--leader-elect-retry-period=-1s"}},
		{"lease without a name", `--leader-elect-resource-name "": a lowercase RFC 1123 subdomain must consist of`, []string{master, "--leader-elect-resource-name="}},
		{"lease with a bad name", `--leader-elect-resource-name "A/b": a lowercase RFC 1123 subdomain must consist of`, []string{master, "--leader-elect-resource-name=A/b"}},
		{"lease in no namespace", `--leader-elect-resource-namespace "": a lowercase RFC 1123 label must consist of`, []string{master, "--leader-elect-resource-namespace="}},
		{"streams", "--http2-max-streams-per-connection -1: must not be below 0", []string{master, "--http2-max-streams-per-connection=-1"}},
		{"cache of tokens", "--authentication-token-webhook-cache-ttl -1s: must not be below 0", []string{master, "--authentication-token-webhook-cache-ttl=-1s"}},
		{"cache of the allowed", "--authorization-webhook-cache-authorized-ttl -1s: must not be below 0", []string{master, "--authorization-webhook-cache-authorized-ttl=-1s"}},
		{"cache of the others", "--authorization-webhook-cache-unauthorized-ttl -1s: must not be below 0", []string{master, "--authorization-webhook-cache-unauthorized-ttl=-1s"}},
		{"certificate", "--tls-cert-file" + missing, []string{master, "--tls-cert-file", none, "--tls-private-key-file", document("key", "")}},
		{"key", "--tls-private-key-file" + missing, []string{master, "--tls-cert-file", document("cert", ""), "--tls-private-key-file", none}},
		{"certificate of a name", "--tls-sni-cert-key" + missing, []string{master, "--tls-sni-cert-key", document("sni", "") + "," + none}},
		{"first file of a name", "--tls-sni-cert-key" + missing, []string{master, "--tls-sni-cert-key", none + "," + document("snikey", "")}},
		{"authority of clients", "--client-ca-file" + missing, []string{master, "--client-ca-file", none}},
		{"authority of proxies", "--requestheader-client-ca-file" + missing, []string{master, "--requestheader-client-ca-file", none}},
		{"kubeconfig of authentication", "--authentication-kubeconfig" + missing, []string{master, "--authentication-kubeconfig", none}},
		{"kubeconfig of authorization", "--authorization-kubeconfig" + missing, []string{master, "--authorization-kubeconfig", none}},
		{"version of TLS", `--tls-min-version: unknown tls version "x"`, []string{master, "--tls-min-version=x"}},
		{"ciphers", "--tls-cipher-suites: Cipher suite x not supported", []string{master, "--tls-cipher-suites=x"}},
		{"curves", "--tls-curve-preferences: curve preference 9999 is not supported", []string{master, "--tls-curve-preferences=9999"}},
		{"reports in no folder", "--shadow-output: open " + none + "/x: no such file or directory", []string{master, "--shadow", "--shadow-output", none + "/x"}},
		{"reports in a folder", "--shadow-output: open " + dir + ": is a directory", []string{master, "--shadow", "--shadow-output", dir}},
	}, func(t *testing.T, c test) {
		said := logged()
		ctx, stop := context.WithCancel(t.Context())
		stop() // a command that takes the value ends without an error
		var out, errs bytes.Buffer
		require.Equal(t, 2, Run(ctx, append([]string{"--secure-port=0"}, c.args...), &out, &errs), errs.String())
		require.Empty(t, out.String())
		require.True(t, strings.HasPrefix(errs.String(), "error: "+c.want), errs.String())
		require.Equal(t, 1, strings.Count(errs.String(), "error: "), errs.String())
		require.NotContains(t, said(), "The API server does not answer")
	})
}

// Reports that cannot be written are a mistake of the caller, found before the server listens.
func TestShadowOutput(t *testing.T) {
	o := parsed(t, "--master=http://127.0.0.1:1", "--shadow", "--shadow-output=/none/x", "--cert-dir=/none/certificates")
	require.EqualError(t, o.run(t.Context(), nil), "--shadow-output: open /none/x: no such file or directory")
	require.Nil(t, o.serving.Listener)
}
