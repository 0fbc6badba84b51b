package httpextender

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

// closing counts the answers that are closed.
type closing struct {
	http.RoundTripper
	closed int
}

type body struct {
	io.ReadCloser
	of *closing
}

func (b body) Close() error {
	b.of.closed++
	return b.ReadCloser.Close()
}

func (c *closing) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = body{response.Body, c}
	}
	return response, err
}

// Every answer is closed, whatever it is, so that its connection is used again.
func TestAnswersAreClosed(t *testing.T) {
	for _, s := range []*stub{{answer: `{"NodeNames":["n1"]}`}, {answer: "no JSON"}, {status: http.StatusTeapot}, {answer: "{} {}"}} {
		c := serve(t, s, cached)
		counted := &closing{RoundTripper: c.http.Transport}
		c.http.Transport = counted
		_, _ = c.Filter(ctx, web(), nodes("n1")) // other tests look at the answers
		require.Equal(t, 1, counted.closed, s.answer)
	}
}

// The tenth redirect is followed and the eleventh is not.
func TestTenRedirects(t *testing.T) {
	for _, redirects := range []int{9, 10, 11} {
		left := redirects
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if left == 0 {
				(&stub{answer: `{"NodeNames":["n1"]}`}).ServeHTTP(w, r)
				return
			}
			left--
			http.Redirect(w, r, "/podberth/filter", http.StatusTemporaryRedirect)
		})
		_, err := serve(t, h, cached).Filter(ctx, web(), nodes("n1"))
		require.Equal(t, redirects > 10-1, err != nil, "%d: %v", redirects, err)
	}
}

// An extender that asks for a certificate gets that of the settings, from data or from files. Data win over files.
func TestClientCertificate(t *testing.T) {
	s := httptest.NewUnstartedServer(&stub{answer: `{"NodeNames":["n1"]}`})
	s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	private, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	dir := t.TempDir()
	keyFile, certFile := filepath.Join(dir, "key"), filepath.Join(dir, "cert")
	require.NoError(t, os.WriteFile(keyFile, key, 0o600))
	require.NoError(t, os.WriteFile(certFile, certificate, 0o600))
	for _, c := range []struct {
		tls   configv1.ExtenderTLSConfig
		wrong string
	}{
		{configv1.ExtenderTLSConfig{CertData: certificate, KeyData: key}, ""},
		{configv1.ExtenderTLSConfig{CertFile: certFile, KeyFile: keyFile}, ""},
		{configv1.ExtenderTLSConfig{CertData: certificate, CertFile: "/none", KeyData: key, KeyFile: "/none"}, ""},
		{configv1.ExtenderTLSConfig{CertData: certificate}, "certificate required"},
		{configv1.ExtenderTLSConfig{KeyData: key}, "certificate required"},
		{configv1.ExtenderTLSConfig{}, "certificate required"},
	} {
		x, err := New(configv1.Extender{URLPrefix: s.URL, FilterVerb: "filter", NodeCacheCapable: true, EnableHTTPS: true, TLSConfig: &c.tls}, Options{})
		require.NoError(t, err)
		_, err = x.Filter(ctx, web(), nodes("n1"))
		if c.wrong == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.wrong)
		}
	}
	settings, err := tlsOf(&configv1.Extender{TLSConfig: &configv1.ExtenderTLSConfig{CertData: certificate, KeyData: key}})
	require.NoError(t, err)
	require.Len(t, settings.Certificates, 1)
	require.False(t, settings.InsecureSkipVerify)
	for _, none := range []*configv1.ExtenderTLSConfig{nil, {}, {CertData: certificate}, {KeyData: key}} {
		settings, err = tlsOf(&configv1.Extender{TLSConfig: none})
		require.NoError(t, err)
		require.Empty(t, settings.Certificates)
		require.Nil(t, settings.RootCAs, "those of the system")
	}
	settings, err = tlsOf(&configv1.Extender{TLSConfig: &configv1.ExtenderTLSConfig{ServerName: "a"}})
	require.NoError(t, err)
	require.Equal(t, "a", settings.ServerName)
	_, err = tlsOf(&configv1.Extender{TLSConfig: &configv1.ExtenderTLSConfig{CAData: []byte("x"), CAFile: "/none"}})
	require.ErrorContains(t, err, "unable to load root certificates", "one byte of data wins over a file")
}

// The byte behind the limit is an error, however the answer is read.
func TestLimitedReads(t *testing.T) {
	for _, size := range []int{1, 2, 4, 5, 6, 7, 100} {
		for _, length := range []int{4, 5, 6, 12} {
			l := &limited{strings.NewReader(strings.Repeat("x", length)), 5, 5}
			read, p := 0, make([]byte, size)
			var err error
			for err == nil {
				var n int
				n, err = l.Read(p)
				read += n
			}
			require.Equal(t, min(length, 5), read)
			if length > 5 {
				require.EqualError(t, err, "the answer has more than 5 bytes (Options.AnswerLimit)")
			} else {
				require.Equal(t, io.EOF, err)
			}
		}
	}
}
