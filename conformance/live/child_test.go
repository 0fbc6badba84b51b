package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	kubeconfig "k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/live/daemon"
	"github.com/podberth/podberth/scheduler/live/write"
)

// The schedulers of the end-to-end measurement run in processes of their own, so that their CPU time and memory can be told from
// the API server's. The test runs itself again with these variables.
const (
	roleVariable   = "PODBERTH_LIVE_ROLE"
	serverVariable = "PODBERTH_LIVE_SERVER"
)

// reach is what a child needs to reach the API server.
type reach struct {
	Host, Token               string
	CA, Cert, Key             []byte
	CAFile, CertFile, KeyFile string
	ServerName                string
	Insecure                  bool
	QPS                       float32
	Burst                     int
}

func reachOf(c *rest.Config, qps float32) reach {
	return reach{Host: c.Host, Token: c.BearerToken, CA: c.CAData, Cert: c.CertData, Key: c.KeyData, CAFile: c.CAFile, CertFile: c.CertFile, KeyFile: c.KeyFile,
		ServerName: c.ServerName, Insecure: c.Insecure, QPS: qps, Burst: int(qps)}
}

func (x reach) config() *rest.Config {
	return &rest.Config{Host: x.Host, BearerToken: x.Token, QPS: x.QPS, Burst: x.Burst, DisableCompression: true,
		TLSClientConfig: rest.TLSClientConfig{CAData: x.CA, CertData: x.Cert, KeyData: x.Key, CAFile: x.CAFile, CertFile: x.CertFile, KeyFile: x.KeyFile, ServerName: x.ServerName, Insecure: x.Insecure},
		ContentConfig:   rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json"},
	}
}

// state is what a child says about itself.
type state struct {
	CPU        time.Duration // of the role until now
	Heap       uint64        // in use, in bytes, after a collection
	RSS        int64         // the largest, in MiB
	Goroutines int
	Pending    float64 // pods in podberth's queue
}

// largestRSS returns the largest resident set of the process in MiB. What getrusage says includes the parent's at the fork.
func largestRSS() (mib int64, err error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	_, err = fmt.Sscanf(rest, "%d kB", &mib)
	return mib / 1024, err
}

// report writes the state of the process as a line.
func report(pending func() (float64, error)) error {
	s := state{CPU: used() - before, Goroutines: runtime.NumGoroutine()}
	var err error
	if s.RSS, err = largestRSS(); err != nil {
		return err
	}
	if s.Pending, err = pending(); err != nil {
		return err
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.Heap = m.HeapAlloc
	if err := writeProfile("heap"); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// profileDir has the profiles of children: the measurement writes one of the CPU for each child, the soak one of the heap for each
// report.
var profileDir = flag.String("profile", "", "directory for profiles of the schedulers; empty writes none")

func profileKind() string {
	if *soak > 0 {
		return "heap"
	}
	return "cpu"
}

const profileVariable = "PODBERTH_LIVE_PROFILE"

// profileFile makes the next file for a profile of this process; nil if the parent wants no such profile.
func profileFile(kind string) (*os.File, error) {
	wanted, dir, _ := strings.Cut(os.Getenv(profileVariable), ":")
	if dir == "" || kind != wanted {
		return nil, nil
	}
	return os.Create(filepath.Join(dir, fmt.Sprintf("%s-%s-%s.pprof", os.Getenv(roleVariable), time.Now().UTC().Format("150405.000"), kind)))
}

func writeProfile(kind string) error {
	f, err := profileFile(kind)
	if f == nil {
		return err
	}
	return errors.Join(pprof.Lookup(kind).WriteTo(f, 0), f.Close())
}

// profileCPU profiles the CPU until the returned function is called.
func profileCPU() (stop func() error, err error) {
	f, err := profileFile("cpu")
	if f == nil {
		return func() error { return nil }, err
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, pprof.StartCPUProfile(f)
}

// obey answers each line of standard input with the state of the process, until the input ends.
func obey(pending func() (float64, error)) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := report(pending); err != nil {
			return err
		}
	}
	return lines.Err()
}

// nothing is pending where nobody counts.
func nothing() (float64, error) { return 0, nil }

// before is what the process has used before its role began. The program has the packages of the API server and of both schedulers
// to initialise, which no scheduler has.
var before time.Duration

// runChild runs a role until standard input ends.
func runChild(role string) error {
	before = used()
	var x reach
	if err := json.Unmarshal([]byte(os.Getenv(serverVariable)), &x); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	roles := map[string]func(context.Context, *rest.Config, func(pending func() (float64, error))) error{"podberth": runPodberth, "kube": runKube, "bare": runBare, "floor": runFloor}
	run := roles[role]
	if run == nil {
		return fmt.Errorf("unknown role %s", role)
	}
	if strings.HasPrefix(os.Getenv(profileVariable), "heap:/") {
		runtime.MemProfileRate = 4096
	}
	stop, err := profileCPU()
	if err != nil {
		return err
	}
	asked := make(chan error, 1)
	err = run(ctx, x.config(), func(pending func() (float64, error)) {
		fmt.Println("ready")
		go func() { asked <- obey(pending); cancel() }()
	})
	err = errors.Join(err, stop())
	if ctx.Err() != nil { // the parent has closed the input
		err = errors.Join(err, <-asked)
	}
	return err
}

// shippedConfig scores every node, as the configuration in scheduler/live/deploy does. kube-scheduler keeps its default and scores fewer.
const shippedConfig = plainConfig + "percentageOfNodesToScore: 100\n"

func runPodberth(ctx context.Context, r *rest.Config, ready func(func() (float64, error))) error {
	c, err := config.Load([]byte(shippedConfig))
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	d, err := daemon.New(ctx, daemon.Config{REST: r, Configuration: c, Registry: registry})
	if err != nil {
		return err
	}
	ready(func() (n float64, err error) {
		d.Gauges()
		families, err := registry.Gather()
		for _, f := range families {
			for _, m := range f.Metric {
				if f.GetName() == "scheduler_pending_pods" {
					n += m.GetGauge().GetValue()
				}
			}
		}
		return n, err
	})
	return d.Run(ctx)
}

func runKube(ctx context.Context, c *rest.Config, ready func(func() (float64, error))) error {
	metrics.Register()
	defaults, err := kubeconfig.Default()
	if err != nil {
		return err
	}
	client, sink := kubernetes.NewForConfigOrDie(c), kubernetes.NewForConfigOrDie(c)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: sink.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	factory := scheduler.NewInformerFactory(client, 0, nil)
	s, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster), scheduler.WithProfiles(defaults.Profiles...))
	if err != nil {
		return err
	}
	ready(nothing)
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	if err := s.WaitForHandlersSync(ctx); err != nil {
		return err
	}
	s.Run(ctx)
	return nil
}

// bareBinders is how many bindings a loop without a scheduler posts at the same time.
const bareBinders = 64

// blind is the view of a client that only binds and writes events.
type blind struct{}

func (blind) Pod(_, _ string) *v1.Pod               { return nil }
func (blind) Reported(_, _, _ string) metav1.Object { return nil }
func (blind) Changed() <-chan struct{}              { return nil }

// bindAll binds the pods of a channel to the nodes in turn, as podberth does, and calls after for each pod. It returns at the first
// error, or when the channel is closed and all pods are bound.
func bindAll(ctx context.Context, api kubernetes.Interface, pods <-chan *v1.Pod, nodes []string, after func(pod *v1.Pod, node string)) error {
	c := write.New(api, blind{}, write.Options{})
	defer c.Close()
	var next atomic.Int64
	failed := make(chan error, bareBinders)
	for range bareBinders {
		go func() {
			for p := range pods {
				node := nodes[int(next.Add(1))%len(nodes)]
				if err := c.Bind(ctx, p, node); err != nil {
					failed <- err
					return
				}
				after(p, node)
			}
			failed <- nil
		}()
	}
	for range bareBinders {
		select {
		case err := <-failed:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// runBare binds every pending pod and writes no events: what the API server can take.
func runBare(ctx context.Context, c *rest.Config, ready func(func() (float64, error))) error {
	api := kubernetes.NewForConfigOrDie(c)
	list, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var nodes []string
	for _, n := range list.Items {
		nodes = append(nodes, n.Name)
	}
	pods, err := api.CoreV1().Pods(measured).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready(nothing)
	turns := make(chan *v1.Pod)
	go func() {
		defer close(turns)
		for k := range pods.Items {
			select {
			case turns <- &pods.Items[k]:
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := bindAll(ctx, api, turns, nodes, func(*v1.Pod, string) {}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// runFloor binds every pending pod that an informer reports, and writes its event: what podberth spends without a decision.
func runFloor(ctx context.Context, c *rest.Config, ready func(func() (float64, error))) error {
	api := kubernetes.NewForConfigOrDie(c)
	recorder := write.NewRecorder(kubernetes.NewForConfigOrDie(c), v1.DefaultSchedulerName)
	if err := recorder.Start(ctx); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(api, 0)
	pods, lister := factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Lister()
	waiting := make(chan *v1.Pod)
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
		if p, ok := o.(*v1.Pod); ok && p.Namespace == measured && p.Spec.NodeName == "" { // pods of churn come and go
			waiting <- p
		}
	}})
	if err != nil {
		return err
	}
	ready(nothing)
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	list, err := lister.List(labels.Everything())
	if err != nil {
		return err
	}
	var nodes []string
	for _, n := range list {
		nodes = append(nodes, n.Name)
	}
	return bindAll(ctx, api, waiting, nodes, func(pod *v1.Pod, node string) {
		recorder.Event(pod, v1.EventTypeNormal, scheduled, "Binding", fmt.Sprintf("Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, node))
	})
}

// child is a scheduler in a process of its own.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func startChild(t *testing.T, role string, x reach) *child {
	t.Helper()
	text, err := json.Marshal(x)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run", "^$")
	cmd.Env = append(os.Environ(), roleVariable+"="+role, serverVariable+"="+string(text), profileVariable+"="+profileKind()+":"+*profileDir)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	c := &child{t, cmd, stdin, bufio.NewReader(out)}
	line, err := c.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready", strings.TrimSpace(line))
	return c
}

// state asks the child about itself.
func (c *child) state() (s state) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.stdin)
	require.NoError(c.t, err)
	line, err := c.out.ReadString('\n')
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal([]byte(line), &s), line)
	return s
}

// stop ends the child.
func (c *child) stop() {
	c.t.Helper()
	require.NoError(c.t, c.stdin.Close())
	if err := c.cmd.Wait(); err != nil {
		c.t.Logf("a child ended with %v after its work was done", err) // kube-scheduler may, when its context ends
	}
}
