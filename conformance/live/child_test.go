package live

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	kubeconfig "k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/podberth/podberth/examples/config"
	"github.com/podberth/podberth/examples/live/daemon"
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

// runChild runs a role until standard input ends.
func runChild(role string) error {
	var x reach
	if err := json.Unmarshal([]byte(os.Getenv(serverVariable)), &x); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the parent closes it
		cancel()
	}()
	switch role {
	case "podberth":
		c, err := config.Load([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"))
		if err != nil {
			return err
		}
		d, err := daemon.New(ctx, daemon.Config{REST: x.config(), Configuration: c})
		if err != nil {
			return err
		}
		fmt.Println("ready")
		return d.Run(ctx)
	case "kube":
		return runKube(ctx, x.config())
	case "bare":
		return runBare(ctx, x.config())
	}
	return fmt.Errorf("unknown role %s", role)
}

func runKube(ctx context.Context, c *rest.Config) error {
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
	factory := scheduler.NewInformerFactory(client, 0)
	s, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster), scheduler.WithProfiles(defaults.Profiles...))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	if err := s.WaitForHandlersSync(ctx); err != nil {
		return err
	}
	s.Run(ctx)
	return nil
}

// bareBinders is how many bindings the bare loop posts at the same time.
const bareBinders = 64

// runBare binds every pending pod to the nodes in turn: what the API server can take.
func runBare(ctx context.Context, c *rest.Config) error {
	api := kubernetes.NewForConfigOrDie(c)
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods, err := api.CoreV1().Pods(measured).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	turns := make(chan int)
	failed := make(chan error, bareBinders)
	for range bareBinders {
		go func() {
			for k := range turns {
				p := &pods.Items[k]
				failed <- api.CoreV1().Pods(p.Namespace).Bind(ctx, &v1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID}, Target: v1.ObjectReference{Kind: "Node", Name: nodes.Items[k%len(nodes.Items)].Name}}, metav1.CreateOptions{})
			}
		}()
	}
	go func() {
		for k := range pods.Items {
			turns <- k
		}
		close(turns)
	}()
	for range pods.Items {
		if err := <-failed; err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// child is a scheduler in a process of its own.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

func startChild(t *testing.T, role string, x reach) *child {
	t.Helper()
	text, err := json.Marshal(x)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0], "-test.run", "^$")
	cmd.Env = append(os.Environ(), roleVariable+"="+role, serverVariable+"="+string(text))
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready", strings.TrimSpace(line))
	return &child{cmd, stdin}
}

// stop ends the child and returns its CPU time and its largest resident set in MiB.
func (c *child) stop(t *testing.T) (cpu time.Duration, rss int64) {
	t.Helper()
	require.NoError(t, c.stdin.Close())
	if err := c.cmd.Wait(); err != nil {
		t.Logf("a child ended with %v after its work was done", err) // kube-scheduler may, when its context ends
	}
	usage, ok := c.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime(), usage.Maxrss / 1024
}
