package httpextender

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	configv1 "k8s.io/kube-scheduler/config/v1"
)

// transportOf returns a transport with the TLS settings of an extender. With enableHTTPS and no certificate authority the
// server's certificate is not verified, as in v1.37.
func transportOf(x *configv1.Extender) (*http.Transport, error) {
	settings, err := tlsOf(x)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     settings,
		MaxIdleConnsPerHost: 25,
		ForceAttemptHTTP2:   true,
	}, nil
}

// tlsOf returns the TLS settings.
func tlsOf(x *configv1.Extender) (*tls.Config, error) {
	t := configv1.ExtenderTLSConfig{}
	if x.TLSConfig != nil {
		t = *x.TLSConfig
	}
	var err error
	if t.CAData, err = fromFile(t.CAData, t.CAFile); err != nil {
		return nil, err
	}
	if x.EnableHTTPS && len(t.CAData) == 0 {
		t.Insecure = true
	}
	if len(t.CAData) > 0 && t.Insecure {
		return nil, errors.New("specifying a root certificates file with the insecure flag is not allowed")
	}
	if t.CertData, err = fromFile(t.CertData, t.CertFile); err != nil {
		return nil, err
	}
	if t.KeyData, err = fromFile(t.KeyData, t.KeyFile); err != nil {
		return nil, err
	}
	hasCertificate := len(t.CertData) > 0 && len(t.KeyData) > 0
	c := &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites, InsecureSkipVerify: t.Insecure, ServerName: t.ServerName}
	if len(t.CAData) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(t.CAData) {
			return nil, errors.New("unable to load root certificates: unable to parse bytes as PEM block")
		}
	}
	if hasCertificate {
		pair, err := tls.X509KeyPair(t.CertData, t.KeyData)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// fromFile returns data. When data is empty it returns the content of a file.
func fromFile(data []byte, file string) ([]byte, error) {
	if len(data) > 0 || file == "" {
		return data, nil
	}
	read, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(read) == 0 {
		return nil, fmt.Errorf("%s is empty", file)
	}
	return read, nil
}

// suites are those of TLS 1.2 with forward secrecy and authenticated encryption. TLS 1.3 has no others.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}
