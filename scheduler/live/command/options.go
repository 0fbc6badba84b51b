package command

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/uuid"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	logsapi "k8s.io/component-base/logs/api/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/groups"
	"github.com/podberth/podberth/scheduler/live/lead"
)

// options are the flags. Those that kube-scheduler has too have its names and defaults.
type options struct {
	config, kubeconfig, master string
	qps                        float32
	burst                      int
	contentType                string
	lease                      leaseFlags
	leftover                   time.Duration
	profiling                  bool
	permissions                bool
	causes                     time.Duration
	gates                      groups.FeatureGates
	shadow                     shadowFlags

	serving        *genericoptions.SecureServingOptionsWithLoopback
	authentication *genericoptions.DelegatingAuthenticationOptions
	authorization  *genericoptions.DelegatingAuthorizationOptions
	logs           *logsapi.LoggingConfiguration

	given *pflag.FlagSet
}

type leaseFlags struct {
	elect                          bool
	duration, renewDeadline, retry time.Duration
	lock, name, namespace          string
}

type shadowFlags struct {
	on     bool
	output string
}

// defaultPort is kube-scheduler's.
const defaultPort = 10259

func newOptions() *options {
	o := &options{
		serving:        genericoptions.NewSecureServingOptions().WithLoopback(),
		authentication: genericoptions.NewDelegatingAuthenticationOptions(),
		authorization:  genericoptions.NewDelegatingAuthorizationOptions(),
		logs:           logsapi.NewLoggingConfiguration(),
	}
	o.serving.BindPort = defaultPort
	o.serving.ServerCert.CertDirectory, o.serving.ServerCert.PairName = "", "podberth-scheduler"
	o.serving.MinTLSVersion = "VersionTLS12"
	for _, s := range tls.CipherSuites() { // with forward secrecy and authenticated encryption; TLS 1.3 has no others
		if strings.HasPrefix(s.Name, "TLS_ECDHE_") && !strings.Contains(s.Name, "_CBC_") {
			o.serving.CipherSuites = append(o.serving.CipherSuites, s.Name)
		}
	}
	o.authentication.TolerateInClusterLookupFailure = true
	o.authentication.RemoteKubeConfigFileOptional, o.authorization.RemoteKubeConfigFileOptional = true, true
	return o
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	o.given = fs
	fs.StringVar(&o.config, "config", "", "File with a KubeSchedulerConfiguration. Without it: the default profile.")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "File that says how to reach the API server. Without it, and without --master or clientConnection.kubeconfig: the pod's service account.")
	fs.StringVar(&o.master, "master", "", "Address of the API server; overrides the one in the kubeconfig.")
	fs.Float32Var(&o.qps, "kube-api-qps", 50, "Requests per second to the API server, of each client. Below 0: no limit. 0: 5.")
	fs.IntVar(&o.burst, "kube-api-burst", 100, "Requests that a client may make at once.")
	fs.StringVar(&o.contentType, "kube-api-content-type", "application/vnd.kubernetes.protobuf", "Content type of requests to the API server.")
	fs.BoolVar(&o.lease.elect, "leader-elect", true, "Hold a lease while scheduling, so that one of several replicas schedules.")
	fs.DurationVar(&o.lease.duration, "leader-elect-lease-duration", 15*time.Second, "Time after which another replica takes a lease that is not renewed.")
	fs.DurationVar(&o.lease.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "Time within which the leader must renew the lease. It stops scheduling when the time is over.")
	fs.DurationVar(&o.lease.retry, "leader-elect-retry-period", 2*time.Second, "Time between two tries to take or renew the lease.")
	fs.StringVar(&o.lease.lock, "leader-elect-resource-lock", "leases", "Kind of the lock: leases.")
	fs.StringVar(&o.lease.name, "leader-elect-resource-name", "kube-scheduler", "Name of the lease. Replicas, and a kube-scheduler that must not schedule at the same time, have the same.")
	fs.StringVar(&o.lease.namespace, "leader-elect-resource-namespace", "kube-system", "Namespace of the lease.")
	fs.DurationVar(&o.leftover, "pod-max-in-unschedulable-pods-duration", 5*time.Minute, "Longest time that a pod waits as unschedulable without being tried again. Pods are looked at every 30 s. 0: every pod is tried then.")
	fs.BoolVar(&o.profiling, "profiling", true, "Serve /debug/pprof/.")
	fs.DurationVar(&o.causes, "pending-causes", 0, "Time between two counts of the waiting pods by the cause, for the metric podberth_pending_pods. 0: no such metric. A count that takes long is followed by a longer pause.")
	fs.BoolVar(&o.permissions, "check-permissions", true, "Ask the API server at the start whether the account may do all that the scheduler does.")
	fs.Var(&o.gates, "feature-gates", "Feature gates as kube-scheduler has them, such as "+groups.GenericWorkload+"=true, with which groups of pods count. A gate that v1.37 does not have is an error; one that switches nothing here is named in the log.")
	fs.BoolVar(&o.shadow.on, "shadow", false, "Bind nothing. Decide every pod that another scheduler places, and report where the decision would have been another.")
	fs.StringVar(&o.shadow.output, "shadow-output", "-", "File for the reports of --shadow, a JSON line each; - is standard output.")
	o.serving.AddFlags(fs)
	o.authentication.AddFlags(fs)
	o.authorization.AddFlags(fs)
	logsapi.AddFlags(o.logs, fs)
}

// load reads the configuration, with what the flags override in it.
func (o *options) load() (*config.Configuration, error) {
	data := []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
	if o.config != "" {
		var err error
		if data, err = os.ReadFile(o.config); err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
	}
	c, err := config.Loader{Args: o.gates.Args()}.Load(data)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", o.config, err)
	}
	return c, nil
}

// rest returns how to reach the API server: by the flags that are given, then by the configuration, which has its defaults.
func (o *options) rest(c *configv1.KubeSchedulerConfiguration) (*rest.Config, error) {
	file, from := o.kubeconfig, "--kubeconfig"
	if file == "" {
		file, from = c.ClientConnection.Kubeconfig, "clientConnection.kubeconfig"
	}
	var out *rest.Config
	var err error
	if file == "" && o.master == "" {
		if out, err = rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("no API server: give --kubeconfig or --master, or run in a pod with a service account")
		}
	} else {
		out, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}, overrides(o.master)).ClientConfig()
	}
	if err != nil {
		if file == "" {
			return nil, err
		}
		return nil, fmt.Errorf("%s %s: %w", from, file, err)
	}
	burst := int(c.ClientConnection.Burst)
	out.QPS, out.Burst, out.ContentType = o.qps, o.burst, o.contentType
	take(o.given, "kube-api-qps", &out.QPS, &c.ClientConnection.QPS)
	take(o.given, "kube-api-burst", &out.Burst, &burst)
	take(o.given, "kube-api-content-type", &out.ContentType, &c.ClientConnection.ContentType)
	if err := validateReach(out); err != nil {
		return nil, err
	}
	out.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	out.DisableCompression = true
	return out, nil
}

func overrides(master string) *clientcmd.ConfigOverrides {
	out := &clientcmd.ConfigOverrides{}
	out.ClusterInfo.Server = master
	return out
}

// leaseOf returns the lease, nil without leader election. Flags that are given override the configuration.
func (o *options) leaseOf(c *config.Configuration) (*lead.Lease, error) {
	f := o.lease
	s := &c.Document.LeaderElection
	take(o.given, "leader-elect", &f.elect, s.LeaderElect)
	take(o.given, "leader-elect-lease-duration", &f.duration, &s.LeaseDuration.Duration)
	take(o.given, "leader-elect-renew-deadline", &f.renewDeadline, &s.RenewDeadline.Duration)
	take(o.given, "leader-elect-retry-period", &f.retry, &s.RetryPeriod.Duration)
	take(o.given, "leader-elect-resource-lock", &f.lock, &s.ResourceLock)
	take(o.given, "leader-elect-resource-name", &f.name, &s.ResourceName)
	take(o.given, "leader-elect-resource-namespace", &f.namespace, &s.ResourceNamespace)
	if !f.elect {
		return nil, nil
	}
	if f.lock != "leases" {
		return nil, fmt.Errorf("--leader-elect-resource-lock %s: only leases is supported", f.lock)
	}
	if err := f.validate(); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	l := &lead.Lease{
		Namespace: f.namespace, Name: f.name, Identity: host + "_" + string(uuid.NewUUID()), Component: c.Profiles[0].SchedulerName,
		Duration: f.duration, RenewDeadline: f.renewDeadline, RetryPeriod: f.retry,
		WatchDog: leaderelection.NewLeaderHealthzAdaptor(leaseGrace),
	}
	return l, l.Validate()
}

// take sets a value from the configuration, which is complete, unless the flag was given.
func take[T any](fs *pflag.FlagSet, flag string, to, from *T) {
	if !fs.Changed(flag) {
		*to = *from
	}
}

func (o *options) selfSigned() error {
	return o.serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.ParseIP("127.0.0.1")})
}
