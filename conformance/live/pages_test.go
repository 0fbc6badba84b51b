package live

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/podberth/podberth/conformance/apiserver"
	"github.com/podberth/podberth/conformance/metricpage"
)

// program makes a program: podberth's in the workspace, kube-scheduler in this module.
func program(t *testing.T, pkg, dir, workspace string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), filepath.Base(pkg))
	c := exec.Command("go", "build", "-o", file, pkg)
	c.Dir, c.Env = dir, append(os.Environ(), "GOWORK="+workspace)
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	return file
}

// kubeconfigOf writes a file with which a program reaches the API server.
func kubeconfigOf(t *testing.T, c *rest.Config) string {
	t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: c.Host, CertificateAuthority: c.CAFile, CertificateAuthorityData: c.CAData, TLSServerName: c.ServerName}
	file.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: c.BearerToken, ClientCertificate: c.CertFile, ClientKey: c.KeyFile, ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}
	file.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	file.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*file, path))
	return path
}

// fetched returns the metrics that a scheduler shows over HTTPS after it has done work.
func (w *world) fetched(file string, work func()) map[string]*dto.MetricFamily {
	t := w.t
	t.Helper()
	address := apiserver.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	var said bytes.Buffer
	p := exec.Command(file, "--kubeconfig", kubeconfigOf(t, w.server.Config), "--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+t.TempDir(),
		"--authorization-always-allow-paths=/metrics,/readyz", groupFlags[1])
	p.Stdout, p.Stderr = &said, &said
	require.NoError(t, p.Start())
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: time.Minute} // the certificate is the program's own
	get := func(path string) (code int, text []byte, err error) {
		answer, err := client.Get("https://" + address + path)
		if err != nil {
			return 0, nil, err
		}
		defer func() { _ = answer.Body.Close() }()
		text, err = io.ReadAll(answer.Body)
		return answer.StatusCode, text, err
	}
	w.until("the program is ready", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("%s ended: %v\n%s", file, err, said.String())
		default:
		}
		code, _, err := get("/readyz")
		w.last = err
		return code == http.StatusOK
	})
	work()
	code, text, err := get("/metrics")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, "%s", text)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	<-ended // kube-scheduler's exit code is 1 after a signal
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	require.NoError(t, err)
	return families
}

// work lets a scheduler bind, wait, preempt, allocate devices and place a group, so that its metrics have values.
func (w *world) work() {
	w.t.Helper()
	w.gpus("n1")
	for k := range 12 { // of every ten attempts one is measured plugin by plugin
		w.pod(fmt.Sprint("small-", k), "1m")
		w.bound(fmt.Sprint("small-", k), "n1")
	}
	w.pod("plain", "1")
	w.bound("plain", "n1")
	w.pod("extended", "1", asks(explicitResource, "1"))
	w.bound("extended", "n1")
	w.gpuClaim("d1")
	w.pod("claims", "1", uses("d1"))
	w.bound("claims", "n1")
	w.pod("large", "99")
	w.unschedulable("large", "Insufficient cpu")
	w.pod("gated", "1", gated)
	w.podGroup("g", 2)
	w.pod("a", "1", in("g"))
	w.pod("b", "1", in("g"))
	w.bound("a", "n1")
	w.bound("b", "n1")
	w.groupSays("g", "Scheduled")
	w.podGroup("t", 1, byZone)
	w.node("n2", "2", inZone("z"))
	w.pod("t1", "1", in("t"))
	w.bound("t1", "n2")
	w.pod("urgent", "4", high)
	w.bound("urgent", "n1")
	w.podGroup("h", 2, highGroup)
	w.pod("h1", "2", in("h"), high)
	w.pod("h2", "2", in("h"), high)
	w.bound("h1", "")
	w.bound("h2", "")
	w.event("Scheduled", "h2")
	w.delete("large")
}

// shown says whether a family has a value that is not 0: kube-scheduler shows metrics without labels from the beginning.
func shown(f *dto.MetricFamily) bool {
	return slices.ContainsFunc(f.GetMetric(), func(m *dto.Metric) bool {
		return m.GetCounter().GetValue() != 0 || m.GetGauge().GetValue() != 0 || m.GetHistogram().GetSampleCount() != 0 || m.GetSummary().GetSampleCount() != 0
	})
}

// The programs podberth-scheduler and kube-scheduler do the same work. Each metric of kube-scheduler's page has a row in the table with its type
// and labels, and podberth's page has it, with the same type, labels and buckets, or does not have it, as the row says.
func TestMetricPages(t *testing.T) {
	if !*withGroups {
		runWithGroups(t, "TestMetricPages")
		return
	}
	programs := []string{program(t, "./cmd/podberth-scheduler", "../..", ""), program(t, "k8s.io/kubernetes/cmd/kube-scheduler", "..", "off")}
	w := newWorld(t, groupFlags...)
	w.groups = &groupGates
	w.priorityClass("high", 1000)
	var pages []map[string]*dto.MetricFamily
	for _, file := range programs {
		w.wipe()
		pages = append(pages, w.fetched(file, w.work))
	}
	ours, theirs := pages[0], pages[1]
	table, err := metricpage.Table("../../docs/reports/metrics.md")
	require.NoError(t, err)
	rows := map[string]metricpage.Row{}
	for _, r := range table {
		rows[r.Name] = r
	}
	alike := 0
	for name, f := range theirs {
		shape := metricpage.ShapeOf(f)
		r, known := rows[name]
		if known {
			require.Equal(t, r.Shape, shape.String(), name)
		}
		mine, here := ours[name]
		switch {
		case known && !r.Program:
			require.False(t, here, name)
		case here:
			require.Equal(t, shape, metricpage.ShapeOf(mine), name)
			alike++
		default:
			require.False(t, !known || shown(f), "%s has a value on kube-scheduler's page and is not on podberth's", name)
		}
	}
	for name := range ours {
		_, there := theirs[name]
		require.True(t, there || strings.HasPrefix(name, "podberth_"), name)
	}
	t.Logf("%d metrics of kube-scheduler, %d alike", len(theirs), alike)
	require.Greater(t, alike, 200)
}
