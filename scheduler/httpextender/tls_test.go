package httpextender

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/internal/testkit"
)

// secure starts a TLS server and returns its configuration and its certificate.
func secure(t *testing.T) (configv1.Extender, []byte) {
	t.Helper()
	s := httptest.NewTLSServer(&stub{answer: `{"NodeNames":["n1"]}`})
	t.Cleanup(s.Close)
	s.Config.ErrorLog = nil
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return configv1.Extender{URLPrefix: s.URL, FilterVerb: "filter", NodeCacheCapable: true}, authority
}

func TestTLS(t *testing.T) {
	base, authority := secure(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, authority, 0o600))
	type test struct {
		name, why string
		https     bool
		tls       *configv1.ExtenderTLSConfig
		err       string
	}
	testkit.Run(t, []test{
		{"nothing said", "the system's authorities do not know the server", false, nil, "x509: certificate signed by unknown authority"},
		{"https alone", "without an authority the certificate is not verified", true, nil, ""},
		{"insecure", "the certificate is not checked", true, &configv1.ExtenderTLSConfig{Insecure: true}, ""},
		{"authority", "the authority signed the certificate", true, &configv1.ExtenderTLSConfig{CAData: authority}, ""},
		{"authority from a file", "the file has the same authority", true, &configv1.ExtenderTLSConfig{CAFile: file}, ""},
		{"other name", "the certificate is for example.com and 127.0.0.1", true, &configv1.ExtenderTLSConfig{CAData: authority, ServerName: "shop.test"}, "certificate is valid for"},
		{"name of the certificate", "the certificate is valid for this name", true, &configv1.ExtenderTLSConfig{CAData: authority, ServerName: "example.com"}, ""},
	}, func(t *testing.T, c test) {
		x := base
		x.EnableHTTPS, x.TLSConfig = c.https, c.tls
		client, err := New(x, Options{})
		require.NoError(t, err)
		_, err = client.Filter(ctx, web(), nodes("n1"))
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			return
		}
		require.NoError(t, err)
	})
}

func TestTLSErrors(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	type test struct {
		name string
		tls  configv1.ExtenderTLSConfig
		err  string
	}
	testkit.Run(t, []test{
		{"authority and insecure", configv1.ExtenderTLSConfig{Insecure: true, CAData: []byte("x")}, "specifying a root certificates file with the insecure flag is not allowed"},
		{"no authority there", configv1.ExtenderTLSConfig{CAFile: "/nope"}, "open /nope: no such file or directory"},
		{"no certificate there", configv1.ExtenderTLSConfig{CertFile: "/nope", KeyFile: "/nope"}, "open /nope: no such file or directory"},
		{"no key there", configv1.ExtenderTLSConfig{CertData: []byte("x"), KeyFile: "/nope"}, "open /nope: no such file or directory"},
		{"no authority", configv1.ExtenderTLSConfig{CAData: []byte("hello")}, "unable to load root certificates: unable to parse bytes as PEM block"},
		{"no certificate", configv1.ExtenderTLSConfig{CertData: []byte("hello"), KeyData: []byte("hello")}, "tls: failed to find any PEM data in certificate input"},
		{"empty file", configv1.ExtenderTLSConfig{CAFile: empty}, empty + " is empty"},
	}, func(t *testing.T, c test) {
		_, err := NewAll([]configv1.Extender{{EnableHTTPS: true, TLSConfig: &c.tls}}, Options{})
		require.EqualError(t, err, "couldn't build extenders: "+c.err)
	})
	_, err := New(configv1.Extender{EnableHTTPS: true, TLSConfig: &configv1.ExtenderTLSConfig{CertData: []byte("a certificate alone")}}, Options{})
	require.NoError(t, err, "without a key it is left aside")
}

// A server without forward secrecy, or without authenticated encryption, is not spoken to.
func TestSuites(t *testing.T) {
	for name, suite := range map[string]uint16{"no forward secrecy": tls.TLS_RSA_WITH_AES_128_GCM_SHA256, "no authenticated encryption": tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, "both": tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(&stub{answer: `{"NodeNames":["n1"]}`})
			s.TLS = &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.StartTLS()
			t.Cleanup(s.Close)
			client, err := New(configv1.Extender{URLPrefix: s.URL, FilterVerb: "filter", NodeCacheCapable: true, EnableHTTPS: true, TLSConfig: &configv1.ExtenderTLSConfig{Insecure: true}}, Options{})
			require.NoError(t, err)
			_, err = client.Filter(ctx, web(), nodes("n1"))
			if name == "both" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "handshake failure")
			client, err = New(configv1.Extender{URLPrefix: s.URL, FilterVerb: "filter", NodeCacheCapable: true}, Options{})
			require.NoError(t, err)
			_, err = client.Filter(ctx, web(), nodes("n1"))
			require.ErrorContains(t, err, "handshake failure", "also without settings")
		})
	}
}
