package kubectl

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/podberth/podberth/conformance/apiserver"
)

// program is kubectl podberth, built once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kubectl-podberth")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "kubectl-podberth")
	c := exec.Command("go", "build", "-o", file, ".")
	c.Dir = "../../cmd/kubectl-podberth"
	c.Env = append(os.Environ(), "GOWORK=") // the workspace joins the modules
	if out, err := c.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return file, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if file, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(file)) // a file in the folder for temporary files is all that may stay
	}
	os.Exit(code)
}

// world is an API server with a program that asks it.
type world struct {
	t      *testing.T
	api    kubernetes.Interface
	config *rest.Config
	file   string // the program
	access []string
}

func start(t *testing.T, flags ...string) *world {
	t.Helper()
	file, err := program()
	require.NoError(t, err)
	server := apiserver.Start(t, append([]string{"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"}, flags...)...)
	c := rest.CopyConfig(server.Config)
	c.QPS, c.Burst = 5000, 5000
	w := &world{t: t, api: kubernetes.NewForConfigOrDie(c), config: c, file: file}
	user := &clientcmdapi.AuthInfo{Token: c.BearerToken, ClientCertificateData: c.CertData, ClientKeyData: c.KeyData, ClientCertificate: c.CertFile, ClientKey: c.KeyFile}
	cluster := &clientcmdapi.Cluster{Server: c.Host, CertificateAuthorityData: c.CAData, CertificateAuthority: c.CAFile, TLSServerName: c.ServerName}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": cluster}, AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": user},
		Contexts: map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "c",
	}, path))
	w.access = []string{"--kubeconfig", path}
	return w
}

// ask runs a command line and returns what it writes.
func (w *world) ask(args ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(w.file, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		var ended *exec.ExitError
		require.ErrorAs(w.t, err, &ended)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// answer runs a command line that succeeds.
func (w *world) answer(args ...string) string {
	w.t.Helper()
	code, out, errs := w.ask(args...)
	require.Zero(w.t, code, "%v: %s", args, errs)
	return out
}

func (w *world) namespace(name string) {
	w.t.Helper()
	_, err := w.api.CoreV1().Namespaces().Create(w.t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// pods creates pods, several at a time. A pod with a node runs and is ready.
func (w *world) pods(list []*v1.Pod) {
	w.t.Helper()
	var group sync.WaitGroup
	errs := make([]error, len(list))
	slots := make(chan struct{}, 8)
	for k, p := range list {
		group.Add(1)
		slots <- struct{}{}
		go func() {
			defer func() { <-slots; group.Done() }()
			errs[k] = w.pod(w.t.Context(), p)
		}()
	}
	group.Wait()
	require.NoError(w.t, errors.Join(errs...))
}

func (w *world) pod(ctx context.Context, p *v1.Pod) error {
	made, err := w.api.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
	if err != nil || made.Spec.NodeName == "" {
		return err
	}
	now := metav1.Now()
	made.Status.Phase, made.Status.StartTime = v1.PodRunning, &now
	made.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}, {Type: v1.PodScheduled, Status: v1.ConditionTrue}}
	_, err = w.api.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}
