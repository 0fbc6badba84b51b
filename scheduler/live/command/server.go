package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	genericfilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	apiserver "k8s.io/apiserver/pkg/server"
	serverfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/component-base/metrics/legacyregistry"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/scheduler/config"
)

// leaseGrace is how long after the lease's end a leader that has not renewed counts as unhealthy.
const leaseGrace = 20 * time.Second

// drain is how long requests may last after the server was told to stop.
const drain = 5 * time.Second

// watched is what the server says about the scheduler.
type watched interface {
	Ready() error
	Gauges()
}

// server answers requests about the scheduler.
type server struct {
	configuration *config.Configuration
	registry      *prometheus.Registry
	profiling     bool
	elector       *leaderelection.HealthzAdaptor
	scheduler     atomic.Pointer[watched] // nil until the scheduler is made
	unanswered    atomic.Pointer[error]   // the last question before that which got no answer
}

func (s *server) watch(w watched) { s.scheduler.Store(&w) }

// check is a part of an answer about health.
type check struct {
	name string
	ask  func(*http.Request) error
}

func ping(*http.Request) error { return nil }

// checks returns the checks of /healthz, /livez and /readyz.
func (s *server) checks() (healthz, livez, readyz []check) {
	alive := check{"ping", ping}
	ready := check{"sched-handler-sync", func(*http.Request) error {
		w := s.scheduler.Load()
		if w == nil {
			text := "asking the API server what it serves and what the account may do"
			if err := s.unanswered.Load(); err != nil {
				text += " (" + (*err).Error() + ")"
			}
			return errors.New(text)
		}
		return (*w).Ready()
	}}
	if s.elector == nil {
		return []check{alive}, []check{alive}, []check{ready}
	}
	leads := check{"leaderElection", s.elector.Check}
	return []check{leads}, []check{alive}, []check{leads, ready}
}

// health answers with kube-scheduler's lines, and says why a check fails.
func health(path string, checks []check) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var lines string
		failed := false
		for _, c := range checks {
			if err := c.ask(r); err != nil {
				failed = true
				lines += fmt.Sprintf("[-]%s failed: %v\n", c.name, err)
			} else {
				lines += fmt.Sprintf("[+]%s ok\n", c.name)
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, verbose := r.URL.Query()["verbose"]
		switch {
		case failed:
			w.WriteHeader(http.StatusInternalServerError)
			lines += path[1:] + " check failed\n"
		case verbose:
			lines += path[1:] + " check passed\n"
		default:
			lines = "ok"
		}
		_, _ = w.Write([]byte(lines)) // the caller has hung up
	}
}

// handler has all paths.
func (s *server) handler() http.Handler {
	m := mux.NewPathRecorderMux("podberth-scheduler")
	healthz, livez, readyz := s.checks()
	m.HandleFunc("/healthz", health("/healthz", healthz))
	m.HandleFunc("/livez", health("/livez", livez))
	m.HandleFunc("/readyz", health("/readyz", readyz))
	all := promhttp.HandlerFor(prometheus.Gatherers{s.registry, legacyregistry.DefaultGatherer}, promhttp.HandlerOpts{})
	m.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if x := s.scheduler.Load(); x != nil {
			(*x).Gauges()
		}
		all.ServeHTTP(w, r)
	})
	m.HandleFunc("/configz", s.configz)
	if s.profiling {
		routes.Profiling{}.Install(m)
	}
	return m
}

// configz writes the configuration with its defaults.
func (s *server) configz(w http.ResponseWriter, _ *http.Request) {
	document := s.configuration.Document.DeepCopy()
	document.TypeMeta = metav1.TypeMeta{APIVersion: configv1.SchemeGroupVersion.String(), Kind: "KubeSchedulerConfiguration"}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"componentconfig": document}) // the caller has hung up
}

// serve starts the HTTPS server. stop returns when every request has its answer, or after drain.
func (o *options) serve(s *server) (stop func(), err error) {
	if o.serving.BindPort == 0 && o.serving.Listener == nil {
		return func() {}, nil
	}
	if err := o.selfSigned(); err != nil {
		return nil, err
	}
	var info *apiserver.SecureServingInfo
	var loopback *rest.Config
	var authentication apiserver.AuthenticationInfo
	var authorization apiserver.AuthorizationInfo
	if err := o.serving.ApplyTo(&info, &loopback); err != nil {
		return nil, err
	}
	if err := o.authentication.ApplyTo(&authentication, info, nil); err != nil {
		return nil, err
	}
	if err := o.authorization.ApplyTo(&authorization); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	codecs := serializer.NewCodecFactory(scheme)
	resolver := &request.RequestInfoFactory{APIPrefixes: sets.NewString(), GrouplessAPIPrefixes: sets.NewString()}
	h := genericfilters.WithAuthorization(s.handler(), authorization.Authorizer, codecs)
	h = genericfilters.WithAuthentication(h, authentication.Authenticator, genericfilters.Unauthorized(codecs), nil, nil)
	h = genericfilters.WithRequestInfo(h, resolver)
	h = genericfilters.WithCacheControl(h)
	h = serverfilters.WithPanicRecovery(h, resolver)
	end := make(chan struct{})
	done, _, err := info.Serve(h, drain, end)
	return func() { close(end); <-done }, err
}
