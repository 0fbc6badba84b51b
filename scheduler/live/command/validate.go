package command

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
)

// validate returns everything that is wrong with the flags themselves. It makes nothing and asks no server.
func (o *options) validate() error {
	var errs []error
	errs = append(errs, o.serving.Validate()...)
	errs = append(errs, o.authentication.Validate()...)
	errs = append(errs, o.authorization.Validate()...)
	errs = append(errs, logsapi.Validate(o.logs, nil, nil).ToAggregate())
	errs = append(errs, o.validateTLS()...)
	for _, f := range []struct {
		flag  string
		value time.Duration
	}{
		{"pending-causes", o.causes},
		{"authentication-token-webhook-cache-ttl", o.authentication.CacheTTL},
		{"authorization-webhook-cache-authorized-ttl", o.authorization.AllowCacheTTL},
		{"authorization-webhook-cache-unauthorized-ttl", o.authorization.DenyCacheTTL},
	} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("--%s %v: must not be below 0", f.flag, f.value))
		}
	}
	if n := o.serving.HTTP2MaxStreamsPerConnection; n < 0 {
		errs = append(errs, fmt.Errorf("--http2-max-streams-per-connection %d: must not be below 0", n))
	}
	if !o.shadow.on && o.shadow.output != "-" {
		errs = append(errs, fmt.Errorf("--shadow-output %s: needs --shadow", o.shadow.output))
	}
	return errors.Join(errs...)
}

// validateTLS returns what is wrong with the flags of the HTTPS server, and the files of flags that cannot be read.
func (o *options) validateTLS() (errs []error) {
	pair := o.serving.ServerCert.CertKey
	files := []struct{ flag, path string }{
		{"tls-cert-file", pair.CertFile},
		{"tls-private-key-file", pair.KeyFile},
		{"client-ca-file", o.authentication.ClientCert.ClientCA},
		{"requestheader-client-ca-file", o.authentication.RequestHeader.ClientCAFile},
		{"authentication-kubeconfig", o.authentication.RemoteKubeConfigFile},
		{"authorization-kubeconfig", o.authorization.RemoteKubeConfigFile},
	}
	for _, k := range o.serving.SNICertKeys {
		files = append(files, struct{ flag, path string }{"tls-sni-cert-key", k.CertFile}, struct{ flag, path string }{"tls-sni-cert-key", k.KeyFile})
	}
	if (pair.CertFile == "") != (pair.KeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file, --tls-private-key-file: give both or none"))
		files = files[2:]
	}
	for _, f := range files {
		if f.path == "" {
			continue
		}
		if _, err := os.ReadFile(f.path); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", f.flag, err))
		}
	}
	_, version := cliflag.TLSVersion(o.serving.MinTLSVersion)
	_, ciphers := cliflag.TLSCipherSuites(o.serving.CipherSuites)
	_, curves := cliflag.TLSCurvePreferences(o.serving.CurvePreferences)
	for _, f := range []struct {
		flag string
		err  error
	}{{"tls-min-version", version}, {"tls-cipher-suites", ciphers}, {"tls-curve-preferences", curves}} {
		if f.err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", f.flag, f.err))
		}
	}
	return errs
}

// contentTypes are what client-go can write and the API server can read.
var contentTypes = []string{"application/vnd.kubernetes.protobuf", "application/json"}

// validateReach returns what is wrong with how to reach the API server. QPS below 0 is client-go's word for no limit.
func validateReach(c *rest.Config) error {
	var errs []error
	if u, _, err := rest.DefaultServerUrlFor(c); err != nil {
		errs = append(errs, fmt.Errorf("the address of the API server: %w", err))
	} else if u.Scheme != "https" && u.Scheme != "http" {
		errs = append(errs, fmt.Errorf("the address of the API server, %s: must begin with https:// or http://", c.Host))
	}
	if qps := float64(c.QPS); math.IsNaN(qps) || math.IsInf(qps, 0) {
		errs = append(errs, fmt.Errorf("--kube-api-qps %v: must be a number; below 0 there is no limit", qps))
	}
	if c.Burst < 0 || c.Burst == 0 && c.QPS > 0 || c.Burst > math.MaxInt32 {
		errs = append(errs, fmt.Errorf("--kube-api-burst %d: must be between 1 and %d", c.Burst, math.MaxInt32))
	}
	if !slices.Contains(contentTypes, c.ContentType) {
		errs = append(errs, fmt.Errorf("--kube-api-content-type (clientConnection.contentType) %q: must be one of %s", c.ContentType, strings.Join(contentTypes, ", ")))
	}
	return errors.Join(errs...)
}

// validate returns what is wrong with a lease, except for what its durations are to each other.
func (f *leaseFlags) validate() error {
	var errs []error
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"leader-elect-lease-duration", f.duration}, {"leader-elect-renew-deadline", f.renewDeadline}, {"leader-elect-retry-period", f.retry}} {
		if d.value <= 0 {
			errs = append(errs, fmt.Errorf("--%s %v: must be above 0", d.flag, d.value))
		}
	}
	for _, n := range []struct {
		flag, value string
		wrong       []string
	}{
		{"leader-elect-resource-name", f.name, validation.NameIsDNSSubdomain(f.name, false)},
		{"leader-elect-resource-namespace", f.namespace, validation.ValidateNamespaceName(f.namespace, false)},
	} {
		if len(n.wrong) > 0 {
			errs = append(errs, fmt.Errorf("--%s %q: %s", n.flag, n.value, n.wrong[0]))
		}
	}
	return errors.Join(errs...)
}
